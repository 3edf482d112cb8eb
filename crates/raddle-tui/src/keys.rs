//! Keys and their meaning: one table for the handler and the help.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    NextEvent,
    PreviousEvent,
    NextRow,
    PreviousRow,
    PageDown,
    PageUp,
    First,
    Last,
    NextOfThread,
    PreviousOfThread,
    PreviousWrite,
    NextAccess,
    Search,
    NextMatch,
    PreviousMatch,
    Why,
    Accesses,
    Reasons,
    NextPanel,
    ScrollDown,
    ScrollUp,
    Help,
    Close,
    Leave,
}

/// Each command with its keys, as the help prints them, and its meaning.
pub(crate) const HELP: [(&str, &str); 14] = [
    ("→ l space", "next event"),
    ("← h", "previous event"),
    ("↓ j / ↑ k", "next / previous row"),
    ("PgDn / PgUp", "a page of rows"),
    ("Home g / End G", "first / last event"),
    ("t / T", "next / previous event of this thread"),
    ("w", "previous write of this location"),
    ("a", "next access of this location"),
    ("y", "why: where the value came from, what happened before"),
    ("u", "who wrote and read this location"),
    ("r", "the reasons of the failure"),
    ("/ n N", "search; next and previous match"),
    ("Tab [ ]", "next panel on small screens; scroll the panels"),
    ("q Esc", "leave; Esc closes an answer first"),
];

/// The command of a key.
pub(crate) fn command(key: KeyEvent) -> Option<Command> {
    use Command::*;
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c' | 'd')).then_some(Leave);
    }
    Some(match key.code {
        KeyCode::Right | KeyCode::Char('l' | ' ') => NextEvent,
        KeyCode::Left | KeyCode::Char('h') => PreviousEvent,
        KeyCode::Down | KeyCode::Char('j') => NextRow,
        KeyCode::Up | KeyCode::Char('k') => PreviousRow,
        KeyCode::PageDown => PageDown,
        KeyCode::PageUp => PageUp,
        KeyCode::Home | KeyCode::Char('g') => First,
        KeyCode::End | KeyCode::Char('G') => Last,
        KeyCode::Char('t') => NextOfThread,
        KeyCode::Char('T') => PreviousOfThread,
        KeyCode::Char('w') => PreviousWrite,
        KeyCode::Char('a') => NextAccess,
        KeyCode::Char('/') => Search,
        KeyCode::Char('n') => NextMatch,
        KeyCode::Char('N') => PreviousMatch,
        KeyCode::Char('y') | KeyCode::Enter => Why,
        KeyCode::Char('u') => Accesses,
        KeyCode::Char('r') => Reasons,
        KeyCode::Tab => NextPanel,
        KeyCode::Char(']') => ScrollDown,
        KeyCode::Char('[') => ScrollUp,
        KeyCode::Char('?') | KeyCode::F(1) => Help,
        KeyCode::Esc => Close,
        KeyCode::Char('q') => Leave,
        _ => return None,
    })
}
