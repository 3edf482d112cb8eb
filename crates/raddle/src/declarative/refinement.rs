//! Declarative tests as specifications: `cargo raddle validate --test` asks a test to try schemas of its operations in place of what it does
//! otherwise.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use raddle_refine::enumerate::{Bounds, Candidate, Random, Suspects};
use raddle_refine::{Invocation, Level, Literal, Schema, Shown, Subject, Verdict, driver, validate};
use serde_json::Value;

use super::definition::Definition;
use super::generate::Source;
use super::subject::{self, Invoke, Object, Operation};
use super::value::Args;
use crate::refine::Model;

/// The variable by which schemas are asked for, as JSON.
const VARIABLE: &str = "REFINEMENT_REQUEST";

/// If schemas are asked for, tries them and ends the process.
pub(crate) fn take_over(definition: Definition) -> Definition {
    let Ok(text) = std::env::var(VARIABLE) else { return definition };
    let request: Value = serde_json::from_str(&text).unwrap_or_default();
    std::panic::set_hook(Box::new(|_| ()));
    let values = number(&request, "values").unwrap_or(2);
    let (subject, left_out) = subject_of(definition.subject, values);
    for name in left_out {
        let reason = "it waits for others, or is async";
        driver::print(&Verdict::problem(&name, format!("the operation is left out: {reason}")));
    }
    let subject = Arc::new(subject);
    let milliseconds = number(&request, "milliseconds").unwrap_or(1000);
    let seed = request["seed"].as_u64().unwrap_or(0);
    let mut model = Model::new(Duration::from_millis(milliseconds as u64), seed);
    for schema in schemas(&subject, &request, seed) {
        match schema {
            Ok(schema) => driver::print(&validate(&subject, &schema, &mut model)),
            Err(verdict) => driver::print(&verdict),
        }
    }
    std::process::exit(0);
}

fn number(request: &Value, key: &str) -> Option<usize> {
    request[key].as_u64().and_then(|number| usize::try_from(number).ok())
}

/// The schemas that were asked for: given ones, or random ones.
fn schemas(subject: &Subject<Object>, request: &Value, seed: u64) -> Vec<Result<Schema, Box<Verdict>>> {
    let given: Vec<&str> =
        request["schemas"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !given.is_empty() {
        let parse = |text: &&str| {
            text.parse::<Schema>().map_err(|error| Box::new(Verdict::problem(text, error.to_string())))
        };
        return given.iter().map(parse).collect();
    }
    let candidates: Vec<Candidate> = subject
        .invocations()
        .map(|(invocation, promise)| Candidate {
            invocation: invocation.clone(),
            readonly: promise.readonly,
            trusted: promise.trusted,
        })
        .collect();
    let default = Bounds::default();
    let bounds = Bounds {
        min_threads: number(request, "min_threads").unwrap_or(default.min_threads),
        max_threads: number(request, "max_threads").unwrap_or(default.max_threads),
        min_invocations: number(request, "min_invocations").unwrap_or(default.min_invocations),
        max_invocations: number(request, "max_invocations").unwrap_or(default.max_invocations),
    };
    let programs = number(request, "programs").unwrap_or(100);
    Random::new(&candidates, bounds, Suspects::Any, seed).take(programs).map(Ok).collect()
}

/// The operations of a test as calls, and the names of those that cannot be.
fn subject_of(declared: subject::Subject, values: usize) -> (Subject<Object>, Vec<String>) {
    let declared = Arc::new(declared);
    let maker = declared.clone();
    let mut subject = Subject::new(move || maker.object());
    let mut left_out = Vec::new();
    for (number, operation) in declared.operations.iter().enumerate() {
        if operation.may_suspend() || operation.once {
            left_out.push(operation.name.clone());
            continue;
        }
        let name = operation.name.replace(|c: char| !c.is_alphanumeric() && c != '_', "_");
        subject = subject.method(&name, Level::Complete, operation.read_only, false);
        for arguments in arguments(operation, values) {
            let invocation = Invocation { method: name.clone(), arguments: literals(&arguments) };
            let declared = declared.clone();
            subject = subject.call(&invocation.to_string(), move |object: &Object| {
                match &declared.operations[number].invoke {
                    Invoke::Plain(call) => Shown::from(&*call(object, &arguments.duplicate()).text()),
                    Invoke::Future(_) => unreachable!("operations with futures are left out"),
                }
            });
        }
    }
    (subject, left_out)
}

/// The simplest arguments of an operation, each once.
fn arguments(operation: &Operation, values: usize) -> Vec<Args> {
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    // Generators draw a number for each value: the first three are varied.
    for number in 0..values.pow(3) {
        let numbers = [number % values, number / values % values, number / values / values];
        let numbers = numbers.map(|number| number as u64);
        let arguments = (operation.generate)(&mut Source::numbers(&numbers, 0));
        if seen.insert(arguments.texts()) {
            found.push(arguments);
        }
    }
    found
}

/// Arguments as schemas write them; what is no literal becomes text.
fn literals(arguments: &Args) -> Vec<Literal> {
    let literal = |text: &String| match format!("f({text})").parse::<Invocation>() {
        Ok(mut invocation) if invocation.arguments.len() == 1 => invocation.arguments.remove(0),
        _ => Literal::Text(text.clone()),
    };
    arguments.texts().iter().map(literal).collect()
}
