//! The objects at the current event, with marks at those that the event changes.

use raddle_report::failure::{Datum, Objects};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::colours;
use crate::app::App;

pub(crate) fn draw(app: &mut App<'_>, frame: &mut Frame<'_>, area: Rect) {
    let lines = match &app.failure.objects {
        Some(objects) if app.current().is_some() => object_lines(app, objects),
        _ => vec![Line::styled("the failure file has no objects", colours::DIM)],
    };
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((app.scroll, 0)), area);
}

fn object_lines(app: &App<'_>, objects: &Objects) -> Vec<Line<'static>> {
    let (values, changed) = (app.history.at(app.event), app.history.changed(app.event));
    let mut lines = Vec::new();
    for (number, (object, value)) in objects.list.iter().zip(&values).enumerate() {
        let Some(value) = value else { continue };
        let number = number as u32;
        let roots = objects.roots.iter().filter(|root| root.object == number);
        let names: String = roots.map(|root| format!("{} ", root.name)).collect();
        let is_changed = changed.contains(&number);
        let is_freed = object.freed.is_some_and(|freed| freed as usize <= app.event);
        let style = match (is_changed, is_freed) {
            (true, _) => colours::CHANGED,
            (_, true) => colours::DIM,
            _ => ratatui::style::Style::new(),
        };
        let text = value.text(&objects.list).to_string();
        // The name of an object begins with its type already.
        let text = match value {
            Datum::Fields { name, .. } => {
                text.strip_prefix(name.as_str()).unwrap_or(&text).trim_start().to_owned()
            }
            _ => text,
        };
        let mark = if is_changed { "▸ " } else { "  " };
        let freed = if is_freed { " (freed)" } else { "" };
        lines.push(Line::from(vec![
            Span::styled(mark, style),
            Span::raw(names),
            Span::styled(format!("{}{freed} ", object.name), style),
            Span::styled(text, style),
        ]));
    }
    lines
}
