//! Why the execution was possible, in words.

use super::calls::{Lines, calls};
use super::places::Places;
use super::text::{Line, Page, Paint};
use super::words::{self, name};
use crate::failure::Failure;
use crate::graph::cure::{Change, Cure};
use crate::graph::why::{Race, Why};
use crate::graph::{Edge, Effect, Graph, why};

/// Prints what no order of events explains and what a race lacks, each with what would rule it out.
pub(super) fn why_it_could_happen(failure: &Failure, page: &mut Page) {
    let Some(graph) = Graph::of(failure) else { return };
    let why = why(failure, &graph);
    let teller = Teller {
        failure,
        graph: &graph,
        why: &why,
        places: Places::of(failure),
        lines: Lines::of(&failure.trace),
    };
    if why.knots.is_empty() && why.race.is_none() {
        let is_weak = failure.found_by.memory.as_deref() == Some("rc11");
        if is_weak && failure.trace.omitted == 0 && graph.is_straight() {
            page.blank();
            let text = "Weak memory has no part in this: every read sees the newest write.";
            page.wrapped(0, 0, Line::of(Paint::Dim, text));
        }
        return;
    }
    page.blank();
    page.text(Paint::Bold, "why it could happen");
    for (number, (knot, cures)) in why.knots.iter().enumerate() {
        let opening = match number {
            0 => "No order of these steps explains what they read and wrote:",
            _ => "Nor of these:",
        };
        page.wrapped(2, 0, Line::of(Paint::Plain, opening));
        teller.steps(&knot.steps, true, page);
        teller.notes(&knot.steps, true, page);
        teller.cures(cures, "would have ruled this out", page);
    }
    if let Some(race) = &why.race {
        teller.race(race, page);
    }
}

struct Teller<'a> {
    failure: &'a Failure,
    graph: &'a Graph,
    why: &'a Why,
    places: Places,
    lines: Lines,
}

impl Teller<'_> {
    fn race(&self, race: &Race, page: &mut Page) {
        let thread = |event: usize| words::tag(self.graph.nodes[event].thread);
        let Some(way) = &race.way else {
            let (first, second) = (thread(race.first), thread(race.second));
            let text = format!(
                "{second} has read nothing that {first} wrote after its access, so that no memory order could order the \
                 two: one of them has to wait for the other, by a lock for example."
            );
            return page.wrapped(2, 0, Line::of(Paint::Plain, text));
        };
        page.wrapped(
            2,
            0,
            Line::of(Paint::Plain, "Along this way the two accesses could be ordered, but are not:"),
        );
        self.steps(way, false, page);
        self.notes(way, false, page);
        self.cures(&race.cures, "would have ordered them", page);
    }

    /// A row for each step: what it did, where, and what it has to do with the one above.
    fn steps(&self, steps: &[(usize, Edge)], is_closed: bool, page: &mut Page) {
        let rows: Vec<[String; 4]> = (0..steps.len())
            .map(|at| {
                let event = steps[at].0;
                let mut relation = match at.checked_sub(1).map(|before| steps[before].1) {
                    None => String::new(),
                    Some(Edge::Program) => "comes after that".to_owned(),
                    Some(Edge::Read) if self.why.loose.contains(&event) => {
                        "reads that, and does not synchronise".to_owned()
                    }
                    Some(Edge::Read) => "reads that".to_owned(),
                    Some(Edge::Overwritten) => "overwrites that".to_owned(),
                    Some(Edge::Missed) => "is not seen by that".to_owned(),
                    Some(Edge::Synchronised) => "is synchronised with that".to_owned(),
                };
                if is_closed && at + 1 == steps.len() {
                    relation.push_str(match steps[at].1 {
                        Edge::Missed => ", and does not see the first",
                        _ => ", and is overwritten by the first",
                    });
                }
                [
                    words::tag(self.graph.nodes[event].thread),
                    self.act(event),
                    self.line(event).unwrap_or_default(),
                    relation,
                ]
            })
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (act, line) = (4 + width(0) + 2, width(1) + 2);
        let relation = act + line + width(2) + 2;
        let fits = relation + width(3) <= page.style.width;
        for ([tag, what, place, how], &(event, _)) in rows.iter().zip(steps) {
            let thread = self.graph.nodes[event].thread;
            let mut text = Line::of(Paint::Plain, "    ").with(Paint::ThreadName(thread), tag);
            text.pad_to(act);
            if fits {
                text.push(Paint::Thread(thread), what);
                text.pad_to(act + line);
                text.push(Paint::Dim, place);
                text.pad_to(relation);
                text.push(Paint::Plain, how);
                page.line(text);
                continue;
            }
            let mut whole = Line::of(Paint::ThreadName(thread), tag);
            whole.pad_to(width(0) + 2);
            whole.push(Paint::Thread(thread), what);
            if !place.is_empty() {
                whole.push(Paint::Dim, format!(", {place}"));
            }
            page.wrapped(4, width(0) + 4, whole);
            if !how.is_empty() {
                page.wrapped(act + 2, 0, Line::of(Paint::Plain, how));
            }
        }
    }

    /// What is missing where something was read without synchronising, and what only sequential consistency orders.
    fn notes(&self, steps: &[(usize, Edge)], is_closed: bool, page: &mut Page) {
        let mut notes: Vec<String> = Vec::new();
        for at in 0..steps.len() {
            let (event, edge) = steps[at];
            let next = match steps.get(at + 1) {
                Some(&(next, _)) => next,
                None if is_closed => steps[0].0,
                None => break,
            };
            let note = match edge {
                Edge::Read if self.why.loose.contains(&next) => self.loose(event, next),
                Edge::Program if self.is_store_then_load(event, next) => {
                    "Only SeqCst keeps a store before a later load of another place.".to_owned()
                }
                _ => continue,
            };
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        // Where threads hand something on, that is what is missing; nothing else needs to be said.
        if notes.len() > 1 && steps.iter().any(|step| step.1 == Edge::Read) {
            notes.retain(|note| !note.starts_with("Only SeqCst"));
        }
        for note in notes {
            page.wrapped(2, 0, Line::of(Paint::Plain, note));
        }
    }

    /// Why a read does not synchronise with what it reads.
    fn loose(&self, write: usize, read: usize) -> String {
        let at = |event: usize| match self.line(event) {
            Some(line) => format!("the {} at {line}", noun(self.graph.nodes[event].effect)),
            None => format!("T{}'s {}", self.graph.nodes[event].thread, noun(self.graph.nodes[event].effect)),
        };
        let is = |event: usize| format!("{} is {}", at(event), self.order(event));
        let missing = match self.graph.lacks(write, read) {
            (true, true) => format!("{}, and so is the {}", is(write), noun(self.graph.nodes[read].effect)),
            (true, false) => format!("{}, and no fence before it releases", is(write)),
            (false, true) => format!("it is {}, and no fence after it acquires", self.order(read)),
            (false, false) => "there is synchronisation, but not around these steps".to_owned(),
        };
        format!("{} does not synchronise with what it reads: {missing}.", capital(&at(read)))
    }

    fn cures(&self, cures: &[Cure], effect: &str, page: &mut Page) {
        let words: Vec<String> = cures.iter().map(|cure| self.cure(cure)).collect();
        let text = match words.as_slice() {
            [] => "No one or two stronger memory orders or fences at these steps would have ruled this out."
                .to_owned(),
            [one] => format!("{} {effect}.", capital(one)),
            [one, others @ ..] => format!("{} {effect}; so would {}.", capital(one), others.join(", or ")),
        };
        page.wrapped(2, 0, Line::of(Paint::Bold, text));
    }

    fn cure(&self, cure: &Cure) -> String {
        // One order for many places is said once.
        let mut parts: Vec<(String, Vec<String>)> = Vec::new();
        for change in cure {
            let (order, place) = match change {
                Change::Order { events, order } => {
                    let noun = noun(self.graph.nodes[events[0]].effect);
                    let line = self.line(events[0]).unwrap_or_default();
                    (name(*order).to_owned(), format!("the {noun} at {line}"))
                }
                Change::Fence { after, before, order } => {
                    let [from, to] = [*after, before[0]].map(|event| self.line(event).unwrap_or_default());
                    (format!("a fence({})", name(*order)), format!("between {from} and {to}"))
                }
            };
            match parts.iter_mut().find(|part| part.0 == order) {
                Some(part) => part.1.push(place),
                None => parts.push((order, vec![place])),
            }
        }
        let parts: Vec<String> = parts
            .into_iter()
            .map(|(order, places)| {
                let of = if order.starts_with("a fence") { "" } else { "for " };
                format!("{order} {of}{}", list(&places))
            })
            .collect();
        list(&parts)
    }

    fn is_store_then_load(&self, first: usize, second: usize) -> bool {
        let (first, second) = (&self.graph.nodes[first], &self.graph.nodes[second]);
        first.writes.is_some()
            && second.reads.is_some()
            && second.writes.is_none()
            && first.place != second.place
    }

    fn act(&self, event: usize) -> String {
        let event = &self.failure.trace.events[event];
        let around = calls(&self.failure.trace, event.at, &self.lines);
        let locking =
            around.in_std().and_then(|function| words::locking(function, &event.action, &self.places));
        locking.unwrap_or_else(|| words::event_alone(&event.action, &self.places))
    }

    fn line(&self, event: usize) -> Option<String> {
        calls(&self.failure.trace, self.failure.trace.events[event].at, &self.lines).line
    }

    fn order(&self, event: usize) -> &'static str {
        self.graph.nodes[event].effect.order().map_or("not ordered", name)
    }
}

fn noun(effect: Effect) -> &'static str {
    match effect {
        Effect::Load(_) => "load",
        Effect::Store(_) => "store",
        Effect::Rmw(_) => "read-modify-write",
        Effect::Fence(_) => "fence",
        Effect::None => "step",
    }
}

/// `a`, `a and b`, `a, b and c`
fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
