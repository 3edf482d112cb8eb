//! The objects that were met, by address: those that live, and those whose memory was freed.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

use raddle_report::failure::{Datum, Pointer};

use super::layout::{Layout, Shape, Type};
use super::names;
use super::roots::Owner;
use super::walk::{Read, Targets};
use super::{Block, Space};

/// Most objects of an execution.
const OBJECTS: usize = 1_000;

/// An object, with what was seen of it last.
pub(super) struct Known {
    pub(super) name: String,
    /// The type as a person writes it.
    pub(super) type_name: String,
    /// The crate that declares the type.
    pub(super) in_crate: Option<String>,
    /// The type; none if debug information does not know it, and the object shows itself.
    pub(super) of: Option<Type>,
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) block: Option<Block>,
    pub(super) owner: Owner,
    pub(super) since: Option<u32>,
    pub(super) freed: Option<u32>,
    pub(super) value: Option<Datum>,
    /// The memory that the value was made from.
    pub(super) reads: Vec<Read>,
    /// The objects that the value points to.
    pub(super) targets: Vec<u32>,
    /// Whether a pointer of unknown type leads to no object yet.
    pub(super) is_unresolved: bool,
    /// Whether the value must be made anew, although its memory did not change.
    pub(super) is_dirty: bool,
    pub(super) view: View,
}

/// How an object is shown.
#[derive(Clone)]
pub(super) enum View {
    /// By its fields.
    Fields,
    /// By a function.
    Own(Rc<dyn Fn() -> Datum>),
    /// As it was shown last.
    Last,
}

#[derive(Default)]
pub(super) struct Table {
    pub(super) list: Vec<Known>,
    live: BTreeMap<u64, u32>,
    graves: BTreeMap<u64, u32>,
    /// Objects without a value, or of a new type.
    pub(super) fresh: VecDeque<u32>,
    /// The event that is looked at.
    pub(super) event: Option<u32>,
    /// The blocks that were freed since the moment before.
    freed_now: Vec<u64>,
    /// The targets of the value that is made, and whether it has a pointer of unknown type.
    pub(super) met: Vec<u32>,
    pub(super) met_unresolved: bool,
    /// Whether the value has a pointer to a block that was freed since the moment before.
    pub(super) met_freed_now: bool,
    /// The number of objects of each name.
    counts: HashMap<String, u32>,
}

impl Table {
    /// The live object that contains an address.
    pub(super) fn containing(&self, address: u64) -> Option<u32> {
        self.at(&self.live, address)
    }

    /// The numbers of the live objects, in the order of their first appearance.
    pub(super) fn living(&self) -> Vec<u32> {
        let mut living: Vec<u32> = self.live.values().copied().collect();
        living.sort_unstable();
        living
    }

    /// The object of a type at an address; a new one if there is none.
    pub(super) fn reach(
        &mut self,
        address: u64,
        of: Type,
        layout: &Layout,
        space: &dyn Space,
    ) -> Option<u32> {
        let block = self.block(address, space);
        let fits = |size: u64| match block {
            Some(block) => !block.freed && address + size <= block.start + block.size,
            None => true,
        };
        if let Some(found) = self.containing(address) {
            let known = &mut self.list[found as usize];
            // A pointer to the first field of a structure was met before one to the structure.
            if known.address == address && layout.size > known.size && fits(layout.size) {
                (known.of, known.size, known.is_dirty) = (Some(of), layout.size, true);
                (known.type_name, known.in_crate) = (names::short(&layout.name), layout.in_crate.clone());
                self.fresh.push_back(found);
            }
            return Some(found);
        }
        let mut probe = [0];
        if self.list.len() >= OBJECTS || !fits(layout.size) || !space.read(address, &mut probe) {
            return None;
        }
        let object = self.add(address, layout.size, Some(of), names::short(&layout.name), block);
        self.list[object as usize].in_crate.clone_from(&layout.in_crate);
        Some(object)
    }

    /// The object at an address, of a type that only its name and its size are known of; a new one if there is none.
    pub(super) fn reach_unknown(
        &mut self,
        address: u64,
        size: u64,
        type_name: &str,
        space: &dyn Space,
    ) -> Option<u32> {
        if let Some(found) = self.live.get(&address) {
            return Some(*found);
        }
        let block = self.block(address, space);
        (self.list.len() < OBJECTS).then(|| self.add(address, size, None, names::short(type_name), block))
    }

    fn add(
        &mut self,
        address: u64,
        size: u64,
        of: Option<Type>,
        type_name: String,
        block: Option<Block>,
    ) -> u32 {
        let number = self.list.len() as u32;
        self.list.push(Known {
            name: String::new(),
            type_name,
            in_crate: None,
            of,
            address,
            size,
            block,
            owner: if block.is_some() { Owner::Program } else { Owner::PerhapsStack },
            since: self.event,
            freed: None,
            value: None,
            reads: Vec::new(),
            targets: Vec::new(),
            is_unresolved: false,
            is_dirty: true,
            view: View::Fields,
        });
        self.live.insert(address, number);
        self.fresh.push_back(number);
        number
    }

    /// Gives an object its name, when its type is known well enough.
    pub(super) fn name(&mut self, object: u32) {
        let known = &mut self.list[object as usize];
        if known.name.is_empty() {
            let base = match known.type_name.find('<') {
                Some(0) | None => known.type_name.clone(),
                Some(at) => known.type_name[..at].to_owned(),
            };
            let count = self.counts.entry(base.clone()).or_default();
            *count += 1;
            known.name = format!("{base}#{count}");
        }
    }

    /// Blocks are freed, with the objects in them. The heap may not know yet.
    pub(super) fn free_blocks(&mut self, blocks: &[u64]) {
        self.freed_now = blocks.to_vec();
        blocks.iter().for_each(|&block| self.free_block(block));
    }

    fn block(&self, address: u64, space: &dyn Space) -> Option<Block> {
        let block = space.block(address)?;
        Some(Block { freed: block.freed || self.freed_now.contains(&block.start), ..block })
    }

    fn free_block(&mut self, start: u64) {
        let inside = self.live.range(start..).map_while(|(_, &object)| {
            let block = self.list[object as usize].block?;
            (block.start == start).then_some(object)
        });
        for object in inside.collect::<Vec<_>>() {
            self.end(object);
        }
    }

    /// The locals of a thread are those of its call stack: the others are gone.
    pub(super) fn end_locals(&mut self, thread: u32, frame_pointers: &[u64]) {
        let (Some(&innermost), Some(&outermost)) = (frame_pointers.iter().min(), frame_pointers.iter().max())
        else {
            return;
        };
        for object in self.living() {
            let known = &mut self.list[object as usize];
            match known.owner {
                // The frame around it is the first one whose frame pointer lies above.
                Owner::PerhapsStack if (innermost..outermost).contains(&known.address) => {
                    let around = frame_pointers.iter().filter(|&&frame| frame > known.address).min();
                    known.owner = Owner::Frame { thread, frame_pointer: *around.unwrap_or(&outermost) };
                }
                // A stack that could not be walked to the end does not tell.
                Owner::Frame { thread: of, frame_pointer }
                    if of == thread
                        && frame_pointer < outermost
                        && !frame_pointers.contains(&frame_pointer) =>
                {
                    self.end(object);
                }
                _ => {}
            }
        }
    }

    /// The life of an object ends.
    pub(super) fn end(&mut self, object: u32) {
        let known = &mut self.list[object as usize];
        known.freed = self.event;
        let address = known.address;
        if self.live.get(&address) == Some(&object) {
            self.live.remove(&address);
        }
        self.graves.insert(address, object);
        for other in &mut self.list {
            other.is_dirty |= other.targets.contains(&object);
        }
    }

    fn at(&self, objects: &BTreeMap<u64, u32>, address: u64) -> Option<u32> {
        let (&start, &object) = objects.range(..=address).next_back()?;
        (address - start < self.list[object as usize].size.max(1)).then_some(object)
    }
}

impl Targets for Table {
    fn target(
        &mut self,
        address: u64,
        of: Option<Type>,
        space: &dyn Space,
        layout: Option<&Layout>,
    ) -> Pointer {
        let known = match (of, layout) {
            (Some(of), Some(layout)) if !is_opaque(layout) => self.reach(address, of, layout, space),
            _ => {
                let known = self.containing(address);
                self.met_unresolved |= known.is_none();
                known
            }
        };
        let dangling = known.is_none() && self.block(address, space).is_some_and(|block| block.freed)
            || known.is_none() && self.at(&self.graves, address).is_some();
        // By the next moment the block may have been allocated again.
        self.met_freed_now |= dangling && !self.freed_now.is_empty();
        let object = known.or_else(|| self.at(&self.graves, address).filter(|_| dangling));
        self.met.extend(object);
        Pointer { object, address, tag: 0, dangling }
    }
}

/// Whether a pointee says nothing about what is there.
fn is_opaque(layout: &Layout) -> bool {
    layout.size == 0 || matches!(layout.shape, Shape::Unknown)
}
