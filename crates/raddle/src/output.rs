//! Text for people: reports of failures, and lines about a test.

use std::io::Write;
use std::sync::Once;

use crate::engine::platform::global::GLOBAL;
use raddle_options::columns;
use raddle_report::{Failure, Style, render};

use crate::options::Options;
use crate::search::progress::write_line;
use crate::search::reach::Reach;
use crate::suppress::Suppressed;

/// Prints the report.
pub(crate) fn print(failure: &Failure) {
    announce(failure);
    eprintln!("{}", render(failure, style(), failure.file.as_deref()));
}

/// Tells `cargo raddle` of the failure's file.
pub(crate) fn announce(failure: &Failure) {
    if let Some(file) = &failure.file {
        write_line(&format!("failure\t{}", file.display()));
    }
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

/// Tells `cargo raddle` what an exploration without failure has done.
pub(crate) fn tell_passed(what: &str) {
    write_line(&format!("passed\t{what}"));
}

/// Fails the test if one thread did everything: such an exploration checks nothing that an ordinary test does not.
///
/// # Panics
/// If only one thread ever ran, unless the options allow that or the code is not instrumented. A search that is resumed may have no
/// execution left to make.
pub(crate) fn check_threads(options: &Options, reach: Reach) {
    assert!(
        reach.threads != 1 || options.allow_one_thread || !GLOBAL.instrumented.get(),
        "raddle: only one thread ever ran, so there was nothing to interleave; spawn threads inside of the closure, or allow this with \
         `Explorer::allow_one_thread` or `--allow-one-thread on`"
    );
}

/// Warns once if the closure cannot be explored in full: without instrumentation, or beside other tests in the process.
pub(crate) fn warn_of_limits(instrumented: bool, owned: bool) {
    static INSTRUMENTED: Once = Once::new();
    static OWNED: Once = Once::new();
    if !instrumented {
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
