//! Failures as an engine would report them, made by hand.
#![allow(dead_code, reason = "each test file uses some of them")]

use raddle_report::failure::*;

pub(crate) mod objects;

/// Builds a failure event by event.
pub(crate) struct Sample {
    failure: Failure,
    last: Option<u32>,
}

impl Sample {
    pub(crate) fn new(test: &str, kind: Kind, message: &str) -> Sample {
        // From JSON, so that a new optional field of the model does not concern the samples.
        let failure = serde_json::json!({
            "format": FORMAT,
            "test": test,
            "kind": kind,
            "message": message,
            "build": {"binary": "counter-1f0c9a7b", "id": "9f86d081884c7d65", "package": "counter"},
            "found_by": {"strategy": "random", "seed": 42, "execution": 17},
            "schedule": "",
            "threads": [],
            "trace": {"events": [], "stacks": [], "frames": []},
        });
        Sample { failure: serde_json::from_value(failure).unwrap(), last: None }
    }

    pub(crate) fn thread(mut self, name: Option<&str>, end: ThreadEnd) -> Sample {
        self.failure.threads.push(Thread { name: name.map(str::to_owned), end });
        self
    }

    /// A thread that waits for another one to end.
    pub(crate) fn joining(mut self, name: Option<&str>, thread: u32, stack: &str) -> Sample {
        let at = self.stack(stack);
        self.thread(name, ThreadEnd::waiting(WaitingFor::Thread(thread), Some(thread), at))
    }

    /// A thread that waits for a mutex.
    pub(crate) fn locking(
        mut self,
        name: Option<&str>,
        mutex: Location,
        held_by: u32,
        stack: &str,
    ) -> Sample {
        let at = self.stack(stack);
        let target = WaitingFor::Primitive { kind: Primitive::Mutex, place: mutex };
        self.thread(name, ThreadEnd::waiting(target, Some(held_by), at))
    }

    /// An event of a thread; `stack` is `function file:line` from the outside in, parts separated by ` > `. A function
    /// of the standard library begins with `std::`, `core::` or `alloc::`.
    pub(crate) fn event(mut self, thread: u32, stack: &str, action: Action) -> Sample {
        let switch = (self.last.is_some_and(|last| last != thread)).then_some(Switch::Preempted);
        self.push(thread, stack, action, switch);
        self
    }

    /// As `event`, after a switch for this reason.
    pub(crate) fn after(mut self, reason: Switch, thread: u32, stack: &str, action: Action) -> Sample {
        self.push(thread, stack, action, Some(reason));
        self
    }

    pub(crate) fn found_by(mut self, strategy: &str, seed: u64, execution: u64) -> Sample {
        let found_by = &mut self.failure.found_by;
        (found_by.strategy, found_by.seed, found_by.execution) = (strategy.to_owned(), seed, execution);
        self
    }

    /// The thread that failed.
    pub(crate) fn by(mut self, thread: u32) -> Sample {
        self.failure.thread = Some(thread);
        self
    }

    pub(crate) fn limit(mut self, reason: &str) -> Sample {
        self.failure.certainty = Certainty::Limit { reason: reason.to_owned() };
        self
    }

    pub(crate) fn scenario(mut self, scenario: Scenario) -> Sample {
        self.failure.scenario = Some(scenario);
        self
    }

    pub(crate) fn omitted(mut self, events: u64) -> Sample {
        self.failure.trace.omitted = events;
        self
    }

    /// One more step towards a memory error.
    pub(crate) fn step(mut self, thread: u32, stack: &str, did: Did, address: u64, size: u64) -> Sample {
        let at = self.stack(stack);
        let fault = self.failure.fault.get_or_insert_default();
        if did == Did::Allocate {
            fault.blocks.push(Block { address, size, holds: None });
        }
        fault.steps.push(FaultStep { thread, did, address, size, at });
        self
    }

    pub(crate) fn done(mut self) -> Failure {
        let events = &self.failure.trace.events;
        self.failure.schedule = Schedule(events.iter().map(|event| event.thread as u16).collect());
        self.failure
    }

    fn push(&mut self, thread: u32, stack: &str, action: Action, switch: Option<Switch>) {
        let at = self.stack(stack);
        self.last = Some(thread);
        self.failure.trace.events.push(Event {
            thread,
            action,
            at,
            switch,
            reads_from: None,
            overwrites: None,
            synchronises_with: Vec::new(),
            changes: Vec::new(),
        });
    }

    /// The last event reads from this write.
    pub(crate) fn reads(mut self, write: Write) -> Sample {
        self.failure.trace.events.last_mut().unwrap().reads_from = Some(write);
        self
    }

    /// The last event's write immediately follows this one in modification order.
    pub(crate) fn overwrites(mut self, write: Write) -> Sample {
        self.failure.trace.events.last_mut().unwrap().overwrites = Some(write);
        self
    }

    /// The last event changes objects like this.
    pub(crate) fn changes(mut self, changes: serde_json::Value) -> Sample {
        self.failure.trace.events.last_mut().unwrap().changes = serde_json::from_value(changes).unwrap();
        self
    }

    /// These events synchronise with the last event.
    pub(crate) fn knows(mut self, events: &[u32]) -> Sample {
        self.failure.trace.events.last_mut().unwrap().synchronises_with = events.to_vec();
        self
    }

    fn stack(&mut self, stack: &str) -> Option<u32> {
        let mut caller = None;
        for part in stack.split(" > ").filter(|part| !part.is_empty()) {
            let (function, place) = part.rsplit_once(' ').expect("a function and a place");
            let (file, line) = place.split_once(':').expect("a file and a line");
            let internal =
                ["std::", "core::", "alloc::", "<alloc::", "test::"].iter().any(|c| function.starts_with(c));
            let frame = Frame {
                function: function.to_owned(),
                file: Some(file.to_owned()),
                line: Some(line.parse().unwrap()),
                internal,
                dependency: false,
            };
            let trace = &mut self.failure.trace;
            let frame = index_of(&mut trace.frames, frame);
            caller = Some(index_of(&mut trace.stacks, StackNode { frame, caller }));
        }
        caller
    }
}

fn index_of<T: PartialEq>(list: &mut Vec<T>, item: T) -> u32 {
    let at = list.iter().position(|other| *other == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    });
    at as u32
}

pub(crate) fn named(name: &str) -> Location {
    let address = 0x5000 + name.bytes().fold(0, |sum, byte| sum * 31 % 4096 + u64::from(byte)) * 8;
    Location { name: Some(name.to_owned()), address, size: 8 }
}

pub(crate) fn unnamed(address: u64) -> Location {
    Location { name: None, address, size: 4 }
}

pub(crate) fn load(place: Location, order: Order, value: u128) -> Action {
    Action::Load { place, order, value: Value(value), newest: None }
}

pub(crate) fn store(place: Location, order: Order, value: u128) -> Action {
    Action::Store { place, order, value: Value(value), newest: None }
}

pub(crate) fn cas(place: Location, order: Order, expected: u128, new: u128, read: u128) -> Action {
    let [expected, new, read] = [expected, new, read].map(Value);
    Action::Cas { place, order, failure: None, expected, new, read, newest: None }
}

pub(crate) fn rmw(op: &str, place: Location, order: Order, read: u128, written: u128) -> Action {
    Action::Rmw { place, order, op: op.to_owned(), read: Value(read), written: Value(written) }
}

pub(crate) fn wait(place: Location, expected: u128) -> Action {
    Action::Wait { place, expected: Value(expected), blocks: true, timeout_ns: None }
}

/// Two threads increment a counter by a load and a store.
pub(crate) fn lost_update() -> Failure {
    use Order::*;
    let inc = |thread: &str, line: u32, inside: &str| {
        format!(
            "counter::lost_update::{{closure}}::{{closure}} tests/counter.rs:{thread} > my_crate::Counter::inc src/lib.rs:{line} > core::sync::atomic::AtomicUsize::{inside} core/src/sync/atomic.rs:2800"
        )
    };
    let value = || named("counter.value");
    let spawn = |line: u32| {
        format!(
            "counter::lost_update::{{closure}} tests/counter.rs:{line} > std::thread::spawn std/src/thread/mod.rs:720"
        )
    };
    let end = |line: u32| format!("counter::lost_update::{{closure}} tests/counter.rs:{line}");
    Sample::new(
        "counter::lost_update",
        Kind::Panic,
        "assertion `left == right` failed\n  left: 1\n right: 2",
    )
    .by(0)
    .thread(Some("main"), ThreadEnd::Panicked)
    .thread(None, ThreadEnd::Finished)
    .thread(None, ThreadEnd::Finished)
    .event(0, "", Action::Begin)
    .event(0, &spawn(11), Action::Spawn { thread: 1 })
    .event(0, &spawn(12), Action::Spawn { thread: 2 })
    .event(1, "", Action::Begin)
    .event(1, &inc("11", 7, "load"), load(value(), Acquire, 0))
    .event(2, "", Action::Begin)
    .event(2, &inc("12", 7, "load"), load(value(), Acquire, 0))
    .event(2, &inc("12", 8, "store"), store(value(), Release, 1))
    .event(2, "", Action::End)
    .after(Switch::Finished, 1, &inc("11", 8, "store"), store(value(), Release, 1))
    .event(1, "", Action::End)
    .after(Switch::Finished, 0, &end(13), Action::Join { thread: 1 })
    .event(0, &end(14), Action::Join { thread: 2 })
    .event(
        0,
        &format!("{} > my_crate::Counter::get src/lib.rs:12 > core::sync::atomic::AtomicUsize::load core/src/sync/atomic.rs:2800", end(15)),
        load(value(), Acquire, 1),
    )
    .event(
        0,
        &format!("{} > core::panicking::panic_fmt core/src/panicking.rs:80", end(15)),
        Action::Panic { message: "assertion `left == right` failed\n  left: 1\n right: 2".to_owned() },
    )
    .done()
}

/// Two threads take two locks in opposite orders.
pub(crate) fn deadlock() -> Failure {
    use Order::*;
    let transfer = |line: u32| {
        format!(
            "bank::opposite::{{closure}}::{{closure}} tests/bank.rs:30 > my_crate::Bank::transfer src/bank.rs:{line} > std::sync::poison::mutex::Mutex<T>::lock std/src/sync/poison/mutex.rs:450 > core::sync::atomic::AtomicU32::compare_exchange core/src/sync/atomic.rs:2900"
        )
    };
    let main = "bank::opposite::{closure} tests/bank.rs:33 > std::thread::JoinHandle<T>::join std/src/thread/mod.rs:1700";
    let (a, b) = (|| named("my_crate::A"), || named("my_crate::B"));
    Sample::new("bank::opposite", Kind::Deadlock, "no thread can go on: T1 and T2 wait for each other")
        .joining(Some("main"), 1, main)
        .locking(Some("left"), Location { name: Some("B".to_owned()), ..b() }, 2, &transfer(21))
        .locking(Some("right"), Location { name: Some("A".to_owned()), ..a() }, 1, &transfer(21))
        .event(0, "", Action::Begin)
        .event(0, "bank::opposite::{closure} tests/bank.rs:29", Action::Spawn { thread: 1 })
        .event(0, "bank::opposite::{closure} tests/bank.rs:31", Action::Spawn { thread: 2 })
        .after(Switch::Joining, 1, "", Action::Begin)
        .event(1, &transfer(20), cas(a(), Acquire, 0, 1, 0))
        .event(2, "", Action::Begin)
        .event(2, &transfer(20), cas(b(), Acquire, 0, 1, 0))
        .event(1, &transfer(21), cas(b(), Acquire, 0, 1, 1))
        .event(1, &transfer(21), wait(b(), 2))
        .after(Switch::Blocked, 2, &transfer(21), cas(a(), Acquire, 0, 1, 1))
        .event(2, &transfer(21), wait(a(), 2))
        .done()
}

/// A lock that unlocks without release.
pub(crate) fn data_race() -> Failure {
    use Order::*;
    let add = |line: u32| {
        format!(
            "lock::adds::{{closure}}::{{closure}} tests/lock.rs:12 > my_crate::Lock::add src/lock.rs:{line}"
        )
    };
    let main = "lock::adds::{closure} tests/lock.rs:10 > alloc::sync::Arc<T>::new alloc/src/sync.rs:400";
    let data = || Location { name: Some("self.data".to_owned()), address: 0x7010, size: 8 };
    let state = || named("self.state");
    let message = "T2 reads `self.data`, which T1 wrote, and nothing orders the two";
    Sample::new("lock::adds", Kind::DataRace, message)
        .thread(Some("main"), ThreadEnd::Runnable)
        .thread(None, ThreadEnd::Finished)
        .thread(None, ThreadEnd::Runnable)
        .event(0, "", Action::Begin)
        .event(0, main, Action::Allocate { address: 0x7000, size: 32 })
        .event(0, "lock::adds::{closure} tests/lock.rs:11", Action::Spawn { thread: 1 })
        .event(0, "lock::adds::{closure} tests/lock.rs:11", Action::Spawn { thread: 2 })
        .event(1, "", Action::Begin)
        .event(1, &add(20), cas(state(), Acquire, 0, 1, 0))
        .event(1, &add(21), Action::Access { place: data(), kind: Did::Write })
        .event(1, &add(22), store(state(), Relaxed, 0))
        .event(1, "", Action::End)
        .after(Switch::Finished, 2, "", Action::Begin)
        .event(2, &add(20), cas(state(), Acquire, 0, 1, 0))
        .event(2, &add(21), Action::Access { place: data(), kind: Did::Read })
        .step(0, main, Did::Allocate, 0x7000, 32)
        .step(1, &add(21), Did::Write, 0x7010, 8)
        .step(2, &add(21), Did::Read, 0x7010, 8)
        .done()
}

/// A block that two threads free.
pub(crate) fn double_free() -> Failure {
    let main = "stack::drops::{closure} tests/stack.rs:8 > alloc::boxed::Box<T>::new alloc/src/boxed.rs:260";
    let drop = |line: u32| {
        format!(
            "stack::drops::{{closure}} tests/stack.rs:{line} > <my_crate::Stack<T> as core::ops::drop::Drop>::drop src/stack.rs:40"
        )
    };
    let free = || Action::Free { address: 0x7000 };
    Sample::new("stack::drops", Kind::DoubleFree, "T0 frees a block of 1 byte that T1 has freed already")
        .thread(Some("main"), ThreadEnd::Runnable)
        .thread(Some("other"), ThreadEnd::Finished)
        .event(0, "", Action::Begin)
        .event(0, main, Action::Allocate { address: 0x7000, size: 1 })
        .event(0, "stack::drops::{closure} tests/stack.rs:9", Action::Spawn { thread: 1 })
        .event(1, "", Action::Begin)
        .event(1, &drop(9), free())
        .event(1, "", Action::End)
        .after(Switch::Finished, 0, &drop(10), free())
        .step(0, main, Did::Allocate, 0x7000, 1)
        .step(1, &drop(9), Did::Free, 0x7000, 1)
        .step(0, &drop(10), Did::Free, 0x7000, 1)
        .done()
}

/// Two threads each wait in a loop for the other's flag.
pub(crate) fn livelock() -> Failure {
    use Order::*;
    let wait = |line: u32| format!("handshake::polite::{{closure}} tests/handshake.rs:{line}");
    Sample::new(
        "handshake::polite",
        Kind::Livelock,
        "every thread that runs waits in a loop for a change that no thread can make",
    )
    .joining(Some("main"), 1, "handshake::polite tests/handshake.rs:30")
    .thread(None, ThreadEnd::Runnable)
    .thread(None, ThreadEnd::Runnable)
    .found_by("pct:3", 7, 1203)
    .event(1, "", Action::Begin)
    .event(1, &wait(12), store(unnamed(0x7f00_0010), Relaxed, 1))
    .event(1, &wait(13), load(unnamed(0x7f00_0014), Relaxed, 0))
    .event(1, &wait(13), load(unnamed(0x7f00_0014), Relaxed, 0))
    .event(1, &wait(13), load(unnamed(0x7f00_0014), Relaxed, 0))
    .event(1, &wait(14), Action::Yield)
    .after(Switch::Spinning, 2, "", Action::Begin)
    .event(2, &wait(19), rmw("fetch_or", unnamed(0x7f00_0014), SeqCst, 0, 4))
    .event(2, &wait(20), load(unnamed(0x7f00_0010), Relaxed, 1))
    .event(2, &wait(20), load(unnamed(0x7f00_0018), Relaxed, 0xffff_ffff))
    .after(Switch::Spinning, 1, &wait(13), load(unnamed(0x7f00_0014), Relaxed, 4))
    .event(1, &wait(14), Action::Sleep { ns: 1_500_000 })
    .after(Switch::Sleeping, 2, &wait(20), load(unnamed(0x7f00_0010), Relaxed, 1))
    .done()
}

/// A thread that nobody joins.
pub(crate) fn thread_leak() -> Failure {
    let body = |line: u32| {
        format!("pool::drops::{{closure}} tests/pool.rs:40 > my_crate::Pool::work src/pool.rs:{line}")
    };
    Sample::new(
        "pool::drops",
        Kind::ThreadLeak,
        "thread T1 `worker` was still running when the closure returned",
    )
    .thread(Some("main"), ThreadEnd::Finished)
    .thread(Some("worker"), ThreadEnd::Runnable)
    .event(0, "", Action::Begin)
    .event(
        0,
        "pool::drops::{closure} tests/pool.rs:40 > my_crate::Pool::new src/pool.rs:9",
        Action::Spawn { thread: 1 },
    )
    .event(
        0,
        "pool::drops::{closure} tests/pool.rs:41 > <my_crate::Pool as Drop>::drop src/pool.rs:30",
        store(named("pool.closed"), Order::SeqCst, 1),
    )
    .event(0, "", Action::End)
    .after(Switch::Finished, 1, "", Action::Begin)
    .event(1, &body(15), load(named("pool.closed"), Order::SeqCst, 1))
    .done()
}

/// A scenario of operations whose results no order explains.
pub(crate) fn scenario() -> Failure {
    use Order::*;
    let operation = |call: &str, result: Option<&str>| Operation {
        call: call.to_owned(),
        result: result.map(str::to_owned),
        recipe: None,
    };
    let push = |line: u32| {
        format!("queue::Model::push tests/queue.rs:9 > my_crate::Queue<T>::push src/queue.rs:{line}")
    };
    let node = |line: u32| {
        format!(
            "queue::Model::push tests/queue.rs:9 > my_crate::Queue<T>::push src/queue.rs:20 > my_crate::Node<T>::new src/queue.rs:{line}"
        )
    };
    let pop = |line: u32| {
        format!("queue::Model::pop tests/queue.rs:13 > my_crate::Queue<T>::pop src/queue.rs:{line}")
    };
    Sample::new("queue::Model", Kind::Panic, "no order of the operations explains the results")
        .scenario(Scenario {
            init: vec![operation("push(1)", Some("()"))],
            parallel: vec![
                vec![operation("push(2)", Some("()")), operation("pop()", Some("Some(1)"))],
                vec![operation("pop()", Some("Some(1)")), operation("len()", None)],
            ],
            post: vec![operation("pop()", Some("None"))],
            ..Scenario::default()
        })
        .thread(Some("main"), ThreadEnd::Finished)
        .thread(None, ThreadEnd::Finished)
        .thread(None, ThreadEnd::Finished)
        .event(0, "queue::run tests/queue.rs:20", Action::Call { call: "push(1)".to_owned() })
        .event(0, &push(21), load(named("self.tail"), Acquire, 0))
        .event(0, &push(22), store(named("self.tail"), Release, 1))
        .event(
            0,
            "queue::run tests/queue.rs:20",
            Action::Return { call: "push(1)".to_owned(), result: "()".to_owned() },
        )
        .event(0, "queue::run tests/queue.rs:21", Action::Spawn { thread: 1 })
        .event(0, "queue::run tests/queue.rs:22", Action::Spawn { thread: 2 })
        .event(1, "", Action::Call { call: "push(2)".to_owned() })
        .event(1, &node(50), store(unnamed(0x2000_0000_1000), Relaxed, 2))
        .event(1, &node(51), store(unnamed(0x2000_0000_1008), Relaxed, 0))
        .event(1, &node(52), Action::Fence { order: Release })
        .event(1, &push(21), load(named("self.tail"), Acquire, 0x2000_0000_1230))
        .event(2, "", Action::Call { call: "pop()".to_owned() })
        .event(2, &pop(33), load(named("self.head"), Acquire, 0x2000_0000_1230))
        .event(2, &pop(34), cas(named("self.head"), AcqRel, 0x2000_0000_1230, 0, 0x2000_0000_1230))
        .event(2, "", Action::Return { call: "pop()".to_owned(), result: "Some(1)".to_owned() })
        .event(
            1,
            &push(22),
            cas(named("self.tail"), AcqRel, 0x2000_0000_1230, 0x2000_0000_1000, 0x2000_0000_1230),
        )
        .event(1, "", Action::Return { call: "push(2)".to_owned(), result: "()".to_owned() })
        .event(1, "", Action::Call { call: "pop()".to_owned() })
        .event(1, &pop(33), load(named("self.head"), Acquire, 0))
        .event(1, "", Action::Return { call: "pop()".to_owned(), result: "Some(1)".to_owned() })
        .event(2, &pop(33), load(named("self.tail"), Relaxed, 0x2000_0000_1000))
        .done()
}

/// Five threads and a condition.
pub(crate) fn five_threads() -> Failure {
    let mut sample =
        Sample::new("barrier::opens", Kind::Panic, "a thread came through before the last arrived");
    for name in [Some("main"), Some("worker-1"), Some("worker-2"), Some("worker-3"), Some("worker-4")] {
        sample = sample.thread(name, ThreadEnd::Runnable);
    }
    let arrive = |line: u32| {
        format!(
            "barrier::opens::{{closure}} tests/barrier.rs:8 > my_crate::Barrier::wait src/barrier.rs:{line}"
        )
    };
    for thread in 1..5 {
        sample = sample.event(0, "barrier::opens tests/barrier.rs:7", Action::Spawn { thread });
    }
    for thread in 1..5 {
        sample = sample.event(thread, "", Action::Begin).event(
            thread,
            &arrive(11),
            rmw(
                "fetch_sub",
                named("my_crate::BARRIER.left"),
                Order::AcqRel,
                u128::from(5 - thread),
                u128::from(4 - thread),
            ),
        );
    }
    sample
        .event(4, &arrive(13), Action::Wake { place: named("my_crate::BARRIER.generation"), woken: vec![] })
        .event(2, &arrive(14), load(named("my_crate::BARRIER.generation"), Order::Acquire, 0))
        .event(
            2,
            &arrive(15),
            Action::Panic { message: "a thread came through before the last arrived".to_owned() },
        )
        .done()
}

/// A thread that counts for a long time.
pub(crate) fn long_trace() -> Failure {
    let mut sample = Sample::new("spin::limit", Kind::TimeLimit, "the execution did not end in time")
        .thread(Some("main"), ThreadEnd::Runnable)
        .thread(None, ThreadEnd::Runnable)
        .omitted(99_000);
    for step in 0..1000_u32 {
        let thread = step / 3 % 2;
        let stack = format!("spin::limit::{{closure}} tests/spin.rs:{}", 10 + step % 3);
        sample = sample.event(
            thread,
            &stack,
            rmw("fetch_add", named("TICKS"), Order::Relaxed, u128::from(step), u128::from(step) + 1),
        );
    }
    sample.done()
}

/// Two threads whose first events are 3 and 4; further events begin with 5.
fn two_threads(test: &str, kind: Kind, message: &str) -> Sample {
    let main = |line: u32| format!("{test} tests/weak.rs:{line}");
    Sample::new(test, kind, message)
        .thread(Some("main"), ThreadEnd::Runnable)
        .thread(None, ThreadEnd::Finished)
        .thread(None, ThreadEnd::Panicked)
        .event(0, "", Action::Begin)
        .event(0, &main(8), Action::Spawn { thread: 1 })
        .event(0, &main(9), Action::Spawn { thread: 2 })
        .event(1, "", Action::Begin)
        .knows(&[1])
        .event(2, "", Action::Begin)
        .knows(&[2])
}

fn at(line: u32) -> String {
    format!("weak::run src/weak.rs:{line}")
}

fn panic() -> Action {
    Action::Panic { message: "assertion failed".to_owned() }
}

/// Message passing, with these memory orders of the flag.
pub(crate) fn message_passing(released: Order, acquired: Order) -> Failure {
    use Order::*;
    use Write::*;
    let [message, ready] = ["message", "ready"].map(|name| move || named(name));
    two_threads("message_passing", Kind::Panic, "assertion `left == right` failed\n  left: 0\n right: 42")
        .event(1, &at(10), store(message(), Relaxed, 42))
        .overwrites(Initial)
        .event(1, &at(11), store(ready(), released, 1))
        .overwrites(Initial)
        .event(2, &at(20), load(ready(), acquired, 1))
        .reads(Event(6))
        .event(2, &at(21), load(message(), Relaxed, 0))
        .reads(Initial)
        .event(2, &at(22), panic())
        .done()
}

/// Store buffering: each thread sets its flag before it reads the other's.
pub(crate) fn store_buffering(fence: bool) -> Failure {
    use Order::*;
    use Write::*;
    let [x, y] = ["x", "y"].map(|name| move || named(name));
    let mut sample = two_threads("store_buffering", Kind::Panic, "neither saw the other")
        .event(1, &at(10), store(x(), Release, 1))
        .overwrites(Initial);
    if fence {
        sample = sample.event(1, &at(11), Action::Fence { order: SeqCst });
    }
    sample = sample.event(1, &at(12), load(y(), Acquire, 0)).reads(Initial);
    sample = sample.event(2, &at(20), store(y(), Release, 1)).overwrites(Initial);
    sample = sample.event(2, &at(22), load(x(), Acquire, 0)).reads(Initial);
    sample.event(2, &at(23), panic()).done()
}

/// Peterson's lock, both threads inside.
pub(crate) fn peterson() -> Failure {
    use Order::*;
    use Write::*;
    let [one, other, turn] = ["wants[0]", "wants[1]", "turn"].map(|name| move || named(name));
    two_threads("peterson", Kind::Panic, "both are inside")
        .event(1, &at(10), store(one(), Release, 1))
        .overwrites(Initial)
        .event(1, &at(11), store(turn(), Release, 1))
        .overwrites(Initial)
        .event(1, &at(12), load(other(), Acquire, 0))
        .reads(Initial)
        .event(2, &at(10), store(other(), Release, 1))
        .overwrites(Initial)
        .event(2, &at(11), store(turn(), Release, 0))
        .overwrites(Event(6))
        .event(2, &at(12), load(one(), Acquire, 0))
        .reads(Initial)
        .event(2, &at(13), panic())
        .done()
}

/// A sequence lock without fences.
pub(crate) fn sequence_lock() -> Failure {
    use Order::*;
    use Write::*;
    let [sequence, first, second] = ["sequence", "data[0]", "data[1]"].map(|name| move || named(name));
    two_threads("sequence_lock", Kind::Panic, "torn read")
        .event(2, &at(20), load(sequence(), Acquire, 0))
        .reads(Initial)
        .event(1, &at(10), store(sequence(), Relaxed, 1))
        .overwrites(Initial)
        .event(1, &at(11), store(first(), Relaxed, 7))
        .overwrites(Initial)
        .event(2, &at(21), load(first(), Relaxed, 7))
        .reads(Event(7))
        .event(2, &at(22), load(second(), Relaxed, 0))
        .reads(Initial)
        .event(2, &at(23), load(sequence(), Relaxed, 0))
        .reads(Initial)
        .event(1, &at(12), store(second(), Relaxed, 7))
        .overwrites(Initial)
        .event(1, &at(13), store(sequence(), Release, 2))
        .overwrites(Event(6))
        .event(2, &at(24), panic())
        .done()
}

/// Two threads that write two locations in opposite orders; the first write of each thread is last in modification order.
pub(crate) fn opposite_writes() -> Failure {
    use Order::*;
    use Write::*;
    let [x, y] = ["x", "y"].map(|name| move || named(name));
    two_threads("opposite_writes", Kind::Panic, "both first writes are left")
        .event(1, &at(10), store(x(), Relaxed, 1))
        .overwrites(Event(8))
        .event(1, &at(11), store(y(), Relaxed, 2))
        .overwrites(Initial)
        .event(2, &at(20), store(y(), Relaxed, 1))
        .overwrites(Event(6))
        .event(2, &at(21), store(x(), Relaxed, 2))
        .overwrites(Initial)
        .event(2, &at(22), panic())
        .done()
}

/// A spin lock that unlocks with this order, around a plain access.
pub(crate) fn unordered_accesses(unlock: Order) -> Failure {
    use Order::*;
    use Write::*;
    let data = || Location { name: Some("data".to_owned()), address: 0x7010, size: 8 };
    let locked = || named("locked");
    two_threads("lock::adds", Kind::DataRace, "T2 reads `data`, which T1 wrote, and nothing orders the two")
        .event(1, &at(10), cas(locked(), Acquire, 0, 1, 0))
        .reads(Initial)
        .overwrites(Initial)
        .event(1, &at(11), Action::Access { place: data(), kind: Did::Write })
        .event(1, &at(12), store(locked(), unlock, 0))
        .overwrites(Event(5))
        .event(2, &at(10), cas(locked(), Acquire, 0, 1, 0))
        .reads(Event(7))
        .overwrites(Event(7))
        .event(2, &at(11), Action::Access { place: data(), kind: Did::Read })
        .step(1, &at(11), Did::Write, 0x7010, 8)
        .step(2, &at(11), Did::Read, 0x7010, 8)
        .done()
}

/// Two threads that access the same memory and nothing else.
pub(crate) fn unrelated_accesses() -> Failure {
    use Write::*;
    let data = || Location { name: Some("data".to_owned()), address: 0x7010, size: 8 };
    two_threads(
        "lock::forgotten",
        Kind::DataRace,
        "T2 writes `data`, which T1 wrote, and nothing orders the two",
    )
    .event(1, &at(10), store(named("other"), Order::Relaxed, 1))
    .overwrites(Initial)
    .event(1, &at(11), Action::Access { place: data(), kind: Did::Write })
    .event(2, &at(21), Action::Access { place: data(), kind: Did::Write })
    .step(1, &at(11), Did::Write, 0x7010, 8)
    .step(2, &at(21), Did::Write, 0x7010, 8)
    .done()
}

/// Message passing that reads the message before it is written, recorded in another order.
pub(crate) fn crooked() -> Failure {
    use Order::*;
    use Write::*;
    let [message, ready] = ["message", "ready"].map(|name| move || named(name));
    two_threads("crooked", Kind::Panic, "no message")
        .event(1, &at(10), store(message(), Relaxed, 42))
        .overwrites(Initial)
        .event(1, &at(11), store(ready(), Release, 1))
        .overwrites(Initial)
        .event(2, &at(20), load(message(), Relaxed, 0))
        .reads(Initial)
        .event(2, &at(21), load(ready(), Acquire, 0))
        .reads(Initial)
        .event(2, &at(22), panic())
        .done()
}

/// A thread that runs too long without an event.
pub(crate) fn time_limit() -> Failure {
    Sample::new("clock::slow", Kind::TimeLimit, "the execution did not end in time")
        .limit("the execution was ended when its time was over")
        .thread(Some("main"), ThreadEnd::Runnable)
        .event(0, "", Action::Begin)
        .event(0, "clock::slow::{closure} tests/clock.rs:9", Action::Yield)
        .done()
}

/// A thread that ends the process while another has the last event.
pub(crate) fn exit() -> Failure {
    let end =
        "server::stop::{closure}::{closure} tests/server.rs:12 > std::process::exit std/src/process.rs:2400";
    let note = Action::Note { text: "ends the process with exit code 7".to_owned() };
    Sample::new("server::stop", Kind::Exit, "the code under test ended the process with exit code 7")
        .by(1)
        .joining(Some("main"), 1, "server::stop::{closure} tests/server.rs:14")
        .thread(None, ThreadEnd::Runnable)
        .event(0, "", Action::Begin)
        .event(0, "server::stop::{closure} tests/server.rs:11", Action::Spawn { thread: 1 })
        .event(1, "", Action::Begin)
        .event(1, end, note)
        .event(0, "server::stop::{closure} tests/server.rs:14", Action::Yield)
        .done()
}

/// A queue whose `enqueue` swings the tail before it links the new node: `dequeue` comes between and finds no node.
pub(crate) fn broken_queue() -> Failure {
    use Order::*;
    let enqueue = |line: u32| {
        format!(
            "queue::broken::{{closure}}::{{closure}} tests/queue.rs:9 > my_crate::Queue::enqueue src/queue.rs:{line}"
        )
    };
    let dequeue = |line: u32| {
        format!(
            "queue::broken::{{closure}}::{{closure}} tests/queue.rs:10 > my_crate::Queue::dequeue src/queue.rs:{line}"
        )
    };
    let at = |name: &str, address: u64| Location { name: Some(name.to_owned()), address, size: 8 };
    let (head, tail) = (|| at("queue.head", 0x1000), || at("queue.tail", 0x1008));
    let (dummy, node) = (0x100_0002_0000_u128, 0x100_0002_0020_u128);
    let next = || at("Node#1.next", 0x100_0002_0008);
    let value = || at("Node#2.value", 0x100_0002_0020);
    let main = "queue::broken::{closure} tests/queue.rs:9 > std::thread::spawn std/src/thread/mod.rs:720";
    let mut failure =
        Sample::new("queue::broken", Kind::Panic, "called `Option::unwrap()` on a `None` value")
            .by(2)
            .thread(None, ThreadEnd::waiting(WaitingFor::Thread(1), Some(1), None))
            .thread(Some("producer"), ThreadEnd::Runnable)
            .thread(Some("consumer"), ThreadEnd::Panicked)
            .event(0, "", Action::Begin)
            .event(0, main, Action::Spawn { thread: 1 })
            .event(0, main, Action::Spawn { thread: 2 })
            .after(Switch::Joining, 1, "", Action::Begin)
            .knows(&[1])
            .event(1, &enqueue(20), Action::Write { place: value(), length: 8, value: Some(Value(7)) })
            .event(1, &enqueue(21), rmw("swap", tail(), AcqRel, dummy, node))
            .reads(Write::Initial)
            .overwrites(Write::Initial)
            .event(2, "", Action::Begin)
            .knows(&[2])
            .event(2, &dequeue(30), load(tail(), Acquire, node))
            .reads(Write::Event(5))
            .knows(&[5])
            .event(2, &dequeue(31), load(head(), Acquire, dummy))
            .reads(Write::Initial)
            .event(2, &dequeue(32), load(next(), Acquire, 0))
            .reads(Write::Initial)
            .event(
                2,
                &format!("{} > core::panicking::panic core/src/panicking.rs:80", dequeue(32)),
                Action::Panic { message: "called `Option::unwrap()` on a `None` value".into() },
            )
            .event(1, &enqueue(22), store(next(), Release, node))
            .overwrites(Write::Initial)
            .done();
    let pointer = |object: Option<u32>, address: u128| {
        Datum::Pointer(Pointer { object, address: address as u64, tag: 0, dangling: false })
    };
    let fields = |name: &str, fields: Vec<(&str, Datum)>| Datum::Fields {
        name: name.into(),
        fields: fields.into_iter().map(|(name, value)| Field { name: name.into(), value }).collect(),
    };
    let object = |name: &str, address: u128, size: u64, since| Object {
        name: format!("{name}#{}", 1 + u32::from(address == node)),
        of: name.into(),
        in_crate: None,
        address: address as u64,
        size,
        since,
        freed: None,
    };
    let null = || pointer(None, 0);
    let unset = Datum::Unknown("not initialised".into());
    let ends = |tail, address| {
        fields("Queue", vec![("head", pointer(Some(1), dummy)), ("tail", pointer(Some(tail), address))])
    };
    failure.objects = Some(Objects {
        roots: vec![Root { name: "queue".into(), object: 0 }],
        list: vec![
            object("Queue", 0x1000, 16, None),
            object("Node", dummy, 16, None),
            object("Node", node, 16, Some(4)),
        ],
        initial: vec![
            Change { object: 0, path: vec![], value: ends(1, dummy) },
            Change {
                object: 1,
                path: vec![],
                value: fields("Node", vec![("value", unset), ("next", null())]),
            },
        ],
        until: None,
    });
    let seven = Datum::Scalar("7".into());
    let events = &mut failure.trace.events;
    events[4].changes = vec![Change {
        object: 2,
        path: vec![],
        value: fields("Node", vec![("value", seven), ("next", null())]),
    }];
    events[5].changes = vec![Change { object: 0, path: vec![1], value: pointer(Some(2), node) }];
    events[11].changes = vec![Change { object: 1, path: vec![1], value: pointer(Some(2), node) }];
    let mut passing = failure.trace.clone();
    passing.events.truncate(6);
    let mut links = failure.trace.events[11].clone();
    links.switch = None;
    passing.events.push(links);
    failure.point_of_no_return = Some(PointOfNoReturn { event: 9, executions: 230, exhaustive: false });
    failure.nearest_pass = Some(Box::new(NearestPass {
        common: 6,
        common_of_pass: 6,
        failing_thread: 2,
        passing_thread: 1,
        schedule: Schedule(vec![0, 0, 1, 1, 1, 1]),
        look_back: Schedule::default(),
        scenario: None,
        trace: passing,
    }));
    failure
}
