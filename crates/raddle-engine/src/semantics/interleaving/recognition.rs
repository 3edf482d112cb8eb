//! Recognition of executions: see [`crate::execution::recognition`].

use crate::execution::order_hash::{Done, Kind, Step};
use crate::execution::prefixes::Prefix;
use crate::execution::recognition::{Counts, Recognised};
use crate::execution::{Engine, Execution, Exploration};
use crate::op::{Int, Rmw, ThreadId};
use crate::outcome::{Discarded, Outcome};
use crate::semantics::{AtomicKind, AtomicOp};
use crate::site::Site;
use crate::strategy::Point;

impl Exploration {
    /// The thread that the strategy chooses, or has chosen when the execution was simulated.
    #[inline]
    pub(super) fn choose(&mut self, point: &Point<'_>) -> ThreadId {
        let chosen = self.recognition.as_mut().and_then(|recognition| recognition.next_choice());
        chosen.unwrap_or_else(|| self.strategy.choose(point))
    }
}

impl Engine {
    /// The execution with this number, which the strategy has begun, if it is recognised. Otherwise it is recorded when it is made next.
    pub(crate) fn recognise(&mut self, number: u64) -> Option<Recognised> {
        let Exploration { recognition, strategy, follows_next, clears_stacks, .. } = &mut self.exploration;
        let known = recognition.as_mut()?;
        if *clears_stacks || known.is_in_vain() {
            self.end_recognition();
            return None;
        }
        known.recognise(&mut **strategy, number, follows_next)
    }

    /// Hashes the execution that begins, if it is to be recorded.
    pub(super) fn begin_hash(&mut self) {
        let is_next = self.exploration.recognition.as_mut().is_some_and(|known| known.begin());
        if is_next && self.may_recognise() {
            self.execution.order_hash.get_or_insert_default().begin();
        } else {
            self.execution.order_hash = None;
        }
        if is_next && self.execution.order_hash.is_none() {
            self.exploration.recognition = None;
        }
    }

    /// Whether the order of events decides all that executions do, and what the strategy is asked.
    fn may_recognise(&self) -> bool {
        let limits = &self.exploration.limits;
        let decides = !limits.prove_spins && !limits.claims_all && !limits.check_leaks;
        decides && !self.is_weak() && self.may_share_prefixes()
    }

    /// Whether the choice of the execution is that of its simulation. Otherwise executions are not recognised any more, and this one
    /// must be repeated.
    #[inline(never)]
    pub(super) fn is_as_simulated(&mut self) -> bool {
        let (Some(hash), Some(known)) = (&self.execution.order_hash, &self.exploration.recognition) else {
            return true;
        };
        let is_same = hash.is_void || known.compare(hash.choice(&self.execution.runnable)).is_ok();
        if !is_same {
            self.recognise_no_more();
        }
        is_same
    }

    /// Records the end of the latest execution, which has passed.
    pub(crate) fn record_end(&mut self) {
        let counts = self.counts();
        let Engine { execution, exploration, .. } = self;
        let (Some(hash), Some(known)) = (&execution.order_hash, &mut exploration.recognition) else { return };
        if hash.is_void {
            return;
        }
        let (order, at) = hash.alone.unwrap_or((hash.sum(), counts));
        let (class, is_followed) = (execution.outcome_class.get(), exploration.detector.is_some());
        if known.record_end(order, class, counts.since(at), is_followed).is_err() {
            self.recognise_no_more();
        }
    }

    fn counts(&self) -> Counts {
        let Execution { steps, switches, schedule, .. } = &self.execution;
        Counts { steps: *steps as u32, switches: *switches as u32, choices: schedule.len() as u32 }
    }

    /// The rest of the execution is decided by more than the order of events.
    pub(crate) fn void_hash(&mut self) {
        if let Some(hash) = &mut self.execution.order_hash {
            hash.is_void = true;
        }
    }

    /// Executions are not recognised any more: they do what no hash tells apart.
    #[inline(always)]
    pub(crate) fn recognise_no_more(&mut self) {
        if self.execution.order_hash.is_some() {
            self.end_recognition();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_recognition(&mut self) {
        self.execution.order_hash = None;
        self.exploration.recognition = None;
        // The checkpoints have hashes.
        self.execution.prefix = Prefix::Left;
        self.forget_prefixes();
    }

    /// The current thread comes to an atomic access that is an event.
    #[inline(always)]
    pub(super) fn comes_to_access<T: Int>(&mut self, op: &AtomicOp<T>) {
        if self.execution.order_hash.is_some() {
            if size_of::<T>() > size_of::<u64>() {
                return self.recognise_no_more();
            }
            self.comes_to(Step::new(kind(op), op.address() as u64));
        }
    }

    /// Hashes an atomic access that is an event.
    #[inline(always)]
    pub(super) fn hash_event<T: Int>(&mut self, op: &AtomicOp<T>, read: T, written: Option<T>) {
        if self.execution.order_hash.is_some() {
            let kind = kind(op);
            let done = done(written).and(Done::LAST, kind == Kind::CountDown && read.widen() == 1);
            self.hash_access(kind, op.address(), done);
        }
    }

    /// Hashes an access of trusted code that is no event and has read a value.
    pub(super) fn hash_unobserved<T: Int>(&mut self, op: &AtomicOp<T>, read: T) {
        match (op.site, op.kind) {
            (Site::RefCountUp, AtomicKind::Rmw(Rmw::Add, _)) => {
                self.comes_to(Step::new(Kind::CountUp, op.address() as u64));
                self.hash_access(Kind::CountUp, op.address(), Done::default());
            }
            (Site::RefCountUp, _) => {
                self.comes_to(Step::new(Kind::Unobserved, op.address() as u64));
                self.hash_access(Kind::Unobserved, op.address(), done(op.written(read)));
            }
            // A count of handles, of which std asks only whether it was the last.
            (_, AtomicKind::Rmw(Rmw::Add, _) | AtomicKind::Store(_)) => {}
            (_, AtomicKind::Rmw(Rmw::Sub, _)) if read.widen() != 1 => {}
            _ => {
                if let Some(hash) = &mut self.execution.order_hash {
                    hash.learn(self.execution.current, read.widen() as u64);
                }
            }
        }
    }

    /// Hashes the lock of a mutex.
    #[inline]
    pub(super) fn hash_lock(&mut self, word: usize) {
        self.hash_access(Kind::Lock, word, Done::WROTE.and(Done::WORD, true));
    }

    /// Hashes an access of the current thread.
    #[inline]
    fn hash_access(&mut self, kind: Kind, address: usize, done: Done) {
        let (me, address) = (self.execution.current, address as u64);
        let Some(hash) = &mut self.execution.order_hash else { return };
        if matches!(kind, Kind::CountUp | Kind::CountDown) && !done.has(Done::LAST) {
            hash.count(me, address);
        } else {
            hash.access(me, address, done);
        }
    }

    /// Hashes a step of the current thread that is no access.
    #[inline]
    pub(super) fn hash_step(&mut self, step: Step) {
        let me = self.execution.current;
        if let Some(hash) = &mut self.execution.order_hash {
            hash.step(me, step);
        }
    }

    /// The current thread ends.
    pub(crate) fn hash_end(&mut self) {
        let end = Step::new(Kind::End, 0);
        self.comes_to(end);
        self.hash_step(end);
        let counts = self.counts();
        if let Some(hash) = self.execution.order_hash.as_mut().filter(|hash| hash.is_alone()) {
            hash.alone = Some((hash.sum_when_alone(), counts));
        }
    }

    /// Hashes a spawn by the current thread. Only the first thread may: others are numbered by the order of spawns.
    pub(super) fn hash_spawn(&mut self, child: ThreadId) {
        match self.execution.current {
            0 => {
                let spawn = Step::new(Kind::Spawn, child.into());
                self.comes_to(spawn);
                self.hash_step(spawn);
            }
            _ => self.recognise_no_more(),
        }
    }

    /// The current thread comes to its next step: records it. If the thread had another one in the same past, executions are not recognised
    /// any more, and this one is repeated.
    #[inline]
    pub(crate) fn comes_to(&mut self, step: Step) {
        let me = self.execution.current;
        if let (Some(hash), Some(known)) = (&mut self.execution.order_hash, &mut self.exploration.recognition)
            && known.record(hash, me, step).is_err()
        {
            self.recognise_no_more();
            self.stop(Outcome::Discarded(Discarded::Repeat));
        }
    }
}

/// The kind of an access that is an event.
#[inline(always)]
fn kind<T: Int>(op: &AtomicOp<T>) -> Kind {
    match (op.site, op.kind) {
        (_, AtomicKind::Load) => Kind::Load,
        (Site::RefCountDown | Site::WeakCountDown, AtomicKind::Rmw(Rmw::Sub, _)) => Kind::CountDown,
        _ => Kind::Access,
    }
}

/// What an access did that has written a value, or has not.
#[inline(always)]
fn done<T: Int>(written: Option<T>) -> Done {
    let is_word = size_of::<T>() == size_of::<u32>();
    let is_zero = written.is_some_and(|value| value.widen() == 0);
    match written {
        Some(_) => Done::WROTE.and(Done::WORD, is_word).and(Done::ZERO, is_word && is_zero),
        None => Done::default(),
    }
}
