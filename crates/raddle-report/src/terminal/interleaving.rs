//! Where the rows of the interleaving go: a column for each thread, or one list where there is no room for columns.

use crate::failure::Failure;
use crate::narrative::locations::Locations;
use crate::narrative::rows::{Row, RowKind, rows};
use crate::narrative::words;
use crate::page::{Line, Page, Paint};

/// Columns need room; below this width a list is easier to read.
const MIN_WIDTH: usize = 60;
/// More columns than this are too narrow for anything.
const MAX_COLUMNS: usize = 4;
/// A column is never wider than this, so that neighbours stay neighbours on a wide screen.
const MAX_COLUMN: usize = 44;
/// Columns closer than this cannot be told apart.
const MIN_COLUMN: usize = 12;
/// Columns this far apart are easy to tell apart.
const COLUMN: usize = 24;
/// The line that marks a change of threads ends here.
const MAX_RULE: usize = 100;
/// A list names lines of code at this column, so that the eye finds them on a wide screen.
const LIST_WIDTH: usize = 100;
/// The page keeps this many rows: what led to the failure is at the end.
const MAX_ROWS: usize = 150;
/// More addresses than this are looked up in the failure file.
const MAX_LEGEND: usize = 12;
/// The column of source lines is never wider than this.
const MAX_GUTTER: usize = 28;

/// Prints how the threads were interleaved.
pub(super) fn print(failure: &Failure, page: &mut Page) {
    if failure.trace.events.is_empty() {
        return;
    }
    let locations = Locations::of(failure);
    let glyphs = page.style.glyphs();
    let mut rows = rows(failure, &locations, glyphs.inside);
    let cut = rows.len().saturating_sub(MAX_ROWS);
    let omitted = failure.trace.omitted + rows.drain(..cut).map(|row| row.events).sum::<u64>();
    page.blank();
    page.text(Paint::Bold, "interleaving");
    if omitted > 0 {
        let count = words::counted(omitted, "event");
        page.wrapped(
            2,
            2,
            Line::of(Paint::Dim, format!("{0} {count} before this left out {0}", glyphs.dots)),
        );
    }
    let mut threads: Vec<u32> = rows.iter().map(|row| row.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    if page.style.width < MIN_WIDTH || threads.len() > MAX_COLUMNS {
        list(failure, &rows, &threads, page);
    } else {
        columns(failure, &rows, &threads, page);
    }
    legend(&locations, &rows, page);
}

fn columns(failure: &Failure, rows: &[Row], threads: &[u32], page: &mut Page) {
    let glyphs = page.style.glyphs();
    let width = page.style.width;
    let gutter =
        rows.iter().filter_map(|row| row.line.as_ref()).map(|line| line.chars().count()).max().unwrap_or(0);
    let gutter = gutter.min(MAX_GUTTER).min(width / 4);
    // Two spaces before the lines of code and two after.
    let left = 2 + gutter + 2;
    let column = column_width(rows, threads, width - left);
    let start = |thread: u32| left + column * threads.iter().position(|&t| t == thread).unwrap_or(0);

    let mut header = Line::new();
    for &thread in threads {
        header.pad_to(start(thread));
        let name = words::full_name(failure, thread);
        header.push(Paint::ThreadName(thread), name.chars().take(column - 1).collect::<String>());
    }
    page.line(header);
    let right = width.min(MAX_RULE);
    let mut shown: Option<&str> = None;
    for row in rows {
        if row.kind == RowKind::Switch {
            switch(row, left, right, page);
            shown = None;
            continue;
        }
        let from = start(row.thread) + indent(row, width);
        for (number, part) in body(row).wrap(width.saturating_sub(from)).into_iter().enumerate() {
            let mut line = Line::of(Paint::Plain, "  ");
            // A line of code is named once for all that happens there in a row.
            if number == 0 && row.line.as_deref() != shown {
                line.push(Paint::Dim, tail(row.line.as_deref().unwrap_or_default(), gutter, glyphs.dots));
            }
            for &thread in threads.iter().take_while(|&&thread| start(thread) < start(row.thread)) {
                line.pad_to(start(thread));
                line.push(Paint::Dim, glyphs.bar);
            }
            line.pad_to(from + if number == 0 { 0 } else { 2 });
            line.append(part);
            // The lines of the threads to the right go on where the text has ended.
            for &thread in threads.iter().filter(|&&thread| start(thread) > start(row.thread)) {
                if line.width() < start(thread) {
                    line.pad_to(start(thread));
                    line.push(Paint::Dim, glyphs.bar);
                }
            }
            page.line(line);
        }
        shown = row.line.as_deref().or(shown);
    }
}

/// How far apart the columns are. Only one thread acts in a row, so that a text may run over the columns to its right:
/// the columns must be narrow enough for what the last ones have to say.
fn column_width(rows: &[Row], threads: &[u32], room: usize) -> usize {
    let widest = (room / threads.len().max(1)).min(MAX_COLUMN);
    let fitting = |length: fn(&Body) -> usize| {
        let columns = threads.iter().enumerate().skip(1).map(|(number, &thread)| {
            let of_thread = rows.iter().filter(|row| row.thread == thread && row.kind != RowKind::Switch);
            let longest = of_thread.map(|row| indent(row, room) + length(&body(row))).max().unwrap_or(0);
            room.saturating_sub(longest) / number
        });
        columns.min().unwrap_or(widest).min(widest)
    };
    // Every row on one line if that leaves the columns apart, else calls on lines of their own.
    fitting(Body::width).max(fitting(Body::longest_part).min(COLUMN)).max(MIN_COLUMN)
}

fn switch(row: &Row, left: usize, right: usize, page: &mut Page) {
    let glyphs = page.style.glyphs();
    let text = format!("{0}{0} {1} ", glyphs.rule, row.text);
    let length = left + text.chars().count();
    if length > page.style.width {
        let left = left.min(4);
        return page.wrapped(left, 3, Line::of(Paint::Dim, text.trim_end()));
    }
    let rule = glyphs.rule.repeat(right.saturating_sub(length));
    page.line(Line::of(Paint::Plain, " ".repeat(left)).with(Paint::Dim, text + &rule));
}

fn list(failure: &Failure, rows: &[Row], threads: &[u32], page: &mut Page) {
    let glyphs = page.style.glyphs();
    let width = page.style.width;
    let names: Vec<_> = threads
        .iter()
        .filter(|&&thread| failure.threads.get(thread as usize).is_some_and(|t| t.name.is_some()))
        .map(|&thread| words::full_name(failure, thread))
        .collect();
    if !names.is_empty() {
        page.wrapped(2, 0, Line::of(Paint::Dim, format!("threads: {}", names.join(", "))));
    }
    let tag = threads.iter().map(|&thread| words::tag(thread).len()).max().unwrap_or(2);
    let mut shown: Option<&str> = None;
    for row in rows {
        if row.kind == RowKind::Switch {
            switch(row, 2, 0, page);
            shown = None;
            continue;
        }
        let indent = 2 + tag + 3 + indent(row, width);
        let text = body(row);
        // The line of code goes behind the event if there is room, else below it; and is named once for all that
        // happens there in a row.
        let place = row.line.as_deref().filter(|&line| Some(line) != shown).unwrap_or_default();
        shown = row.line.as_deref().or(shown);
        let length = indent + text.width() + place.chars().count();
        let fits = length + 2 <= width;
        let mut parts = text.wrap(width.saturating_sub(indent));
        if let (true, false, Some(line)) = (fits, place.is_empty(), parts.last_mut()) {
            line.push(Paint::Plain, " ".repeat(width.min(LIST_WIDTH).saturating_sub(length).max(2)));
            line.push(Paint::Dim, place);
        } else if !place.is_empty() {
            let place = Line::of(Paint::Dim, format!("at {place}"));
            parts.extend(place.wrap(width.saturating_sub(indent + 2), 0));
        }
        for (number, part) in parts.into_iter().enumerate() {
            let mut line = Line::of(Paint::Plain, "  ");
            if number == 0 {
                line.push(Paint::ThreadName(row.thread), words::tag(row.thread));
            }
            line.pad_to(2 + tag + 1);
            line.push(Paint::Dim, glyphs.bar);
            line.pad_to(indent + if number == 0 { 0 } else { 2 });
            line.append(part);
            page.line(line);
        }
    }
}

/// Two spaces for each call, as long as there is room.
fn indent(row: &Row, width: usize) -> usize {
    (2 * row.depth).min(width / 6)
}

fn body(row: &Row) -> Body {
    let paint = match row.kind {
        RowKind::Call => Paint::Bold,
        RowKind::Folded => Paint::Dim,
        RowKind::Panic => Paint::Error,
        RowKind::Event | RowKind::Switch => Paint::Thread(row.thread),
    };
    let within = row.within.as_ref().map(|call| Line::of(Paint::Bold, call.clone()).with(Paint::Plain, ":"));
    Body { within, text: Line::of(paint, row.text.clone()) }
}

/// The text of a row: what happened, and the call that it alone happened inside of.
struct Body {
    within: Option<Line>,
    text: Line,
}

impl Body {
    fn width(&self) -> usize {
        self.within.as_ref().map_or(0, |within| within.width() + 1) + self.text.width()
    }

    /// The width that it takes if the call has a line of its own.
    fn longest_part(&self) -> usize {
        match &self.within {
            Some(within) => within.width().max(2 + self.text.width()),
            None => self.text.width(),
        }
    }

    /// In one line if it fits, else with the call on a line of its own; lines after the first are to be indented by 2.
    fn wrap(self, width: usize) -> Vec<Line> {
        let fits = self.width() <= width;
        let Some(mut line) = self.within else { return self.text.wrap(width, 2) };
        if fits {
            line.push(Paint::Plain, " ");
            line.append(self.text);
            return vec![line];
        }
        let mut lines = line.wrap(width, 2);
        lines.extend(self.text.wrap(width.saturating_sub(2), 0));
        lines
    }
}

/// The addresses behind `#1`, `#2`, ..., for those who look at memory.
fn legend(locations: &Locations, rows: &[Row], page: &mut Page) {
    let mut numbered = locations.numbered();
    let shown = |number: &str| {
        rows.iter().any(|row| {
            row.text.split('#').skip(1).any(|rest| {
                let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                &rest[..digits] == number
            })
        })
    };
    numbered.retain(|(number, _)| shown(&number.to_string()));
    if numbered.is_empty() || numbered.len() > MAX_LEGEND {
        return;
    }
    let text: Vec<_> =
        numbered.iter().map(|(number, address)| format!("#{number} is {address:#x}")).collect();
    page.wrapped(2, 2, Line::of(Paint::Dim, text.join(", ")));
}

/// The end of a text that is too long: the end of a path tells most.
fn tail(text: &str, width: usize, dots: &str) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(dots.chars().count());
    dots.to_owned() + &text.chars().skip(length - keep).collect::<String>()
}
