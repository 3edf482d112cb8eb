//! The source code around the current event, with the next lines of the other threads.

use std::collections::BTreeMap;

use raddle_report::html::SourceFile;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::colours;
use crate::app::App;

/// A line of source code.
type Position<'a> = (&'a str, u32);

pub(crate) fn draw(app: &mut App<'_>, frame: &mut Frame<'_>, area: Rect) {
    let Some((file, line)) = position(app, app.event) else {
        return say(frame, area, "the event has no line of source code");
    };
    let Some(source) = app.sources.files.iter().find(|source| source.name == file) else {
        return say(frame, area, &format!("{file}:{line} cannot be read"));
    };
    let threads = threads_at(app, file);
    frame.render_widget(Paragraph::new(lines(source, line, &threads, usize::from(area.height))), area);
}

fn say(frame: &mut Frame<'_>, area: Rect, text: &str) {
    frame.render_widget(Line::styled(text.to_owned(), colours::DIM), area);
}

/// The line of the user's code at an event.
fn position<'a>(app: &'a App<'_>, event: usize) -> Option<Position<'a>> {
    let trace = &app.failure.trace;
    let at = trace.events.get(event)?.at?;
    let spot = app.trace.spots.get(at as usize)?.as_ref()?;
    let frame = trace.frames.get(spot.frame as usize)?;
    Some((frame.file.as_deref()?, frame.line?))
}

/// The threads at each line of a file: each thread is at its latest event with a line.
fn threads_at(app: &App<'_>, file: &str) -> BTreeMap<u32, Vec<u32>> {
    let mut threads: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for thread in 0..app.failure.threads.len() as u32 {
        let events = &app.failure.trace.events;
        let latest = (0..=app.event).rev().filter(|&event| events[event].thread == thread);
        let mut positions = latest.filter_map(|event| position(app, event));
        if let Some((_, line)) = positions.next().filter(|(at, _)| *at == file) {
            threads.entry(line).or_default().push(thread);
        }
    }
    threads
}

fn lines<'a>(
    source: &'a SourceFile,
    current: u32,
    threads: &BTreeMap<u32, Vec<u32>>,
    height: usize,
) -> Vec<Line<'a>> {
    let at = source.lines.iter().position(|(number, _)| *number >= current).unwrap_or_default();
    let first = at.saturating_sub(height / 2).min(source.lines.len().saturating_sub(height));
    let shown = source.lines.iter().skip(first).take(height);
    shown
        .map(|(number, text)| {
            let here = threads.get(number).map(Vec::as_slice).unwrap_or_default();
            let marks: String = here.iter().map(|thread| format!("T{thread} ")).collect();
            let colour = here.first().map(|&thread| colours::of_thread(thread)).unwrap_or_default();
            let line = Line::from(vec![
                Span::styled(format!("{marks:>6}"), colour),
                Span::styled(format!("{number:4} "), colours::DIM),
                Span::raw(text.replace('\t', "    ")),
            ]);
            if *number == current { line.style(colours::CURRENT) } else { line }
        })
        .collect()
}
