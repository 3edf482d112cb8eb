//! Trees as specifications, with all mistakes.

use super::java::{self, Java};
use super::tree::{Entry, Mistake, Node, Place, Value};
use super::types::Type;
use super::{Dependency, Loaded, Method, Model, Spec};
use crate::level::Level;
use crate::literal::Literal;

/// The keys of a specification. Those of Violat are read like ours.
pub(super) const SPEC_KEYS: &[&str] = &[
    "$schema",
    "type",
    "class",
    "generics",
    "crate",
    "dependencies",
    "constructor",
    "parameters",
    "default_parameters",
    "prelude",
    "state",
    "model",
    "range",
    "methods",
    "java",
    "harnessParameters",
    "description",
];
/// The keys of a crate.
pub(super) const CRATE_KEYS: &[&str] = &["name", "version", "path", "features", "default-features"];
/// The keys of a method.
pub(super) const METHOD_KEYS: &[&str] = &[
    "name",
    "parameters",
    "void",
    "readonly",
    "trusted",
    "consistency",
    "visibility",
    "call",
    "show",
    "documented",
    "bulk",
    "harnessParameters",
];
/// The keys of a model.
pub(super) const MODEL_KEYS: &[&str] = &["type", "constructor"];

/// Reads a tree.
pub(super) fn decode(root: &Node) -> Result<Loaded, Vec<Mistake>> {
    let mut decoder = Decoder::default();
    let spec = decoder.spec(root);
    decoder.mistakes.sort();
    match spec {
        Some(spec) if decoder.mistakes.is_empty() => Ok(Loaded { spec, notes: decoder.notes }),
        _ => Err(decoder.mistakes),
    }
}

#[derive(Default)]
pub(super) struct Decoder {
    pub(super) mistakes: Vec<Mistake>,
    pub(super) notes: Vec<Mistake>,
}

impl Decoder {
    fn spec(&mut self, root: &Node) -> Option<Spec> {
        self.table(root, "a specification", SPEC_KEYS)?;
        let is_java = root.get("class").is_some();
        let java = match (is_java, root.get("java")) {
            (true, Some(node)) => Some(java::decode(self, node)?),
            (true, None) => {
                java::refuse(self, root);
                return None;
            }
            (false, _) => None,
        };
        let object = match &java {
            Some(java) => java.object.clone(),
            None => self.object(root)?,
        };
        let constructor = self.constructor(root, &object, java.as_ref());
        let prelude = match root.get("prelude") {
            Some(Node { value: Value::Text(text), .. }) => vec![text.clone()],
            Some(node) => self.texts(node),
            None => Vec::new(),
        };
        let mut dependencies = Vec::new();
        dependencies.extend(root.get("crate").and_then(|node| self.dependency(node)));
        for node in root.get("dependencies").map(|node| self.list(node)).unwrap_or_default() {
            dependencies.extend(self.dependency(node));
        }
        let methods = match root.get("methods") {
            None => {
                self.mistakes.push(root.place.mistake("`methods` is missing, expected a list of methods"));
                Vec::new()
            }
            Some(node) => {
                let nodes = self.list(node);
                if nodes.is_empty() && matches!(node.value, Value::List(_)) {
                    self.mistakes.push(node.place.mistake("expected at least one method, found none"));
                }
                nodes.iter().filter_map(|node| self.method(node, java.as_ref())).collect()
            }
        };
        self.unique(root, &methods);
        Some(Spec {
            object,
            constructor,
            prelude,
            state: root.get("state").and_then(|node| self.text(node)),
            dependencies,
            model: root.get("model").and_then(|node| self.model(node)),
            range: root.get("range").and_then(|node| self.count(node)),
            methods,
        })
    }

    fn object(&mut self, root: &Node) -> Option<String> {
        let Some(node) = root.get("type") else {
            let message =
                "`type` is missing, expected the path of the object's type: `my_crate::Map<i32, i32>`";
            self.mistakes.push(root.place.mistake(message));
            return None;
        };
        let path = self.text(node)?;
        let generics = root.get("generics").map(|node| self.texts(node)).unwrap_or_default();
        if !generics.is_empty() && path.contains('<') {
            let message = "expected generic arguments either in `type` or in `generics`, found both";
            self.mistakes.push(node.place.mistake(message));
        }
        Some(if generics.is_empty() { path } else { format!("{path}<{}>", generics.join(", ")) })
    }

    /// `constructor` is an expression; Violat has types and values of the arguments of `new`.
    fn constructor(&mut self, root: &Node, object: &str, java: Option<&Java>) -> String {
        if let Some(constructor) = java.and_then(|java| java.constructor.clone()) {
            return constructor;
        }
        if let Some(node) = root.get("constructor") {
            return self.text(node).unwrap_or_default();
        }
        let types = root.get("parameters").map(|node| self.parameters(node, java)).unwrap_or_default();
        let nodes = root.get("default_parameters").map(|node| self.list(node)).unwrap_or_default();
        if types.len() != nodes.len() {
            let place =
                root.get("default_parameters").or(root.get("parameters")).map_or(root.place, |n| n.place);
            let (values, types) = (nodes.len(), types.len());
            let message =
                format!("expected as many `default_parameters` as `parameters`, found {values} for {types}");
            self.mistakes.push(place.mistake(message));
        }
        let mut arguments = Vec::new();
        for (ty, node) in types.iter().zip(nodes) {
            match literal(node).and_then(|value| ty.expression(&value)) {
                Some(argument) => arguments.push(argument),
                None => self.mistakes.push(node.expected(&format!("a value of type `{ty}`"))),
            }
        }
        // `Map<K, V>::new` is no expression, `<Map<K, V>>::new` is.
        format!("<{object}>::new({})", arguments.join(", "))
    }

    fn dependency(&mut self, node: &Node) -> Option<Dependency> {
        if let Value::Text(name) = &node.value {
            return Some(Dependency {
                name: name.clone(),
                version: Some("*".to_owned()),
                ..Dependency::default()
            });
        }
        self.table(node, "a crate, or the name of one", CRATE_KEYS)?;
        let Some(name) = node.get("name") else {
            self.mistakes.push(node.place.mistake("`name` is missing, expected the name of the crate"));
            return None;
        };
        let dependency = Dependency {
            name: self.text(name)?,
            version: node.get("version").and_then(|node| self.text(node)),
            path: node.get("path").and_then(|node| self.text(node)),
            features: node.get("features").map(|node| self.texts(node)).unwrap_or_default(),
            no_default_features: node.get("default-features").and_then(|node| self.flag(node)) == Some(false),
        };
        if dependency.version.is_none() && dependency.path.is_none() {
            let message =
                format!("expected `version` or `path` for the crate `{}`, found neither", dependency.name);
            self.mistakes.push(node.place.mistake(message));
        }
        Some(dependency)
    }

    fn model(&mut self, node: &Node) -> Option<Model> {
        self.table(node, "a model", MODEL_KEYS)?;
        let Some(object) = node.get("type") else {
            self.mistakes.push(node.place.mistake("`type` is missing, expected the type of the model"));
            return None;
        };
        let object = self.text(object)?;
        let constructor = node.get("constructor").and_then(|node| self.text(node));
        Some(Model { constructor: constructor.unwrap_or_else(|| format!("<{object}>::default()")), object })
    }

    fn method(&mut self, node: &Node, java: Option<&Java>) -> Option<Method> {
        self.table(node, "a method", METHOD_KEYS)?;
        let Some(name_node) = node.get("name") else {
            self.mistakes.push(node.place.mistake("`name` is missing, expected the name of the method"));
            return None;
        };
        let name = self.text(name_node)?;
        let level = node.get("consistency").or(node.get("visibility"));
        if java.is_some() && level.is_none() {
            let message = format!("`{name}` is left out, because it has no `visibility`");
            self.notes.push(name_node.place.mistake(message));
            return None;
        }
        let flag = |decoder: &mut Decoder, key: &str| {
            node.get(key).and_then(|node| decoder.flag(node)).unwrap_or(false)
        };
        let mut method = Method {
            void: flag(self, "void"),
            readonly: flag(self, "readonly"),
            trusted: flag(self, "trusted"),
            level: level.and_then(|node| self.level(node)).unwrap_or(Level::Complete),
            call: node.get("call").and_then(|node| self.text(node)),
            show: node.get("show").and_then(|node| self.text(node)),
            documented: node.get("documented").and_then(|node| self.text(node)),
            parameters: Vec::new(),
            name,
        };
        match java {
            Some(java) => java.translate(self, name_node.place, node, method),
            None => {
                let parameters = node.get("parameters").map(|node| self.parameters(node, None));
                method.parameters = parameters.unwrap_or_default();
                Some(method)
            }
        }
    }

    /// `["i32", {"type": "i32"}]`, or with Violat's notation for collections and maps.
    pub(super) fn parameters(&mut self, node: &Node, java: Option<&Java>) -> Vec<Type> {
        let mut types = Vec::new();
        for node in self.list(node) {
            let inner = match &node.value {
                Value::Table(entries) if entries.len() == 1 && entries[0].key == "type" => &entries[0].node,
                _ => node,
            };
            types.extend(self.parameter(inner, java));
        }
        types
    }

    fn parameter(&mut self, node: &Node, java: Option<&Java>) -> Option<Type> {
        match &node.value {
            Value::Text(text) => {
                let text = match java {
                    Some(java) => java.ty(self, node.place, text)?,
                    None => text.clone(),
                };
                let ty = Type::parse(&text);
                if ty.is_none() {
                    let message = format!(
                        "expected a type with values to try (integers, bool, char, String, &str, Option, Vec and other collections, maps, \
                         tuples, references to these), found `{text}`"
                    );
                    self.mistakes.push(node.place.mistake(message));
                }
                ty
            }
            Value::List(items) if items.len() == 1 => {
                Some(Type::List("Vec".to_owned(), Box::new(self.parameter(&items[0], java)?)))
            }
            Value::Table(entries) if entries.len() == 1 => {
                let Entry { key, place, node } = &entries[0];
                let key = Node { place: *place, value: Value::Text(key.clone()) };
                let map = "std::collections::HashMap".to_owned();
                let (key, value) = (self.parameter(&key, java)?, self.parameter(node, java)?);
                Some(Type::Map(map, Box::new(key), Box::new(value)))
            }
            _ => {
                self.mistakes.push(node.expected("a type as text"));
                None
            }
        }
    }

    fn level(&mut self, node: &Node) -> Option<Level> {
        let text = self.text(node)?;
        let level = Level::from_name(&text);
        if level.is_none() {
            let names = Level::ALL.map(Level::name).join(", ");
            self.mistakes.push(node.place.mistake(format!("expected one of {names}, found `{text}`")));
        }
        level
    }

    fn unique(&mut self, root: &Node, methods: &[Method]) {
        for (number, method) in methods.iter().enumerate() {
            if methods[..number].iter().any(|other| other.name == method.name) {
                let message = format!(
                    "there are two methods `{}`, expected different names: give one another name, and a `call`",
                    method.name
                );
                let place = root.get("methods").map_or(root.place, |node| node.place);
                self.mistakes.push(place.mistake(message));
            }
        }
    }

    /// Checks that a node is a table with known keys.
    pub(super) fn table<'a>(&mut self, node: &'a Node, what: &str, keys: &[&str]) -> Option<&'a [Entry]> {
        let Value::Table(entries) = &node.value else {
            self.mistakes.push(node.expected(&format!("{what} as a table")));
            return None;
        };
        for Entry { key, place, .. } in entries {
            if !keys.contains(&key.as_str()) {
                let message = format!("`{key}` is not known here, expected one of {}", keys.join(", "));
                self.mistakes.push(place.mistake(message));
            }
        }
        Some(entries)
    }

    pub(super) fn text(&mut self, node: &Node) -> Option<String> {
        match &node.value {
            Value::Text(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => {
                self.mistakes.push(node.expected("text"));
                None
            }
        }
    }

    fn texts(&mut self, node: &Node) -> Vec<String> {
        self.list(node).iter().filter_map(|node| self.text(node)).collect()
    }

    fn count(&mut self, node: &Node) -> Option<usize> {
        match node.value {
            Value::Int(value) if value > 0 => usize::try_from(value).ok(),
            _ => {
                self.mistakes.push(node.expected("a number that is more than 0"));
                None
            }
        }
    }

    fn flag(&mut self, node: &Node) -> Option<bool> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => {
                self.mistakes.push(node.expected("true or false"));
                None
            }
        }
    }

    pub(super) fn list<'a>(&mut self, node: &'a Node) -> &'a [Node] {
        match &node.value {
            Value::List(items) => items,
            _ => {
                self.mistakes.push(node.expected("a list"));
                &[]
            }
        }
    }

    pub(super) fn missing(&mut self, place: Place, message: String) {
        self.mistakes.push(place.mistake(message));
    }
}

fn literal(node: &Node) -> Option<Literal> {
    Some(match &node.value {
        Value::Null => Literal::Null,
        Value::Bool(value) => Literal::Bool(*value),
        Value::Int(value) => Literal::Int(*value),
        Value::Text(text) => Literal::Text(text.clone()),
        Value::List(items) => Literal::List(items.iter().map(literal).collect::<Option<_>>()?),
        Value::Float(_) | Value::Table(_) => return None,
    })
}
