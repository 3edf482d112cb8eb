//! The interleaving as rows, independent of their layout.
//!
//! A call has a row only if an event inside it concerns other threads; consecutive events that concern their own thread only are
//! folded into one row.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::calls::{Calls, Level, Lines, calls};
use super::dependencies;
use super::interest::{Interest, interest};
use super::locations::{Locations, Naming};
use super::tidy;
use super::words::{self, Spelling};
use crate::failure::{Action, Event, Failure, Kind, Switch, ThreadEnd, Trace};

/// One row of the interleaving.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) kind: RowKind,
    pub(crate) thread: u32,
    /// The number of enclosing calls that have rows.
    pub(crate) depth: usize,
    /// The call that contains this event only.
    pub(crate) within: Option<String>,
    pub(crate) text: String,
    /// The numbers of the locations that the text mentions as `#1`.
    pub(crate) numbers: BTreeSet<usize>,
    /// The source line.
    pub(crate) line: Option<String>,
    /// The number of events that the row represents.
    pub(crate) events: u64,
    /// The events from the first to the last that the row represents, all of one thread. Calls and context switches represent
    /// none, and stand before the event at which their span begins.
    pub(crate) span: Range<usize>,
}

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// The call of a function; the rows inside it are one deeper.
    Call,
    /// The call of a scenario's operation; the rows inside it are one deeper.
    Operation,
    /// The return of a scenario's operation.
    Return,
    Event,
    /// Events that concern no other thread.
    Folded,
    Panic,
    /// A context switch; `thread` is the new one.
    Switch,
}

/// A text, and the numbers of the locations that it mentions.
#[derive(Clone, Debug)]
struct Phrase {
    text: String,
    numbers: BTreeSet<usize>,
}

impl Phrase {
    fn of(locations: &Locations, text: impl FnOnce(&Naming<'_>) -> String) -> Phrase {
        let naming = Naming::of(locations);
        let text = text(&naming);
        Phrase { text, numbers: naming.into_mentioned() }
    }
}

impl From<String> for Phrase {
    fn from(text: String) -> Phrase {
        Phrase { text, numbers: BTreeSet::new() }
    }
}

/// The rows of a failure's trace. `inside` separates the functions of a row for several calls.
pub(crate) fn rows(failure: &Failure, locations: &Locations, inside: &str) -> Vec<Row> {
    if !failure.trace.events.iter().any(Event::is_plain_write) {
        return rows_of_steps(failure, locations, inside);
    }
    let events = &failure.trace.events;
    let kept: Vec<usize> = (0..events.len()).filter(|&event| !events[event].is_plain_write()).collect();
    let mut rows = rows_of_steps(&without_plain_writes(failure), locations, inside);
    for row in &mut rows {
        let first = kept.get(row.span.start).copied().unwrap_or(events.len());
        let end = if row.span.is_empty() { first } else { kept[row.span.end - 1] + 1 };
        row.span = first..end;
    }
    rows
}

/// The rows of a trace without plain writes.
fn rows_of_steps(failure: &Failure, locations: &Locations, inside: &str) -> Vec<Row> {
    let trace = &failure.trace;
    let lines = Lines::of(trace);
    let mut around: Vec<Calls> = trace.events.iter().map(|event| calls(trace, event.at, &lines)).collect();
    dependencies::fold(failure, &mut around);
    let mut texts = Vec::with_capacity(around.len());
    for (event, calls) in trace.events.iter().zip(&mut around) {
        let text = |naming: &Naming<'_>| words::event(&event.action, calls, naming, Spelling::Interleaved);
        texts.push(Phrase::of(locations, text));
        if words::meaning(&event.action, calls, &Naming::of(locations)).is_some() {
            // The text says what the call was for.
            calls.levels.truncate(calls.own);
        }
    }
    let interest = interest(failure, &around, locations);
    let bases = bases(&trace.events, &around);
    let mut builder = Builder {
        failure,
        locations,
        around,
        texts,
        bases,
        threads: BTreeMap::new(),
        rows: Vec::new(),
        inside,
    };
    let mut at = 0;
    while at < trace.events.len() {
        let thread = trace.events[at].thread;
        builder.switch(at);
        let run = trace.events[at..].iter().zip(&interest[at..]);
        let run = run
            .take_while(|(other, interest)| other.thread == thread && **interest != Interest::Shown)
            .count();
        let plumbing = |at: usize| {
            let looks = matches!(trace.events[at].action, Action::Load { .. } | Action::Fence { .. });
            let wakes = matches!(trace.events[at].action, Action::Wake { .. } | Action::Woken { .. });
            let around = &builder.around[at];
            interest[at] == Interest::Own && (looks && around.is_in_std() || wakes && around.ends_scope)
        };
        if run > 0 && (at..at + run).all(plumbing) {
            // Reads inside a lock of std that take no part in locking have no row, nor has the end of a scope.
            at += run;
        } else if run >= 2 || !matches!(interest[at], Interest::Shown | Interest::Own) {
            builder.folded(at, &interest[at..at + run]);
            at += run;
        } else {
            builder.event(at);
            at += 1;
        }
    }
    builder.still_waiting();
    tidy::tidy(builder.rows)
}

/// The failure without plain writes, which have no rows and count for nothing.
fn without_plain_writes(failure: &Failure) -> Failure {
    let mut events: Vec<Event> = Vec::new();
    let mut switch = None;
    for event in &failure.trace.events {
        let reason = switch.take().or(event.switch);
        if event.is_plain_write() {
            switch = reason;
        } else {
            // The write may have been all that another thread did.
            let reason = reason.filter(|_| events.last().is_none_or(|last| last.thread != event.thread));
            events.push(Event { switch: reason, changes: Vec::new(), ..event.clone() });
        }
    }
    let trace = Trace { events, ..failure.trace.clone() };
    Failure { trace, ..failure.clone() }
}

/// For each event, the number of outer calls without a row: the function that its thread began in and closures within that, or the
/// function of the operation, which has a row already.
fn bases(events: &[Event], around: &[Calls]) -> Vec<usize> {
    // Each operation is a part of its thread; part 0 is everything outside of operations.
    let mut parts = Vec::with_capacity(events.len());
    let mut current: BTreeMap<u32, usize> = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let part = current.entry(event.thread).or_default();
        match event.action {
            Action::Call { .. } => *part = at + 1,
            Action::Return { .. } => *part = 0,
            _ => {}
        }
        parts.push((event.thread, *part));
    }
    // The calls around all events of a part.
    let mut common: BTreeMap<(u32, usize), &[Level]> = BTreeMap::new();
    let mut always_deeper: BTreeMap<(u32, usize), bool> = BTreeMap::new();
    for ((part, calls), event) in parts.iter().zip(around).zip(events) {
        // The event `Call` is outside of its operation.
        if calls.own == 0 || matches!(event.action, Action::Call { .. }) {
            continue;
        }
        let own = &calls.levels[..calls.own];
        let base = common.entry(*part).or_insert(own);
        *base = &base[..base.iter().zip(own).take_while(|(a, b)| a.function == b.function).count()];
        *always_deeper.entry(*part).or_insert(true) &= own.len() > 1;
    }
    let base = |part: &(u32, usize)| {
        let Some(base) = common.get(part) else { return 0 };
        if part.1 > 0 {
            return usize::from(always_deeper[part]).min(base.len());
        }
        let closures = base.iter().skip(1).take_while(|level| level.function.ends_with("{closure}")).count();
        base.len().min(1 + closures)
    };
    parts.iter().map(base).collect()
}

struct Builder<'a> {
    failure: &'a Failure,
    locations: &'a Locations,
    /// The calls around each event.
    around: Vec<Calls>,
    /// Each event in words.
    texts: Vec<Phrase>,
    /// The number of outer calls without a row, for each event.
    bases: Vec<usize>,
    threads: BTreeMap<u32, Open>,
    rows: Vec<Row>,
    inside: &'a str,
}

/// The calls and operations of a thread that have rows and have not returned.
#[derive(Default)]
struct Open {
    /// The calls around the last event, without its base.
    levels: Vec<Level>,
    /// For each row of calls, the number of levels up to and including its own.
    reach: Vec<usize>,
    /// The number of operations that have not returned.
    operations: usize,
}

impl Open {
    fn depth(&self) -> usize {
        self.operations + self.reach.len()
    }
}

impl Row {
    /// The first event of the row, if the row represents any.
    pub(crate) fn first(&self) -> Option<usize> {
        (!self.span.is_empty()).then_some(self.span.start)
    }
}

impl Builder<'_> {
    /// Adds a row for the context switch before an event, if there is one.
    fn switch(&mut self, at: usize) {
        let events = &self.failure.trace.events;
        let event = &events[at];
        if at > 0 && events[at - 1].thread != event.thread {
            let text = Phrase::of(self.locations, |naming| {
                words::switch(self.failure, at, &self.around[at - 1], naming)
            });
            self.push(RowKind::Switch, event.thread, 0, text, None, at..at);
        }
    }

    fn event(&mut self, at: usize) {
        let events = &self.failure.trace.events;
        let event = &events[at];
        let thread = event.thread;
        let text = self.texts[at].clone();
        let line = self.around[at].line.clone();
        let kind = match &event.action {
            Action::Call { .. } => {
                self.close_all(thread);
                let depth = self.depth(thread);
                self.push(RowKind::Operation, thread, depth, text, line, at..at + 1);
                self.threads.entry(thread).or_default().operations += 1;
                return;
            }
            Action::Return { .. } => {
                self.close_all(thread);
                let open = self.threads.entry(thread).or_default();
                open.operations = open.operations.saturating_sub(1);
                RowKind::Return
            }
            Action::Begin | Action::End => {
                self.close_all(thread);
                // The row of the context switch says the same, or that of the panic.
                let end = self.failure.threads.get(thread as usize).map(|thread| &thread.end);
                let is_redundant = match (&event.action, events.get(at + 1)) {
                    (Action::Begin, _) => at == 0 || events[at - 1].thread != thread,
                    (_, Some(next)) => next.switch == Some(Switch::Finished),
                    (_, None) => end == Some(&ThreadEnd::Panicked),
                };
                if is_redundant {
                    return;
                }
                RowKind::Event
            }
            action => {
                if !self.around[at].levels.is_empty() {
                    self.open(at, at, self.beyond_base(at));
                }
                if matches!(action, Action::Panic { .. }) { RowKind::Panic } else { RowKind::Event }
            }
        };
        let depth = self.depth(thread);
        self.push(kind, thread, depth, text, line, at..at + 1);
    }

    /// Adds a row for events that concern no other thread, named after their common call.
    fn folded(&mut self, at: usize, interest: &[Interest]) {
        let run = interest.len();
        let all = |one: Interest| interest.iter().all(|interest| *interest == one);
        let thread = self.failure.trace.events[at].thread;
        let first = self.beyond_base(at);
        let mut same = first.len();
        for other in at + 1..at + run {
            same = common(&first[..same], &self.beyond_base(other));
        }
        // Calls that are open, or that contain later events, have rows of their own.
        let known = self.threads.get(&thread).map_or(0, |open| common(&open.levels, &first));
        let next = self
            .next_of_thread(at + run - 1, thread)
            .map_or(0, |next| common(&first, &self.beyond_base(next)));
        let outer = known.max(next).min(same);
        self.open(at + run - 1, at, first[..outer].to_vec());
        let depth = self.depth(thread);
        let count = words::counted(run as u64, "event");
        let line = self.around[at].line.clone();
        let (name, line) = match first[outer..same].first() {
            Some(level) => (format!("{} ", level.function), level.called_at.clone().or(line)),
            None => (String::new(), line),
        };
        let text = match () {
            () if all(Interest::Unwinding) => format!("({count} while unwinding)"),
            () if all(Interest::Before) => format!("{name}({count}, no other thread yet)"),
            () if interest.contains(&Interest::Inside) => {
                let names = self.around[at..at + run].iter().filter_map(|calls| calls.inside.as_deref());
                let names: Vec<&str> = names.collect::<BTreeSet<_>>().into_iter().collect();
                format!("{name}({count} inside {})", names.join(", "))
            }
            () if all(Interest::Count) && run == 1 && !name.is_empty() => name.trim_end().to_owned(),
            () if all(Interest::Count) => format!("{name}({count}, counting handles)"),
            () => format!("{name}({count}, nothing shared)"),
        };
        self.push(RowKind::Folded, thread, depth, text.into(), line, at..at + run);
    }

    /// Adds rows for the threads that are blocked at the end and whose last event is no wait.
    fn still_waiting(&mut self) {
        if !matches!(self.failure.kind, Kind::Deadlock | Kind::Livelock) {
            return;
        }
        for (thread, state) in self.failure.threads.iter().enumerate() {
            let ThreadEnd::Waiting { on, awaited, at, .. } = &state.end else { continue };
            let last = self.failure.trace.events.iter().rev().find(|event| event.thread as usize == thread);
            let Some(last) = last.filter(|last| !matches!(last.action, Action::Wait { .. })) else {
                continue;
            };
            // The line of the last event has been shown.
            let line = at.filter(|_| last.at != *at).and_then(|at| {
                let lines = Lines::of(&self.failure.trace);
                calls(&self.failure.trace, Some(at), &lines).line
            });
            let text = Phrase::of(self.locations, |naming| {
                format!("waits for {}", words::target(on, awaited.as_ref(), naming))
            });
            let end = self.failure.trace.events.len();
            self.push(RowKind::Event, thread as u32, 0, text, line, end..end);
        }
    }

    fn beyond_base(&self, at: usize) -> Vec<Level> {
        let levels = &self.around[at].levels;
        levels[self.bases[at].min(levels.len())..].to_vec()
    }

    /// Closes the calls that returned before an event, and adds a row for the new ones; two rows if a later event is inside some
    /// of them only. The rows stand before the event `first`.
    fn open(&mut self, at: usize, first: usize, levels: Vec<Level>) {
        let thread = self.failure.trace.events[at].thread;
        let open = self.threads.entry(thread).or_default();
        let same = common(&open.levels, &levels);
        while open.reach.last().is_some_and(|&reach| reach > same) {
            open.reach.pop();
        }
        let from = open.reach.last().copied().unwrap_or(0);
        open.levels = levels.clone();
        if from == levels.len() {
            return;
        }
        let split = self.returns_to(at, &levels).filter(|split| (from + 1..levels.len()).contains(split));
        for (from, to) in
            [(from, split.unwrap_or(levels.len())), (split.unwrap_or(levels.len()), levels.len())]
        {
            if from == to {
                continue;
            }
            let functions: Vec<&str> = levels[from..to].iter().map(|level| level.function.as_str()).collect();
            let text = functions.join(&format!(" {} ", self.inside));
            let depth = self.depth(thread);
            let line = levels[from].called_at.clone();
            self.push(RowKind::Call, thread, depth, text.into(), line, first..first);
            self.threads.entry(thread).or_default().reach.push(to);
        }
    }

    /// The number of calls around an event that also contain the thread's next event outside of the innermost one.
    fn returns_to(&self, at: usize, levels: &[Level]) -> Option<usize> {
        let thread = self.failure.trace.events[at].thread;
        let mut at = at;
        loop {
            at = self.next_of_thread(at, thread)?;
            let same = common(levels, &self.beyond_base(at));
            if same < levels.len() {
                return Some(same);
            }
        }
    }

    /// The thread's next event with a known call stack, within the same operation.
    fn next_of_thread(&self, at: usize, thread: u32) -> Option<usize> {
        let events = self.failure.trace.events[at + 1..].iter().zip(&self.around[at + 1..]);
        let ahead = events.take_while(|(event, _)| {
            event.thread != thread || !matches!(event.action, Action::Call { .. } | Action::Return { .. })
        });
        let mut ahead = ahead.enumerate();
        let found = ahead.find(|(_, (event, calls))| event.thread == thread && !calls.levels.is_empty());
        found.map(|(after, _)| at + 1 + after)
    }

    fn close_all(&mut self, thread: u32) {
        let open = self.threads.entry(thread).or_default();
        open.levels.clear();
        open.reach.clear();
    }

    fn depth(&self, thread: u32) -> usize {
        self.threads.get(&thread).map_or(0, Open::depth)
    }

    fn push(
        &mut self,
        kind: RowKind,
        thread: u32,
        depth: usize,
        phrase: Phrase,
        line: Option<String>,
        span: Range<usize>,
    ) {
        let Phrase { text, numbers } = phrase;
        let events = span.len() as u64;
        self.rows.push(Row { kind, thread, depth, within: None, text, numbers, line, events, span });
    }
}

/// The number of outer calls that two stacks have in common.
fn common(one: &[Level], other: &[Level]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}
