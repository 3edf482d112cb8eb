//! Each class of failure, each option of operations, each mistake.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, RwLock};

use raddle::{Contract, Kind, Operation, Relaxation, Scenario, Spec, Test, call, generate};
use strategies::sampling;

#[test]
fn a_panic_that_the_object_alone_does_not_have() {
    let test = Test::new(|| AtomicI32::new(0)).operation("enter", |inside: &AtomicI32| {
        assert_eq!(inside.swap(1, SeqCst), 0, "two at once");
        inside.store(0, SeqCst);
    });
    let failure = test.fails(Kind::Panic);
    assert!(failure.message.contains("enter()"), "{}", failure.message);
    assert!(failure.message.contains("assertion"), "{}", failure.message);
}

#[test]
fn panics_that_the_object_alone_has_are_results() {
    Test::new(|| Mutex::new(Vec::<u32>::new()))
        .operation("push", |stack: &Mutex<Vec<u32>>, item: u32| {
            stack.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(item);
        })
        .operation("pop", |stack: &Mutex<Vec<u32>>| {
            let popped = stack.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop();
            popped.expect("the stack is not empty")
        })
        .iterations(10)
        .executions(500)
        .run();
}

#[test]
fn a_deadlock() {
    let test = Test::new(|| (Mutex::new(0), Mutex::new(0)))
        .operation("one", |(a, b): &(Mutex<i32>, Mutex<i32>)| *a.lock().unwrap() + *b.lock().unwrap())
        .operation("two", |(a, b): &(Mutex<i32>, Mutex<i32>)| *b.lock().unwrap() + *a.lock().unwrap());
    let failure = test.fails(Kind::Deadlock);
    let scenario = failure.scenario.unwrap();
    assert_eq!(scenario.parallel.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    assert!(scenario.parallel.iter().flatten().all(|op| op.result.is_none()), "{scenario:?}");
}

#[test]
fn a_livelock() {
    let test = Test::new(AtomicBool::default).operation("lock", |held: &AtomicBool| {
        while held.swap(true, SeqCst) {
            std::hint::spin_loop();
        }
    });
    // It is not even needed that two run at once.
    test.fails(Kind::Livelock);
}

#[test]
fn an_object_that_is_not_valid_at_the_end() {
    let test = Test::new(|| (AtomicUsize::new(0), AtomicUsize::new(0)))
        .operation("add", |(sum, count): &(AtomicUsize, AtomicUsize)| {
            let now = sum.load(SeqCst);
            sum.store(now + 1, SeqCst);
            count.fetch_add(1, SeqCst);
        })
        .validate(|(sum, count)| assert_eq!(sum.load(SeqCst), count.load(SeqCst), "sum and count"));
    let failure = test.fails(Kind::Validation);
    assert!(failure.message.contains("sum and count"), "{}", failure.message);
    assert_eq!(failure.scenario.unwrap().parallel.len(), 2);
}

#[test]
fn results_need_not_print_alike_to_be_equal() {
    /// Equal if the values are; the history is only for people.
    #[derive(Debug)]
    struct Counted {
        value: usize,
        #[allow(dead_code, reason = "printed")]
        calls: usize,
    }
    impl PartialEq for Counted {
        fn eq(&self, other: &Counted) -> bool {
            self.value == other.value
        }
    }
    Test::new(|| (AtomicUsize::new(0), AtomicUsize::new(0)))
        .operation("inc", |(value, calls): &(AtomicUsize, AtomicUsize)| {
            calls.fetch_add(1, SeqCst);
            let value = value.fetch_add(1, SeqCst);
            Counted { value, calls: calls.load(SeqCst) }
        })
        .iterations(10)
        .executions(1000)
        .run();
}

#[test]
fn lock_based_objects_are_not_obstruction_free() {
    let locked = || {
        Test::new(|| Mutex::new(0)).operation("inc", |counter: &Mutex<i32>| {
            let mut counter = counter.lock().unwrap();
            *counter += 1;
            *counter
        })
    };
    locked().iterations(5).run();
    let failure = locked().obstruction_free().fails(Kind::NotObstructionFree);
    assert!(failure.message.contains("waits for `counter`"), "{}", failure.message);
    Test::new(|| AtomicI32::new(0))
        .operation("inc", |counter: &AtomicI32| counter.fetch_add(1, SeqCst))
        .operation("long", |counter: &AtomicI32| (0..100).map(|_| counter.load(SeqCst)).max())
        .iterations(5)
        .executions(500)
        .obstruction_free()
        .run();
}

#[test]
fn threads_that_hinder_each_other_for_long_are_not_lock_free() {
    // Each gives way to the other; with a bound on events, that is seen.
    let test = |bound| {
        Test::new(|| AtomicUsize::new(0))
            .operation("inc", |counter: &AtomicUsize| {
                loop {
                    let seen = counter.load(SeqCst);
                    if counter.compare_exchange(seen, seen + 1, SeqCst, SeqCst).is_ok() {
                        return seen;
                    }
                }
            })
            .iterations(10)
            .executions(1000)
            .lock_free(bound)
    };
    test(30).run();
    test(1).fails(Kind::NotLockFree);
}

#[test]
fn groups_stay_on_one_thread() {
    // Wrong with two producers, right with one.
    struct OneWriter(AtomicUsize);
    let test = |grouped: bool| {
        let write = Operation::new("write", |cell: &OneWriter| {
            let seen = cell.0.load(SeqCst);
            cell.0.store(seen + 1, SeqCst);
            seen + 1
        });
        Test::new(|| OneWriter(AtomicUsize::new(0)))
            .with(if grouped { write.group("writer") } else { write })
            .operation("read", |cell: &OneWriter| cell.0.load(SeqCst))
            .iterations(20)
            .executions(500)
    };
    test(true).run();
    test(false).fails(Kind::IncorrectResults);
}

#[test]
fn once_means_once() {
    let test = Test::new(|| AtomicUsize::new(0))
        .with(
            Operation::new("close", |closed: &AtomicUsize| {
                assert_eq!(closed.fetch_add(1, SeqCst), 0, "closed twice");
            })
            .once(),
        )
        .operation("is_closed", |closed: &AtomicUsize| closed.load(SeqCst) > 0);
    let coverage = test.iterations(20).executions(200).run();
    for covered in &coverage.scenarios {
        assert_eq!(covered.scenario.matches("close()").count(), 1, "{}", covered.scenario);
    }
}

#[test]
fn preconditions_hold_in_every_scenario() {
    let test = Test::new(|| AtomicI32::new(0))
        .operation("lock", |depth: &AtomicI32| {
            depth.fetch_add(1, SeqCst);
        })
        .with(
            Operation::new("unlock", |depth: &AtomicI32| {
                depth.fetch_sub(1, SeqCst);
            })
            .precondition(|earlier, ()| earlier.count("lock") > earlier.count("unlock")),
        );
    let coverage = test.iterations(30).executions(50).after(0).run();
    assert!(coverage.scenarios.iter().any(|covered| covered.scenario.contains("unlock")));
    for covered in &coverage.scenarios {
        let init = covered.scenario.strip_prefix("init ").map_or("", |rest| rest.split(']').next().unwrap());
        for thread in covered.scenario.rsplit("] [").next().unwrap().split("||") {
            let mut depth = init.matches("lock").count() as i32 - 2 * init.matches("unlock").count() as i32;
            for operation in thread.split(';') {
                depth += if operation.contains("unlock") { -1 } else { 1 };
                assert!(depth >= 0, "{}", covered.scenario);
            }
        }
    }
}

#[test]
fn no_scenario_comes_twice_or_only_reads() {
    let coverage = Test::new(|| AtomicI32::new(0))
        .with(Operation::with_args("set", (generate::int(1..=2),), |x: &AtomicI32, v: i32| {
            x.store(v, SeqCst)
        }))
        .with(Operation::new("get", |x: &AtomicI32| x.load(SeqCst)).read_only())
        .before(0)
        .after(0)
        .operations_per_thread(1)
        .iterations(100)
        .executions(10)
        .run();
    // Two calls out of set(1), set(2), get(), in any order of the threads, but not get() twice.
    assert_eq!(coverage.scenarios.len(), 5, "{:?}", coverage.scenarios);
}

#[test]
fn keys_split_the_object() {
    let test = |broken: bool| {
        Test::new(|| RwLock::new(BTreeMap::<u32, i32>::new()))
            .with(
                Operation::with_args(
                    "add",
                    (generate::int(0..=2), generate::int(1..=2)),
                    move |map: &RwLock<BTreeMap<u32, i32>>, key: u32, value: i32| {
                        if broken {
                            let old = map.read().unwrap().get(&key).copied().unwrap_or(0);
                            map.write().unwrap().insert(key, old + value);
                            return old + value;
                        }
                        let mut map = map.write().unwrap();
                        let entry = map.entry(key).or_insert(0);
                        *entry += value;
                        *entry
                    },
                )
                .key(|&(key, _)| key),
            )
            .with(
                Operation::with_args(
                    "get",
                    (generate::int(0..=2),),
                    |map: &RwLock<BTreeMap<u32, i32>>, key: u32| map.read().unwrap().get(&key).copied(),
                )
                .key(|&(key,)| key),
            )
            .iterations(20)
            .executions(500)
    };
    test(false).run();
    test(true).fails(Kind::IncorrectResults);
}

#[test]
fn a_specification_of_its_own() {
    let spec = || {
        Spec::new(HashMap::<u32, u32>::new)
            .operation("put", |map: &mut HashMap<u32, u32>, key: u32, value: u32| map.insert(key, value))
            .operation("get", |map: &mut HashMap<u32, u32>, key: u32| map.get(&key).copied())
    };
    let test = |off: u32| {
        Test::new(|| Mutex::new(BTreeMap::<u32, u32>::new()))
            .operation("put", |map: &Mutex<BTreeMap<u32, u32>>, key: u32, value: u32| {
                map.lock().unwrap().insert(key, value)
            })
            .operation("get", move |map: &Mutex<BTreeMap<u32, u32>>, key: u32| {
                map.lock().unwrap().get(&key).map(|value| value + off)
            })
            .spec(spec())
            .iterations(10)
            .executions(300)
    };
    test(0).run();
    // A sequential bug needs one thread only, and simple arguments.
    let failure = test(1).fails(Kind::IncorrectResults);
    let scenario = failure.scenario.unwrap();
    let calls: usize =
        scenario.init.len() + scenario.post.len() + scenario.parallel.iter().map(Vec::len).sum::<usize>();
    assert_eq!(calls, 2, "{scenario:?}");
    let all = scenario.init.iter().chain(scenario.parallel.iter().flatten()).chain(&scenario.post);
    assert!(all.clone().any(|op| op.call == "put(0, 0)"), "{scenario:?}");
}

#[test]
fn a_specification_that_leaves_a_choice() {
    let spec = |most: u32| {
        Spec::new(|| ()).choices("roll", move |_: &()| (1..=most).map(|eyes| (eyes, ())).collect::<Vec<_>>())
    };
    let dice = || {
        Test::new(|| AtomicUsize::new(0))
            .operation("roll", |rolls: &AtomicUsize| rolls.fetch_add(1, SeqCst) as u32 % 6 + 1)
            .iterations(5)
            .executions(100)
    };
    dice().spec(spec(6)).run();
    dice().spec(spec(3)).fails(Kind::IncorrectResults);
}

#[test]
fn other_strategies_find_it_too() {
    for strategy in sampling() {
        let test = Test::new(AtomicUsize::default)
            .operation("inc", |counter: &AtomicUsize| {
                let seen = counter.load(SeqCst);
                counter.store(seen + 1, SeqCst);
                seen
            })
            .strategy(strategy.clone());
        let failure = test.fails(Kind::IncorrectResults);
        assert_eq!(failure.found_by.strategy, strategy.to_string());
    }
}

#[test]
fn the_same_seed_finds_the_same() {
    let find = |seed| {
        let test = Test::new(|| Mutex::new((0, 0)))
            .operation("left", |pair: &Mutex<(i32, i32)>, by: i32| {
                let seen = pair.lock().unwrap().0;
                pair.lock().unwrap().0 = seen + by;
                seen
            })
            .operation("right", |pair: &Mutex<(i32, i32)>| pair.lock().unwrap().1)
            .seed(seed);
        let failure = test.fails(Kind::IncorrectResults);
        (failure.scenario.clone(), failure.schedule.clone(), failure.found_by.clone())
    };
    let (first, second) = (find(3), find(3));
    assert_eq!((first.0, first.1), (second.0, second.1));
    assert_eq!(first.2.seed, 3);
}

#[track_caller]
fn mistake<T: Send + Sync + 'static>(test: Test<T>, says: &str) {
    let panic = catch_unwind(AssertUnwindSafe(|| test.try_run().is_ok())).expect_err("a mistake is told");
    let text = panic.downcast_ref::<String>().expect("in words");
    assert!(text.starts_with("raddle: ") && text.contains(says), "{text}");
}

#[test]
fn mistakes_are_told_in_a_sentence() {
    let counter = || Test::new(|| AtomicI32::new(0)).operation("inc", |x: &AtomicI32| x.fetch_add(1, SeqCst));
    mistake(Test::new(|| ()), "no operations");
    mistake(counter().operation("inc", |_: &AtomicI32| ()), "two operations `inc`");
    mistake(counter().threads(0), "needs a thread");
    mistake(counter().scenario(Scenario::new()), "no parallel part");
    mistake(
        counter().scenario(Scenario::new().thread([call("dec", ())])),
        "`dec`, which the test does not have",
    );
    mistake(counter().scenario(Scenario::new().thread([call("inc", (1,))])), "takes `()`");
    mistake(
        counter().with(Operation::new("wait", |_: &AtomicI32| ()).blocking()),
        "Spec::new(..).blocking(\"wait\"",
    );
    mistake(
        Test::new(|| AtomicI32::new(0)).with(Operation::new("only", |_: &AtomicI32| ()).group("g")),
        "all operations are in group `g`",
    );
    mistake(counter().spec(Spec::new(|| 0)), "no operation `inc`");
    mistake(counter().spec(Spec::new(|| 0).operation("inc", |_: &mut i32| 0u8)), "make them equal");
    let waiting = Operation::future("wait", async |_: &AtomicI32| ());
    mistake(
        counter().with(waiting).scenario(Scenario::new().init([call("wait", ())]).thread([call("inc", ())])),
        "in the init part nobody could wake it",
    );
}

#[test]
fn spinning_and_giving_way_are_waiting() {
    struct Spinlock(AtomicBool, AtomicI32);
    let test = |gives_way: bool| {
        Test::new(|| Spinlock(AtomicBool::new(false), AtomicI32::new(0)))
            .operation("inc", move |lock: &Spinlock| {
                while lock.0.swap(true, SeqCst) {
                    match gives_way {
                        true => std::thread::yield_now(),
                        false => std::hint::spin_loop(),
                    }
                }
                let value = lock.1.fetch_add(1, SeqCst);
                lock.0.store(false, SeqCst);
                value
            })
            .iterations(5)
            .executions(500)
    };
    for gives_way in [false, true] {
        test(gives_way).run();
        test(gives_way).obstruction_free().fails(Kind::NotObstructionFree);
    }
}

/// A counter whose readers see what was written before the last write.
#[derive(Default)]
struct Late(Mutex<(i32, i32)>);

fn late() -> Test<Late> {
    let spec = Spec::new(|| 0)
        .operation("set", |value: &mut i32, to: i32| *value = to)
        .operation("get", |value: &mut i32| *value);
    Test::new(Late::default)
        .with(Operation::with_args("set", (generate::int(1..=2),), |cell: &Late, to: i32| {
            let mut cell = cell.0.lock().unwrap();
            *cell = (cell.1, to);
        }))
        .operation("get", |cell: &Late| cell.0.lock().unwrap().0)
        .spec(spec)
        .iterations(20)
        .executions(300)
}

#[test]
fn contracts_are_told_apart() {
    late().fails(Kind::IncorrectResults);
    // Two operations that change places are each one away from where they should be.
    let small = late().operations_per_thread(1).before(0).after(0);
    small.contract(Contract::Quasi(1)).run();
    late().operations_per_thread(1).before(0).after(0).fails(Kind::IncorrectResults);
    late().contract(Contract::Anything).run();
    let panics =
        Test::new(|| ()).operation("always", |(): &()| panic!("as ever")).contract(Contract::Anything);
    panics.fails(Kind::Panic);
    let cost = Contract::Relaxed(Relaxation::out_of_order(2));
    mistake(late().contract(cost), "does not go with this test");
}

#[test]
fn a_counting_network_is_quiescently_consistent() {
    /// Two wires: a balancer sends tokens to them in turn, and each counts its own.
    #[derive(Default)]
    struct Network(AtomicUsize, [AtomicUsize; 2]);
    let test = |contract| {
        Test::new(Network::default)
            .with(
                Operation::new("next", |network: &Network| {
                    let wire = network.0.fetch_add(1, SeqCst) % 2;
                    2 * network.1[wire].fetch_add(1, SeqCst) + wire
                })
                .relaxed(),
            )
            .contract(contract)
            .iterations(20)
            .executions(1000)
    };
    test(Contract::Linearizable).fails(Kind::IncorrectResults);
    test(Contract::Sequential).fails(Kind::IncorrectResults);
    test(Contract::Quiescent).run();
    test(Contract::Serializable).run();
}
