//! Runs one of the programs once: `miri <program>`. The driver has Miri do that with many seeds.

#[path = "../../shared/programs.rs"]
mod programs;

/// What programs are made of: here, the standard library.
mod rt {
    pub(crate) use std::sync::Mutex;
    pub(crate) use std::sync::atomic::{AtomicUsize, Ordering};
    pub(crate) use std::thread;
}

fn main() {
    let name = std::env::args().nth(1).expect("the name of a program");
    let &(_, _, program) =
        programs::PROGRAMS.iter().find(|known| known.0 == name).expect("no such program");
    program();
}
