//! The value of an object: its structures, enums and arrays, down to scalars and pointers.

use std::rc::Rc;

use raddle_report::failure::{Datum, Field, Pointer};

use super::Space;
use super::layout::{Layout, Layouts, Member, Shape, Type};
use super::locks::Holders;
use super::names;
use super::rules::{Rule, folded};
use super::scalars::{boolean, scalar, word};
use crate::Program;

/// Depth limit of a value: deeper than what a person can read.
const DEPTH: usize = 16;

/// Most parts of the value of one object.
const PARTS: usize = 2_000;

/// Most elements of a list or map that are shown.
pub(super) const ELEMENTS: u64 = 64;

/// Most bytes that are read at once.
pub(super) const BYTES: u64 = 1 << 16;

/// Memory that a value was made from.
pub(super) struct Read {
    pub(super) address: u64,
    pub(super) bytes: Vec<u8>,
}

/// What pointers lead to.
pub(super) trait Targets {
    /// The pointer to a value of a type; none if the type is not known.
    fn target(
        &mut self,
        address: u64,
        of: Option<Type>,
        space: &dyn Space,
        layout: Option<&Layout>,
    ) -> Pointer;
}

/// Makes the value of one object.
pub(super) struct Walk<'a> {
    pub(super) program: &'a Program,
    pub(super) layouts: &'a mut Layouts,
    pub(super) space: &'a dyn Space,
    pub(super) targets: &'a mut dyn Targets,
    pub(super) holders: &'a mut Holders,
    pub(super) reads: Vec<Read>,
    parts: usize,
    /// The lists around the current value, by the addresses of their elements.
    pub(super) around: Vec<u64>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        program: &'a Program,
        layouts: &'a mut Layouts,
        space: &'a dyn Space,
        targets: &'a mut dyn Targets,
        holders: &'a mut Holders,
    ) -> Walk<'a> {
        Walk { program, layouts, space, targets, holders, reads: Vec::new(), parts: 0, around: Vec::new() }
    }

    /// The value of a type at an address.
    pub(super) fn object(&mut self, of: Type, address: u64) -> Datum {
        let size = self.layout(of).size;
        match self.fetch(address, size) {
            Some(bytes) => self.value(of, address, &bytes, 0),
            None => Datum::Unknown("not mapped".to_owned()),
        }
    }

    /// Reads memory that the value depends on.
    pub(super) fn fetch(&mut self, address: u64, size: u64) -> Option<Vec<u8>> {
        if size > BYTES || address.checked_add(size).is_none() {
            return None;
        }
        let mut bytes = vec![0; size as usize];
        if size > 0 && !self.space.read(address, &mut bytes) {
            return None;
        }
        self.reads.push(Read { address, bytes: bytes.clone() });
        Some(bytes)
    }

    pub(super) fn layout(&mut self, of: Type) -> Rc<Layout> {
        self.layouts.get(self.program, of)
    }

    /// The value of a type, from its bytes.
    pub(super) fn value(&mut self, of: Type, address: u64, bytes: &[u8], depth: usize) -> Datum {
        self.parts += 1;
        if depth > DEPTH || self.parts > PARTS {
            return Datum::Unknown("too large to show".to_owned());
        }
        let layout = self.layout(of);
        let Some(bytes) = bytes.get(..layout.size as usize) else {
            return Datum::Unknown("of no known size".to_owned());
        };
        match layout.rule {
            Rule::AtomicBool => return boolean(bytes),
            Rule::Plain | Rule::Folded | Rule::Wrapper | Rule::Closure => {}
            _ => {
                if let Some(value) = self.special(&layout, address, bytes, depth) {
                    return value;
                }
            }
        }
        if let Some(value) = scalar(&layout.shape, bytes) {
            return value;
        }
        match &layout.shape {
            Shape::Structure(members) => self.structure(&layout, members, address, bytes, depth),
            Shape::Union(members) => {
                let sized = self.sized(members);
                match folded(&layout, &sized) {
                    Some(member) => self.part(member, address, bytes, depth),
                    None if sized.is_empty() => Datum::Scalar("()".to_owned()),
                    None => Datum::Unknown("a union".to_owned()),
                }
            }
            Shape::Enum { tag, variants } => {
                let tag = match tag {
                    Some(tag) => {
                        let at = tag.offset as usize;
                        bytes
                            .get(at..at.saturating_add(tag.size as usize))
                            .map(|bytes| (word(bytes), bytes.len()))
                    }
                    None => None,
                };
                let matches = |value: Option<u64>| match (value, tag) {
                    (Some(value), Some((tag, size))) => {
                        value & (u64::MAX >> (64 - 8 * size.clamp(1, 8))) == tag
                    }
                    _ => false,
                };
                let variant = variants
                    .iter()
                    .find(|variant| matches(variant.tag))
                    .or_else(|| variants.iter().find(|variant| variant.tag.is_none()));
                match variant {
                    Some(variant) => self.variant(&variant.name, variant.of, address, bytes, depth),
                    None => Datum::Unknown("no variant of its type".to_owned()),
                }
            }
            Shape::Array { of, count } => self.elements(*of, *count, address, bytes, depth),
            Shape::Pointer(to) => self.pointer(&layout, *to, word(bytes)),
            Shape::Function => self.function(word(bytes)),
            _ => Datum::Unknown("of no known type".to_owned()),
        }
    }

    /// The value of a member, from the bytes of the whole.
    pub(super) fn part(&mut self, member: &Member, address: u64, bytes: &[u8], depth: usize) -> Datum {
        match bytes.get(member.offset as usize..) {
            Some(bytes) => self.value(member.of, address.wrapping_add(member.offset), bytes, depth + 1),
            None => Datum::Unknown("out of its object".to_owned()),
        }
    }

    /// The first elements of a list that lie one after the other.
    pub(super) fn elements(
        &mut self,
        of: Type,
        count: u64,
        address: u64,
        bytes: &[u8],
        depth: usize,
    ) -> Datum {
        let size = self.layout(of).size;
        let mut items = Vec::new();
        for index in 0..count.min(ELEMENTS) {
            let offset = index * size;
            let Some(bytes) = bytes.get(offset as usize..) else { break };
            items.push(self.value(of, address.wrapping_add(offset), bytes, depth + 1));
        }
        Datum::List { items, length: count }
    }

    /// The members that have a size: the others say nothing.
    pub(super) fn sized<'m>(&mut self, members: &'m [Member]) -> Vec<&'m Member> {
        members.iter().filter(|member| self.layout(member.of).size > 0).collect()
    }

    fn structure(
        &mut self,
        layout: &Layout,
        members: &[Member],
        address: u64,
        bytes: &[u8],
        depth: usize,
    ) -> Datum {
        let sized = self.sized(members);
        if let Some(member) = folded(layout, &sized) {
            return self.part(member, address, bytes, depth);
        }
        let name = names::of_value(&layout.name);
        if sized.is_empty() && !name.is_empty() {
            return Datum::Scalar(name);
        }
        Datum::Fields { name, fields: self.fields(&sized, address, bytes, depth) }
    }

    fn variant(&mut self, name: &str, of: Type, address: u64, bytes: &[u8], depth: usize) -> Datum {
        let layout = self.layout(of);
        let sized = self.sized(layout.members());
        if sized.is_empty() {
            return Datum::Scalar(name.to_owned());
        }
        Datum::Fields { name: name.to_owned(), fields: self.fields(&sized, address, bytes, depth) }
    }

    fn fields(&mut self, members: &[&Member], address: u64, bytes: &[u8], depth: usize) -> Vec<Field> {
        let field = |member: &&Member| Field {
            name: field_name(&member.name).to_owned(),
            value: self.part(member, address, bytes, depth),
        };
        members.iter().map(field).collect()
    }

    /// A value of a type with a rule of its own; none if the type is not built as the rule expects.
    fn special(&mut self, layout: &Layout, address: u64, bytes: &[u8], depth: usize) -> Option<Datum> {
        match layout.rule {
            Rule::Vec => self.vec(layout, bytes, depth),
            Rule::VecDeque => self.vec_deque(layout, bytes, depth),
            Rule::String => self.string(layout, bytes),
            Rule::SystemString => self.system_string(layout, bytes),
            Rule::Slice => self.slice(layout, bytes, depth),
            Rule::Str => self.str(layout, bytes),
            Rule::Dynamic => self.dynamic(layout, bytes),
            Rule::Tagged => self.tagged(layout, bytes),
            Rule::HashTable => self.hash_map(layout, bytes, depth),
            Rule::HashSet => self.hash_set(layout, bytes, depth),
            Rule::BTreeMap => self.btree_map(layout, bytes, depth),
            Rule::BTreeSet => self.btree_set(layout, bytes, depth),
            Rule::Mutex | Rule::RwLock | Rule::ParkingLotMutex | Rule::ParkingLotRwLock => {
                self.lock(layout, address, bytes, depth)
            }
            Rule::Once => self.once(layout, address, bytes, depth),
            Rule::RefCell => Some(self.part(layout.member("value")?, address, bytes, depth)),
            Rule::Counted => Some(self.part(layout.counted()?, address, bytes, depth)),
            Rule::Duration => duration(layout, bytes),
            _ => None,
        }
    }

    /// The first member with a name, however deep inside a type: its offset and its type.
    pub(super) fn find(&mut self, of: Type, name: &str) -> Option<(u64, Type)> {
        self.search(of, 0, &|member, _| member.name == name, 6)
    }

    /// The first pointer inside a type: its offset and the type that it points to.
    pub(super) fn find_pointer(&mut self, of: Type) -> Option<(u64, Type)> {
        if let Shape::Pointer(Some(to)) = self.layout(of).shape {
            return Some((0, to));
        }
        let is_pointer = |_: &Member, layout: &Layout| matches!(layout.shape, Shape::Pointer(Some(_)));
        let (offset, of) = self.search(of, 0, &is_pointer, 8)?;
        match self.layout(of).shape {
            Shape::Pointer(Some(to)) => Some((offset, to)),
            _ => None,
        }
    }

    fn search(
        &mut self,
        of: Type,
        base: u64,
        is_it: &dyn Fn(&Member, &Layout) -> bool,
        depth: u32,
    ) -> Option<(u64, Type)> {
        let depth = depth.checked_sub(1)?;
        let layout = self.layout(of);
        for member in layout.members() {
            let (at, inside) = (base + member.offset, self.layout(member.of));
            if is_it(member, &inside) {
                return Some((at, member.of));
            }
            if let Some(found) = self.search(member.of, at, is_it, depth) {
                return Some(found);
            }
        }
        if let Shape::Enum { variants, .. } = &layout.shape {
            return variants.iter().find_map(|variant| self.search(variant.of, base, is_it, depth));
        }
        None
    }
}

/// The name of a field as a person writes it: `__0` is `0`, and a closure's `_ref__x` is `x`.
fn field_name(name: &str) -> &str {
    if let Some(index) = name.strip_prefix("__")
        && index.parse::<u32>().is_ok()
    {
        return index;
    }
    name.strip_prefix("_ref__").unwrap_or(name)
}

fn duration(layout: &Layout, bytes: &[u8]) -> Option<Datum> {
    let at = |name: &str| Some(layout.member(name)?.offset as usize);
    let seconds = word(bytes.get(at("secs")?..)?.get(..8)?);
    let nanos = word(bytes.get(at("nanos")?..)?.get(..4)?) as u32;
    if nanos >= 1_000_000_000 {
        return None;
    }
    Some(Datum::Scalar(format!("{:?}", std::time::Duration::new(seconds, nanos))))
}
