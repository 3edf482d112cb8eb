//! The engine, as far as code that describes tests mentions it: no thread is ever a virtual one.

/// The engine. There is none.
pub(crate) enum Engine {}

pub(crate) mod execution {
    use super::Engine;

    /// The engine that runs the calling thread.
    pub(crate) fn engine_of_virtual_thread() -> Option<*mut Engine> {
        None
    }
}

pub(crate) mod exploration {
    use std::time::Duration;

    /// The effort that a search may take.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Effort {
        pub(crate) executions: u64,
        pub(crate) time: Option<Duration>,
    }
}

/// What virtual threads call.
pub(crate) mod interface {
    use super::Engine;
    use super::trace::{Action, Introduced};

    pub(crate) enum MonitorCall {
        Enter,
        Exit,
        Wait,
        Notify,
        NotifyAll,
    }

    // SAFETY: none of these does anything.
    pub(crate) unsafe fn introduce(_: *mut Engine, _: Introduced) {}
    pub(crate) unsafe fn make_alike(_: *mut Engine, _: Option<u64>) -> Option<u64> {
        None
    }
    pub(crate) unsafe fn monitor(_: *mut Engine, _: [*mut u32; 2], _: MonitorCall) {}
    pub(crate) unsafe fn note(_: *mut Engine, _: impl FnOnce() -> Action) {}
    pub(crate) unsafe fn step_begins(_: *mut Engine) {}
    pub(crate) unsafe fn unused_kind(_: *mut Engine) -> u64 {
        0
    }

    pub(crate) mod signals {
        /// Prints a message and ends the process.
        pub(crate) fn leave(text: &[u8]) -> ! {
            eprint!("{}", String::from_utf8_lossy(text));
            std::process::exit(101)
        }
    }
}

pub(crate) mod platform {
    pub(crate) mod global {
        use std::cell::Cell;

        /// The state of the process.
        pub(crate) struct Global {
            pub(crate) instrumented: Cell<bool>,
            pub(crate) overdue: Cell<Option<(fn(usize), usize)>>,
        }

        // SAFETY: nothing runs that would write to it.
        unsafe impl Sync for Global {}

        pub(crate) static GLOBAL: Global =
            Global { instrumented: Cell::new(false), overdue: Cell::new(None) };
    }
}

pub(crate) mod rng {
    /// A seeded stream of random numbers: that of the engine (SplitMix64), so that seeds mean the same everywhere.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Rng(u64);

    impl Rng {
        pub(crate) fn new(seed: u64) -> Rng {
            Rng(seed)
        }

        pub(crate) fn of_execution(seed: u64, execution: u64) -> Rng {
            let mut mix = Rng(seed ^ execution.wrapping_mul(0xd134_2543_de82_ef95));
            Rng(mix.next() ^ execution)
        }

        pub(crate) fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        pub(crate) fn below(&mut self, bound: usize) -> usize {
            ((u128::from(self.next()) * bound as u128) >> 64) as usize
        }
    }
}

/// What traces are made of.
pub(crate) mod trace {
    pub(crate) enum Action {
        Call { call: String },
        Return { call: String, result: String },
        Step { name: String, ended: Option<StepEnd> },
    }

    pub(crate) struct StepEnd(pub(crate) Option<String>);

    #[derive(Clone, Copy)]
    pub(crate) struct Introduced {
        pub(crate) address: usize,
        pub(crate) anchor: usize,
    }
}
