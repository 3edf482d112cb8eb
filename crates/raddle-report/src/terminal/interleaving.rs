//! The rows of the interleaving, before anybody decides where on the page they go.
//!
//! Calls are opened only as far as something happened inside them that concerns other threads; what a thread did to data
//! of its own is folded into one row.

use std::collections::BTreeMap;

use super::calls::{Calls, Level, Lines, calls};
use super::places::{Places, place};
use super::words;
use crate::failure::{Action, Event, Failure};

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) kind: RowKind,
    pub(super) thread: u32,
    /// How many calls it is inside of.
    pub(super) depth: usize,
    pub(super) text: String,
    /// The line of code.
    pub(super) line: Option<String>,
    /// How many events it stands for.
    pub(super) events: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// A call that the rows below it, one deeper, are inside of.
    Call,
    Event,
    /// Events that concern no other thread.
    Folded,
    Panic,
    /// The running thread changes; `thread` is the new one.
    Switch,
}

/// The rows of a failure's trace, in order.
pub(super) fn rows(failure: &Failure, places: &Places, inside: &str) -> Vec<Row> {
    let trace = &failure.trace;
    let lines = Lines::of(trace);
    let around: Vec<Calls> = trace.events.iter().map(|event| calls(trace, event.at, &lines)).collect();
    let mut builder =
        Builder { bases: bases(&trace.events, &around), threads: BTreeMap::new(), rows: Vec::new(), inside };
    let telling: Vec<bool> = {
        let telling = |event: &Event| place_tells(event, places);
        // A failure of one thread alone is told by what it did to its own data.
        let any = trace.events.iter().any(|event| place(&event.action).is_some() && telling(event));
        let last = trace.events.len().saturating_sub(1);
        trace.events.iter().enumerate().map(|(at, event)| !any || at == last || telling(event)).collect()
    };
    let mut at = 0;
    while at < trace.events.len() {
        let event = &trace.events[at];
        if let Some(before) = at.checked_sub(1).map(|before| &trace.events[before])
            && before.thread != event.thread
        {
            let text = words::switch(event.switch, before.thread, event.thread, Some(&before.action), places);
            builder.push(RowKind::Switch, event.thread, 0, text, None, 0);
        }
        let run = trace.events[at..]
            .iter()
            .zip(&telling[at..])
            .take_while(|(other, telling)| other.thread == event.thread && !**telling)
            .count();
        if run >= 2 {
            builder.folded(event.thread, &around[at..at + run]);
            at += run;
        } else {
            builder.event(event, &around[at], words::event(&event.action, places));
            at += 1;
        }
    }
    builder.finish()
}

/// Whether an event concerns more than its own thread.
fn place_tells(event: &Event, places: &Places) -> bool {
    match &event.action {
        Action::Fence { .. } => false,
        action => place(action).is_none_or(|place| places.is_shared(place)),
    }
}

/// For each thread, how many calls are around all its events and tell nothing: the function it began in, and closures
/// within that.
fn bases(events: &[Event], around: &[Calls]) -> BTreeMap<u32, usize> {
    let mut common: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for (event, calls) in events.iter().zip(around) {
        if calls.own == 0 {
            continue;
        }
        let functions: Vec<&str> =
            calls.levels[..calls.own].iter().map(|level| level.function.as_str()).collect();
        common
            .entry(event.thread)
            .and_modify(|base| {
                let same = base.iter().zip(&functions).take_while(|(a, b)| a == b).count();
                base.truncate(same);
            })
            .or_insert(functions);
    }
    let telling = |base: &[&str]| {
        let closures = base.iter().skip(1).take_while(|function| function.ends_with("{closure}")).count();
        base.len().min(1 + closures)
    };
    common.into_iter().map(|(thread, base)| (thread, telling(&base))).collect()
}

struct Builder<'a> {
    bases: BTreeMap<u32, usize>,
    threads: BTreeMap<u32, Open>,
    rows: Vec<Row>,
    inside: &'a str,
}

/// What is open in a thread's column.
#[derive(Default)]
struct Open {
    /// The calls around the last event, without those around all events.
    levels: Vec<Level>,
    /// For each call row that is open, how many levels it reaches.
    reach: Vec<usize>,
    /// Operations of the scenario that have not returned.
    operations: usize,
}

impl Open {
    fn depth(&self) -> usize {
        self.operations + self.reach.len()
    }
}

impl Builder<'_> {
    fn push(
        &mut self,
        kind: RowKind,
        thread: u32,
        depth: usize,
        text: String,
        line: Option<String>,
        events: u64,
    ) {
        self.rows.push(Row { kind, thread, depth, text, line, events });
    }

    fn event(&mut self, event: &Event, calls: &Calls, text: String) {
        let thread = event.thread;
        match &event.action {
            Action::Call { .. } => {
                self.close_all(thread);
                let depth = self.depth(thread);
                self.push(RowKind::Call, thread, depth, text, calls.line.clone(), 1);
                self.threads.entry(thread).or_default().operations += 1;
                return;
            }
            Action::Return { .. } => {
                self.close_all(thread);
                let open = self.threads.entry(thread).or_default();
                open.operations = open.operations.saturating_sub(1);
                let depth = open.depth();
                self.push(RowKind::Event, thread, depth, text, calls.line.clone(), 1);
                return;
            }
            Action::Begin | Action::End => self.close_all(thread),
            _ if calls.levels.is_empty() => {}
            _ => self.open(thread, self.beyond_base(thread, calls)),
        }
        let kind = if matches!(event.action, Action::Panic { .. }) { RowKind::Panic } else { RowKind::Event };
        let depth = self.depth(thread);
        self.push(kind, thread, depth, text, calls.line.clone(), 1);
    }

    /// A row for events that concern no other thread, named after the call they were all inside of.
    fn folded(&mut self, thread: u32, around: &[Calls]) {
        let levels: Vec<_> = around.iter().map(|calls| self.beyond_base(thread, calls)).collect();
        let first = &levels[0];
        let same = levels.iter().skip(1).fold(first.len(), |same, other| {
            first[..same].iter().zip(other).take_while(|(a, b)| a == b).count()
        });
        let open = self.threads.entry(thread).or_default();
        let known = open.levels.iter().zip(first).take_while(|(a, b)| a == b).count().min(same);
        self.open(thread, first[..known].to_vec());
        let depth = self.depth(thread);
        let count = words::counted(around.len() as u64, "event");
        let text = match first[known..same].first() {
            Some(level) => format!("{} ({count}, nothing shared)", level.function),
            None => format!("({count}, nothing shared)"),
        };
        let line = match first[known..same].first() {
            Some(level) => level.called_at.clone().or_else(|| around[0].line.clone()),
            None => around[0].line.clone(),
        };
        self.push(RowKind::Folded, thread, depth, text, line, around.len() as u64);
    }

    fn beyond_base(&self, thread: u32, calls: &Calls) -> Vec<Level> {
        let mut base = self.bases.get(&thread).copied().unwrap_or(0);
        // The operation has a row already: its own function need not have another.
        if base == 0 && calls.own > 1 && self.threads.get(&thread).is_some_and(|open| open.operations > 0) {
            base = 1;
        }
        let base = base.min(calls.levels.len());
        calls.levels[base..].to_vec()
    }

    /// Closes the calls that have been left, and opens those that have been entered, in one row.
    fn open(&mut self, thread: u32, levels: Vec<Level>) {
        let open = self.threads.entry(thread).or_default();
        let same = open.levels.iter().zip(&levels).take_while(|(a, b)| a == b).count();
        while open.reach.last().is_some_and(|&reach| reach > same) {
            open.reach.pop();
        }
        let from = open.reach.last().copied().unwrap_or(0);
        let depth = open.depth();
        let entered: Vec<&str> = levels[from..].iter().map(|level| level.function.as_str()).collect();
        if !entered.is_empty() {
            let line = levels[from].called_at.clone();
            let text = entered.join(&format!(" {} ", self.inside));
            open.reach.push(levels.len());
            open.levels = levels;
            self.push(RowKind::Call, thread, depth, text, line, 0);
        } else {
            open.levels = levels;
        }
    }

    fn close_all(&mut self, thread: u32) {
        let open = self.threads.entry(thread).or_default();
        open.levels.clear();
        open.reach.clear();
    }

    fn depth(&self, thread: u32) -> usize {
        self.threads.get(&thread).map_or(0, Open::depth)
    }

    /// Puts a call and the only thing that happened inside it on one row.
    fn finish(self) -> Vec<Row> {
        let rest = self.rows;
        let mut rows = Vec::new();
        let mut at = 0;
        while at < rest.len() {
            let row = &rest[at];
            if let (RowKind::Call, 0, Some(next)) = (row.kind, row.events, rest.get(at + 1))
                && matches!(next.kind, RowKind::Event | RowKind::Panic)
                && (next.thread, next.depth) == (row.thread, row.depth + 1)
                && rest[at + 2..]
                    .iter()
                    .find(|later| later.thread == row.thread && later.kind != RowKind::Switch)
                    .is_none_or(|later| later.depth <= row.depth)
            {
                let text = format!("{}: {}", row.text, next.text);
                rows.push(Row { text, depth: row.depth, ..next.clone() });
                at += 2;
                continue;
            }
            rows.push(row.clone());
            at += 1;
        }
        rows
    }
}
