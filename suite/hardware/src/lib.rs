//! The notation of the classics: locations, results, and the macro that makes a test of a program.
//!
//! Each program has one weak outcome, of which the literature says whether RC11 allows it. A test checks that SC forbids it, that RC11 says
//! what the literature says, and that this machine shows nothing that RC11 forbids.

use std::fmt;
use std::time::Duration;

use raddle::stress::{Expect, Litmus};
use std::sync::atomic::{AtomicU32, Ordering};

/// The locations of a program, initially 0, each in cache lines of its own.
#[derive(Debug, Default)]
pub struct Cells {
    /// A location.
    pub x: Cell,
    /// Another location.
    pub y: Cell,
    /// Another location.
    pub z: Cell,
}

/// One location.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Cell(pub AtomicU32);

impl Cell {
    /// Loads.
    #[inline]
    pub fn r(&self, order: Ordering) -> u32 {
        self.0.load(order)
    }

    /// Stores.
    #[inline]
    pub fn w(&self, value: u32, order: Ordering) {
        self.0.store(value, order);
    }
}

/// What an actor has read: nothing, one value or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reads(Option<u32>, Option<u32>);

impl From<()> for Reads {
    fn from((): ()) -> Reads {
        Reads(None, None)
    }
}

impl From<u32> for Reads {
    fn from(value: u32) -> Reads {
        Reads(Some(value), None)
    }
}

impl From<(u32, u32)> for Reads {
    fn from((first, second): (u32, u32)) -> Reads {
        Reads(Some(first), Some(second))
    }
}

impl fmt::Display for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(first), Some(second)) => write!(f, "{first}, {second}"),
            (Some(first), None) => write!(f, "{first}"),
            _ => Ok(()),
        }
    }
}

/// A test without actors.
pub fn program(name: &str) -> Litmus<Cells, Reads> {
    Litmus::new(name, Cells::default).time(Duration::from_millis(150))
}

/// Runs a test whose weak outcome RC11 allows, or does not.
///
/// # Panics
/// If the test fails, if a model disagrees with the literature, or if the model is not explored in full.
pub fn check(program: Litmus<Cells, Reads>, weak: &str, allowed: bool) {
    let (expect, means) = match allowed {
        true => (Expect::Interesting, "no interleaving has it, and RC11 allows it"),
        false => (Expect::Forbidden, "RC11 forbids it"),
    };
    let report =
        program.outcome(weak, expect, means).outcome("*", Expect::Acceptable, "an interleaving").run();
    for model in &report.models {
        assert!(model.complete, "{} explores all executions of {}", model.model, report.name);
        let has = model.outcomes.contains_key(weak);
        assert_eq!(has, allowed && model.model == "RC11", "{} and the outcome {weak}", model.model);
    }
}

/// Makes a test: `name: actor, actor, ... [; arbiter] => "weak outcome", allowed | forbidden`.
#[macro_export]
macro_rules! classics {
    ($($(#[$doc:meta])* $name:ident: $(|$state:ident| $body:expr),+ $(; arbiter |$last:ident| $arbiter:expr)? => $weak:literal, $verdict:ident;)+) => {
        $(
            $(#[$doc])*
            #[test]
            fn $name() {
                let program = $crate::program(concat!(module_path!(), "::", stringify!($name)))
                    $(.actor(|$state: &$crate::Cells| $crate::Reads::from($body)))+
                    $(.arbiter(|$last: &$crate::Cells| $crate::Reads::from($arbiter)))?;
                $crate::check(program, $weak, $crate::classics!(@ $verdict));
            }
        )+
    };
    (@ allowed) => { true };
    (@ forbidden) => { false };
}
