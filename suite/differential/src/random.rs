//! Programs by chance: a seed makes the same program every time.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use crate::program::{ArcOp, Body, Change, Exchange, Mode, OnceKind, Op, Program, ThreadId, Width};

/// A small generator of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Begins with a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another one.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    /// Whether something of this many per cent happens.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What programs are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// Atomics, fences and loops that wait for a value.
    Atomics,
    /// Mutexes, `RwLock`, the barrier, and what is initialised once.
    Locks,
    /// Condition variables.
    Condvar,
    /// The channel.
    Channels,
    /// Scopes, in each other too, and `join`, `is_finished`, `park`.
    Scopes,
    /// `Arc` and `Weak`.
    Arc,
    /// Timeouts and sleep.
    Time,
    /// Destructors of thread-locals.
    Tls,
    /// Plain data that races or does not.
    Races,
    /// Everything.
    Mixed,
}

/// Kinds of operations, and which profiles have them how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    Fetch,
    Exchange,
    Fence,
    Spin,
    Plain,
    Lock,
    RwLock,
    Wait,
    WaitTimeout,
    SetAndNotify,
    Notify,
    Send,
    Receive,
    TryReceive,
    ReceiveTimeout,
    DropEnd,
    Park,
    ParkTimeout,
    Unpark,
    Barrier,
    Once,
    Arc,
    Sleep,
    Yield,
    Local,
}

impl Profile {
    /// All of them.
    pub const ALL: [Profile; 10] = [
        Profile::Atomics,
        Profile::Locks,
        Profile::Condvar,
        Profile::Channels,
        Profile::Scopes,
        Profile::Arc,
        Profile::Time,
        Profile::Tls,
        Profile::Races,
        Profile::Mixed,
    ];

    fn weights(self) -> &'static [(Kind, usize)] {
        use Kind::*;
        match self {
            Profile::Atomics => &[(Load, 5), (Store, 4), (Fetch, 4), (Exchange, 4), (Fence, 2), (Spin, 1)],
            Profile::Locks => &[(Lock, 6), (RwLock, 6), (Once, 3), (Barrier, 1), (Load, 2), (Store, 2)],
            Profile::Condvar => {
                &[(Wait, 4), (SetAndNotify, 4), (Notify, 1), (Lock, 2), (Load, 1), (Store, 1)]
            }
            Profile::Channels => {
                &[(Send, 5), (Receive, 3), (TryReceive, 2), (DropEnd, 1), (Load, 1), (Store, 1)]
            }
            Profile::Scopes => &[(Load, 4), (Store, 4), (Fetch, 1), (Lock, 2), (Unpark, 1), (Park, 1)],
            Profile::Arc => &[(Arc, 10), (Load, 1), (Store, 1)],
            Profile::Time => &[
                (Sleep, 2),
                (ParkTimeout, 2),
                (WaitTimeout, 2),
                (ReceiveTimeout, 2),
                (Send, 1),
                (Unpark, 1),
                (SetAndNotify, 1),
                (Load, 2),
                (Store, 2),
            ],
            Profile::Tls => &[(Local, 4), (Load, 4), (Store, 2), (Fetch, 1), (Lock, 1)],
            Profile::Races => &[
                (Plain, 6),
                (Lock, 2),
                (RwLock, 1),
                (Load, 3),
                (Store, 3),
                (Fetch, 2),
                (Fence, 2),
                (Spin, 1),
            ],
            Profile::Mixed => &[
                (Load, 3),
                (Store, 3),
                (Fetch, 2),
                (Exchange, 2),
                (Spin, 1),
                (Plain, 1),
                (Lock, 2),
                (RwLock, 2),
                (Wait, 1),
                (SetAndNotify, 1),
                (Send, 1),
                (Receive, 1),
                (Park, 1),
                (Unpark, 1),
                (Barrier, 1),
                (Once, 1),
                (Arc, 2),
                (Local, 1),
                (Yield, 1),
            ],
        }
    }
}

/// The program of a seed.
pub fn program(profile: Profile, seed: u64) -> Program {
    let mut random = Random::new(seed ^ (profile as u64) << 56);
    let integers = [Width::U8, Width::U16, Width::U32, Width::U64, Width::Usize];
    let atomics = vec![random.pick(&integers), random.pick(&Width::ALL)];
    let capacity = random.pick(&[None, None, Some(0), Some(1), Some(2)]);
    let mut make =
        Make { random, profile, program: Program { atomics, capacity, barrier: 2, threads: Vec::new() } };
    make.threads();
    make.let_waits_end();
    make.program.repaired()
}

struct Make {
    random: Random,
    profile: Profile,
    program: Program,
}

impl Make {
    fn threads(&mut self) {
        let others = 1 + usize::from(self.random.chance(45));
        let most = if others == 1 { 4 } else { 3 };
        self.program.threads = vec![Body::new(); others + 1];
        for thread in 1..=others {
            let count = 1 + self.random.below(most);
            self.program.threads[thread] = self.body(thread, count, 0);
        }
        let (before, between) = (self.few(), self.few());
        let after = self.few();
        let scope = if self.profile == Profile::Scopes || self.profile == Profile::Tls { 80 } else { 45 };
        let mut main = before;
        if !self.random.chance(scope) {
            main.push(Op::Spawn(1));
            main.extend(between);
            main.extend((others == 2).then_some(Op::Spawn(2)));
            main.extend(after);
            self.join_some(&mut main);
        } else if others == 2 && self.random.chance(40) {
            self.nest(&mut main, between, after);
        } else {
            let mut inner = between;
            self.join_some(&mut inner);
            main.push(Op::Scope((1..=others).collect(), inner));
            main.extend(after);
        }
        self.program.threads[0] = main;
    }

    /// Two scopes, or a scope while another thread runs.
    fn nest(&mut self, main: &mut Body, between: Body, after: Body) {
        match self.random.below(4) {
            0 => {
                main.push(Op::Scope(vec![1], [vec![Op::Scope(vec![2], between)], after].concat()));
            }
            1 => {
                main.push(Op::Spawn(1));
                main.push(Op::Scope(vec![2], between));
                main.extend(after);
            }
            2 => {
                main.push(Op::Scope(vec![1], between));
                main.push(Op::Scope(vec![2], after));
            }
            _ => {
                let place = self.random.below(self.program.threads[1].len() + 1);
                self.program.threads[1].insert(place, Op::Scope(vec![2], Body::new()));
                main.push(Op::Scope(vec![1], between));
                main.extend(after);
            }
        }
    }

    fn join_some(&mut self, body: &mut Body) {
        for thread in 1..self.program.threads.len() {
            if self.random.chance(30) {
                let op = if self.random.chance(if self.profile == Profile::Scopes { 40 } else { 15 }) {
                    Op::IsFinished(thread)
                } else {
                    Op::Join(thread)
                };
                let place = self.random.below(body.len() + 1);
                body.insert(place, op);
            }
        }
    }

    fn few(&mut self) -> Body {
        let count = self.random.pick(&[0, 0, 1, 1, 2]);
        self.body(0, count, 0)
    }

    fn body(&mut self, me: ThreadId, count: usize, depth: usize) -> Body {
        (0..count).flat_map(|_| self.ops(me, depth)).collect()
    }

    fn ops(&mut self, me: ThreadId, depth: usize) -> Vec<Op> {
        let weights = self.profile.weights();
        let mut number = self.random.below(weights.iter().map(|weight| weight.1).sum());
        let kind = weights.iter().find(|weight| {
            let found = number < weight.1;
            number = number.wrapping_sub(weight.1);
            found
        });
        self.of_kind(kind.expect("the number is below the sum").0, me, depth)
    }

    fn of_kind(&mut self, kind: Kind, me: ThreadId, depth: usize) -> Vec<Op> {
        let at = self.random.below(self.program.atomics.len());
        let width = self.program.atomics[at];
        let value = width.fit(1 + self.random.below(2) as u64);
        let time = self.random.pick(&[50, 100, 5000]);
        let mutex = self.random.below(2);
        vec![match kind {
            Kind::Load => Op::Load(at, self.load_order()),
            Kind::Store => Op::Store(at, value, self.random.pick(&[Relaxed, Release, SeqCst])),
            Kind::Fetch => {
                let changes: Vec<_> = Change::ALL.into_iter().filter(|change| width.can(*change)).collect();
                Op::Fetch(self.random.pick(&changes), at, value, self.any_order())
            }
            Kind::Exchange => Op::CompareExchange(Exchange {
                at,
                current: width.fit(self.random.below(3) as u64),
                new: value,
                success: self.any_order(),
                failure: self.load_order(),
                weak: self.random.chance(30),
            }),
            Kind::Fence => Op::Fence(self.random.pick(&[Acquire, Release, AcqRel, SeqCst])),
            Kind::Spin => Op::SpinUntil(at, value, self.load_order(), self.random.chance(20)),
            Kind::Plain if self.random.chance(50) => Op::Read(0),
            Kind::Plain => Op::Write(0, value),
            Kind::Lock => self.locked(Mode::Mutex, mutex, me, depth),
            Kind::RwLock => {
                let mode = if self.random.chance(60) { Mode::Read } else { Mode::Write };
                self.locked(mode, 0, me, depth)
            }
            Kind::Wait => Op::WaitWhileZero { mutex: 0, timeout: None },
            Kind::WaitTimeout => Op::WaitWhileZero { mutex: 0, timeout: Some(time) },
            Kind::SetAndNotify => {
                let body = vec![Op::Replace(Mode::Mutex, 0, value.max(1))];
                let set = Op::Locked { mode: Mode::Mutex, lock: 0, only_try: false, body };
                return vec![set, Op::Notify(0, self.random.chance(50))];
            }
            Kind::Notify => Op::Notify(0, self.random.chance(50)),
            Kind::Send => Op::Send(value),
            Kind::Receive => Op::Receive,
            Kind::TryReceive => Op::TryReceive,
            Kind::ReceiveTimeout => Op::ReceiveTimeout(time),
            Kind::DropEnd => self.random_end(),
            Kind::Park => Op::Park,
            Kind::ParkTimeout => Op::ParkTimeout(time),
            Kind::Unpark => Op::Unpark(if me == 0 { 1 } else { self.random.pick(&[0, 0, 1]) }),
            Kind::Barrier => Op::Barrier,
            Kind::Once => {
                let kind = self.random.pick(&OnceKind::ALL);
                if self.random.chance(25) {
                    Op::IsInitialised(kind, 0)
                } else {
                    let count = self.random.below(2);
                    let body = if depth < 2 { self.body(me, count, depth + 1) } else { Body::new() };
                    Op::Initialise(kind, 0, body, 10 + me as u64)
                }
            }
            Kind::Arc => Op::Arc(self.random.pick(&[
                ArcOp::Clone,
                ArcOp::Clone,
                ArcOp::Drop,
                ArcOp::Drop,
                ArcOp::Count,
                ArcOp::Count,
                ArcOp::GetMut,
                ArcOp::TryUnwrap,
                ArcOp::IntoInner,
                ArcOp::Downgrade,
                ArcOp::Downgrade,
                ArcOp::Upgrade,
                ArcOp::Upgrade,
                ArcOp::DropWeak,
            ])),
            Kind::Sleep => Op::Sleep(time),
            Kind::Yield => Op::Yield,
            Kind::Local => Op::ThreadLocal,
        }]
    }

    fn random_end(&mut self) -> Op {
        if self.random.chance(60) { Op::DropSender } else { Op::DropReceiver }
    }

    fn locked(&mut self, mode: Mode, lock: usize, me: ThreadId, depth: usize) -> Op {
        let mut body = vec![Op::Replace(mode, lock, 1 + self.random.below(3) as u64)];
        if depth == 0 && self.random.chance(35) {
            body.extend(self.body(me, 1, depth + 1));
        }
        Op::Locked { mode, lock, only_try: self.random.chance(30), body }
    }

    /// Most of what is waited for is done by some other thread, so that not every wait is for ever.
    fn let_waits_end(&mut self) {
        for waiting in 0..self.program.threads.len() {
            let ops: Vec<Op> =
                crate::program::flat(&self.program.threads[waiting]).into_iter().cloned().collect();
            for op in ops {
                let ends = match op {
                    Op::SpinUntil(at, value, ..) => {
                        vec![Op::Store(at, value, self.random.pick(&[Release, SeqCst]))]
                    }
                    Op::WaitWhileZero { mutex, .. } => {
                        let body = vec![Op::Replace(Mode::Mutex, mutex, 1)];
                        let set = Op::Locked { mode: Mode::Mutex, lock: mutex, only_try: false, body };
                        vec![set, Op::Notify(mutex, self.random.chance(70))]
                    }
                    Op::Receive => vec![Op::Send(3)],
                    Op::Park => vec![Op::Unpark(waiting)],
                    Op::Barrier => vec![Op::Barrier],
                    _ => continue,
                };
                let other = self.random.below(self.program.threads.len());
                let body = &self.program.threads[other];
                // The barrier is met by as many as wait for it.
                let met =
                    matches!(op, Op::Barrier) && self.program.has(|op| *op == Op::Barrier) && waiting > 0;
                if other != waiting && !met && body.len() < 5 && self.random.chance(80) {
                    let place = self.random.below(body.len() + 1);
                    self.program.threads[other].splice(place..place, ends);
                }
            }
        }
    }

    fn load_order(&mut self) -> Ordering {
        self.random.pick(&[Relaxed, Acquire, SeqCst])
    }

    fn any_order(&mut self) -> Ordering {
        self.random.pick(&[Relaxed, Acquire, Release, AcqRel, SeqCst])
    }
}
