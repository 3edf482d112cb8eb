//! The section "interleaving": a column for each thread, or one list where columns would be too narrow.

use crate::failure::Failure;
use crate::narrative::locations::Locations;
use crate::narrative::rounds;
use crate::narrative::rows::{Row, RowKind, rows};
use crate::narrative::words;
use crate::page::{Line, Page, Paint};

/// The smallest width of a page with columns; below, a list is easier to read.
const MIN_WIDTH: usize = 60;
/// The largest number of columns.
const MAX_COLUMNS: usize = 4;
/// The largest width of a column: neighbours stay close on a wide screen.
const MAX_COLUMN: usize = 44;
/// The smallest distance at which columns can be told apart.
const MIN_COLUMN: usize = 12;
/// The distance at which columns are easy to tell apart.
const COLUMN: usize = 24;
/// The column at which the rule of a context switch ends.
const MAX_RULE: usize = 100;
/// The column at which source lines end in a list.
const LIST_WIDTH: usize = 100;
/// The largest number of rows. The last ones are kept, because they led to the failure.
const MAX_ROWS: usize = 150;
/// The largest number of addresses in the legend; more are left to the failure file.
const MAX_LEGEND: usize = 12;
/// The largest width of the column of source lines.
const MAX_GUTTER: usize = 28;

/// Prints the interleaving of the threads. `numbers` are the numbers of the trace's events, if they are to be printed.
pub(super) fn print(failure: &Failure, numbers: Option<&[usize]>, page: &mut Page) {
    if failure.trace.events.is_empty() {
        return;
    }
    let locations = Locations::of(failure);
    let glyphs = page.style.glyphs();
    let mut rows = rounds::fold(rows(failure, &locations, glyphs.inside));
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
        list(failure, &rows, &threads, &Numbers::of(numbers), page);
    } else {
        columns(failure, &rows, &threads, &Numbers::of(numbers), page);
    }
    legend(&locations, &rows, page);
}

/// The numbers of events, in a column of their own.
struct Numbers<'a> {
    numbers: &'a [usize],
    /// The width of the column; zero if there is none.
    width: usize,
}

impl Numbers<'_> {
    fn of(numbers: Option<&[usize]>) -> Numbers<'_> {
        let numbers = numbers.unwrap_or_default();
        let width = numbers.last().map_or(0, |last| last.to_string().len() + 2);
        Numbers { numbers, width }
    }

    /// The number of a row's first event, as wide as the column.
    fn label(&self, row: &Row) -> String {
        let width = self.width.saturating_sub(2);
        match row.first().and_then(|first| self.numbers.get(first)) {
            Some(number) => format!("{number:>width$}  "),
            None => " ".repeat(self.width),
        }
    }
}

fn columns(failure: &Failure, rows: &[Row], threads: &[u32], numbers: &Numbers<'_>, page: &mut Page) {
    let glyphs = page.style.glyphs();
    let width = page.style.width;
    let gutter =
        rows.iter().filter_map(|row| row.line.as_ref()).map(|line| line.chars().count()).max().unwrap_or(0);
    let gutter = gutter.min(MAX_GUTTER).min(width / 4);
    // Two spaces before the lines of code and two after.
    let left = 2 + numbers.width + gutter + 2;
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
            if number == 0 {
                line.push(Paint::Dim, numbers.label(row));
            }
            // A source line is printed once for consecutive rows.
            if number == 0 && row.line.as_deref() != shown {
                line.push(Paint::Dim, tail(row.line.as_deref().unwrap_or_default(), gutter, glyphs.dots));
            }
            for &thread in threads.iter().take_while(|&&thread| start(thread) < start(row.thread)) {
                line.pad_to(start(thread));
                line.push(Paint::Dim, glyphs.bar);
            }
            line.pad_to(from + if number == 0 { 0 } else { 2 });
            line.append(part);
            // The bars of the columns to the right continue after the text.
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

/// The distance between columns. Each row belongs to one thread, so that its text may run over the columns to the right: columns
/// are narrow enough for the texts of the last ones.
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
    // Every row takes one line if the columns stay apart; otherwise calls take lines of their own.
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

fn list(failure: &Failure, rows: &[Row], threads: &[u32], numbers: &Numbers<'_>, page: &mut Page) {
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
        let left = 2 + numbers.width;
        let indent = left + tag + 3 + indent(row, width);
        let text = body(row);
        // The source line follows the event if there is room, or stands below. It is printed once for consecutive rows.
        let source = row.line.as_deref().filter(|&line| Some(line) != shown).unwrap_or_default();
        shown = row.line.as_deref().or(shown);
        let length = indent + text.width() + source.chars().count();
        let fits = length + 2 <= width;
        let mut parts = text.wrap(width.saturating_sub(indent));
        if let (true, false, Some(line)) = (fits, source.is_empty(), parts.last_mut()) {
            line.push(Paint::Plain, " ".repeat(width.min(LIST_WIDTH).saturating_sub(length).max(2)));
            line.push(Paint::Dim, source);
        } else if !source.is_empty() {
            let source = Line::of(Paint::Dim, format!("at {source}"));
            parts.extend(source.wrap(width.saturating_sub(indent + 2), 0));
        }
        for (number, part) in parts.into_iter().enumerate() {
            let mut line = Line::of(Paint::Plain, "  ");
            if number == 0 {
                line.push(Paint::Dim, numbers.label(row));
                line.push(Paint::ThreadName(row.thread), words::tag(row.thread));
            }
            line.pad_to(left + tag + 1);
            line.push(Paint::Dim, glyphs.bar);
            line.pad_to(indent + if number == 0 { 0 } else { 2 });
            line.append(part);
            page.line(line);
        }
    }
}

/// The indent of a row: two columns for each call, within limits.
fn indent(row: &Row, width: usize) -> usize {
    (2 * row.depth).min(width / 6)
}

fn body(row: &Row) -> Body {
    let paint = match row.kind {
        RowKind::Call | RowKind::Operation => Paint::Bold,
        RowKind::Folded => Paint::Dim,
        RowKind::Panic => Paint::Error,
        RowKind::Event | RowKind::Return | RowKind::Switch => Paint::Thread(row.thread),
    };
    let within = row.within.as_ref().map(|call| Line::of(Paint::Bold, call.clone()).with(Paint::Plain, ":"));
    Body { within, text: Line::of(paint, row.text.clone()) }
}

/// The text of a row, with the call that contains this event only.
struct Body {
    within: Option<Line>,
    text: Line,
}

impl Body {
    fn width(&self) -> usize {
        self.within.as_ref().map_or(0, |within| within.width() + 1) + self.text.width()
    }

    /// The width of the text if the call takes a line of its own.
    fn longest_part(&self) -> usize {
        match &self.within {
            Some(within) => within.width().max(2 + self.text.width()),
            None => self.text.width(),
        }
    }

    /// The text in one line if it fits, or with the call on a line of its own. Lines after the first are to be indented by 2.
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

/// Prints the addresses of the locations that rows mention as `#1`, `#2`, ..., for readers with a debugger.
fn legend(locations: &Locations, rows: &[Row], page: &mut Page) {
    let mut numbered = locations.numbered();
    numbered.retain(|(number, _)| rows.iter().any(|row| row.numbers.contains(number)));
    if numbered.is_empty() || numbered.len() > MAX_LEGEND {
        return;
    }
    let text: Vec<_> =
        numbered.iter().map(|(number, address)| format!("#{number} is {address:#x}")).collect();
    page.wrapped(2, 2, Line::of(Paint::Dim, text.join(", ")));
}

/// The last part of a text that is too long: the end of a path says most.
fn tail(text: &str, width: usize, dots: &str) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(dots.chars().count());
    dots.to_owned() + &text.chars().skip(length - keep).collect::<String>()
}
