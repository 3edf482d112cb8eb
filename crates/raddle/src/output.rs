//! Text for people: reports of failures, and lines about a test.

use std::io::Write;
use std::sync::Once;

use raddle_engine::platform::global::GLOBAL;
use raddle_options::columns;
use raddle_report::{Failure, Style, render};

use crate::suppress::Suppressed;

/// Prints the report.
pub(crate) fn print(failure: &Failure) {
    eprintln!("{}", render(failure, style(), failure.file.as_deref()));
}

/// Prints the report and fails the test, without the noise of a second panic message.
pub(crate) fn fail(failure: &Failure) -> ! {
    print(failure);
    let plain = Style { colour: false, ..style() };
    std::panic::resume_unwind(Box::new(render(failure, plain, failure.file.as_deref())))
}

/// The style of reports: that of `cargo raddle`, which sees the terminal, or else the one that the process itself detects.
pub(crate) fn style() -> Style {
    let mut style = Style::detect();
    match std::env::var("RADDLE_COLOR").as_deref() {
        Ok("always") => style.colour = true,
        Ok("never") => style.colour = false,
        _ => {}
    }
    if let Some(width) = std::env::var("RADDLE_COLUMNS").ok().and_then(|text| columns(&text).ok()) {
        style.width = width.into();
    }
    style
}

/// Prints a line past libtest, which hides the output of tests that pass.
pub(crate) fn say(text: &str) {
    // Standard error may be closed.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Warns once if the closure cannot be explored in full: without instrumentation, or beside other tests in the process.
pub(crate) fn warn_of_limits(owned: bool) {
    static INSTRUMENTED: Once = Once::new();
    static OWNED: Once = Once::new();
    if !GLOBAL.instrumented.get() {
        INSTRUMENTED.call_once(|| {
            say(
                "raddle: this test was built without instrumentation: only threads, blocking, sleeping and yielding are \
                 controlled, atomic accesses are not seen; run `cargo raddle test` to explore everything",
            );
        });
    }
    if !owned {
        OWNED.call_once(|| {
            say(
                "raddle: other tests run in this process, so statics are not rolled back between executions and \
                 explorations take turns; `cargo raddle test` gives each test a process of its own",
            );
        });
    }
}

/// Prints the failures that were suppressed.
pub(crate) fn print_suppressed(suppressed: &[Suppressed]) {
    let seen: Vec<String> =
        suppressed.iter().filter(|suppressed| suppressed.count > 0).map(Suppressed::to_string).collect();
    if !seen.is_empty() {
        println!("raddle: suppressed: {}", seen.join("; "));
    }
}
