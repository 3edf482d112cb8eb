//! `cargo raddle show`: the report of a failure file as text or as a page, or its execution graph.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use raddle_report::export::{self, state};
use raddle_report::{Failure, NoGraph, file, render_graph, render_numbered, to_dot, to_svg};

use crate::cli::{Format, ShowArgs};
use crate::error::{Error, Result, exit};
use crate::page::{self, Roots};
use crate::report;
use crate::terminal::Terminal;

/// Prints what was asked for. Nothing is built or run.
pub(crate) fn show(args: ShowArgs) -> Result<u8> {
    let failure = report::read(&args.file)?;
    if args.open {
        let written = page::write_beside(&args.file, &Roots::around(&args.file, &failure))?;
        println!("{}", written.display());
        page::open(&written)?;
        return Ok(exit::PASSED);
    }
    if args.interactive {
        return browse(&failure, &args.file);
    }
    let mut terminal = Terminal::new(&args.output);
    terminal.color &= args.to.is_none();
    let no_graph = |error: NoGraph| Error::usage(format!("cannot draw {}: {error}", args.file.display()));
    let text = match () {
        () if args.graph => render_graph(&failure, report::style(&terminal)).map_err(no_graph)?,
        () if args.dot => to_dot(&failure).map_err(no_graph)?,
        () if args.svg => to_svg(&failure).map_err(no_graph)?,
        () if args.html => {
            let roots = Roots::around(&args.file, &failure);
            page::render(failure, &args.file, &roots)
        }
        () if args.numbers => render_numbered(&failure, report::style(&terminal), Some(&args.file)),
        () if args.format.is_some() => in_format(&failure, &args)?,
        () => report::render(&failure, &args.file, &terminal),
    };
    match &args.to {
        Some(path) => write_new(path, &text)?,
        None => print!("{text}"),
    }
    Ok(exit::PASSED)
}

/// Shows a failure as a screen.
fn browse(failure: &Failure, file: &Path) -> Result<u8> {
    if !io::stdout().is_terminal() {
        let hint = "`--interactive` needs a terminal: leave it out to print the report";
        return Err(Error::usage(hint.to_owned()));
    }
    let sources = Roots::around(file, failure).sources(failure);
    raddle_tui::browse(failure, &sources)
        .map_err(|error| Error::usage(format!("cannot use the terminal: {error}")))?;
    Ok(exit::PASSED)
}

/// The failure in a form for other programs.
fn in_format(failure: &Failure, args: &ShowArgs) -> Result<String> {
    let event = args.event;
    let draws = matches!(args.format, Some(Format::StateDot | Format::StateSvg));
    if event.is_some() && !draws {
        return Err(Error::usage("`--event` goes with `--format state-dot` and `--format state-svg` only"));
    }
    let no_state =
        |error: state::NoState| Error::usage(format!("cannot draw {}: {error}", args.file.display()));
    Ok(match args.format {
        Some(Format::Sarif) => export::sarif(failure),
        Some(Format::Mermaid) => export::mermaid(failure),
        Some(Format::Sequence) => export::sequence(failure),
        Some(Format::Perfetto) => export::perfetto(failure),
        Some(Format::StateDot) => state::dot(failure, event).map_err(no_state)?,
        Some(Format::StateSvg) => state::svg(failure, event).map_err(no_state)?,
        Some(Format::Json) | None => failure.to_json(),
    })
}

/// Writes a new file: what exists is not overwritten.
fn write_new(path: &Path, text: &str) -> Result<()> {
    file::write_new(path, text).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::usage(format!(
            "{} exists already, and is not overwritten: give another name, or remove it first",
            path.display()
        )),
        _ => Error::file("create", path)(error),
    })
}
