//! Objects over time: what each event changes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::{Duration, Instant};

use raddle_report::failure::{Change, Datum, Object, Objects, Root};

use super::layout::Layouts;
use super::locks::Holders;
use super::roots::{Found, Owner, Variable};
use super::table::{Table, View};
use super::walk::Walk;
use super::{Space, Type};
use crate::Program;

/// The time that looking at objects may take in all.
const TIME: Duration = Duration::from_secs(5);

/// Most parts of values in all changes of an execution.
const PARTS: usize = 40_000;

/// The objects of one execution.
#[derive(Default)]
pub struct Recorder {
    pub(super) layouts: Layouts,
    pub(super) table: Table,
    holders: Holders,
    roots: Vec<KnownRoot>,
    /// Locations that no variable with a good name leads to, with a hash of the calls that accessed them.
    unknown: HashSet<(u64, u64)>,
    spent: Duration,
    parts: usize,
    until: Option<u32>,
}

struct KnownRoot {
    root: Root,
    /// Whether a better name may be found.
    is_poor: bool,
}

/// The moment at which memory is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The event before; none before the first one.
    pub event: Option<u32>,
    /// The thread of the event.
    pub thread: u32,
    /// The blocks that were freed since the moment before, by their addresses.
    pub freed: &'a [u64],
}

/// An object that shows itself, instead of being shown by its fields.
pub struct Shown<'a> {
    /// The address.
    pub address: u64,
    /// The size in bytes.
    pub size: u64,
    /// The name of the type, with paths.
    pub type_name: &'a str,
    /// The function that is an instance for the type: see [`Recorder::type_of_anchor`].
    pub anchor: u64,
    /// Whether its fields are shown, if debug information knows them.
    pub prefers_fields: bool,
    /// Makes the value. It is called as long as the object shows itself, and never after [`Recorder::end_view`].
    pub view: Rc<dyn Fn() -> Datum>,
}

/// The place of a location in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The root that the object is, if it is one: an index into [`Objects::roots`].
    pub root: Option<usize>,
    /// The name of the root, or of the object.
    pub name: String,
    /// The field: `.next`, `[2].state`; empty for the object itself.
    pub path: String,
}

impl Recorder {
    /// A recorder without roots.
    pub fn new() -> Recorder {
        Recorder::default()
    }

    /// The type that the generic function at an address is an instance for: the first generic argument of the function.
    pub fn type_of_anchor(&mut self, program: &Program, function: u64) -> Option<Type> {
        program.first_argument(function).map(|entity| self.layouts.intern(entity))
    }

    /// Adds an object that has no variable: it is called after its type. The function is an instance for that type.
    pub fn introduce(&mut self, program: &Program, address: u64, function: u64, space: &dyn Space) {
        let Some(of) = self.type_of_anchor(program, function) else { return };
        let name = super::names::of_value(&self.layouts.get(program, of).name);
        self.add_root(program, Variable { name, address, of, owner: Owner::Program, is_poor: true }, space);
    }

    /// Adds an object that shows itself. The number of the object; none if its fields are shown.
    pub fn introduce_shown(&mut self, program: &Program, shown: Shown<'_>, space: &dyn Space) -> Option<u32> {
        let Shown { address, size, type_name, anchor, prefers_fields, view } = shown;
        let of = self.type_of_anchor(program, anchor);
        if prefers_fields && of.is_some() {
            self.introduce(program, address, anchor, space);
            return None;
        }
        let object = match of {
            Some(of) => {
                let layout = self.layouts.get(program, of);
                self.table.reach(address, of, &layout, space)?
            }
            None => self.table.reach_unknown(address, size, type_name, space)?,
        };
        let known = &mut self.table.list[object as usize];
        if known.address != address {
            // A part of a larger object is shown with it.
            return None;
        }
        known.view = View::Own(view);
        if !self.roots.iter().any(|known| known.root.object == object) {
            let root = Root { name: super::names::of_value(type_name), object };
            self.roots.push(KnownRoot { root, is_poor: true });
        }
        Some(object)
    }

    /// An object does not show itself any more: it stays as it was shown last.
    pub fn end_view(&mut self, object: u32) {
        self.table.list[object as usize].view = View::Last;
    }

    /// Adds a variable that leads to an object. The object is looked at from the next moment on.
    pub fn add_root(&mut self, program: &Program, variable: Variable, space: &dyn Space) {
        let layout = self.layouts.get(program, variable.of);
        let Some(object) = self.table.reach(variable.address, variable.of, &layout, space) else { return };
        let known = &mut self.table.list[object as usize];
        if known.owner == Owner::PerhapsStack {
            known.owner = variable.owner;
        }
        let Variable { name, is_poor, .. } = variable;
        match self.roots.iter_mut().find(|known| known.root.object == object) {
            Some(known) if known.is_poor && !is_poor => {
                (known.root.name, known.is_poor) = (name, false);
            }
            Some(_) => {}
            None => self.roots.push(KnownRoot { root: Root { name, object }, is_poor }),
        }
    }

    /// Adds the variable that leads to a location which an event accesses, unless the location is part of an object already.
    pub fn add_root_of(&mut self, program: &Program, found: Found<'_>, space: &dyn Space) {
        let has_good_name = self.table.containing(found.address).is_some_and(|object| {
            !self.roots.iter().any(|known| known.root.object == object && known.is_poor)
        });
        // The same calls know the same variables.
        let mut calls = DefaultHasher::new();
        found.stack.iter().for_each(|(return_address, _)| return_address.hash(&mut calls));
        let code = calls.finish();
        if self.until.is_some() || has_good_name || self.unknown.contains(&(found.address, code)) {
            return;
        }
        match self.variable(program, found, space) {
            Some(variable) => {
                let is_poor = variable.is_poor;
                self.add_root(program, variable, space);
                if is_poor {
                    self.unknown.insert((found.address, code));
                }
            }
            None => _ = self.unknown.insert((found.address, code)),
        }
    }

    /// The locals of a thread are those of its call stack: the others are gone.
    pub fn end_locals(&mut self, event: u32, thread: u32, frame_pointers: &[u64]) {
        self.table.event = Some(event);
        self.table.end_locals(thread, frame_pointers);
    }

    /// Looks at the objects, and says what has changed since the last time.
    pub fn observe(&mut self, program: &Program, moment: Moment<'_>, space: &dyn Space) -> Vec<Change> {
        if self.until.is_some() {
            return Vec::new();
        }
        let begun = Instant::now();
        self.table.event = moment.event;
        self.holders.current = Some(moment.thread);
        self.table.free_blocks(moment.freed);
        let mut changes = Vec::new();
        for object in self.table.living() {
            if self.has_changed(object, space) {
                self.look_at(program, object, space, &mut changes);
            }
        }
        let is_new = !self.table.fresh.is_empty();
        self.look_at_fresh(program, space, &mut changes);
        if is_new {
            for object in self.table.living() {
                if self.table.list[object as usize].is_unresolved {
                    self.look_at(program, object, space, &mut changes);
                }
            }
            self.look_at_fresh(program, space, &mut changes);
        }
        self.parts += changes.iter().map(|change| parts(&change.value)).sum::<usize>();
        self.spent += begun.elapsed();
        if self.spent > TIME || self.parts > PARTS {
            self.until = moment.event;
        }
        changes
    }

    /// The objects. Events have the numbers that the recorder was given.
    pub fn finish(self) -> Objects {
        let list = self.table.list.into_iter().map(|known| Object {
            name: known.name,
            of: known.type_name,
            in_crate: known.in_crate,
            address: known.address,
            size: known.size,
            since: known.since,
            freed: known.freed,
        });
        Objects {
            roots: self.roots.into_iter().map(|known| known.root).collect(),
            list: list.collect(),
            initial: Vec::new(),
            until: self.until,
        }
    }

    /// The place of a location in an object.
    pub fn place(&self, program: &Program, address: u64) -> Option<Place> {
        let object = self.table.containing(address)?;
        let known = &self.table.list[object as usize];
        let root = self.roots.iter().position(|known| known.root.object == object);
        let path = program.path_in(self.layouts.entity(known.of?), address - known.address)?;
        let name = root.map_or(&known.name, |root| &self.roots[root].root.name).clone();
        (!name.is_empty()).then_some(Place { root, name, path })
    }

    fn look_at_fresh(&mut self, program: &Program, space: &dyn Space, changes: &mut Vec<Change>) {
        while let Some(object) = self.table.fresh.pop_front() {
            self.look_at(program, object, space, changes);
        }
    }

    fn has_changed(&self, object: u32, space: &dyn Space) -> bool {
        let known = &self.table.list[object as usize];
        if known.value.is_none() {
            // It waits among the fresh ones.
            return false;
        }
        match known.view {
            View::Fields => {}
            View::Own(_) => return true,
            View::Last => return false,
        }
        let mut now = [0; 256];
        known.is_dirty
            || known.reads.iter().any(|read| {
                let mut address = read.address;
                read.bytes.chunks(now.len()).any(|then| {
                    let now = &mut now[..then.len()];
                    let at = address;
                    address += then.len() as u64;
                    !space.read(at, now) || *now != *then
                })
            })
    }

    fn look_at(&mut self, program: &Program, object: u32, space: &dyn Space, changes: &mut Vec<Change>) {
        self.table.name(object);
        let (of, address, view) = {
            let known = &mut self.table.list[object as usize];
            known.is_dirty = false;
            (known.of, known.address, known.view.clone())
        };
        let value = match (view, of) {
            (View::Fields, Some(of)) => self.fields_of(program, object, of, address, space),
            (View::Own(view), _) => view(),
            (View::Fields | View::Last, _) => return,
        };
        let known = &mut self.table.list[object as usize];
        match &known.value {
            Some(old) => changes.extend(old.changes(&value, object)),
            None => changes.push(Change { object, path: Vec::new(), value: value.clone() }),
        }
        known.value = Some(value);
    }
}

impl Recorder {
    /// The value of an object by its fields.
    fn fields_of(
        &mut self,
        program: &Program,
        object: u32,
        of: Type,
        address: u64,
        space: &dyn Space,
    ) -> Datum {
        let mut walk = Walk::new(program, &mut self.layouts, space, &mut self.table, &mut self.holders);
        let value = walk.object(of, address);
        let reads = walk.reads;
        let (targets, is_unresolved) =
            (std::mem::take(&mut self.table.met), std::mem::take(&mut self.table.met_unresolved));
        let is_dirty = std::mem::take(&mut self.table.met_freed_now);
        let known = &mut self.table.list[object as usize];
        known.is_dirty |= is_dirty;
        (known.reads, known.targets, known.is_unresolved) = (reads, targets, is_unresolved);
        value
    }
}

/// The number of parts of a value.
fn parts(value: &Datum) -> usize {
    1 + value.children().into_iter().map(parts).sum::<usize>()
}
