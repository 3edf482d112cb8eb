//! Options as the engine's configuration and strategy.

use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

use raddle_engine::exploration::Effort;
use raddle_engine::happens_before::Model;
use raddle_engine::isolate::heap::Policy;
use raddle_engine::platform::global::GLOBAL;
use raddle_engine::schedule::ALL_POINTS;
use raddle_engine::strategy::{Bounded, OnlyMarked, Pct, Pos, Random, RoundRobin, Scripted, Turns};
use raddle_engine::{Config, Schedule};
use raddle_reflect::Program;
use raddle_report::Kind;

use super::attempt::may_give_up;
use super::exploration::Exploration;
use super::progress::send_progress;
use crate::options::{Allocation, Also, Backend, Isolation, Memory, Options, Strategy};
use crate::replay;
use crate::suppressions::Suppressions;

/// Applies the variables of the environment to the options of the code.
///
/// # Panics
/// If a variable is unknown or has a value that its option does not take.
pub(crate) fn override_by_environment(options: &mut Options) {
    if let Err(problem) = options.override_by(raddle_options::environment()) {
        panic!("raddle: {problem}");
    }
    // Execution graphs know no marks.
    if options.only_marked && options.strategy == Strategy::Exhaustive {
        options.strategy = Strategy::Bounded(usize::MAX);
    }
}

/// The engine's configuration for a search of an exploration.
pub(crate) fn config(options: &Options, exploration: &Exploration) -> Config {
    let replayed = replay::requested();
    // A replay uses the memory model, the allocation and the extra behaviours with which the failure was found.
    let (memory, allocation, found) = match replayed {
        Some(file) if file.failure.found_by.exploration == exploration.number => {
            (file.memory(), file.allocation(), Some(file.failure.kind))
        }
        _ => (options.memory(), options.allocation, None),
    };
    let also = match &replayed {
        Some(file) if found.is_some() => file.also(),
        _ => options.also.clone(),
    };
    let Effort { executions, time: budget } = options.effort();
    let owned = exploration.owned;
    Config {
        executions,
        budget,
        extended_effort: options.extended_effort,
        // Under a debugger, time passes for other reasons.
        time_limit: if options.backend == Backend::Threads { Duration::MAX } else { options.time_limit },
        max_steps: options.max_steps,
        backend: match options.backend {
            Backend::Coroutines => raddle_engine::execution::Backend::Coroutines,
            Backend::Threads => raddle_engine::execution::Backend::OsThreads,
            other => not_made(&other),
        },
        stack_size: options.stack_size,
        seed: options.seed,
        workers: if owned && !options.resumes() { options.processes() } else { 1 },
        alone: if options.workers.is_some() { 32 } else { 1000 },
        // A process that makes one execution has nothing to roll back, and a debugger would stop at each page.
        roll_back_pages: owned
            && options.isolation != Isolation::Fork
            && !(replayed.is_some() && options.backend == Backend::Threads),
        // Above the frame pointer lie the caller's saved frame pointer and the return address.
        callers: exploration.frame_pointer.filter(|_| GLOBAL.instrumented.get()).map(|pointer| pointer + 16),
        exhaustive: match &replayed {
            Some(file) => file.failure.found_by.strategy == Strategy::Exhaustive.to_string(),
            None => options.strategy == Strategy::Exhaustive,
        },
        preemptions: options.preemptions,
        stop_when_inconclusive: may_give_up(options),
        fork: options.isolation == Isolation::Fork,
        report_leaks: !options.allow_leaked_threads,
        prove_spins: false,
        strict_cas_failure_order: !options.chosen_by_portfolio,
        sleeps_order_nothing: !options.chosen_by_portfolio,
        allocation: policy(allocation),
        signal_stack_flag: signal_stack_flag().filter(|_| owned),
        memory: match memory {
            Memory::Sc => Model::Sc,
            Memory::Rc11 => Model::Rc11,
            other => not_made(&other),
        },
        // A replay detects only failures of the recorded kind: the execution may have others before.
        recognises: false,
        check_leaks: found.map_or(options.check_leaks, |kind| kind == Kind::MemoryLeak),
        reference_counts: match replayed {
            Some(file) if found.is_some() => file.reference_counts(),
            _ => options.reference_counts.clone(),
        },
        also: raddle_engine::execution::Also {
            spurious_wake_ups: also.contains(&Also::SpuriousWakeUps),
            spurious_failures: also.contains(&Also::SpuriousFailures),
            timeouts: also.contains(&Also::Timeouts),
            random_bytes: also.contains(&Also::RandomBytes),
            wake_orders: also.contains(&Also::WakeOrders),
        },
        claims_all: match (&replayed, &options.strategy) {
            (Some(file), _) => file.failure.found_by.strategy.starts_with("bounded"),
            (None, Strategy::Schedule(threads)) => threads.first() == Some(&ALL_POINTS),
            (None, strategy) => matches!(strategy, Strategy::Bounded(_)),
        },
        notes_stacks: Suppressions::need_stacks(&options.suppressed),
        races: options.races && GLOBAL.announced.get() && found.is_none_or(|kind| kind == Kind::DataRace),
        label: options.strategy.to_string(),
        progress: send_progress,
    }
}

/// The constructor of the engine's strategy. The engine calls it when memory is the engine's.
pub(crate) fn strategy(options: &Options) -> impl FnOnce() -> Box<dyn raddle_engine::Strategy> + use<> {
    let (strategy, seed) = (options.strategy.clone(), options.seed);
    let preemptions = options.preemptions.unwrap_or(usize::MAX);
    let only_marked = options.only_marked;
    let of_options = move || -> Box<dyn raddle_engine::Strategy> {
        match strategy {
            Strategy::Random => Box::new(Random::new(seed)),
            Strategy::Pct(depth) => Box::new(Pct::new(seed, depth)),
            Strategy::Pos => Box::new(Pos::new(seed)),
            Strategy::Bounded(most) => Box::new(Bounded::new(seed, most.min(preemptions))),
            Strategy::RoundRobin => Box::new(RoundRobin::new()),
            // The exhaustive search chooses by execution graphs, and a portfolio chooses other strategies.
            Strategy::Exhaustive | Strategy::Auto => Box::new(RoundRobin::new()),
            Strategy::Schedule(threads) => {
                Box::new(Scripted::new(Schedule { threads, ..Schedule::default() }))
            }
            Strategy::Turns(threads) => Box::new(Turns::of(&threads, Rc::default())),
            other => not_made(&other),
        }
    };
    move || match only_marked {
        true => Box::new(OnlyMarked::new(of_options())),
        false => of_options(),
    }
}

fn policy(allocation: Allocation) -> Policy {
    match allocation {
        Allocation::Quarantine => Policy::Quarantine,
        Allocation::Reuse => Policy::Reuse,
        other => not_made(&other),
    }
}

/// The address of std's flag that threads need a signal stack, which costs each new thread an allocation and an entry in a table.
/// An optimisation only: with a std that has no such flag, threads start more slowly.
///
/// The symbol table has megabytes, so it is read once in a process, not once in an exploration.
fn signal_stack_flag() -> Option<usize> {
    static ADDRESS: OnceLock<Option<usize>> = OnceLock::new();
    *ADDRESS.get_or_init(|| {
        let address = Program::current().ok()?.static_address("stack_overflow3imp13NEED_ALTSTACK")?;
        Some(address as usize)
    })
}

/// The end of a match on an option that is `#[non_exhaustive]`.
fn not_made(choice: &dyn std::fmt::Display) -> ! {
    unreachable!("raddle: the engine has no `{choice}`; this is a bug of Raddle: please report it")
}
