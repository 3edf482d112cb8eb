//! The properties that every strategy must have, by its claims.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use conformance::{BUGS, Bug};
use litmus::oracle::{Abstract, executions};
use litmus::{Interpret, Model, Program, Real};
use raddle::{Explorer, Failure, Kind, Memory, Strategy};
use support::{Entry, Finds, Scope, assert_same, fails, list};

/// A search by a strategy. The numbers of executions and the time suffice for each of the small programs here.
fn explorer(strategy: &Strategy) -> Explorer {
    Explorer::new().strategy(strategy.clone()).executions(20_000).budget(Duration::from_secs(20))
}

/// The strategies that must find a bug.
fn finders(bug: &Bug) -> impl Iterator<Item = Entry> + use<> {
    let least = if bug.is_hidden { Finds::Hidden } else { Finds::Obvious };
    list().into_iter().filter(move |entry| entry.finds >= least)
}

#[track_caller]
fn find(strategy: &Strategy, bug: &Bug) -> Box<Failure> {
    let failure = explorer(strategy).try_run(|| (bug.program)(false));
    failure.expect_err(&format!("{strategy} finds the {}", bug.name))
}

/// Four threads that a search can order in many ways.
fn four_increments() -> Vec<usize> {
    let counter = AtomicUsize::new(0);
    thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(|| counter.fetch_add(1, SeqCst)));
        threads.map(|thread| thread.join().unwrap()).to_vec()
    })
}

mod every_strategy {
    use super::*;

    #[test]
    fn finds_the_bugs_that_it_claims_to_find() {
        for bug in &BUGS {
            for Entry { strategy, .. } in finders(bug) {
                let failure = find(&strategy, bug);
                assert_eq!(failure.kind, bug.kind, "{strategy}, {}: {}", bug.name, failure.message);
                assert_eq!(failure.found_by.seed, 0, "{strategy}");
            }
        }
    }

    #[test]
    fn raises_no_false_alarm() {
        for bug in &BUGS {
            for Entry { strategy, .. } in list() {
                for memory in [Memory::Sc, Memory::Rc11] {
                    let explorer = explorer(&strategy).memory(memory).executions(300);
                    support::passes(&explorer, std::slice::from_ref(&strategy), || (bug.program)(true));
                }
            }
        }
    }

    #[test]
    fn repeats_a_search_by_its_seed() {
        for Entry { strategy, .. } in list() {
            let search = |seed| {
                let report = explorer(&strategy).seed(seed).executions(200).run(four_increments);
                (report.executions, report.events, report.switches, report.complete, report.outcomes)
            };
            for seed in [0, 7] {
                assert_eq!(search(seed), search(seed), "{strategy}, seed {seed}");
            }
        }
    }

    #[test]
    fn repeats_a_failure_by_its_seed() {
        for bug in &BUGS {
            for Entry { strategy, .. } in finders(bug) {
                let (first, second) = (find(&strategy, bug), find(&strategy, bug));
                assert_eq!(first.found_by.execution, second.found_by.execution, "{strategy}");
                assert_same(&format!("{strategy}, {}", bug.name), &first, &second);
            }
        }
    }

    #[test]
    fn replays_its_failure_event_for_event() {
        for (number, bug) in BUGS.iter().enumerate() {
            for Entry { strategy, .. } in finders(bug) {
                let failure = find(&strategy, bug);
                let file = failure.file.as_ref().expect("a failure has a file");
                let replay = || -> Output {
                    let mut command = Command::new(std::env::current_exe().unwrap());
                    command.args(["--exact", "replayed", "--ignored", "--nocapture"]);
                    command
                        .env("RADDLE_OWNED", "1")
                        .env("RADDLE_TEST", "replayed")
                        .env("RADDLE_REPLAY", file);
                    command.env("CONFORMANCE_BUG", number.to_string());
                    command.env("CONFORMANCE_EXPLORATION", failure.found_by.exploration.to_string());
                    command.output().unwrap()
                };
                let (first, second) = (replay(), replay());
                let text = String::from_utf8_lossy(&first.stderr);
                // A replay compares the kind and the number of events, and ends the process by this code if they agree.
                assert_eq!(first.status.code(), Some(1), "{strategy}, {}: {text}", bug.name);
                assert_eq!(text, String::from_utf8_lossy(&second.stderr), "{strategy}, {}", bug.name);
            }
        }
    }

    #[test]
    fn keeps_the_limit_of_executions() {
        for entry in list() {
            let report = explorer(&entry.strategy).executions(7).run(four_increments);
            let made = report.executions;
            assert!(made == 7 || (made < 7 && entry.can_end()), "{}: {made} executions", entry.strategy);
            assert!(!report.complete, "{}: there are more than 7 executions", entry.strategy);
        }
    }

    /// Two threads that go on for ever, with an effect in each step.
    #[test]
    fn keeps_the_limit_of_steps() {
        for Entry { strategy, .. } in list() {
            let explorer = explorer(&strategy).executions(10).max_steps(1_000);
            let result = explorer.try_run(|| {
                let counter = &AtomicUsize::new(0);
                thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            loop {
                                counter.fetch_add(1, SeqCst);
                            }
                        });
                    }
                });
            });
            match result {
                Ok(report) => {
                    assert!(!report.complete, "{strategy}: an endless program is never explored to its end");
                }
                // The execution went on fairly at the limit, and did not end even so.
                Err(failure) => {
                    assert_eq!(failure.kind, Kind::Livelock, "{strategy}: {}", failure.message);
                    let since = failure.fair_since;
                    assert!(since.is_some_and(|since| since <= 1_001), "{strategy}: fair since {since:?}");
                }
            }
        }
    }

    #[test]
    fn comes_to_the_same_result_with_any_number_of_workers() {
        for entry in list() {
            let strategy = &entry.strategy;
            let search = |workers| explorer(strategy).executions(1_000).workers(workers).run(four_increments);
            let alone = search(1);
            for workers in [2, 4] {
                let shared = search(workers);
                let label = format!("{strategy}, {workers} workers");
                if entry.scope != Scope::Portfolio {
                    assert_eq!(shared.executions, alone.executions, "{label}");
                    assert_eq!(shared.complete, alone.complete, "{label}");
                }
                if entry.is_indexed || alone.complete {
                    assert_eq!(shared.outcomes, alone.outcomes, "{label}");
                }
                if entry.is_indexed {
                    assert_eq!((shared.events, shared.switches), (alone.events, alone.switches), "{label}");
                }
            }
        }
    }

    #[test]
    fn finds_the_same_failure_with_any_number_of_workers_if_indexed() {
        for bug in &BUGS {
            for Entry { strategy, .. } in finders(bug).filter(|entry| entry.is_indexed) {
                let search = |workers| fails(explorer(&strategy).workers(workers), || (bug.program)(false));
                let alone = search(1);
                for workers in [2, 4] {
                    let shared = search(workers);
                    assert_eq!(shared.found_by.execution, alone.found_by.execution, "{strategy}");
                    assert_same(&format!("{strategy}, {workers} workers"), &alone, &shared);
                }
            }
        }
    }

    #[test]
    fn rolls_back_statics_and_thread_locals() {
        static COUNTER: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static LOCAL: Cell<usize> = const { Cell::new(0) });
        let use_once = || LOCAL.replace(1) + COUNTER.fetch_add(1, SeqCst) / 3;
        for Entry { strategy, .. } in list() {
            let report = explorer(&strategy).executions(500).run(|| {
                let threads = [(); 2].map(|()| thread::spawn(use_once));
                [use_once()].into_iter().chain(threads.map(|thread| thread.join().unwrap())).sum::<usize>()
            });
            assert!(report.executions > 1, "{strategy}");
            assert_eq!(report.outcomes.into_keys().collect::<Vec<_>>(), [0], "{strategy}");
            assert_eq!((COUNTER.load(SeqCst), LOCAL.get()), (0, 0), "{strategy}");
        }
    }

    /// Every outcome is one that the axioms allow. A complete search shows all of them, and a strategy that claims to explore
    /// all executions comes to its end.
    #[test]
    fn shows_the_outcomes_of_the_axioms() {
        const PROGRAMS: [&str; 6] = [
            "Wr(x,1); Ra y || Wr(y,1); Ra x",
            "Ws(x,1); Rs y || Ws(y,1); Rs x",
            "Wx(x,1); Wr(y,1) || Ra y; Rx x",
            "a=Rx x; Wx(x,a+1) || a=Rx x; Wx(x,a+1)",
            "FAAq(x,1); Rx y || CASq(x,0,2); Wx(y,1)",
            "Wx(x,1) || Wx(x,2) || Rx x; Rx x",
        ];
        for text in PROGRAMS {
            let program: Program = text.parse().unwrap();
            let known = |model| -> BTreeSet<_> {
                executions(model, || program.on::<Abstract>()).outcomes.into_keys().collect()
            };
            let (sc, rc11) = (known(Model::Sc), known(Model::Rc11));
            for entry in list() {
                for (memory, known) in [(Memory::Sc, &sc), (Memory::Rc11, &rc11)] {
                    let label = format!("{}, {memory}: {text}", entry.strategy);
                    // Samples never end; a few of them do.
                    let most = if entry.can_end() { u64::MAX } else { 300 };
                    let search = explorer(&entry.strategy).memory(memory).executions(most);
                    let report = search.run(|| Real::run(program.on::<Real>()));
                    let shown: BTreeSet<_> = report.outcomes.into_keys().collect();
                    assert!(shown.is_subset(known), "{label}: {:?}", shown.difference(known).next());
                    if report.complete {
                        assert_eq!(&shown, known, "{label}");
                    }
                    let claims = entry.complete_under().contains(&memory);
                    assert!(report.complete || !claims, "{label}: left out {:?}", report.left_out);
                }
            }
        }
    }
}

/// The program whose failure another test replays in a process of its own.
#[test]
#[ignore = "a part of another test"]
fn replayed() {
    let Ok(number) = std::env::var("CONFORMANCE_BUG") else { return };
    let bug = &BUGS[number.parse::<usize>().unwrap()];
    // A failure file names its exploration by the number within the process.
    let exploration: u32 = std::env::var("CONFORMANCE_EXPLORATION").unwrap().parse().unwrap();
    let nothing = Explorer::new().strategy(Strategy::Random).executions(1).allow_one_thread(true);
    (0..exploration).for_each(|_| _ = nothing.clone().run(|| ()));
    Explorer::new().run(|| (bug.program)(false));
}
