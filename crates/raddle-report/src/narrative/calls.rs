//! The calls around an event, with short names for functions and source lines.

use std::collections::BTreeMap;

use crate::failure::{Frame, Trace};

/// The calls around an event, and its source line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// The calls, outermost first.
    pub(crate) levels: Vec<Level>,
    /// The number of calls of the program's own functions; a call of a function of the standard library may follow them.
    pub(crate) own: usize,
    pub(crate) line: Option<String>,
    /// Whether the event counts the references of an `Arc` or `Weak`.
    pub(crate) counts: bool,
    /// Whether the event is how a thread waits for the others of its scope, or how the last of these wakes it.
    pub(crate) ends_scope: bool,
    /// The dependency whose code the event is in, if it is not in the user's own.
    pub(crate) dependency: Option<Dependency>,
    /// The name of the dependency, if the event is about memory that only the dependency knows.
    pub(crate) inside: Option<String>,
}

/// The dependency whose code an event is in, and the call of it.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The number of calls up to the innermost one of the user's own functions.
    outer: usize,
    /// The source line of the user's own call.
    line: Option<String>,
}

impl Calls {
    /// Whether the event is inside a function of the standard library that the program called.
    pub(crate) fn is_in_std(&self) -> bool {
        self.in_std().is_some()
    }

    /// Leaves out the calls inside of the dependency: the user's own line tells more.
    pub(crate) fn leave_dependency(&mut self) {
        let Some(dependency) = &self.dependency else { return };
        self.levels.truncate(dependency.outer + 1);
        self.own = self.levels.len();
        if dependency.line.is_some() {
            self.line.clone_from(&dependency.line);
        }
    }

    /// The function of the standard library that the program called.
    pub(crate) fn in_std(&self) -> Option<&str> {
        self.levels.get(self.own).map(|level| level.function.as_str())
    }
}

/// One call. Events with equal levels are taken to be inside the same call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) function: String,
    /// The call stack of the caller: an index into the trace's stacks.
    caller: Option<u32>,
    /// The source line of the call.
    pub(crate) called_at: Option<String>,
}

/// The last part of a closure's name.
const CLOSURE: &str = "::{closure}";

/// The shortest distinct names of source files.
pub(crate) struct Lines {
    /// The short name of each file.
    short: BTreeMap<String, String>,
}

impl Lines {
    pub(crate) fn of(trace: &Trace) -> Lines {
        let files: std::collections::BTreeSet<&str> = trace
            .frames
            .iter()
            .filter(|frame| !frame.internal)
            .filter_map(|frame| frame.file.as_deref())
            .collect();
        let short = files.iter().map(|&file| {
            // Directories are added until no other file has the same name.
            let mut from = file.len();
            while let Some(at) = file[..from].rfind('/') {
                let tail = &file[at..];
                from = at;
                if files.iter().filter(|other| other.ends_with(tail) || **other == &tail[1..]).count() <= 1 {
                    return (file.to_owned(), tail[1..].to_owned());
                }
            }
            (file.to_owned(), file.to_owned())
        });
        Lines { short: short.collect() }
    }

    /// The source line of a frame: `queue.rs:12`.
    pub(crate) fn name(&self, frame: &Frame) -> Option<String> {
        let file = frame.file.as_deref()?;
        let file = self.short.get(file).map_or(file, String::as_str);
        Some(match frame.line {
            Some(line) => format!("{file}:{line}"),
            None => file.to_owned(),
        })
    }
}

/// The calls of a stack of the trace.
pub(crate) fn calls(trace: &Trace, at: Option<u32>, lines: &Lines) -> Calls {
    // Innermost first.
    let mut stack = Vec::new();
    let mut next = at;
    while let Some(node) = next.and_then(|index| trace.stacks.get(index as usize)) {
        let Some(frame) = trace.frames.get(node.frame as usize) else { break };
        stack.push((frame, node.caller));
        next = node.caller.filter(|&caller| Some(caller) < next);
    }
    let innermost = stack.iter().position(|(frame, _)| !frame.internal);
    let in_std = &stack[..innermost.unwrap_or(stack.len())];
    let ends_scope = is_end_of_scope(in_std.iter().map(|(frame, _)| frame.function.as_str()));
    let Some(innermost) = innermost else {
        let line = stack.first().and_then(|(frame, _)| lines.name(frame));
        return Calls { line, ends_scope, ..Calls::default() };
    };
    let mut levels = Vec::new();
    let mut called_at = None;
    let mut outer: Option<&str> = None;
    let mut dependency = None;
    for (frame, caller) in stack[innermost..].iter().rev().filter(|(frame, _)| !frame.internal) {
        // A closure called on behalf of its own function is no call to a reader.
        let is_closure_of = |outer: &str| {
            frame.function.ends_with(CLOSURE)
                && frame.function.trim_end_matches(CLOSURE) == outer.trim_end_matches(CLOSURE)
        };
        if !frame.dependency {
            dependency = None;
        } else if dependency.is_none() {
            let name = package(frame.file.as_deref().unwrap_or_default()).to_owned();
            dependency = Some(Dependency { name, outer: levels.len(), line: called_at.clone() });
        }
        if !outer.is_some_and(is_closure_of) {
            levels.push(Level {
                function: short(&frame.function),
                caller: *caller,
                called_at: called_at.take(),
            });
        }
        outer = Some(&frame.function);
        called_at = lines.name(frame);
    }
    let own = levels.len();
    let line = called_at.clone();
    // The function of the standard library that the program called says what for: `Mutex::lock`.
    if let Some((frame, caller)) = in_std.iter().rev().find(|(frame, _)| is_telling(&frame.function)) {
        levels.push(Level { function: short(&frame.function), caller: *caller, called_at });
    }
    let counts = in_std.iter().any(|(frame, _)| is_counting(&frame.function));
    Calls { levels, own, line, counts, ends_scope, dependency, inside: None }
}

/// The package of a file in the directory of a registry: `crossbeam-epoch-0.9.18/src/atomic.rs` is of `crossbeam-epoch`.
fn package(file: &str) -> &str {
    let directory = file.split('/').next().unwrap_or_default();
    let is_version = |at: &usize| {
        directory[at + 1..].starts_with(|c: char| c.is_ascii_digit()) && directory[*at..].contains('.')
    };
    let version = directory.rmatch_indices('-').map(|(at, _)| at).find(is_version);
    version.map_or(directory, |at| &directory[..at])
}

/// The last two names of a function's path: `my_crate::queue::Queue<T>::push` becomes `Queue::push`.
pub(crate) fn short(function: &str) -> String {
    // `<my_crate::Queue<T> as Drop>::drop` becomes `Queue::drop`.
    if let Some(rest) = function.strip_prefix('<')
        && let Some((of, method)) = split_qualified(rest)
    {
        return without_arguments(&format!("{}::{method}", segments(of).last().unwrap_or(&of)));
    }
    let segments = segments(function);
    // A closure has the name of its function.
    let closures = segments.iter().rev().take_while(|segment| segment.starts_with('{')).count();
    let keep = 2.max(closures + 1).min(segments.len());
    without_arguments(&segments[segments.len() - keep..].join("::"))
}

/// A path without generic arguments: `Mutex<T>::lock` becomes `Mutex::lock`.
fn without_arguments(path: &str) -> String {
    let mut depth = 0;
    let mut before = ' ';
    let kept = path.chars().filter(|&c| {
        let arrow = before == '-' && c == '>';
        before = c;
        match c {
            '<' => depth += 1,
            '>' if !arrow => {
                depth -= 1;
                return false;
            }
            _ => {}
        }
        depth <= 0
    });
    kept.collect()
}

/// Whether a function of the standard library shows its caller's purpose; wrappers and runtime functions do not.
fn is_telling(function: &str) -> bool {
    let path = function.trim_start_matches(['<', '&']);
    let plumbing =
        ["core::", "alloc::boxed", "alloc::vec", "std::panic", "std::sys", "std::rt", "raddle", "__rustc"];
    if path.starts_with("std::thread::") {
        // Spawning and joining have events of their own.
        return path.contains("park");
    }
    path.contains("::") && !plumbing.iter().any(|module| path.starts_with(module))
}

/// Whether these functions of std, the innermost first, wait for the threads of a scope, or count them. The function that counts calls
/// others by jumps, and then is missing: the drop of the thread's result, which called it, seems to wake the scope's owner by itself.
fn is_end_of_scope<'f>(mut functions: impl Iterator<Item = &'f str> + Clone) -> bool {
    let wakes = |function: &str| {
        function == "syscall" || function.ends_with("::unpark") || function.ends_with("::futex_wake")
    };
    functions.clone().any(|function| {
        function == "std::thread::scoped::scope" || function.starts_with("std::thread::scoped::ScopeData::")
    }) || functions.find(|function| !wakes(function))
        == Some("<std::thread::lifecycle::Packet<T> as Drop>::drop")
}

/// Whether a function changes a reference count.
fn is_counting(function: &str) -> bool {
    let path = function.trim_start_matches('<');
    (path.starts_with("alloc::sync::Arc") || path.starts_with("alloc::sync::Weak"))
        && ["::clone", "::drop", "::drop_slow", "::upgrade", "::downgrade"]
            .iter()
            .any(|end| path.ends_with(end))
}

/// The type and the method of a path of the form `Type as Trait>::method`.
fn split_qualified(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    let mut of = None;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if text[..at].ends_with('-') => {}
            '>' if depth == 0 => {
                let method = text[at + 1..].strip_prefix("::")?;
                return Some((of.unwrap_or(&text[..at]), method));
            }
            '>' => depth -= 1,
            ' ' if depth == 0 && of.is_none() && text[at..].starts_with(" as ") => of = Some(&text[..at]),
            _ => {}
        }
    }
    None
}

/// The parts of a path, split outside of angle brackets.
fn segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in path.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !path[..at].ends_with('-') => depth -= 1,
            ':' if depth == 0 && at >= start && path[at..].starts_with("::") => {
                segments.push(&path[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    segments.push(path.get(start..).unwrap_or_default());
    segments
}

#[cfg(test)]
mod tests {
    use super::{is_end_of_scope, package, short};

    #[test]
    fn packages_are_known_by_their_directories() {
        assert_eq!(package("crossbeam-epoch-0.9.18/src/atomic.rs"), "crossbeam-epoch");
        assert_eq!(package("utf-8-0.7.6/src/lib.rs"), "utf-8");
        assert_eq!(package("once_cell-1.0.0-rc.1/src/lib.rs"), "once_cell");
        assert_eq!(package("checkout/src/lib.rs"), "checkout");
    }

    #[test]
    fn functions_keep_their_last_two_names() {
        assert_eq!(short("my_crate::queue::Queue<T>::push"), "Queue::push");
        assert_eq!(short("<my_crate::Queue<a::T> as Drop>::drop"), "Queue::drop");
        assert_eq!(short("my_crate::tests::works::{closure}"), "works::{closure}");
        assert_eq!(short("works::{closure}::{closure}"), "works::{closure}::{closure}");
        assert_eq!(short("main"), "main");
    }

    #[test]
    fn only_code_that_counts_threads_ends_a_scope() {
        let ends = |functions: &[&'static str]| is_end_of_scope(functions.iter().copied());
        let drop = "<std::thread::lifecycle::Packet<T> as Drop>::drop";
        assert!(ends(&["syscall", "std::thread::thread::Thread::park", "std::thread::scoped::scope"]));
        assert!(ends(&["syscall", drop, "core::ptr::drop_in_place<Packet<_>>"]));
        // A result that wakes somebody when it is dropped.
        assert!(!ends(&["syscall", "<std::sync::mpsc::Sender<T> as Drop>::drop", drop]));
        assert!(!ends(&["syscall", "std::thread::thread::Thread::unpark"]));
    }
}
