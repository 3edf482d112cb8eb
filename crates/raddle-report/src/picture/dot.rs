//! The drawing in the language of Graphviz, for `dot -Tsvg`.

use std::fmt::Write as _;

use super::model::{ArrowKind, Picture};

pub(super) fn dot(picture: &Picture) -> String {
    let mut out = format!("digraph {} {{\n", quoted(&picture.title));
    out.push_str("  node [shape=box, fontname=\"monospace\", fontsize=11];\n");
    out.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    for (column, (_, name)) in picture.columns.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{column} {{\n    label={};", quoted(name));
        for (number, item) in picture.boxes.iter().enumerate().filter(|(_, item)| item.column == column) {
            let mut label = item.text.clone();
            if item.reads_initial {
                label.push_str("\n(the initial value)");
            }
            if let Some(line) = &item.line {
                label = format!("{label}\n{line}");
            }
            let style =
                if item.is_key { ", style=filled, fillcolor=\"#fff3d6\", color=\"#c01818\"" } else { "" };
            let _ = writeln!(out, "    e{number} [label={}{style}];", quoted(&label));
        }
        out.push_str("  }\n");
    }
    for arrow in &picture.arrows {
        let (label, colour) = (arrow.kind.label(), arrow.kind.colour());
        let mut style = format!("color=\"{colour}\"");
        if !label.is_empty() {
            let _ = write!(style, ", label={}, fontcolor=\"{colour}\"", quoted(label));
        }
        if arrow.kind.is_dashed() {
            style.push_str(", style=dashed");
        }
        match arrow.kind {
            ArrowKind::Po => style.push_str(", weight=10"),
            ArrowKind::Race => style.push_str(", dir=none, penwidth=2, constraint=false"),
            // mo and fr edges may go up as well as down.
            ArrowKind::Fr | ArrowKind::Mo => style.push_str(", constraint=false"),
            _ => {}
        }
        let _ = writeln!(out, "  e{} -> e{} [{style}];", arrow.from, arrow.to);
    }
    out.push_str("}\n");
    out
}

/// A quoted string of the DOT language.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
