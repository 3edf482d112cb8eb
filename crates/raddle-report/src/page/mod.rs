//! Pages of painted text: lines are made of pieces whose width is known, whatever their colours.

mod style;
#[cfg(any(feature = "export", feature = "picture"))]
mod xml;

pub use style::Style;
#[cfg(any(feature = "export", feature = "picture"))]
pub(crate) use xml::xml;

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    /// The failure.
    Error,
    /// Headings and calls.
    Bold,
    /// Secondary text: source lines, rules.
    Dim,
    /// An event of a thread.
    Thread(u32),
    /// The name of a thread.
    ThreadName(u32),
}

/// A line of text, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line(Vec<(Paint, String)>);

/// A page under construction.
pub(crate) struct Page {
    pub(crate) style: Style,
    out: String,
}

impl Line {
    pub(crate) fn new() -> Line {
        Line::default()
    }

    pub(crate) fn of(paint: Paint, text: impl Into<String>) -> Line {
        Line::new().with(paint, text)
    }

    pub(crate) fn with(mut self, paint: Paint, text: impl Into<String>) -> Line {
        self.push(paint, text);
        self
    }

    pub(crate) fn push(&mut self, paint: Paint, text: impl Into<String>) {
        let text = text.into();
        match self.0.last_mut() {
            Some((last, before)) if *last == paint => before.push_str(&text),
            _ if text.is_empty() => {}
            _ => self.0.push((paint, text)),
        }
    }

    pub(crate) fn append(&mut self, other: Line) {
        for (paint, text) in other.0 {
            self.push(paint, text);
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    pub(crate) fn pad_to(&mut self, width: usize) {
        let now = self.width();
        self.push(Paint::Plain, " ".repeat(width.saturating_sub(now)));
    }

    /// Breaks the line at spaces (or within a word that is too long) into lines of at most `width`, those after the
    /// first of at most `width - indent`.
    pub(crate) fn wrap(self, width: usize, indent: usize) -> Vec<Line> {
        let mut lines = vec![Line::new()];
        let mut room = width.max(1);
        for (paint, text) in self.0 {
            for word in words(&text) {
                let mut word = word;
                let blank = word.trim().is_empty();
                let fits = word.trim_end().chars().count() <= room;
                if !fits && lines.last().is_some_and(|line| line.width() > 0) {
                    lines.push(Line::new());
                    room = width.saturating_sub(indent).max(1);
                    if blank {
                        continue;
                    }
                }
                while word.trim_end().chars().count() > room {
                    let cut = word.char_indices().nth(room).map_or(word.len(), |(at, _)| at);
                    lines.last_mut().expect("never empty").push(paint, &word[..cut]);
                    word = &word[cut..];
                    lines.push(Line::new());
                    room = width.saturating_sub(indent).max(1);
                }
                lines.last_mut().expect("never empty").push(paint, word);
                room = room.saturating_sub(word.chars().count());
            }
        }
        lines
    }
}

impl Page {
    pub(crate) fn new(style: Style) -> Page {
        // A narrower page could hold no word.
        Page { style: Style { width: style.width.max(20), ..style }, out: String::new() }
    }

    pub(crate) fn line(&mut self, line: Line) {
        let mut end = self.out.len();
        for (paint, text) in line.0 {
            self.paint(paint, &text);
            if !text.trim_end().is_empty() {
                end = self.out.len();
            }
        }
        // Spaces at the end of a line are removed, except those inside a coloured piece.
        self.out.truncate(end);
        let trimmed = self.out.trim_end_matches(' ').len();
        self.out.truncate(trimmed);
        self.out.push('\n');
    }

    pub(crate) fn text(&mut self, paint: Paint, text: impl Into<String>) {
        self.line(Line::of(paint, text));
    }

    pub(crate) fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Adds an indented line, wrapped at the width of the page; continuation lines have a hanging indent.
    pub(crate) fn wrapped(&mut self, indent: usize, hanging: usize, line: Line) {
        let hanging = hanging.min(self.style.width / 3);
        let width = self.style.width.saturating_sub(indent);
        for (number, part) in line.wrap(width, hanging).into_iter().enumerate() {
            let indent = if number == 0 { indent } else { indent + hanging };
            let mut whole = Line::of(Paint::Plain, " ".repeat(indent));
            whole.append(part);
            self.line(whole);
        }
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    fn paint(&mut self, paint: Paint, text: &str) {
        let code = match paint {
            Paint::Plain => "",
            Paint::Error => "1;31",
            Paint::Bold => "1",
            Paint::Dim => "2",
            Paint::Thread(thread) => THREADS[thread as usize % THREADS.len()].0,
            Paint::ThreadName(thread) => THREADS[thread as usize % THREADS.len()].1,
        };
        if self.style.colour && !code.is_empty() && !text.trim().is_empty() {
            self.out.push_str(&format!("\x1b[{code}m{text}\x1b[0m"));
        } else {
            self.out.push_str(text);
        }
    }
}

/// The colours of threads and of their names, legible on black and on white; red is kept for errors.
const THREADS: [(&str, &str); 5] =
    [("", "1"), ("36", "1;36"), ("33", "1;33"), ("35", "1;35"), ("32", "1;32")];

/// The words of a text, each with the space that follows it.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// The signs that are not ASCII where the terminal shows Unicode.
pub(crate) struct Glyphs {
    pub(crate) arrow: &'static str,
    pub(crate) rule: &'static str,
    pub(crate) bar: &'static str,
    pub(crate) dots: &'static str,
    pub(crate) inside: &'static str,
    /// The corners and crossings of a table, row by row.
    pub(crate) table: [[&'static str; 3]; 3],
}

impl Style {
    pub(crate) fn glyphs(self) -> Glyphs {
        if self.unicode {
            Glyphs {
                arrow: "→",
                rule: "─",
                bar: "│",
                dots: "…",
                inside: "›",
                table: [["┌", "┬", "┐"], ["├", "┼", "┤"], ["└", "┴", "┘"]],
            }
        } else {
            Glyphs {
                arrow: "->",
                rule: "-",
                bar: "|",
                dots: "...",
                inside: ">",
                table: [["+", "+", "+"], ["+", "+", "+"], ["+", "+", "+"]],
            }
        }
    }
}
