//! The drawing as text: a column for each thread, a number for each event, and its relations in words below it.

use super::NoGraph;
use super::model::{ArrowKind, Picture};
use crate::failure::Failure;
use crate::page::{Line, Page, Paint, Style};

/// The largest distance between columns.
const MAX_COLUMN: usize = 36;
/// The smallest distance between columns: texts may run over the columns to their right.
const MIN_COLUMN: usize = 3;
/// The width reserved for the text of the last column.
const LAST_COLUMN: usize = 24;

/// The execution graph of a failure as text for the terminal.
///
/// # Errors
/// If the failure has no execution graph.
pub fn render_graph(failure: &Failure, style: Style) -> Result<String, NoGraph> {
    let picture = Picture::of(failure)?;
    let mut page = Page::new(style);
    page.wrapped(0, 2, Line::of(Paint::Bold, format!("execution graph of {}", picture.title)));
    if picture.omitted > 0 {
        page.wrapped(
            2,
            2,
            Line::of(Paint::Dim, format!("{} events before these are left out", picture.omitted)),
        );
    }
    let digits = picture.boxes.len().to_string().len();
    let left = 2 + digits + 2;
    let room = page.style.width.saturating_sub(left + LAST_COLUMN);
    let column = (room / picture.columns.len().max(1)).clamp(MIN_COLUMN, MAX_COLUMN);
    let start = |number: usize| left + number * column;
    let mut header = Line::new();
    for (number, (thread, name)) in picture.columns.iter().enumerate() {
        header.pad_to(start(number));
        header.push(Paint::ThreadName(*thread), name.chars().take(column - 1).collect::<String>());
    }
    page.line(header);
    let bar = page.style.glyphs().bar;
    for (number, item) in picture.boxes.iter().enumerate() {
        let thread = picture.columns[item.column].0;
        let paint = if item.is_key { Paint::Bold } else { Paint::Thread(thread) };
        let mut text = Line::of(paint, item.text.clone());
        if let Some(line) = &item.line {
            text.push(Paint::Dim, format!("  {line}"));
        }
        let gutter = |line: &mut Line, number: Option<usize>| {
            line.push(Paint::Plain, "  ");
            if let Some(number) = number {
                line.push(Paint::Dim, format!("{:>digits$}", number + 1));
            }
            for before in 0..item.column {
                line.pad_to(start(before));
                line.push(Paint::Dim, bar);
            }
            line.pad_to(start(item.column));
        };
        let width = page.style.width.saturating_sub(start(item.column));
        for (at, part) in text.wrap(width, 2).into_iter().enumerate() {
            let mut line = Line::new();
            gutter(&mut line, (at == 0).then_some(number));
            line.push(Paint::Plain, if at == 0 { "" } else { "  " });
            line.append(part);
            page.line(line);
        }
        for (paint, what) in relations(&picture, number) {
            for part in Line::of(paint, what).wrap(width.saturating_sub(2), 2) {
                let mut line = Line::new();
                gutter(&mut line, None);
                line.push(Paint::Plain, "  ");
                line.append(part);
                page.line(line);
            }
        }
    }
    Ok(page.finish())
}

/// The relations of an event to others, in words.
fn relations(picture: &Picture, number: usize) -> Vec<(Paint, String)> {
    let mut relations = Vec::new();
    if picture.boxes[number].reads_initial {
        relations.push((Paint::Dim, "reads the initial value".to_owned()));
    }
    for arrow in &picture.arrows {
        let (from, to) = (arrow.from + 1, arrow.to + 1);
        let is_from = arrow.from == number;
        relations.extend(match arrow.kind {
            ArrowKind::Rf if !is_from && arrow.to == number => {
                Some((Paint::Plain, format!("reads {from}, and does not itself synchronise with it")))
            }
            ArrowKind::RfSw if !is_from && arrow.to == number => {
                Some((Paint::Plain, format!("reads {from}, and synchronises with it")))
            }
            ArrowKind::Sw if !is_from && arrow.to == number => {
                Some((Paint::Dim, format!("happens after {from}")))
            }
            ArrowKind::Mo if !is_from && arrow.to == number => {
                Some((Paint::Dim, format!("overwrites {from}")))
            }
            ArrowKind::Fr if is_from => Some((Paint::Error, format!("does not see {to}"))),
            ArrowKind::Race if is_from => Some((Paint::Error, format!("races with {to}"))),
            ArrowKind::Race if arrow.to == number => Some((Paint::Error, format!("races with {from}"))),
            _ => None,
        });
    }
    relations
}
