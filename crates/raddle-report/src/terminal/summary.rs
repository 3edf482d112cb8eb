//! The first and last sections of the page: headline, blocked threads, replay command.

use std::path::Path;

use crate::failure::{Certainty, Failure, Kind, ThreadEnd};
use crate::narrative::calls::Lines;
use crate::narrative::locations::{Locations, Naming};
use crate::narrative::{ending, words};
use crate::page::{Line, Page, Paint};

/// Prints the class of the failure, its source line and its message.
pub(super) fn headline(failure: &Failure, page: &mut Page) {
    let what = ending::class(failure.kind);
    let test = format!(" in test `{}`", failure.test);
    page.wrapped(0, 2, Line::of(Paint::Error, format!("error: {what}")).with(Paint::Bold, test));
    if let Some((thread, source)) = ending::scene(failure) {
        let arrow = if page.style.unicode { "──▶" } else { "-->" };
        let thread = words::full_name(failure, thread);
        page.wrapped(
            1,
            4,
            Line::of(Paint::Dim, format!("{arrow} ")).with(Paint::Plain, format!("{source}, in {thread}")),
        );
    }
    for line in failure.message.lines() {
        page.wrapped(2, 2, Line::of(Paint::Plain, line));
    }
    if let Certainty::Limit { reason } = &failure.certainty {
        page.wrapped(2, 4, Line::of(Paint::Bold, "not proven: ").with(Paint::Plain, reason.as_str()));
    }
}

/// Prints the states of the unfinished threads, and the cycle of the wait-for graph if there is one.
pub(super) fn threads(failure: &Failure, page: &mut Page) {
    let lines = Lines::of(&failure.trace);
    let unfinished: Vec<(u32, &ThreadEnd)> = failure
        .threads
        .iter()
        .enumerate()
        .map(|(thread, state)| (thread as u32, &state.end))
        .filter(|(_, end)| !matches!(end, ThreadEnd::Finished | ThreadEnd::Panicked))
        .collect();
    // After a panic or memory error the states of other threads explain nothing.
    if unfinished.is_empty() || failure.fault.is_some() || matches!(failure.kind, Kind::Panic) {
        return;
    }
    page.blank();
    let locations = Locations::of(failure);
    let naming = Naming::of(&locations);
    let texts: Vec<_> = unfinished
        .iter()
        .map(|&(thread, end)| (thread, ending::state(failure, thread, end, &naming)))
        .collect();
    let name = texts.iter().map(|(thread, _)| words::full_name(failure, *thread).len()).max().unwrap_or(0);
    let stands: Vec<_> =
        unfinished.iter().map(|&(thread, end)| ending::position(failure, thread, end, &lines)).collect();
    let width = texts.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
    let longest = stands.iter().flatten().map(|source| source.chars().count()).max().unwrap_or(0);
    let aligned = 2 + name + 2 + width + 2 + longest <= page.style.width;
    for ((thread, text), source) in texts.into_iter().zip(stands) {
        let mut line = Line::of(Paint::ThreadName(thread), words::full_name(failure, thread));
        line.pad_to(name + 2);
        line.push(Paint::Plain, text);
        if let Some(source) = source {
            if aligned {
                line.pad_to(name + 2 + width + 2);
            } else {
                line.push(Paint::Plain, ", ");
            }
            line.push(Paint::Dim, source);
        }
        page.wrapped(2, name + 2, line);
    }
    if let Some(cycle) = ending::wait_cycle(failure, &naming) {
        let arrow = page.style.glyphs().arrow;
        let mut line = Line::of(Paint::Bold, "cycle: ");
        for (thread, lock) in &cycle {
            line.push(Paint::ThreadName(*thread), words::tag(*thread));
            line.push(Paint::Plain, format!(" {arrow} "));
            if let Some(lock) = lock {
                line.push(Paint::Plain, format!("{lock} {arrow} "));
            }
        }
        line.push(Paint::ThreadName(cycle[0].0), words::tag(cycle[0].0));
        page.wrapped(2, 4, line);
    }
}

/// Prints the search that found the failure, and the command that replays it.
pub(super) fn how_to_replay(failure: &Failure, file: Option<&Path>, page: &mut Page) {
    let found = &failure.found_by;
    page.blank();
    let text = format!(
        "strategy {}{}, seed {}, execution {}",
        found.strategy,
        found.memory.as_ref().map(|memory| format!(", memory {memory}")).unwrap_or_default(),
        found.seed,
        words::counted(found.execution, "").trim_end_matches(['s', ' '])
    );
    page.wrapped(0, 10, Line::of(Paint::Bold, "found by: ").with(Paint::Plain, text));
    if found.is_stress() {
        let text = "no schedule: found on real threads; run `cargo raddle test` to search for one";
        page.wrapped(0, 10, Line::of(Paint::Bold, "replay:   ").with(Paint::Plain, text));
    } else if let Some(text) = file.and_then(|file| ending::replay_command(failure, file)) {
        // Not wrapped, so that it can be copied.
        page.line(Line::of(Paint::Bold, "replay:   ").with(Paint::Plain, text));
    }
}
