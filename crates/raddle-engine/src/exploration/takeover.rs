//! Takeover of the process by an exploration, and its return.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use super::outcomes::OutcomeCounts;
use super::{Config, Search, turn};
use crate::coverage;
use crate::execution::{self, Backend, Engine, Limits, RaceDetector, engine_of_virtual_thread};
use crate::happens_before::Model;
use crate::interface;
use crate::interface::signals::{self, Handlers};
use crate::isolate::borrowed::Borrowed;
use crate::isolate::pages::Pages;
use crate::isolate::{heap, unmanaged_threads};
use crate::model_checker::ModelChecker;
use crate::platform::global::{EXPLORER, GLOBAL, NO_ROLE, ROLE, Wanted};
use crate::platform::{file_pages, idle_calls};
use crate::site::{self, Classify};
use crate::spinloop::liveness::Liveness;
use crate::strategy::Strategy;
use crate::weak_memory::Memory;

/// A panic hook.
pub(super) type PanicHook = Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Sync + Send>;

impl<'a> Search<'a> {
    /// Waits for the caller's turn and takes the process over. Strategy and classifier are made when memory is already
    /// the engine's.
    ///
    /// # Panics
    /// If called from within an exploration.
    pub fn new(
        config: &'a Config,
        strategy: impl FnOnce() -> Box<dyn Strategy>,
        classifier: impl FnOnce() -> Classify,
    ) -> Search<'a> {
        let turn = turn::take();
        file_pages::give_back();
        idle_calls::put_back();
        heap::init();
        site::map_tables();
        coverage::map_tables();
        site::forget_sites_unless(&config.reference_counts);
        let hook: Arc<PanicHook> = Arc::new(std::panic::take_hook());
        let before = Arc::clone(&hook);
        std::panic::set_hook(Box::new(move |info| on_panic(info, &before)));
        let heap_block = Box::new(0u8);
        let heap_block = (&raw const *heap_block).addr();
        ROLE.set(EXPLORER);
        GLOBAL.in_engine.set(true);
        // From here on, memory is the engine's.
        let limits = Limits {
            max_steps: config.max_steps,
            backend: config.backend,
            stack_size: config.stack_size,
            report_leaks: config.report_leaks,
            prove_spins: config.prove_spins,
            strict_cas_failure_order: config.strict_cas_failure_order,
            sleeps_order_nothing: config.sleeps_order_nothing,
            check_leaks: config.check_leaks,
            also: config.also,
            claims_all: config.claims_all,
            notes_stacks: config.notes_stacks,
            allocation: config.allocation,
            max_ticks: (config.time_limit.as_millis() / u128::from(signals::TICK_MS)).min(u32::MAX.into())
                as u32,
        };
        Liveness::prepare();
        let checker = config.exhaustive.then(|| {
            let checker = ModelChecker::new(config.memory);
            Box::new(match config.preemptions {
                Some(most) => checker.with_preemption_bound(most),
                None => checker,
            })
        });
        let mut engine = Box::new(Engine::new(limits, classifier(), strategy(), config.seed, checker));
        engine.execution.memory = match config.exhaustive {
            // The graph determines the values of reads; only clocks are kept.
            true => config.races.then(|| Box::new(Memory::new(Model::Sc))),
            false => {
                (config.memory == Model::Rc11 || config.races).then(|| Box::new(Memory::new(config.memory)))
            }
        };
        if config.races {
            // A child process cannot report shared lines or clocks that it needs, and makes one execution only.
            RaceDetector::begin_sharing(config.fork);
            engine.exploration.detector = Some(Box::default());
            if config.fork {
                engine.need_all_clocks();
            }
        }
        let engine = Box::into_raw(engine);
        execution::set_engine(engine);
        GLOBAL.wants_registers.set(config.exhaustive);
        let mut handlers = Handlers::install();
        if config.backend == Backend::Coroutines {
            handlers.forbid_time_stamps();
        }
        set_flag(config, false);
        if let Some(callers) = config.callers {
            // SAFETY: the engine was just made.
            unsafe { (*engine).exploration.borrowed = Borrowed::above(callers) };
        }
        if config.roll_back_pages {
            unmanaged_threads::hold();
            let pages = Pages::protect(heap_block);
            // SAFETY: the engine was just made.
            unsafe { (*engine).exploration.pages = Some(pages) };
        }
        Search {
            engine,
            config,
            outcome_counts: OutcomeCounts::default(),
            handlers: Some(handlers),
            hook,
            _turn: turn,
        }
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        // SAFETY: the engine was made by `new`; nothing runs on it any more.
        let mut engine = unsafe { Box::from_raw(self.engine) };
        engine.exploration.pages = None;
        unmanaged_threads::release();
        self.handlers = None;
        set_flag(self.config, true);
        GLOBAL.wanted_announcements.set(Wanted::Nothing);
        GLOBAL.wants_registers.set(false);
        GLOBAL.wants_allocations.set(false);
        execution::set_engine(std::ptr::null_mut());
        drop(engine);
        GLOBAL.in_engine.set(false);
        ROLE.set(NO_ROLE);
        // A panic of the engine itself ends the test; the hook must not change meanwhile.
        if !std::thread::panicking() {
            let hook = Arc::clone(&self.hook);
            std::panic::set_hook(Box::new(move |info| hook(info)));
        }
    }
}

fn set_flag(config: &Config, value: bool) {
    if let Some(flag) = config.signal_stack_flag {
        // SAFETY: the caller of `Search::new` says that an atomic flag lives there.
        unsafe { (*(flag as *const AtomicBool)).store(value, SeqCst) };
    }
}

/// The panic hook: records panics of virtual threads, and passes all others on.
fn on_panic(info: &std::panic::PanicHookInfo<'_>, before: &PanicHook) {
    match engine_of_virtual_thread() {
        // SAFETY: the engine runs and this is a virtual thread.
        Some(engine) => unsafe {
            interface::panicked(engine, || {
                let text = info.payload_as_str().unwrap_or("a payload that is no string");
                match info.location() {
                    Some(at) => format!("{text}\n  at {}:{}", at.file(), at.line()),
                    None => text.to_owned(),
                }
            });
        },
        None => before(info),
    }
}
