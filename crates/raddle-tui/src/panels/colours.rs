//! Colours. Everything that a colour says is also said by a word or a sign.

use ratatui::style::{Color, Modifier, Style};

/// The failure.
pub(crate) const ERROR: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);

/// Secondary text.
pub(crate) const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// The current line.
pub(crate) const CURRENT: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Something that the current event has changed.
pub(crate) const CHANGED: Style = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);

/// The colours of threads, as in the printed report: legible on black and on white.
pub(crate) fn of_thread(thread: u32) -> Style {
    const THREADS: [Option<Color>; 5] =
        [None, Some(Color::Cyan), Some(Color::Yellow), Some(Color::Magenta), Some(Color::Green)];
    match THREADS[thread as usize % THREADS.len()] {
        Some(colour) => Style::new().fg(colour),
        None => Style::new(),
    }
}
