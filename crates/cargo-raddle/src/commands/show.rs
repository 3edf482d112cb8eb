//! `cargo raddle show`: the report of a failure file, or its execution graph.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use raddle_report::{NoGraph, render_graph, to_dot, to_svg};

use crate::cli::ShowArgs;
use crate::error::{Error, Result, exit};
use crate::report;
use crate::terminal::Terminal;

/// Prints what was asked for. Nothing is built or run.
pub(crate) fn show(args: ShowArgs) -> Result<u8> {
    let failure = report::read(&args.file)?;
    let mut terminal = Terminal::new(&args.output);
    terminal.color &= args.to.is_none();
    let no_graph = |error: NoGraph| Error::usage(format!("cannot draw {}: {error}", args.file.display()));
    let text = match () {
        () if args.graph => render_graph(&failure, report::style(&terminal)).map_err(no_graph)?,
        () if args.dot => to_dot(&failure).map_err(no_graph)?,
        () if args.svg => to_svg(&failure).map_err(no_graph)?,
        () => report::render(&failure, &args.file, &terminal),
    };
    match &args.to {
        Some(path) => write_new(path, &text)?,
        None => print!("{text}"),
    }
    Ok(exit::PASSED)
}

/// Writes a new file: what exists is not overwritten.
fn write_new(path: &Path, text: &str) -> Result<()> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::usage(format!(
                "{} exists already, and is not overwritten: give another name, or remove it first",
                path.display()
            )),
            _ => Error::file("create", path)(error),
        })?;
    file.write_all(text.as_bytes()).map_err(Error::file("write", path))
}
