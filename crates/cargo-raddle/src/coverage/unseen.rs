//! Code that is not instrumented and was called by code that is: what happens in there is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use raddle_reflect::Program;
use serde::Serialize;

use super::calls::{Call, Callee, Calls};
use super::tracer::trace;
use super::units::Origin;
use crate::error::{Error, Result};
use crate::instrument::{Plan, Uninstrumented};
use crate::session::Session;

/// How long explorations of a traced test take where they could go on.
const BUDGET: &str = "1s";

/// How long a traced test takes at most.
const LIMIT: Duration = Duration::from_secs(10);

/// The source lines that are named of those that call a function.
const MOST_LINES: usize = 3;

/// What test binaries call that is not instrumented.
#[derive(Debug, Default, Serialize)]
pub(super) struct Unseen {
    /// Whether calls were seen; if not, why, and all calls that the code has are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_traced: Option<String>,
    functions: Vec<Function>,
}

/// A function that is not instrumented.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Function {
    /// `crate`, `foreign`, `library`, `std` or `unknown`.
    origin: &'static str,
    /// The crate, or the source file in another language.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    name: String,
    /// Source lines of calls: `src/lib.rs:8`.
    lines: Vec<String>,
}

impl Unseen {
    /// Traces tests of one binary, and adds what they call.
    pub(super) fn add(&mut self, session: &Session, executable: &Path, tests: Vec<Command>) -> Result<()> {
        let calls = Calls::read(executable, &uninstrumented(session)?)?;
        let mut addresses: Vec<u64> = calls.calls.iter().map(|call| call.address).collect();
        addresses.dedup();
        let mut reached = BTreeSet::new();
        for mut test in tests {
            test.env("RADDLE_BUDGET", BUDGET).env("RADDLE_WORKERS", "1").env_remove("RADDLE_COVERAGE");
            match trace(test, &addresses, calls.is_relocatable, LIMIT) {
                Ok(addresses) => reached.extend(addresses),
                Err(error) => {
                    self.not_traced = Some(error.to_string());
                    reached.extend(&addresses);
                    break;
                }
            }
        }
        let program = Program::open(executable, 0).ok();
        let line = |call: &Call| {
            let frames = program.as_ref()?.frames(call.address + 1);
            let frame = frames.into_iter().find(|frame| !frame.internal && frame.line.is_some())?;
            Some(format!("{}:{}", frame.file?, frame.line?))
        };
        let mut called: BTreeMap<usize, Vec<&Call>> = BTreeMap::new();
        for call in calls.calls.iter().filter(|call| reached.contains(&call.address)) {
            called.entry(call.callee).or_default().push(call);
        }
        for (callee, calls_of_it) in called {
            // What std is called for is known, and of no interest by line.
            let callee = &calls.callees[callee];
            let named = if callee.origin == Origin::Std { 0 } else { MOST_LINES };
            let lines: BTreeSet<String> = calls_of_it.into_iter().filter_map(line).take(named).collect();
            self.merge(Function::new(callee, lines));
        }
        self.functions.sort();
        Ok(())
    }

    fn merge(&mut self, function: Function) {
        let known = self.functions.iter_mut().find(|known| {
            (known.origin, &known.from, &known.name) == (function.origin, &function.from, &function.name)
        });
        match known {
            Some(known) => {
                let mut lines: BTreeSet<String> = known.lines.drain(..).collect();
                lines.extend(function.lines);
                known.lines = lines.into_iter().take(MOST_LINES).collect();
            }
            None => self.functions.push(function),
        }
    }

    /// The list, for people.
    pub(super) fn text(&self) -> String {
        let mut text = String::from("\n");
        let _ = match &self.not_traced {
            None if self.functions.is_empty() => {
                writeln!(text, "  all code that was called is instrumented")
            }
            None => writeln!(text, "  called and not instrumented, so accesses in there are not seen"),
            Some(why) => {
                writeln!(text, "  not instrumented, and perhaps called: calls cannot be traced here ({why})")
            }
        };
        let mut groups: BTreeMap<(&str, &str), Vec<&Function>> = BTreeMap::new();
        for function in &self.functions {
            groups
                .entry((function.origin, function.from.as_deref().unwrap_or("")))
                .or_default()
                .push(function);
        }
        for ((origin, from), functions) in groups {
            let whose = match origin {
                "crate" => format!("crate {from}"),
                "foreign" => from.to_owned(),
                "library" => "shared libraries".to_owned(),
                "std" => "the standard library, which Raddle knows".to_owned(),
                _ => "without debug information".to_owned(),
            };
            match origin {
                "std" => {
                    let plural = if functions.len() == 1 { "" } else { "s" };
                    let _ = writeln!(text, "    {whose}: {} function{plural}", functions.len());
                }
                "library" => {
                    let names: Vec<&str> = functions.iter().map(|function| &*function.name).collect();
                    let _ = writeln!(text, "    {whose}: {}", names.join(", "));
                }
                _ => {
                    let _ = writeln!(text, "    {whose}");
                    for Function { name, lines, .. } in functions {
                        let at =
                            if lines.is_empty() { String::new() } else { format!("  {}", lines.join(", ")) };
                        let _ = writeln!(text, "      {name}{at}");
                    }
                }
            }
        }
        text
    }
}

impl Function {
    fn new(callee: &Callee, lines: BTreeSet<String>) -> Function {
        let (origin, from) = match &callee.origin {
            Origin::Crate(name) => ("crate", Some(name.clone())),
            Origin::Foreign(file) => ("foreign", Some(file.clone())),
            Origin::Imported => ("library", None),
            Origin::Std => ("std", None),
            Origin::Unknown | Origin::Instrumented | Origin::Raddle => ("unknown", None),
        };
        Function { origin, from, name: callee.name.clone(), lines: lines.into_iter().collect() }
    }
}

/// The libraries of this build that are not instrumented.
fn uninstrumented(session: &Session) -> Result<Uninstrumented> {
    let file = &session.plan_file;
    let text = fs::read_to_string(file).map_err(Error::file("read", file))?;
    let plan: Plan = serde_json::from_str(&text)
        .map_err(|error| Error::usage(format_args!("`{}` is damaged: {error}", file.display())))?;
    Ok(plan.uninstrumented)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(origin: Origin, name: &str, lines: &[&str]) -> Function {
        Function::new(
            &Callee { name: name.to_owned(), origin },
            lines.iter().map(|&line| line.to_owned()).collect(),
        )
    }

    #[test]
    fn the_list_names_who_calls() {
        let mut unseen = Unseen::default();
        assert!(unseen.text().contains("all code that was called is instrumented"));
        unseen.merge(function(Origin::Crate("quick".to_owned()), "quick::bump", &["src/lib.rs:8"]));
        unseen.merge(function(Origin::Crate("quick".to_owned()), "quick::bump", &["src/lib.rs:4"]));
        unseen.merge(function(Origin::Foreign("zip.c".to_owned()), "deflate", &[]));
        unseen.merge(function(Origin::Imported, "memcpy", &["x.rs:1"]));
        unseen.merge(function(Origin::Imported, "strlen", &[]));
        unseen.merge(function(Origin::Std, "core::panicking::panic", &[]));
        let expected = "\n  called and not instrumented, so accesses in there are not seen
    crate quick
      quick::bump  src/lib.rs:4, src/lib.rs:8
    zip.c
      deflate
    shared libraries: memcpy, strlen
    the standard library, which Raddle knows: 1 function
";
        assert_eq!(unseen.text(), expected);
    }
}
