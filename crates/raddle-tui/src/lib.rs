//! The report of a failure as a screen in the terminal: trace, source, state of the objects and answers to questions, with steps
//! forwards and backwards.
//!
//! | module | contents |
//! |---|---|
//! | `app` | the position in the trace, and the effect of each key |
//! | `history` | the values of objects at each event |
//! | `keys` | keys and their meaning, for the handler and the help |
//! | `draw` | the screen: panels and where they are |
//! | `panels/` | one panel each: trace, source, state, answers |
//!
//! **Invariant:** this crate shows the failure model and the narrative of `raddle-report`. It decides nothing about a failure.
#![forbid(unsafe_code)]

mod app;
mod draw;
mod history;
mod keys;
mod panels;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal as _};

use raddle_report::Failure;
use raddle_report::html::Sources;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use app::{App, Next};

/// Shows a failure until the user leaves. Standard output must be a terminal.
///
/// # Errors
/// If standard output is no terminal, or the terminal cannot be read.
pub fn browse(failure: &Failure, sources: &Sources) -> io::Result<()> {
    if !io::stdout().is_terminal() {
        return Err(io::Error::other("standard output is no terminal"));
    }
    let mut app = App::new(failure, sources);
    let mut terminal = ratatui::try_init()?;
    let result = run(&mut app, &mut terminal);
    ratatui::restore();
    result
}

fn run(app: &mut App<'_>, terminal: &mut ratatui::DefaultTerminal) -> io::Result<()> {
    loop {
        terminal.draw(|frame| draw::draw(app, frame))?;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match app.press(key) {
                Next::Continue => {}
                Next::Leave => return Ok(()),
            },
            _ => {}
        }
    }
}
