//! What must happen in some execution: `sometimes!` and `reachable!`.
//!
//! A test that never reaches the case that it is about is green for nothing. Each use of the macros puts an [`Expected`] into a section
//! of the program, so that Raddle knows those of a test even if no execution comes by. Which of them held is noted in memory that no
//! execution rolls back ([`raddle_engine::coverage`]).

use raddle_engine::coverage::{self, Expectation};

use crate::search::progress::write_line;

/// Fails the test if the condition held in no execution of an exploration that evaluates it.
///
/// Under `cargo raddle test`, a test also fails if no exploration ever evaluates a condition that stands in the test itself.
///
/// ```
/// use std::sync::Mutex;
///
/// raddle::explore(|| {
///     let first = Mutex::new(None);
///     std::thread::scope(|scope| {
///         for name in ["left", "right"] {
///             let first = &first;
///             scope.spawn(move || _ = first.lock().unwrap().get_or_insert(name));
///         }
///     });
///     let first = first.into_inner().unwrap();
///     raddle::sometimes!(first == Some("right"), "the second thread is first");
/// });
/// ```
#[macro_export]
macro_rules! sometimes {
    ($condition:expr, $what:literal $(,)?) => {{
        fn function() -> &'static str {
            fn here() {}
            ::std::any::type_name_of_val(&here)
        }
        #[used]
        #[unsafe(link_section = "raddle_expected")]
        static EXPECTED: &$crate::Expected =
            &$crate::Expected { what: $what, file: ::std::file!(), line: ::std::line!(), function };
        $crate::Expected::evaluated(&EXPECTED, $condition);
    }};
}

/// Fails the test if no execution reaches this place: [`sometimes!`](crate::sometimes) without a condition.
///
/// ```
/// raddle::explore(|| {
///     let channel = std::sync::mpsc::channel();
///     std::thread::spawn(move || channel.0.send(7));
///     if channel.1.recv() == Ok(7) {
///         raddle::reachable!("the message arrives");
///     }
/// });
/// ```
#[macro_export]
macro_rules! reachable {
    ($what:literal $(,)?) => {
        $crate::sometimes!(true, $what)
    };
}

/// A condition that must hold in some execution. Made by [`sometimes!`](crate::sometimes).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    pub what: &'static str,
    pub file: &'static str,
    pub line: u32,
    /// The path of a function inside of the one that expects it.
    pub function: fn() -> &'static str,
}

/// Makes the section exist in programs that expect nothing.
#[used]
#[unsafe(link_section = "raddle_expected")]
static NONE: &Expected = &Expected { what: "", file: "", line: 0, function: || "" };

#[allow(improper_ctypes, reason = "no other language sees the section")]
unsafe extern "C" {
    #[link_name = "__start_raddle_expected"]
    static START: &'static Expected;
    #[link_name = "__stop_raddle_expected"]
    static STOP: &'static Expected;
}

/// All that the program expects.
fn all() -> &'static [&'static Expected] {
    // SAFETY: the linker defines both symbols: the section has nothing but references to `Expected`.
    unsafe {
        let (start, stop) = (&raw const START, &raw const STOP);
        std::slice::from_raw_parts(start, stop.offset_from_unsigned(start))
    }
}

impl Expected {
    /// Notes that a condition was evaluated. The reference is the one in the section.
    #[doc(hidden)]
    pub fn evaluated(expected: &'static &'static Expected, held: bool) {
        // SAFETY: both lie in the section.
        let number = unsafe { std::ptr::from_ref(expected).offset_from(&raw const START) };
        coverage::expect(number as usize, held);
    }

    fn text(&self) -> String {
        format!("{}:{}: {}", self.file, self.line, self.what)
    }

    /// Whether this stands in the test of this name.
    fn is_of(&self, test: &str) -> bool {
        let (_, path) = (self.function)().split_once("::").unwrap_or_default();
        path.strip_prefix(test).is_some_and(|rest| rest.starts_with("::"))
    }
}

/// Fails the test if something that an exploration evaluated never held, and tells `cargo raddle` what it has not evaluated.
///
/// # Panics
/// If a condition was evaluated and never held.
pub(crate) fn check(executions: u64) {
    let mut never = Vec::new();
    for (number, expected) in all().iter().enumerate() {
        let state = coverage::expectation(number);
        if state == Expectation::Failed {
            never.push(expected.text());
        }
        if std::env::var("RADDLE_TEST").is_ok_and(|test| expected.is_of(&test)) {
            let met = u8::from(state != Expectation::Unknown);
            write_line(&format!("expected\t{met}\t{}", expected.text()));
        }
    }
    assert!(never.is_empty(), "raddle: never true in {executions} executions:\n  {}", never.join("\n  "));
}
