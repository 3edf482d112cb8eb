//! The removal of rows that add nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::rows::{Row, RowKind};
use super::words::{REASON, begins};

/// Merges and removes rows that add nothing.
pub(super) fn tidy(rows: Vec<Row>) -> Vec<Row> {
    without_repetition(without_idle_switches(one_row_for_quiet_operations(one_row_for_one_event(rows))))
}

/// Merges the call and the return of an operation without visible events.
fn one_row_for_quiet_operations(rows: Vec<Row>) -> Vec<Row> {
    let mut kept: Vec<Row> = Vec::with_capacity(rows.len());
    for mut row in rows {
        // From the operation's return back to its call, over folded events.
        let quiet =
            kept.iter().rev().take_while(|last| last.kind == RowKind::Folded && last.thread == row.thread);
        let call = kept.len().checked_sub(quiet.count() + 1).map(|at| (at, &kept[at]));
        if let Some((at, call)) = call
            && (row.kind, call.kind) == (RowKind::Return, RowKind::Operation)
            && (row.thread, row.depth) == (call.thread, call.depth)
        {
            row.line = call.line.clone();
            row.span.start = call.span.start;
            row.events += kept.drain(at..).map(|row| row.events).sum::<u64>();
        }
        kept.push(row);
    }
    kept
}

/// Merges a call with the only event inside it.
fn one_row_for_one_event(rows: Vec<Row>) -> Vec<Row> {
    let mut merged: Vec<Row> = Vec::with_capacity(rows.len());
    // The depths of each thread's next row and of the one after it, seen from the end.
    let mut ahead: BTreeMap<u32, (Option<usize>, Option<usize>)> = BTreeMap::new();
    for row in rows.into_iter().rev() {
        let (next, after) = ahead.entry(row.thread).or_default();
        if let (RowKind::Call, 0, Some(inside)) = (row.kind, row.events, merged.last_mut())
            && matches!(inside.kind, RowKind::Event | RowKind::Return | RowKind::Panic)
            && inside.within.is_none()
            && (inside.thread, inside.depth) == (row.thread, row.depth + 1)
            && after.is_none_or(|after| after <= row.depth)
        {
            inside.within = Some(row.text);
            inside.depth = row.depth;
            *next = Some(row.depth);
            continue;
        }
        if row.kind != RowKind::Switch {
            (*next, *after) = (Some(row.depth), *next);
        }
        merged.push(row);
    }
    merged.reverse();
    merged
}

/// Removes context switches to threads without a visible event before the next switch. The next switch then has the reason why the
/// thread that was seen last does not go on, and a thread begins where it is seen first.
fn without_idle_switches(rows: Vec<Row>) -> Vec<Row> {
    let mut kept: Vec<Row> = Vec::with_capacity(rows.len());
    let mut begun_unseen = BTreeSet::new();
    for mut row in rows {
        let is_switch = |row: &Row| row.kind == RowKind::Switch;
        if is_switch(&row)
            && let Some(idle) = kept.pop_if(|last| last.kind == RowKind::Switch)
        {
            if idle.text.starts_with(&begins(idle.thread)) {
                begun_unseen.insert(idle.thread);
            }
            let (to, _) = parts(&row.text);
            row.text = match parts(&idle.text).1 {
                Some(reason) => format!("{to}{REASON}{reason}"),
                None => to.to_owned(),
            };
            row.numbers = idle.numbers;
        }
        if is_switch(&row) && kept.last().is_some_and(|last| last.thread == row.thread) {
            continue;
        }
        if is_switch(&row) && begun_unseen.contains(&row.thread) {
            let reason = parts(&row.text).1.map(|reason| format!("{REASON}{reason}"));
            row.text = format!("{}{}", begins(row.thread), reason.unwrap_or_default());
        }
        if !is_switch(&row) {
            begun_unseen.remove(&row.thread);
        }
        kept.push(row);
    }
    kept
}

/// The target of a context switch, and the reason.
fn parts(text: &str) -> (&str, Option<&str>) {
    text.split_once(REASON).map_or((text, None), |(to, reason)| (to, Some(reason)))
}

/// Merges equal consecutive events, such as the reads of a spinloop.
fn without_repetition(rows: Vec<Row>) -> Vec<Row> {
    let same = |a: &Row, b: &Row| {
        matches!(a.kind, RowKind::Event | RowKind::Return)
            && a.kind == b.kind
            && (a.thread, a.depth, &a.within, &a.text, &a.line)
                == (b.thread, b.depth, &b.within, &b.text, &b.line)
    };
    let mut kept = Vec::with_capacity(rows.len());
    for run in rows.chunk_by(same) {
        let mut row = run[0].clone();
        if run.len() > 1 {
            row.text = format!("{} ({} times)", row.text, run.len());
            row.events = run.iter().map(|row| row.events).sum();
            row.span.end = run[run.len() - 1].span.end;
        }
        kept.push(row);
    }
    kept
}
