//! Violat's specifications of Java classes, with a table of what their names and types are in Rust.
//!
//! ```json
//! "java": {
//!     "type": "my_crate::Map<i32, i32>",
//!     "types": { "int": "i32", "java.lang.Object": "i32" },
//!     "methods": { "put": "insert", "containsValue": { "name": "contains_value", "parameters": ["&i32"] }, "keys": null }
//! }
//! ```
//!
//! A method that is `null` there is left out.

use super::Method;
use super::decode::Decoder;
use super::tree::{Entry, Node, Place, Value};
use super::types::Type;

/// The keys of the table.
pub(super) const JAVA_KEYS: &[&str] = &["type", "constructor", "types", "methods"];
/// The keys of a method in it.
pub(super) const JAVA_METHOD_KEYS: &[&str] = &["name", "parameters", "call", "show"];

/// What Java's names and types are in Rust.
pub(super) struct Java {
    pub(super) object: String,
    pub(super) constructor: Option<String>,
    types: Vec<(String, String)>,
    methods: Vec<(String, Translation)>,
}

enum Translation {
    Left,
    To { name: String, parameters: Option<Vec<Type>>, call: Option<String>, show: Option<String> },
}

/// Reads the table.
pub(super) fn decode(decoder: &mut Decoder, node: &Node) -> Option<Java> {
    decoder.table(node, "what Java's names are in Rust", JAVA_KEYS)?;
    let Some(object) = node.get("type") else {
        decoder
            .missing(node.place, "`type` is missing, expected the type that the class is in Rust".to_owned());
        return None;
    };
    let object = decoder.text(object)?;
    let constructor = node.get("constructor").and_then(|node| decoder.text(node));
    let mut types = Vec::new();
    for Entry { key, node, .. } in entries(decoder, node.get("types")) {
        types.extend(decoder.text(node).map(|text| (key.clone(), text)));
    }
    let mut methods = Vec::new();
    for Entry { key, node, .. } in entries(decoder, node.get("methods")) {
        methods.extend(translation(decoder, node).map(|translation| (key.clone(), translation)));
    }
    Some(Java { object, constructor, types, methods })
}

fn entries<'a>(decoder: &mut Decoder, node: Option<&'a Node>) -> &'a [Entry] {
    match node {
        None => &[],
        Some(Node { value: Value::Table(entries), .. }) => entries,
        Some(node) => {
            decoder.mistakes.push(node.expected("a table"));
            &[]
        }
    }
}

fn translation(decoder: &mut Decoder, node: &Node) -> Option<Translation> {
    let name = match &node.value {
        Value::Null | Value::Bool(false) => return Some(Translation::Left),
        Value::Text(name) => {
            return Some(Translation::To { name: name.clone(), parameters: None, call: None, show: None });
        }
        _ => {
            decoder.table(node, "the name of a method in Rust, null, or a table", JAVA_METHOD_KEYS)?;
            node.get("name")
        }
    };
    let Some(name) = name else {
        decoder.missing(node.place, "`name` is missing, expected the name of the method in Rust".to_owned());
        return None;
    };
    Some(Translation::To {
        name: decoder.text(name)?,
        parameters: node.get("parameters").map(|node| decoder.parameters(node, None)),
        call: node.get("call").and_then(|node| decoder.text(node)),
        show: node.get("show").and_then(|node| decoder.text(node)),
    })
}

impl Java {
    /// What a type of Java is in Rust.
    pub(super) fn ty(&self, decoder: &mut Decoder, place: Place, name: &str) -> Option<String> {
        let found = self.types.iter().find(|(java, _)| java == name).map(|(_, rust)| rust.clone());
        if found.is_none() {
            decoder.missing(
                place,
                format!("`{name}` is a type of Java, expected its Rust type in `java.types`"),
            );
        }
        found
    }

    /// What a method of Java is in Rust.
    pub(super) fn translate(
        &self,
        decoder: &mut Decoder,
        place: Place,
        node: &Node,
        method: Method,
    ) -> Option<Method> {
        let Some((_, translation)) = self.methods.iter().find(|(java, _)| *java == method.name) else {
            let name = &method.name;
            let message =
                format!("`{name}` is a method of Java, expected its Rust name (or null) in `java.methods`");
            decoder.missing(place, message);
            return None;
        };
        let Translation::To { name, parameters, call, show } = translation else {
            let message = format!("`{}` is left out, as `java.methods` says", method.name);
            decoder.notes.push(place.mistake(message));
            return None;
        };
        let parameters = match (parameters, node.get("parameters")) {
            (Some(types), _) => types.clone(),
            (None, Some(node)) => decoder.parameters(node, Some(self)),
            (None, None) => Vec::new(),
        };
        let call = call.clone().or(method.call);
        let show = show.clone().or(method.show);
        Some(Method { name: name.clone(), parameters, call, show, ..method })
    }
}

/// Says what a table for a file without one would have to have.
pub(super) fn refuse(decoder: &mut Decoder, root: &Node) {
    let text = |node: &Node| match &node.value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    let class = root.get("class").and_then(text).unwrap_or_default();
    let place = root.get("class").map_or(root.place, |node| node.place);
    let (mut methods, mut types) = (Vec::new(), Vec::new());
    let nodes = root.get("methods").map(|node| decoder.list(node)).unwrap_or_default();
    for node in nodes.iter().filter(|node| node.get("visibility").is_some()) {
        methods.extend(node.get("name").and_then(text));
        collect_types(node.get("parameters"), &mut types);
    }
    collect_types(root.get("parameters"), &mut types);
    types.sort();
    types.dedup();
    let message = format!(
        "`{class}` is a class of Java, expected a table `java` with the Rust `type`, the `methods` {} and the `types` {}",
        methods.join(", "),
        types.join(", ")
    );
    decoder.missing(place, message);
}

fn collect_types(node: Option<&Node>, types: &mut Vec<String>) {
    match node.map(|node| &node.value) {
        Some(Value::Text(name)) => types.push(name.clone()),
        Some(Value::List(items)) => items.iter().for_each(|item| collect_types(Some(item), types)),
        Some(Value::Table(entries)) => {
            for Entry { key, node, .. } in entries {
                if key != "type" {
                    types.push(key.clone());
                }
                collect_types(Some(node), types);
            }
        }
        _ => {}
    }
}
