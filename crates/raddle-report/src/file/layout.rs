//! The layout of failure files: JSON that people can read and version control can compare.

use std::io;

/// A JSON formatter with one line for each field, thread, event and frame.
#[derive(Default)]
pub(super) struct Layout {
    /// For each open container, whether its parts have lines of their own.
    open: Vec<bool>,
    /// The last key, which decides the layout of its value.
    key: String,
    in_key: bool,
}

impl Layout {
    fn begin(&mut self) {
        let lines = match self.open.len() {
            0 => true,
            1 => matches!(self.key.as_str(), "threads" | "scenario" | "trace"),
            2 => matches!(self.key.as_str(), "events" | "frames"),
            _ => false,
        };
        // The parts of a container on one line are on that line, too.
        self.open.push(lines && self.open.last().is_none_or(|&outer| outer));
        self.key.clear();
    }

    fn line<W: ?Sized + io::Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        for _ in &self.open {
            writer.write_all(b" ")?;
        }
        Ok(())
    }

    fn part<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if self.open.last() == Some(&true) { self.line(writer) } else { Ok(()) }
    }

    fn end<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.open.pop() == Some(true) { self.line(writer) } else { Ok(()) }
    }
}

impl serde_json::ser::Formatter for Layout {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin();
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer)?;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.part(writer, first)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin();
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer)?;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.key.clear();
        self.in_key = true;
        self.part(writer, first)
    }

    fn end_object_key<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.in_key = false;
        Ok(())
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.open.last() == Some(&true) { b": " } else { b":" })
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        if self.in_key {
            self.key.push_str(text);
        }
        writer.write_all(text.as_bytes())
    }
}
