//! Specifications: the object under test, its methods, and what each of them promises.
//!
//! A specification is a JSON or TOML file; `spec.schema.json` beside this crate's manifest describes it for editors. Violat's files for Java load
//! too, if they have a table `java` that says what their names and types are in Rust.

mod decode;
mod from_toml;
mod java;
mod json;
#[cfg(test)]
mod tests;
mod tree;
mod types;

pub use tree::{Mistake, Place};
pub use types::Type;
pub(crate) use types::product;

use crate::level::Level;
use crate::literal::Literal;
use crate::schema::{Invocation, Schema};

/// The JSON Schema of specifications.
pub const JSON_SCHEMA: &str = include_str!("../../spec.schema.json");

/// What is tested, and what it promises.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The type, with its generic arguments: `dashmap::DashMap<i32, i32>`.
    pub object: String,
    /// The expression that makes an object.
    pub constructor: String,
    /// Lines before the expressions: `use`, helper functions.
    pub prelude: Vec<String>,
    /// An expression over `object` that tells its states apart.
    pub state: Option<String>,
    /// The crate that has the type, and others that the expressions need.
    pub dependencies: Vec<Dependency>,
    /// The object that says what to expect, if that is not the object under test itself.
    pub model: Option<Model>,
    /// How many values of each parameter make sense: 0, 1, ...; nothing if that is not known.
    pub range: Option<usize>,
    /// The methods.
    pub methods: Vec<Method>,
}

/// A crate to build with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependency {
    /// Its name.
    pub name: String,
    /// The version in the registry.
    pub version: Option<String>,
    /// Its directory, relative to the file of the specification.
    pub path: Option<String>,
    /// Features to enable.
    pub features: Vec<String>,
    /// Whether the default features are left out.
    pub no_default_features: bool,
}

/// A sequential object with the same methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its type.
    pub object: String,
    /// The expression that makes one.
    pub constructor: String,
}

/// A method.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// Its name, as schemas write it.
    pub name: String,
    /// The types of its parameters.
    pub parameters: Vec<Type>,
    /// Whether the result is ignored.
    pub void: bool,
    /// Whether it leaves the object as it is.
    pub readonly: bool,
    /// Whether it is taken to be right, so that others are blamed.
    pub trusted: bool,
    /// What it promises.
    pub level: Level,
    /// The call as an expression over `object` and `$1`, `$2`, ...; `object.name($1, $2)` if there is none.
    pub call: Option<String>,
    /// What is shown of the result, as an expression over `result`.
    pub show: Option<String>,
    /// What the documentation of the crate promises, for tables.
    pub documented: Option<String>,
}

/// The language of a specification file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// JSON.
    Json,
    /// TOML.
    Toml,
}

/// A specification that was read, with what is worth knowing about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The specification.
    pub spec: Spec,
    /// What was left out, and why.
    pub notes: Vec<Mistake>,
}

impl Spec {
    /// Reads a specification.
    ///
    /// # Errors
    /// All mistakes, in the order of their places.
    pub fn read(text: &str, language: Language) -> Result<Loaded, Vec<Mistake>> {
        let tree = match language {
            Language::Json => json::parse(text),
            Language::Toml => from_toml::parse(text),
        };
        decode::decode(&tree.map_err(|mistake| vec![mistake])?)
    }

    /// The method of this name.
    pub fn method(&self, name: &str) -> Option<&Method> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// All calls of a method with the first `values` values of each parameter.
    pub fn calls(&self, method: &Method, values: usize) -> Vec<Invocation> {
        let choices: Vec<Vec<Literal>> = method.parameters.iter().map(|ty| ty.values(values)).collect();
        let call = |arguments| Invocation { method: method.name.clone(), arguments };
        product(&choices).into_iter().map(call).collect()
    }

    /// The Rust expression of a call, with its result shown if the method says how.
    ///
    /// # Errors
    /// One sentence, if there is no such method or the arguments do not fit its parameters.
    pub fn expression(&self, invocation: &Invocation) -> Result<String, String> {
        let Invocation { method: name, arguments } = invocation;
        let Some(method) = self.method(name) else {
            let names: Vec<&str> = self.methods.iter().map(|method| method.name.as_str()).collect();
            return Err(format!("the specification has no method `{name}`; it has {}", names.join(", ")));
        };
        let count = method.parameters.len();
        if arguments.len() != count {
            return Err(format!(
                "`{invocation}` has {} arguments, but `{name}` takes {count}",
                arguments.len()
            ));
        }
        let mut expressions = Vec::new();
        for (ty, literal) in method.parameters.iter().zip(arguments) {
            let expression = ty.expression(literal).ok_or_else(|| {
                format!("the argument `{literal}` of `{invocation}` is no value of type `{ty}`")
            })?;
            expressions.push(expression);
        }
        let Some(call) = &method.call else {
            return Ok(format!("object.{name}({})", expressions.join(", ")));
        };
        // From the last, because `$1` begins `$10`.
        let replace = |text: String, (number, expression): (usize, &String)| {
            text.replace(&format!("${}", number + 1), expression)
        };
        Ok(expressions.iter().enumerate().rev().fold(call.clone(), replace))
    }

    /// Whether a schema can be run: known methods, with arguments that fit.
    ///
    /// # Errors
    /// One sentence on the first invocation that cannot.
    pub fn check(&self, schema: &Schema) -> Result<(), String> {
        if schema.len() > crate::outcomes::MOST_OPERATIONS {
            let most = crate::outcomes::MOST_OPERATIONS;
            return Err(format!("the schema has {} invocations, the most are {most}", schema.len()));
        }
        schema.invocations().try_for_each(|invocation| self.expression(invocation).map(|_| ()))
    }
}
