//! `sometimes!` and `reachable!` where nothing is explored: conditions are evaluated, and nobody counts.

/// Fails the test if the condition held in no execution of an exploration that evaluates it. Here, where nothing can be explored, it is
/// evaluated, and that is all.
#[macro_export]
macro_rules! sometimes {
    ($condition:expr, $what:literal $(,)?) => {{
        let _: (bool, &str) = ($condition, $what);
    }};
}

/// Fails the test if no execution reaches this place: [`sometimes!`](crate::sometimes) without a condition.
#[macro_export]
macro_rules! reachable {
    ($what:literal $(,)?) => {
        $crate::sometimes!(true, $what)
    };
}

/// A condition that must hold in some execution: of no use here.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Expected;
