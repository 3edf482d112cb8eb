//! The interleaving, row by row, with the current event in the middle.

use raddle_report::html::RowView;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::colours;
use crate::app::App;

pub(crate) fn draw(app: &mut App<'_>, frame: &mut Frame<'_>, area: Rect) {
    let height = usize::from(area.height);
    app.page = height.saturating_sub(1).max(1);
    let (rows, current) = (&app.trace.rows, app.row());
    let first = current.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    let source = rows.iter().filter_map(|row| row.line.as_deref()).map(|line| line.chars().count());
    let source = source.max().unwrap_or_default().min(24);
    let lines = rows.iter().enumerate().skip(first).take(height).map(|(number, row)| {
        let line = row_line(row, source, app.failure.threads.len() as u32);
        if number == current { line.style(colours::CURRENT) } else { line }
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), area);
}

fn row_line<'a>(row: &'a RowView, source: usize, threads: u32) -> Line<'a> {
    let style = match row.kind {
        "panic" => colours::ERROR,
        "folded" | "switch" => colours::DIM,
        _ => colours::of_thread(row.thread),
    };
    if row.kind == "switch" {
        return Line::styled(format!("{:source$}  ── {} ──", "", row.text), colours::DIM);
    }
    let place: String = row.line.as_deref().unwrap_or_default().chars().take(source).collect();
    // A column for each thread tells threads apart without colours.
    let columns: String = (0..threads).map(|thread| if thread == row.thread { '●' } else { '·' }).collect();
    let within = row.within.as_deref().map(|within| format!("{within}: ")).unwrap_or_default();
    Line::from(vec![
        Span::styled(format!("{place:source$} "), colours::DIM),
        Span::styled(format!("{columns} "), colours::of_thread(row.thread)),
        Span::styled(format!("T{} ", row.thread), colours::of_thread(row.thread)),
        Span::raw("  ".repeat(row.depth)),
        Span::styled(format!("{within}{}", row.text), style),
    ])
}
