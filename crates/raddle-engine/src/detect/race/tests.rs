//! Against the definition: all pairs of accesses, with whole vector clocks.

use proptest::prelude::*;

use super::*;

const THREADS: usize = 6;
const MESSAGES: usize = 2;
const MEMORY: usize = 0x7000_0000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Access {
        thread: usize,
        offset: usize,
        size: usize,
        kind: AccessKind,
    },
    /// The thread releases its view, and replaces the message.
    Release {
        thread: usize,
        message: usize,
    },
    Acquire {
        thread: usize,
        message: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        4 => Just(AccessKind::Read),
        1 => Just(AccessKind::Write),
        2 => Just(AccessKind::AtomicRead),
        2 => Just(AccessKind::AtomicWrite),
        1 => Just(AccessKind::Free),
    ];
    let size = prop_oneof![Just(1usize), Just(2), Just(4), Just(8), Just(20)];
    prop_oneof![
        4 => (0..THREADS, 0..24usize, size, kind)
            .prop_map(|(thread, offset, size, kind)| match kind {
                // Blocks are whole cells.
                AccessKind::Free => Step::Access { thread, offset: offset & !7, size: 16, kind },
                _ => Step::Access { thread, offset, size, kind },
            }),
        3 => (0..THREADS, 0..MESSAGES).prop_map(|(thread, message)| Step::Release { thread, message }),
        3 => (0..THREADS, 0..MESSAGES).prop_map(|(thread, message)| Step::Acquire { thread, message }),
    ]
}

type Clock = [u32; THREADS];

/// Threads that synchronise by messages.
struct Threads {
    clocks: [Clock; THREADS],
    messages: [Clock; MESSAGES],
}

impl Threads {
    fn new() -> Threads {
        let mut clocks = [[0; THREADS]; THREADS];
        for (thread, clock) in clocks.iter_mut().enumerate() {
            clock[thread] = 1;
        }
        Threads { clocks, messages: [[0; THREADS]; MESSAGES] }
    }

    fn release(&mut self, thread: usize, message: usize) {
        self.messages[message] = self.clocks[thread];
        self.clocks[thread][thread] += 1;
    }

    fn acquire(&mut self, thread: usize, message: usize) {
        for (mine, other) in self.clocks[thread].iter_mut().zip(self.messages[message]) {
            *mine = other.max(*mine);
        }
    }
}

fn calls() -> Calls {
    [0; 4]
}

fn overlap(a: &Access, b: &Access) -> bool {
    a.bytes().start < b.bytes().end && b.bytes().start < a.bytes().end
}

/// A checkpoint of an execution, before the step of that number.
struct Checkpoint {
    before: usize,
    snapshot: Option<Snapshot>,
}

/// Runs the steps of an execution; returns the first race, as the definition has it, after checking that the detector says the
/// same. Takes the checkpoint on the way, or begins there if it was taken before.
fn run(races: &mut Races, steps: &[Step], checkpoint: &mut Checkpoint) -> Option<usize> {
    let mut threads = Threads::new();
    let mut made: Vec<(Access, u32)> = Vec::new();
    let begin = match &checkpoint.snapshot {
        Some(snapshot) => {
            races.restore(snapshot);
            checkpoint.before
        }
        None => {
            races.begin();
            0
        }
    };
    for (number, &step) in steps.iter().enumerate() {
        if number == checkpoint.before && checkpoint.snapshot.is_none() {
            races.snapshot(checkpoint.snapshot.insert(Snapshot::default()));
        }
        match step {
            Step::Release { thread, message } => threads.release(thread, message),
            Step::Acquire { thread, message } => threads.acquire(thread, message),
            Step::Access { thread, offset, size, kind } => {
                let access = Access { thread: thread as ThreadId, address: MEMORY + offset, size, kind };
                let clock = threads.clocks[thread];
                let knows = |other: ThreadId, time: u32| time <= clock[usize::from(other)];
                let race = |earlier: &(Access, u32)| {
                    let (earlier, time) = earlier;
                    earlier.thread != access.thread
                        && overlap(earlier, &access)
                        && (earlier.kind.writes() || kind.writes())
                        && !(earlier.kind.is_atomic() && kind.is_atomic())
                        && !knows(earlier.thread, *time)
                };
                let expected: Vec<Access> =
                    made.iter().filter(|earlier| race(earlier)).map(|earlier| earlier.0).collect();
                let epoch = Epoch { thread: access.thread, time: clock[thread] };
                let used_by = |other: ThreadId| {
                    made.iter().any(|(earlier, _)| earlier.thread == other && overlap(earlier, &access))
                };
                let said = match kind {
                    _ if number < begin => Ok(()),
                    // What is freed is not accessed again; here it may be, as if it were allocated anew at once.
                    AccessKind::Free => races.free(access.bytes(), access.thread, used_by, knows),
                    _ => races.access(access.address, size, kind, epoch, knows, calls),
                };
                match said {
                    _ if number < begin => {}
                    Ok(()) => assert!(expected.is_empty(), "{access:?} races with {expected:?}"),
                    Err(earlier) => {
                        let real = expected.iter().any(|other| {
                            other.thread == earlier.access.thread
                                && other.kind == earlier.access.kind
                                && overlap(other, &earlier.access)
                        });
                        assert!(real, "{access:?} races with {expected:?}, not with {earlier:?}");
                        return Some(number);
                    }
                }
                if kind != AccessKind::Free {
                    made.push((access, clock[thread]));
                }
            }
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn exactly_the_first_race_is_found(executions in prop::collection::vec(prop::collection::vec(step(), 0..40), 1..4)) {
        let mut races = Races::default();
        for steps in &executions {
            run(&mut races, steps, &mut Checkpoint { before: usize::MAX, snapshot: None });
        }
    }

    #[test]
    fn executions_that_begin_at_a_checkpoint_have_the_same_races(
        shared in prop::collection::vec(step(), 0..40),
        executions in prop::collection::vec((prop::collection::vec(step(), 1..20), any::<bool>()), 2..6),
    ) {
        let mut races = Races::default();
        let mut checkpoint = Checkpoint { before: shared.len(), snapshot: None };
        for (steps, begins_there) in &executions {
            let steps = [&shared[..], steps].concat();
            let mut none = Checkpoint { before: usize::MAX, snapshot: None };
            run(&mut races, &steps, if *begins_there { &mut checkpoint } else { &mut none });
        }
    }
}

#[test]
fn many_readers_are_all_remembered() {
    let mut races = Races::default();
    races.begin();
    let alone = |_, _| false;
    for thread in 0..40 {
        let epoch = Epoch { thread, time: 1 };
        races.access(MEMORY, 8, AccessKind::Read, epoch, alone, calls).unwrap();
    }
    for unknown in 0..40 {
        let knows_others = |thread, _| thread != unknown;
        let writer = Epoch { thread: 99, time: 1 };
        let found = races.access(MEMORY, 8, AccessKind::Write, writer, knows_others, calls);
        assert_eq!(found.unwrap_err().access.thread, unknown);
    }
}

#[test]
fn times_begin_anew_before_they_run_out() {
    let mut races = Races::default();
    let access = |races: &mut Races, thread, time| {
        races.access(MEMORY, 8, AccessKind::Write, Epoch { thread, time }, |_, _| false, calls)
    };
    for _ in 0..10 {
        races.begin();
        access(&mut races, 0, LAST_TIME / 2).unwrap();
        assert!(access(&mut races, 1, 1).is_err());
    }
}

#[test]
fn what_is_forgotten_races_with_nothing() {
    let mut races = Races::default();
    races.begin();
    let alone = |_, _| false;
    let read = |races: &mut Races, thread, calls: Calls| {
        let epoch = Epoch { thread, time: 1 };
        races.access(MEMORY, 8, AccessKind::Read, epoch, alone, || calls).unwrap();
    };
    // More than a cell has room for, by two pieces of code.
    (0..10).for_each(|thread| read(&mut races, thread, [1 + u32::from(thread) % 2, 0, 0, 0]));
    let writer = Epoch { thread: 99, time: 1 };
    let mut met = Vec::new();
    while let Err(earlier) = races.access(MEMORY, 8, AccessKind::Write, writer, alone, calls) {
        met.push(earlier.access.thread);
        races.forget(&earlier);
    }
    met.sort_unstable();
    assert!(met.into_iter().eq(0..10));
}
