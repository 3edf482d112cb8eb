//! The objects at an event as a graph: boxes with fields, arrows for pointers.
//!
//! Boxes stand where they stand at every other event: the layout is made from all pointers of the execution.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use super::text::shortened;
use crate::failure::{Change, Datum, Failure, Objects};
use crate::page::xml;

/// The longest text of a value.
const MAX_VALUE: usize = 40;
/// The width of a character, the height of a line, and the gaps of the SVG image.
const CHAR: usize = 8;
const LINE: usize = 18;
const GAP: (usize, usize) = (70, 30);
const MARGIN: usize = 20;

/// The reason why there is no graph, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoState(pub String);

impl std::fmt::Display for NoState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoState {}

/// The state graph after an event (the last one, if none is given), in the language of Graphviz.
pub fn dot(failure: &Failure, event: Option<u32>) -> Result<String, NoState> {
    let graph = StateGraph::at(failure, event)?;
    let mut out = String::from("digraph state {\n  rankdir=LR;\n  node [shape=plain, fontname=monospace];\n");
    let _ = writeln!(out, "  label=\"{}\";", quoted(&graph.title));
    for node in &graph.nodes {
        let style = if node.freed { " BGCOLOR=\"#eeeeee\" COLOR=\"#999999\"" } else { "" };
        let name = if node.freed { format!("{} (freed)", node.title) } else { node.title.clone() };
        let _ = write!(
            out,
            "  n{} [label=<<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\"{style}><TR><TD COLSPAN=\"2\"><B>{}</B></TD></TR>",
            node.object,
            xml(&name)
        );
        for (row, field) in node.fields.iter().enumerate() {
            let changed = if field.changed { " BGCOLOR=\"#fff2b3\"" } else { "" };
            let _ = write!(
                out,
                "<TR><TD ALIGN=\"LEFT\">{}</TD><TD ALIGN=\"LEFT\" PORT=\"f{row}\"{changed}>{}</TD></TR>",
                xml(&field.name),
                xml(&field.value)
            );
        }
        out.push_str("</TABLE>>];\n");
    }
    for (number, (name, object)) in graph.roots.iter().enumerate() {
        let _ =
            writeln!(out, "  r{number} [shape=none, label=\"{}\"];\n  r{number} -> n{object};", quoted(name));
    }
    for node in &graph.nodes {
        for (row, field) in node.fields.iter().enumerate() {
            if let Some(target) = field.target.filter(|&target| graph.has(target)) {
                let style = if field.changed { " [color=\"#b36b00\", penwidth=2]" } else { "" };
                let _ = writeln!(out, "  n{}:f{row} -> n{target}{style};", node.object);
            }
        }
    }
    out.push_str("}\n");
    Ok(out)
}

/// The state graph after an event (the last one, if none is given), as an SVG image.
pub fn svg(failure: &Failure, event: Option<u32>) -> Result<String, NoState> {
    let graph = StateGraph::at(failure, event)?;
    let boxes = layout(failure);
    let width =
        boxes.values().map(|b| b.x + b.width).max().unwrap_or(0).max(graph.title.chars().count() * CHAR);
    let height = boxes.values().map(|b| b.y + b.height).max().unwrap_or(0);
    let mut out = String::new();
    let (width, height) = (width + MARGIN, height + MARGIN);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" font-family=\"monospace\" font-size=\"13\">"
    );
    out.push_str("<defs><marker id=\"a\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\"><path d=\"M0 0L10 5L0 10z\"/></marker></defs>\n");
    let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>");
    let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{MARGIN}\">{}</text>", xml(&graph.title));
    for node in &graph.nodes {
        let Some(place) = boxes.get(&node.object) else { continue };
        draw(&mut out, node, place, &graph, &boxes);
    }
    for (name, object) in &graph.roots {
        if let Some(place) = boxes.get(object) {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{} &#8594;</text>",
                place.x,
                place.y - 6,
                xml(name)
            );
        }
    }
    out.push_str("</svg>\n");
    Ok(out)
}

fn draw(out: &mut String, node: &Node, place: &Place, graph: &StateGraph, boxes: &BTreeMap<u32, Place>) {
    let Place { x, y, width, .. } = *place;
    let height = (node.fields.len() + 1) * LINE + 6;
    let (fill, stroke) = if node.freed { ("#eeeeee", "#999999") } else { ("#f7f7f7", "#333333") };
    let dash = if node.freed { " stroke-dasharray=\"4 3\"" } else { "" };
    let _ = writeln!(
        out,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\" fill=\"{fill}\" stroke=\"{stroke}\"{dash}/>"
    );
    let title = if node.freed { format!("{} (freed)", node.title) } else { node.title.clone() };
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>",
        x + 8,
        y + LINE - 3,
        xml(&title)
    );
    for (row, field) in node.fields.iter().enumerate() {
        let line = y + (row + 2) * LINE - 3;
        if field.changed {
            let _ = writeln!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{LINE}\" fill=\"#fff2b3\"/>",
                x + 1,
                line + 4 - LINE,
                width - 2
            );
        }
        let text = format!("{}: {}", field.name, field.value);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{line}\">{}</text>", x + 8, xml(&text));
        let target = field.target.filter(|&target| graph.has(target)).and_then(|target| boxes.get(&target));
        if let Some(target) = target {
            let (from_x, from_y) = (x + width, line - 5);
            let (to_x, to_y) = (target.x, target.y + LINE / 2);
            let bend = GAP.0 / 2;
            let stroke = if field.changed { "#b36b00\" stroke-width=\"2" } else { "#333333" };
            let _ = writeln!(
                out,
                "<path d=\"M{from_x} {from_y}C{} {from_y} {} {to_y} {to_x} {to_y}\" fill=\"none\" stroke=\"{stroke}\" marker-end=\"url(#a)\"/>",
                from_x + bend,
                to_x.saturating_sub(bend)
            );
        }
    }
}

/// The objects after an event.
struct StateGraph {
    title: String,
    roots: Vec<(String, u32)>,
    nodes: Vec<Node>,
}

struct Node {
    object: u32,
    title: String,
    freed: bool,
    fields: Vec<FieldText>,
}

struct FieldText {
    name: String,
    value: String,
    target: Option<u32>,
    /// Whether the event changed the value.
    changed: bool,
}

impl StateGraph {
    fn at(failure: &Failure, event: Option<u32>) -> Result<StateGraph, NoState> {
        let objects = failure.objects.as_ref().filter(|objects| !objects.list.is_empty()).ok_or_else(|| {
            NoState("the failure has no objects: there was no debug information, or the file is of an older version".into())
        })?;
        let events = failure.trace.events.len();
        let event = event.map_or(events.checked_sub(1), |event| Some(event as usize));
        if let Some(event) = event.filter(|&event| event >= events) {
            return Err(NoState(format!("there is no event {event}: the failure has {events}")));
        }
        let values = objects.at(&failure.trace, event);
        let changes: &[Change] = event.map_or(&[], |event| &failure.trace.events[event].changes);
        let exists = |since: Option<u32>| since.is_none_or(|since| Some(since as usize) <= event);
        let mut nodes = Vec::new();
        for (number, (object, value)) in objects.list.iter().zip(&values).enumerate() {
            let Some(value) = value.as_ref().filter(|_| exists(object.since)) else { continue };
            let number = number as u32;
            let changed: Vec<&[u32]> = changes
                .iter()
                .filter(|change| change.object == number)
                .map(|change| &change.path[..])
                .collect();
            let freed = object.freed.is_some_and(|freed| Some(freed as usize) <= event);
            nodes.push(Node {
                object: number,
                title: object.name.clone(),
                freed,
                fields: fields(value, &changed, objects),
            });
        }
        let title = match event {
            Some(event) => format!("{}: the objects after event {event}", failure.test),
            None => format!("{}: the objects before the first event", failure.test),
        };
        let roots = objects.roots.iter().map(|root| (root.name.clone(), root.object)).collect();
        let mut graph = StateGraph { title, roots, nodes };
        let known: BTreeSet<u32> = graph.nodes.iter().map(|node| node.object).collect();
        graph.roots.retain(|(_, object)| known.contains(object));
        Ok(graph)
    }

    fn has(&self, object: u32) -> bool {
        self.nodes.iter().any(|node| node.object == object)
    }
}

/// The fields of a value as lines; a value without fields is one line.
fn fields(value: &Datum, changed: &[&[u32]], objects: &Objects) -> Vec<FieldText> {
    let line = |name: &str, value: &Datum, index: Option<u32>| FieldText {
        name: name.to_owned(),
        value: shortened(&short_value(value, objects), MAX_VALUE),
        target: target(value),
        changed: changed
            .iter()
            .any(|path| path.is_empty() || index.is_none() || path.first() == index.as_ref()),
    };
    match value {
        Datum::Fields { fields, .. } => fields
            .iter()
            .enumerate()
            .map(|(index, field)| line(&field.name, &field.value, Some(index as u32)))
            .collect(),
        Datum::List { items, .. } => items
            .iter()
            .enumerate()
            .map(|(index, item)| line(&index.to_string(), item, Some(index as u32)))
            .collect(),
        Datum::Map { entries, .. } => entries
            .iter()
            .enumerate()
            .map(|(index, (key, value))| {
                line(&shortened(&short_value(key, objects), MAX_VALUE), value, Some(2 * index as u32 + 1))
            })
            .collect(),
        Datum::Lock { state, value, .. } => {
            let mut lines = vec![FieldText {
                name: "lock".into(),
                value: state.clone(),
                target: None,
                changed: !changed.is_empty(),
            }];
            lines.extend(value.first().map(|value| line("value", value, Some(0))));
            lines
        }
        _ => vec![line("value", value, None)],
    }
}

/// The object that a value leads to: its own pointer, or that of its only part.
fn target(value: &Datum) -> Option<u32> {
    match value {
        Datum::Pointer(pointer) => pointer.object,
        _ => match value.children()[..] {
            [only] => target(only),
            _ => None,
        },
    }
}

/// A value in a few words.
pub(super) fn short_value(value: &Datum, objects: &Objects) -> String {
    let join = |values: Vec<String>| values.join(", ");
    let cut = |text: String, shown: usize, length: u64| match length > shown as u64 {
        true => format!("{text}, ... {length} in all"),
        false => text,
    };
    match value {
        Datum::Scalar(text) => text.clone(),
        Datum::Unknown(reason) => format!("({reason})"),
        Datum::Pointer(pointer) => {
            let name = pointer.object.and_then(|object| objects.list.get(object as usize));
            let mut text = match name {
                Some(object) => object.name.clone(),
                None if pointer.address == 0 => "null".to_owned(),
                None => format!("{:#x}", pointer.address),
            };
            if pointer.tag != 0 {
                text.push_str(&format!(" + tag {}", pointer.tag));
            }
            if pointer.dangling {
                text.push_str(" (freed)");
            }
            text
        }
        Datum::Fields { name, fields } if fields.is_empty() => name.clone(),
        Datum::Fields { name, fields } => {
            let is_tuple = fields[0].name == "0";
            let values = fields.iter().map(|field| match is_tuple {
                true => short_value(&field.value, objects),
                false => format!("{}: {}", field.name, short_value(&field.value, objects)),
            });
            let inside = join(values.collect());
            if is_tuple { format!("{name}({inside})") } else { format!("{name} {{ {inside} }}") }
        }
        Datum::List { items, length } => {
            let inside = join(items.iter().map(|item| short_value(item, objects)).collect());
            format!("[{}]", cut(inside, items.len(), *length))
        }
        Datum::Map { entries, length } => {
            let pair = |(key, value): &(Datum, Datum)| {
                format!("{}: {}", short_value(key, objects), short_value(value, objects))
            };
            format!("{{{}}}", cut(join(entries.iter().map(pair).collect()), entries.len(), *length))
        }
        Datum::Lock { state, value, .. } => {
            let inside = value.first().map(|value| short_value(value, objects)).unwrap_or_default();
            format!("{inside} ({state})")
        }
    }
}

/// The place of a box.
#[derive(Clone, Copy)]
struct Place {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// The place of each object, from all values that it has: columns by the distance from the roots.
fn layout(failure: &Failure) -> BTreeMap<u32, Place> {
    let Some(objects) = &failure.objects else { return BTreeMap::new() };
    let mut next: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut size: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    let mut values = vec![None; objects.list.len()];
    let mut measure = |values: &[Option<Datum>], number: u32| {
        let Some(Some(value)) = values.get(number as usize) else { return };
        let lines = fields(value, &[], objects);
        let title = objects.list[number as usize].name.chars().count() + " (freed)".len();
        let widest = lines.iter().map(|line| line.name.chars().count() + 2 + line.value.chars().count());
        let (width, height) = size.entry(number).or_default();
        *width = (*width).max(widest.max().unwrap_or(0).max(title));
        *height = (*height).max(lines.len());
        next.entry(number).or_default().extend(lines.iter().filter_map(|line| line.target));
    };
    let changes = failure.trace.events.iter().flat_map(|event| &event.changes);
    for change in objects.initial.iter().chain(changes) {
        change.apply(&mut values);
        measure(&values, change.object);
    }
    let mut column: BTreeMap<u32, usize> = BTreeMap::new();
    let mut order = Vec::new();
    let roots = objects.roots.iter().map(|root| root.object).chain(0..objects.list.len() as u32);
    for root in roots {
        let mut queue = VecDeque::from([(root, 0)]);
        while let Some((object, distance)) = queue.pop_front() {
            if !size.contains_key(&object) || column.contains_key(&object) {
                continue;
            }
            column.insert(object, distance);
            order.push(object);
            queue.extend(next.get(&object).into_iter().flatten().map(|&target| (target, distance + 1)));
        }
    }
    let columns = column.values().max().map_or(0, |last| last + 1);
    let mut widths = vec![0; columns];
    for (object, &at) in &column {
        widths[at] = widths[at].max(size[object].0 * CHAR + 16);
    }
    let mut bottom = vec![MARGIN + 2 * LINE; columns];
    let mut places = BTreeMap::new();
    for object in order {
        let at = column[&object];
        let x = MARGIN + widths[..at].iter().map(|width| width + GAP.0).sum::<usize>();
        let height = (size[&object].1 + 1) * LINE + 6;
        places.insert(object, Place { x, y: bottom[at], width: widths[at], height });
        bottom[at] += height + GAP.1;
    }
    places
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}
