//! The screen: panels and where they are.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use crate::app::{App, Panel};
use crate::keys::HELP;
use crate::panels::{colours, source, state, trace};

/// From this width on, source and state stand beside the trace.
const WIDE: u16 = 100;

pub(crate) fn draw(app: &mut App<'_>, frame: &mut Frame<'_>) {
    let areas = Layout::vertical([Constraint::Length(1), Constraint::Min(3), Constraint::Length(1)]);
    let [title, body, status] = areas.areas(frame.area());
    frame.render_widget(heading(app), title);
    if body.width >= WIDE {
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(58), Constraint::Percentage(42)]).areas(body);
        let [above, below] = Layout::vertical([Constraint::Percentage(50); 2]).areas(right);
        panel(app, frame, left, "trace", trace::draw);
        panel(app, frame, above, "source", source::draw);
        panel(app, frame, below, "state", state::draw);
    } else {
        let [above, below] =
            Layout::vertical([Constraint::Percentage(60), Constraint::Percentage(40)]).areas(body);
        panel(app, frame, above, "trace", trace::draw);
        match app.panel {
            Panel::Source => panel(app, frame, below, "source (Tab: state)", source::draw),
            Panel::State => panel(app, frame, below, "state (Tab: source)", state::draw),
        }
    }
    frame.render_widget(status_line(app), status);
    if app.shows_help {
        let width = HELP.iter().map(|(keys, _)| keys.chars().count()).max().unwrap_or_default();
        let lines = HELP.iter().map(|(keys, meaning)| Line::from(format!("{keys:width$}  {meaning}")));
        pop_up(frame, "keys", lines.collect(), 0);
    } else if let Some(answer) = &app.answer {
        pop_up(
            frame,
            "answer ([ and ] scroll, Esc closes)",
            answer.lines().map(Line::raw).collect(),
            app.scroll,
        );
    }
}

/// Draws a panel with its border.
fn panel<'f>(
    app: &mut App<'f>,
    frame: &mut Frame<'_>,
    area: Rect,
    title: &'static str,
    draw: fn(&mut App<'f>, &mut Frame<'_>, Rect),
) {
    let block = Block::bordered().title(title).border_style(Style::new().add_modifier(Modifier::DIM));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    draw(app, frame, inside);
}

fn pop_up(frame: &mut Frame<'_>, title: &str, lines: Vec<Line<'_>>, scroll: u16) {
    let screen = frame.area();
    let longest = lines.iter().map(Line::width).max().unwrap_or_default() as u16;
    let width = (longest + 2).max(title.len() as u16 + 4).min(screen.width);
    let height = (lines.len() as u16 + 2).min(screen.height);
    let area = Rect { x: (screen.width - width) / 2, y: (screen.height - height) / 2, width, height };
    frame.render_widget(Clear, area);
    let text = Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((scroll, 0));
    frame.render_widget(text.block(Block::bordered().title(title)), area);
}

fn heading<'a>(app: &App<'a>) -> Line<'a> {
    let first = app.failure.message.lines().next().unwrap_or_default();
    Line::from(vec![
        Span::styled(app.failure.kind.name(), colours::ERROR),
        Span::raw(" in "),
        Span::styled(app.failure.test.as_str(), Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(": "),
        Span::raw(first),
    ])
}

fn status_line(app: &App<'_>) -> Line<'static> {
    if app.is_typing {
        return Line::from(format!("/{}▏", app.search));
    }
    if let Some(message) = &app.message {
        return Line::from(message.clone());
    }
    let Some(event) = app.current() else { return Line::from("the failure has no events · q: leave") };
    let count = app.failure.trace.events.len();
    let mut line = vec![
        Span::raw(format!("event {} of {count} · ", app.event)),
        Span::styled(format!("T{}", event.thread), colours::of_thread(event.thread)),
        Span::raw(" · ← → events · ↑ ↓ rows · t thread · w write · y why · / search · ? keys · q leave"),
    ];
    if let Some(point) = &app.failure.point_of_no_return
        && app.event as u32 >= point.event
    {
        line.insert(2, Span::styled(" · the failure is unavoidable", colours::ERROR));
    }
    Line::from(line)
}
