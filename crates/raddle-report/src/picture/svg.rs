//! The drawing as an SVG image, with a layout of its own: threads are columns, program order goes down, and an event stands below
//! those that it reads from or synchronises with.

use std::fmt::Write as _;

use super::model::{Arrow, ArrowKind, EventBox, Picture};
use crate::page::xml;

/// The width of a character of the monospaced font.
const CHAR: f64 = 7.3;
/// The width of a character of small print.
const SMALL_CHAR: f64 = 6.1;
/// The height of a line of text.
const LINE: f64 = 15.0;
/// The largest number of characters on a line of a box.
const MAX_CHARS: usize = 44;
const PADDING: f64 = 8.0;
/// The gap between columns, where arrows run.
const GAP: f64 = 96.0;
/// The gap between rows.
const ROW_GAP: f64 = 26.0;
const MARGIN: f64 = 20.0;

/// The rectangle of a box.
#[derive(Clone, Copy, Default)]
struct Rect {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Rect {
    fn middle(self) -> f64 {
        self.y + self.height / 2.0
    }

    fn right(self) -> f64 {
        self.x + self.width
    }
}

pub(super) fn svg(picture: &Picture) -> String {
    let texts: Vec<Vec<(String, bool)>> = picture.boxes.iter().map(texts).collect();
    let top = MARGIN + if picture.omitted > 0 { 3.0 } else { 2.0 } * LINE + 14.0;
    let rects = rects(picture, &texts, top);
    let legend: Vec<ArrowKind> = ArrowKind::ALL
        .into_iter()
        .filter(|kind| picture.arrows.iter().any(|arrow| arrow.kind == *kind))
        .collect();
    let bottom = rects.iter().map(|rect| rect.y + rect.height).fold(top, f64::max) + 24.0;
    let longest = legend.iter().map(|kind| kind.meaning().chars().count()).max().unwrap_or(0);
    let wide = picture.title.chars().count() as f64 * CHAR;
    let right = rects.iter().map(|rect| rect.right()).fold(0.0, f64::max);
    let width =
        (right + GAP / 2.0).max(MARGIN + 60.0 + longest as f64 * SMALL_CHAR).max(MARGIN + wide) + MARGIN;
    let height = bottom + legend.len() as f64 * LINE + MARGIN;

    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" font-family=\"ui-monospace, 'DejaVu Sans Mono', monospace\">"
    );
    let _ = writeln!(out, "<title>{}</title>", xml(&format!("Execution graph of {}", picture.title)));
    markers(&mut out, &legend);
    let _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    text(&mut out, MARGIN, MARGIN + 8.0, 12.0, "#222222", "bold", &picture.title);
    if picture.omitted > 0 {
        let omitted = format!("{} events before these are left out", picture.omitted);
        text(&mut out, MARGIN, MARGIN + 8.0 + LINE, 10.0, "#666666", "normal", &omitted);
    }
    for (column, (_, name)) in picture.columns.iter().enumerate() {
        let own = picture.boxes.iter().zip(&rects).find(|(item, _)| item.column == column);
        if let Some((_, rect)) = own {
            text(&mut out, rect.x, top - 12.0, 12.0, "#222222", "bold", name);
        }
    }
    // Boxes are drawn over arrows, and labels over boxes.
    for (number, arrow) in picture.arrows.iter().enumerate() {
        draw_arrow(&mut out, picture, &rects, number, arrow);
    }
    for ((item, rect), lines) in picture.boxes.iter().zip(&rects).zip(&texts) {
        draw_box(&mut out, item, *rect, lines);
    }
    for number in 0..picture.arrows.len() {
        draw_label(&mut out, picture, &rects, number);
    }
    for (at, kind) in legend.iter().enumerate() {
        let y = bottom + at as f64 * LINE;
        let line = format!("M {MARGIN:.1} {y:.1} H {:.1}", MARGIN + 40.0);
        draw_line(&mut out, *kind, &line);
        text(&mut out, MARGIN + 52.0, y + 3.5, 10.0, "#444444", "normal", kind.meaning());
    }
    out.push_str("</svg>\n");
    out
}

/// The lines of a box, each with whether it is small print.
fn texts(item: &EventBox) -> Vec<(String, bool)> {
    let mut lines: Vec<(String, bool)> = wrapped(&item.text).into_iter().map(|line| (line, false)).collect();
    if item.reads_initial {
        lines.push(("the initial value".to_owned(), true));
    }
    lines.extend(item.line.clone().map(|line| (line, true)));
    lines
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("never empty");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > MAX_CHARS {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

/// The rectangle of every box.
fn rects(picture: &Picture, texts: &[Vec<(String, bool)>], top: f64) -> Vec<Rect> {
    let width = |lines: &[(String, bool)]| {
        let widths = lines
            .iter()
            .map(|(line, is_small)| line.chars().count() as f64 * if *is_small { SMALL_CHAR } else { CHAR });
        widths.fold(0.0, f64::max) + 2.0 * PADDING
    };
    let mut left = vec![MARGIN];
    let mut widths = Vec::new();
    for (column, (_, name)) in picture.columns.iter().enumerate() {
        let own = picture.boxes.iter().zip(texts).filter(|(item, _)| item.column == column);
        let widest = own.map(|(_, lines)| width(lines)).fold(name.chars().count() as f64 * CHAR, f64::max);
        widths.push(widest);
        left.push(left[column] + widest + GAP);
    }
    // The row of an event is below those of its po, rf and sw predecessors.
    let mut rows = vec![0_usize; picture.boxes.len()];
    for to in 0..rows.len() {
        let before = picture.arrows.iter().filter(|arrow| {
            arrow.to == to
                && arrow.from < to
                && matches!(arrow.kind, ArrowKind::Po | ArrowKind::Rf | ArrowKind::RfSw | ArrowKind::Sw)
        });
        rows[to] = before.map(|arrow| rows[arrow.from] + 1).max().unwrap_or(0);
    }
    let height = |lines: &[(String, bool)]| lines.len() as f64 * LINE + PADDING;
    let last = rows.iter().copied().max().unwrap_or(0);
    let mut y = vec![top];
    for row in 0..=last {
        let own = rows.iter().zip(texts).filter(|(at, _)| **at == row);
        let highest = own.map(|(_, lines)| height(lines)).fold(0.0, f64::max);
        y.push(y[row] + highest + ROW_GAP);
    }
    let boxes = picture.boxes.iter().zip(&rows).zip(texts);
    let rect = |((item, &row), lines): ((&EventBox, &usize), &Vec<(String, bool)>)| Rect {
        x: left[item.column],
        y: y[row],
        width: widths[item.column],
        height: height(lines),
    };
    boxes.map(rect).collect()
}

fn markers(out: &mut String, kinds: &[ArrowKind]) {
    out.push_str("<defs>\n");
    for kind in kinds.iter().filter(|kind| **kind != ArrowKind::Race) {
        let _ = writeln!(
            out,
            "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto\"><path d=\"M 0 0 L 8 4 L 0 8 z\" fill=\"{}\"/></marker>",
            marker(*kind),
            kind.colour()
        );
    }
    out.push_str("</defs>\n");
}

/// The identifier of the arrowhead.
fn marker(kind: ArrowKind) -> &'static str {
    match kind {
        ArrowKind::Po => "program",
        ArrowKind::Rf => "reads",
        ArrowKind::RfSw => "readsinorder",
        ArrowKind::Sw => "synchronises",
        ArrowKind::Mo => "overwrites",
        ArrowKind::Fr => "misses",
        ArrowKind::Race => "races",
    }
}

fn draw_line(out: &mut String, kind: ArrowKind, path: &str) {
    let dashes = if kind.is_dashed() { " stroke-dasharray=\"5 3\"" } else { "" };
    let width = if kind == ArrowKind::Race { 2.5 } else { 1.4 };
    let end = match kind {
        ArrowKind::Race => String::new(),
        _ => format!(" marker-end=\"url(#{})\"", marker(kind)),
    };
    let _ = writeln!(
        out,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{dashes}{end}/>",
        kind.colour()
    );
}

/// The four control points of an arrow's Bézier curve.
fn curve(picture: &Picture, rects: &[Rect], number: usize) -> [(f64, f64); 4] {
    let Arrow { from, to, kind } = picture.arrows[number];
    let (a, b) = (rects[from], rects[to]);
    if kind == ArrowKind::Po {
        let x = a.x + 18.0;
        return [(x, a.y + a.height), (x, a.y + a.height), (x, b.y), (x, b.y)];
    }
    // The ends of arrows at one box are spread over its height.
    let shift = |at: usize, is_end: bool| {
        let meets = |arrow: &Arrow| arrow.kind != ArrowKind::Po && (arrow.from == at || arrow.to == at);
        let all: Vec<usize> =
            (0..picture.arrows.len()).filter(|&other| meets(&picture.arrows[other])).collect();
        let mine = all.iter().position(|&other| other == number).unwrap_or(0) as f64;
        let room = rects[at].height - 10.0;
        let step = (room / all.len().max(1) as f64).min(10.0);
        let offset = (mine - (all.len() as f64 - 1.0) / 2.0) * step;
        rects[at].middle() + offset + if is_end { 0.5 } else { -0.5 }
    };
    let (start, end) = (shift(from, false), shift(to, true));
    let (columns, bend) = (picture.boxes[from].column.cmp(&picture.boxes[to].column), GAP * 0.55);
    match columns {
        std::cmp::Ordering::Less => {
            [(a.right(), start), (a.right() + bend, start), (b.x - bend, end), (b.x, end)]
        }
        std::cmp::Ordering::Greater => {
            [(a.x, start), (a.x - bend, start), (b.right() + bend, end), (b.right(), end)]
        }
        std::cmp::Ordering::Equal => [
            (a.right(), start),
            (a.right() + bend * 0.8, start),
            (b.right() + bend * 0.8, end),
            (b.right(), end),
        ],
    }
}

fn draw_arrow(out: &mut String, picture: &Picture, rects: &[Rect], number: usize, arrow: &Arrow) {
    let [a, b, c, d] = curve(picture, rects, number);
    let path = match arrow.kind {
        ArrowKind::Po => format!("M {:.1} {:.1} L {:.1} {:.1}", a.0, a.1, d.0, d.1),
        _ => format!(
            "M {:.1} {:.1} C {:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
            a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1
        ),
    };
    draw_line(out, arrow.kind, &path);
}

/// Draws the label of an arrow, with a white outline that keeps it readable over lines.
fn draw_label(out: &mut String, picture: &Picture, rects: &[Rect], number: usize) {
    let Arrow { from, to, kind } = picture.arrows[number];
    if kind.label().is_empty() {
        return;
    }
    let [a, b, c, d] = curve(picture, rects, number);
    // The position along the curve differs by kind, so that labels of crossing arrows do not meet. The label of an arrow over
    // several columns stands in the first gap, where no box is.
    let near = match kind {
        _ if picture.boxes[from].column.abs_diff(picture.boxes[to].column) > 1 => 0.16,
        ArrowKind::Race => 0.5,
        ArrowKind::Fr | ArrowKind::Mo => 0.74,
        _ => 0.26,
    };
    // Labels of arrows between the same boxes are stacked.
    let same = picture.arrows[..number].iter().filter(|other| {
        other.kind != ArrowKind::Po && [(from, to), (to, from)].contains(&(other.from, other.to))
    });
    let at = |p: [f64; 4]| {
        let (t, u) = (near, 1.0 - near);
        u * u * u * p[0] + 3.0 * u * u * t * p[1] + 3.0 * u * t * t * p[2] + t * t * t * p[3]
    };
    let (x, y) = (at([a.0, b.0, c.0, d.0]), at([a.1, b.1, c.1, d.1]) - 3.0 + same.count() as f64 * 11.0);
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"10\" text-anchor=\"middle\" fill=\"{}\" stroke=\"#ffffff\" \
         stroke-width=\"3\" paint-order=\"stroke\">{}</text>",
        kind.colour(),
        xml(kind.label())
    );
}

fn draw_box(out: &mut String, item: &EventBox, rect: Rect, lines: &[(String, bool)]) {
    let (fill, stroke) = if item.is_key { ("#fff3d6", "#c01818") } else { ("#f6f7f9", "#8a8f98") };
    let _ = writeln!(
        out,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
        rect.x, rect.y, rect.width, rect.height
    );
    for (number, (line, is_small)) in lines.iter().enumerate() {
        let y = rect.y + PADDING / 2.0 + (number as f64 + 0.75) * LINE;
        let (size, colour) = if *is_small { (10.0, "#666666") } else { (12.0, "#1a1a1a") };
        text(out, rect.x + PADDING, y, size, colour, "normal", line);
    }
}

fn text(out: &mut String, x: f64, y: f64, size: f64, colour: &str, weight: &str, content: &str) {
    let bold = if weight == "normal" { String::new() } else { format!(" font-weight=\"{weight}\"") };
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{colour}\"{bold} xml:space=\"preserve\">{}</text>",
        xml(&content.replace(['\n', '\t'], " "))
    );
}
