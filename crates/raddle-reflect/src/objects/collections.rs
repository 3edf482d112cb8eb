//! Strings, lists and maps of the standard library, by content.

use raddle_report::failure::Datum;

use super::layout::{Layout, Member, Shape, Type};
use super::rules::Rule;
use super::scalars::word;
use super::walk::{BYTES, ELEMENTS, Walk};

/// Most bytes of a string that are shown.
const TEXT: u64 = 200;

/// Most buckets of a hash table that are looked at.
const BUCKETS: u64 = 4096;

/// Height limit of a tree: with at least five keys a node, higher than any that fits into memory.
const HEIGHT: u64 = 24;

impl Walk<'_> {
    pub(super) fn vec(&mut self, layout: &Layout, bytes: &[u8], depth: usize) -> Option<Datum> {
        let (start, length) = self.vec_parts(layout, bytes)?;
        Some(self.list(*layout.arguments.first()?, start, length, depth))
    }

    pub(super) fn vec_deque(&mut self, layout: &Layout, bytes: &[u8], depth: usize) -> Option<Datum> {
        let of = *layout.arguments.first()?;
        let (start, length) = self.vec_parts(layout, bytes)?;
        let head = at(bytes, layout.member("head")?.offset, 8)?;
        let buffer = layout.member("buf")?;
        let (capacity, _) = self.find(buffer.of, "cap")?;
        let capacity = at(bytes, buffer.offset + capacity, 8)?;
        let size = self.layout(of).size;
        let mut items = Vec::new();
        for index in 0..length.min(ELEMENTS) {
            let position = head.checked_add(index)?;
            let position = if position >= capacity { position.checked_sub(capacity)? } else { position };
            let address = start.wrapping_add(position.wrapping_mul(size));
            items.push(self.element(of, address, size, depth));
        }
        Some(Datum::List { items, length })
    }

    pub(super) fn string(&mut self, layout: &Layout, bytes: &[u8]) -> Option<Datum> {
        let vec = layout.member("vec")?;
        let bytes = bytes.get(vec.offset as usize..)?;
        let inner = self.layout(vec.of);
        let (start, length) = self.vec_parts(&inner, bytes)?;
        Some(self.text(start, length))
    }

    pub(super) fn system_string(&mut self, layout: &Layout, bytes: &[u8]) -> Option<Datum> {
        let inner = layout.member("inner")?;
        let vec = self.layout(inner.of);
        if vec.rule != Rule::Vec {
            return None;
        }
        let (start, length) = self.vec_parts(&vec, bytes.get(inner.offset as usize..)?)?;
        Some(self.text(start, length))
    }

    pub(super) fn slice(&mut self, layout: &Layout, bytes: &[u8], depth: usize) -> Option<Datum> {
        let (start, of, length) = self.slice_parts(layout, bytes)?;
        Some(self.list(of, start, length, depth))
    }

    pub(super) fn str(&mut self, layout: &Layout, bytes: &[u8]) -> Option<Datum> {
        let (start, _, length) = self.slice_parts(layout, bytes)?;
        Some(self.text(start, length))
    }

    pub(super) fn hash_map(&mut self, layout: &Layout, bytes: &[u8], depth: usize) -> Option<Datum> {
        let of = *layout.arguments.first()?;
        let (elements, length) = self.hash_elements(layout, bytes)?;
        let pair = self.layout(of);
        let [key, value] = pair.members() else { return None };
        let mut entries = Vec::new();
        for address in elements {
            let element = self.fetch(address, pair.size)?;
            let key = self.part(key, address, &element, depth + 1);
            entries.push((key, self.part(value, address, &element, depth + 1)));
        }
        Some(Datum::Map { entries, length })
    }

    pub(super) fn hash_set(&mut self, layout: &Layout, bytes: &[u8], depth: usize) -> Option<Datum> {
        let (mut offset, mut table) = (0, None);
        let mut within: Vec<_> = layout.members().to_vec();
        // `std`'s set has `hashbrown`'s, which has a map, which has a table.
        for _ in 0..4 {
            let next =
                within.iter().find(|member| ["base", "map", "table"].contains(&member.name.as_str()))?;
            offset += next.offset;
            let inner = self.layout(next.of);
            if inner.rule == Rule::HashTable {
                table = Some(inner);
                break;
            }
            within = inner.members().to_vec();
        }
        let table = table?;
        let (elements, length) = self.hash_elements(&table, bytes.get(offset as usize..)?)?;
        let pair = self.layout(*table.arguments.first()?);
        let key = pair.members().first()?;
        let mut items = Vec::new();
        for address in elements {
            let element = self.fetch(address, pair.size)?;
            items.push(self.part(key, address, &element, depth + 1));
        }
        Some(Datum::List { items, length })
    }

    pub(super) fn btree_map(&mut self, layout: &Layout, bytes: &[u8], depth: usize) -> Option<Datum> {
        let length = at(bytes, layout.member("length")?.offset, 8)?;
        let mut entries = Vec::new();
        if length > 0 {
            let root = layout.member("root")?;
            let (node, of) = self.find(root.of, "node")?;
            let (height, _) = self.find(root.of, "height")?;
            let (pointer, leaf) = self.find_pointer(of)?;
            let node = at(bytes, root.offset + node + pointer, 8)?;
            let height = at(bytes, root.offset + height, 8)?;
            if height > HEIGHT {
                return Some(Datum::Unknown("no tree".to_owned()));
            }
            self.subtree(leaf, node, height, depth, &mut entries)?;
        }
        Some(Datum::Map { entries, length })
    }

    pub(super) fn btree_set(&mut self, layout: &Layout, bytes: &[u8], depth: usize) -> Option<Datum> {
        let map = layout.member("map")?;
        let inner = self.layout(map.of);
        match self.btree_map(&inner, bytes.get(map.offset as usize..)?, depth)? {
            Datum::Map { entries, length } => {
                Some(Datum::List { items: entries.into_iter().map(|(key, _)| key).collect(), length })
            }
            other => Some(other),
        }
    }

    /// The entries below a node, in order.
    fn subtree(
        &mut self,
        leaf: Type,
        node: u64,
        height: u64,
        depth: usize,
        entries: &mut Vec<(Datum, Datum)>,
    ) -> Option<()> {
        if entries.len() as u64 >= ELEMENTS {
            return Some(());
        }
        let layout = self.layout(leaf);
        let bytes = self.fetch(node, layout.size)?;
        let count = at(&bytes, layout.member("len")?.offset, 2)?;
        let (keys, values) = (layout.member("keys")?, layout.member("vals")?);
        let edges = if height > 0 {
            let (_, internal) = self.find_pointer(layout.member("parent")?.of)?;
            let internal = self.layout(internal);
            let edges = internal.member("edges")?;
            let size = self.layout(edges.of).size;
            Some(self.fetch(node.wrapping_add(edges.offset), size)?)
        } else {
            None
        };
        for index in 0..=count.min(11) {
            if let Some(edges) = &edges {
                self.subtree(leaf, at(edges, 8 * index, 8)?, height - 1, depth, entries)?;
            }
            if index < count && (entries.len() as u64) < ELEMENTS {
                let item = |walk: &mut Self, array: &Member| {
                    let Shape::Array { of, .. } = walk.layout(array.of).shape else { return None };
                    let offset = array.offset + index * walk.layout(of).size;
                    let rest = bytes.get(offset as usize..)?;
                    Some(walk.value(of, node.wrapping_add(offset), rest, depth + 1))
                };
                entries.push((item(self, keys)?, item(self, values)?));
            }
        }
        Some(())
    }

    /// The addresses of a hash table's first elements, and the number of all.
    fn hash_elements(&mut self, layout: &Layout, bytes: &[u8]) -> Option<(Vec<u64>, u64)> {
        let size = self.layout(*layout.arguments.first()?).size;
        let table = layout.member("table")?;
        let inner = self.layout(table.of);
        let word_of = |name: &str| at(bytes, table.offset + inner.member(name)?.offset, 8);
        let (mask, control, length) = (word_of("bucket_mask")?, word_of("ctrl")?, word_of("items")?);
        let mut elements = Vec::new();
        if length > 0 {
            let states = self.fetch(control, mask.checked_add(1)?.min(BUCKETS))?;
            for (bucket, state) in states.iter().enumerate() {
                if state & 0x80 == 0 && (elements.len() as u64) < ELEMENTS {
                    elements.push(control.wrapping_sub((bucket as u64 + 1).wrapping_mul(size)));
                }
            }
        }
        Some((elements, length))
    }

    /// The elements of a list elsewhere in memory.
    fn list(&mut self, of: Type, start: u64, length: u64, depth: usize) -> Datum {
        let size = self.layout(of).size;
        if length == 0 {
            return Datum::List { items: Vec::new(), length };
        }
        if self.space.block(start).is_some_and(|block| block.freed) {
            return Datum::Unknown("freed".to_owned());
        }
        if self.around.contains(&start) {
            return Datum::Unknown("the list around it".to_owned());
        }
        let shown = length.min(ELEMENTS).min(BYTES.checked_div(size).unwrap_or(ELEMENTS));
        let Some(bytes) = self.fetch(start, shown * size) else {
            return Datum::Unknown("not mapped".to_owned());
        };
        self.around.push(start);
        let value = self.elements(of, shown, start, &bytes, depth);
        self.around.pop();
        match value {
            Datum::List { items, .. } => Datum::List { items, length },
            other => other,
        }
    }

    fn element(&mut self, of: Type, address: u64, size: u64, depth: usize) -> Datum {
        match self.fetch(address, size) {
            Some(bytes) => self.value(of, address, &bytes, depth + 1),
            None => Datum::Unknown("not mapped".to_owned()),
        }
    }

    fn text(&mut self, start: u64, length: u64) -> Datum {
        if length > 0 && self.space.block(start).is_some_and(|block| block.freed) {
            return Datum::Unknown("freed".to_owned());
        }
        let Some(bytes) = self.fetch(start, length.min(TEXT)) else {
            return Datum::Unknown("not mapped".to_owned());
        };
        let more = if length > TEXT { "…" } else { "" };
        Datum::Scalar(format!("{:?}{more}", String::from_utf8_lossy(&bytes)))
    }

    /// The beginning and length of a `Vec` or `VecDeque`.
    fn vec_parts(&mut self, layout: &Layout, bytes: &[u8]) -> Option<(u64, u64)> {
        let buffer = layout.member("buf")?;
        let (pointer, _) = self.find_pointer(buffer.of)?;
        Some((at(bytes, buffer.offset + pointer, 8)?, at(bytes, layout.member("len")?.offset, 8)?))
    }

    /// The beginning, element type and length of a slice.
    fn slice_parts(&mut self, layout: &Layout, bytes: &[u8]) -> Option<(u64, Type, u64)> {
        let data = layout.member("data_ptr")?;
        let (_, mut of) = self.find_pointer(data.of)?;
        let mut start = at(bytes, data.offset, 8)?;
        let target = self.layout(of);
        if target.rule == Rule::Counted {
            let data = target.counted()?;
            (start, of) = (start.wrapping_add(data.offset), data.of);
        }
        Some((start, of, at(bytes, layout.member("length")?.offset, 8)?))
    }
}

/// The number at an offset.
fn at(bytes: &[u8], offset: u64, size: usize) -> Option<u64> {
    Some(word(bytes.get(offset as usize..)?.get(..size)?))
}
