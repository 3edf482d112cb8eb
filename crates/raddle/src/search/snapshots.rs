//! The objects of a failing execution, while it is recorded: memory is looked at after each event.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;

use raddle_engine::isolate::heap;
use raddle_engine::platform::stack;
use raddle_engine::trace::{Action, Event, Introduced, Observation, Observer, Trace};
use raddle_reflect::objects::{Block, Found, Moment, Place, Recorder, Shown, Space};
use raddle_reflect::{Memory, Program};
use raddle_report::failure::{Change, Datum, Objects};

use crate::inspect::{self as view, View};

/// What was seen of objects, by events of a trace.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    /// The objects; none if there are none, or there is no debug information. Events are indices into the trace.
    pub(crate) objects: Option<Objects>,
    /// The changes of objects by each event.
    pub(crate) changes: Vec<Vec<Change>>,
    /// The names of locations in objects, by address.
    pub(crate) names: BTreeMap<usize, String>,
}

/// Looks at objects while an execution is recorded.
#[derive(Clone)]
pub(crate) struct SnapshotRecorder(Rc<RefCell<State>>);

struct State {
    program: Option<Rc<Program>>,
    memory: ExecutionMemory,
    recorder: Recorder,
    /// The views that have begun and not ended: their addresses, and the objects that they show.
    views: Vec<(usize, u32)>,
    snapshots: Vec<Snapshot>,
}

struct Snapshot {
    /// The number of the event, omitted ones included.
    number: u64,
    changes: Vec<Change>,
    place: Option<Place>,
}

impl SnapshotRecorder {
    pub(crate) fn new(program: Option<Rc<Program>>) -> SnapshotRecorder {
        let memory = ExecutionMemory::new();
        let (recorder, views, snapshots) = (Recorder::new(), Vec::new(), Vec::new());
        SnapshotRecorder(Rc::new(RefCell::new(State { program, memory, recorder, views, snapshots })))
    }

    /// What was seen. Plain writes that concern nobody leave the trace.
    pub(crate) fn finish(self, trace: &mut Trace) -> Snapshots {
        let mut state = self.0.borrow_mut();
        let objects = std::mem::take(&mut state.recorder).finish();
        settle(objects, std::mem::take(&mut state.snapshots), trace)
    }
}

impl Observer for SnapshotRecorder {
    fn begin(&mut self) {
        let mut state = self.0.borrow_mut();
        state.recorder = Recorder::new();
        state.views.clear();
        state.snapshots.clear();
    }

    fn value(&mut self, address: usize, size: usize) -> Option<u128> {
        let mut bytes = [0; 16];
        let read = self.0.borrow().memory.read(address as u64, bytes.get_mut(..size)?);
        read.then(|| u128::from_le_bytes(bytes))
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        let State { program: Some(program), memory, recorder, views, snapshots } = &mut *self.0.borrow_mut()
        else {
            return;
        };
        let Observation { number, event, freed, objects } = *observation;
        let (event_number, thread) = (number as u32, event.thread.into());
        for (index, &object) in objects.iter().enumerate() {
            match view::Change::of(object) {
                None => recorder.introduce(program, object.address as u64, object.anchor as u64, memory),
                Some(view::Change::Begin(view)) => {
                    let ends = |&later: &Introduced| view::Change::of(later) == Some(view::Change::End(view));
                    if !objects[index..].iter().any(ends) {
                        // SAFETY: it has begun and not ended.
                        let shown = unsafe { shown(view) };
                        let object = recorder.introduce_shown(program, shown, memory);
                        views.extend(object.map(|object| (view, object)));
                    }
                }
                Some(view::Change::End(ended)) => views.retain(|&(view, object)| {
                    if view == ended {
                        recorder.end_view(object);
                    }
                    view != ended
                }),
            }
        }
        let stack: Vec<(u64, u64)> = event
            .stack
            .iter()
            .map(|frame| (frame.return_address as u64, frame.frame_pointer as u64))
            .collect();
        // Functions without a frame pointer tell nothing, and a walk may go on to the stack from which the thread was entered.
        let frames = || stack.iter().map(|frame| frame.1).filter(|&frame_pointer| frame_pointer != 0);
        if let Some(first) = frames().next() {
            let stack_of = |frame_pointer: u64| stack::owner(frame_pointer as usize);
            let own: Vec<u64> = frames().filter(|&frame| stack_of(frame) == stack_of(first)).collect();
            recorder.end_locals(event_number, thread, &own);
        }
        if let Some(address) = shared_location(&event.action) {
            let found = Found { address: address as u64, thread, stack: &stack };
            recorder.add_root_of(program, found, memory);
        }
        let freed: Vec<u64> = freed.iter().map(|&block| block as u64).collect();
        let moment = Moment { event: Some(event_number), thread, freed: &freed };
        let changes = recorder.observe(program, moment, memory);
        let place = event.action.address().and_then(|address| recorder.place(program, address as u64));
        snapshots.push(Snapshot { number, changes, place });
    }
}

/// An object that shows itself.
///
/// # Safety
/// There must be a view at this address, as long as the result is asked for the value.
unsafe fn shown(view: usize) -> Shown<'static> {
    let view: *const View<'static> = std::ptr::with_exposed_provenance(view);
    // SAFETY: the caller's.
    let (address, size, anchor, prefers_fields) =
        unsafe { ((*view).address, (*view).size, (*view).anchor, (*view).prefers_fields) };
    let has_failed = Cell::new(false);
    let value = move || {
        if has_failed.get() {
            return Datum::Unknown("its `inspect` or `Debug` panics".to_owned());
        }
        // SAFETY: the caller's.
        match catch_unwind(AssertUnwindSafe(|| unsafe { ((*view).show)() })) {
            Ok(text) => Datum::of_debug(&text),
            Err(_) => {
                has_failed.set(true);
                Datum::Unknown("its `inspect` or `Debug` panics".to_owned())
            }
        }
    };
    Shown {
        address: address as u64,
        size: size as u64,
        type_name: anchor(),
        anchor: anchor as usize as u64,
        prefers_fields,
        view: Rc::new(value),
    }
}

/// The location of an event that threads synchronise by: it leads to the objects that they share.
fn shared_location(action: &Action) -> Option<usize> {
    match *action {
        Action::Load { address, .. }
        | Action::Store { address, .. }
        | Action::Rmw { address, .. }
        | Action::Cas { address, .. }
        | Action::Wait { address, .. } => Some(address),
        _ => None,
    }
}

/// Makes numbers of events indices into the trace, and drops the plain writes that concern nobody.
fn settle(mut objects: Objects, snapshots: Vec<Snapshot>, trace: &mut Trace) -> Snapshots {
    let first = trace.omitted;
    let is_kept = kept(&trace.events, &objects);
    // The new index of each event, or of the next one that is kept.
    let mut indices = Vec::with_capacity(is_kept.len());
    let mut count = 0_u32;
    for &kept in &is_kept {
        indices.push(count);
        count += u32::from(kept);
    }
    let last = count.saturating_sub(1);
    let index = |number: u64| {
        let at = number.checked_sub(first)?;
        Some(indices.get(at as usize).map_or(last, |&index| index.min(last)))
    };
    let mut settled = Snapshots { changes: vec![Vec::new(); count as usize], ..Snapshots::default() };
    let mut places = BTreeMap::new();
    for Snapshot { number, changes, place } in snapshots {
        let changed = match index(number) {
            Some(event) => settled.changes.get_mut(event as usize),
            None => Some(&mut objects.initial),
        };
        changed.into_iter().for_each(|all| all.extend(changes.iter().cloned()));
        let event = number.checked_sub(first).and_then(|at| trace.events.get(at as usize));
        if let (Some(place), Some(address)) = (place, event.and_then(|event| event.action.address())) {
            places.entry(address).or_insert(place);
        }
    }
    for object in &mut objects.list {
        object.since = object.since.and_then(|event| index(event.into()));
        object.freed = object.freed.map(|event| index(event.into()).unwrap_or(0));
    }
    objects.until = objects.until.map(|event| index(event.into()).unwrap_or(0));
    settled.names = names(&trace.events, places, &mut objects);
    drop_events(&mut trace.events, &is_kept);
    settled.objects = Some(objects).filter(|objects| !objects.list.is_empty());
    settled
}

/// Whether each event stays. A plain write stays if it is to an object, or to memory that another event accesses; the others are
/// mostly those of the standard library.
fn kept(events: &[Event], objects: &Objects) -> Vec<bool> {
    let words = |address: usize, size: usize| address / 8..=(address + size.max(1) - 1) / 8;
    let others = events.iter().filter(|event| !matches!(event.action, Action::Write { .. }));
    let accessed: BTreeSet<usize> =
        others.filter_map(|event| event.action.address()).map(|address| address / 8).collect();
    let is_kept = |event: &Event| match event.action {
        Action::Write { address, size, .. } => {
            let (begin, end) = (address as u64, (address + size) as u64);
            words(address, size.min(4096)).any(|word| accessed.contains(&word))
                || objects
                    .list
                    .iter()
                    .any(|object| begin < object.address + object.size && object.address < end)
        }
        _ => true,
    };
    events.iter().map(is_kept).collect()
}

/// The names of locations in objects. A root is called what the code under test calls it, where that is known.
fn names(events: &[Event], places: BTreeMap<usize, Place>, objects: &mut Objects) -> BTreeMap<usize, String> {
    let mut by_code: BTreeMap<usize, &str> = BTreeMap::new();
    for event in events {
        if let (Some(address), Some(name)) = (event.action.address(), &event.name)
            && !name.starts_with("self")
        {
            by_code.entry(address).or_insert(name);
        }
    }
    for (address, place) in &places {
        if let Some(root) = place.root
            && let Some(name) = by_code.get(address).and_then(|name| name.strip_suffix(&place.path))
            && !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        {
            objects.roots[root].name = name.to_owned();
        }
    }
    let name = |(address, place): (usize, Place)| {
        // What the code calls a location of a root is as good.
        if place.root.is_some() && by_code.contains_key(&address) {
            return None;
        }
        let of = place.root.map_or(place.name.as_str(), |root| &objects.roots[root].name);
        Some((address, format!("{of}{}", place.path)))
    };
    places.into_iter().filter_map(name).collect()
}

/// Drops events. The reason for a switch passes to the next event that stays, if that is another thread's than the one before.
fn drop_events(events: &mut Vec<Event>, is_kept: &[bool]) {
    let (mut switch, mut before) = (None, None);
    let mut kept = is_kept.iter();
    events.retain_mut(|event| {
        let is_kept = *kept.next().unwrap_or(&true);
        let reason = switch.take().or(event.switch);
        if is_kept {
            event.switch = reason.filter(|_| before != Some(event.thread));
            before = Some(event.thread);
        } else {
            switch = reason;
        }
        is_kept
    });
}

/// The memory of the running execution.
struct ExecutionMemory {
    memory: Option<Memory>,
    /// The mappings of libraries.
    libraries: Vec<Range<usize>>,
}

impl ExecutionMemory {
    fn new() -> ExecutionMemory {
        let program = std::env::current_exe().unwrap_or_default();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut libraries: Vec<Range<usize>> = Vec::new();
        for line in maps.lines() {
            let mut parts = line.split_ascii_whitespace();
            let range = parts.next().and_then(|range| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
            let Some(range) = range.map(|(start, end)| number(start)..number(end)) else { continue };
            let is_of_library = match parts.nth(4).map(Path::new) {
                Some(file) => file.is_absolute() && file != program,
                // Statics without contents follow the file.
                None => libraries.last().is_some_and(|last| last.end == range.start),
            };
            if is_of_library {
                libraries.push(range);
            }
        }
        ExecutionMemory { memory: Memory::own().ok(), libraries }
    }

    /// Whether objects of the program can lie at an address. Locals that are not initialised yet hold what the engine left on the stack:
    /// pointers into its own memory, and into libraries.
    fn may_hold_objects(&self, address: usize) -> bool {
        !heap::is_of_engine(address) && !self.libraries.iter().any(|library| library.contains(&address))
    }
}

impl Space for ExecutionMemory {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        if !self.may_hold_objects(address as usize) {
            return false;
        }
        if let Some(block) = heap::block_of(address as usize)
            && block.freed_by.is_none()
            && address as usize + bytes.len() <= block.start + block.size
        {
            // SAFETY: the bytes lie in a live block, and no code under test runs meanwhile.
            unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) };
            return true;
        }
        self.memory.as_ref().is_some_and(|memory| memory.read_bytes(address, bytes))
    }

    fn block(&self, address: u64) -> Option<Block> {
        let block = heap::block_of(address as usize)?;
        let (start, size) = (block.start as u64, block.size as u64);
        Some(Block { start, size, freed: block.freed_by.is_some() })
    }
}
