//! Runs programs on std: one function for all of them, so that the same code does everything.

use std::hint::spin_loop;
use std::sync::atomic::{Ordering::SeqCst, fence};
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle, ScopedJoinHandle};
use std::time::Duration;

use crate::program::{ArcOp, Mode, NOTHING, OnceKind, Op, Outcome, Program, TIMED_OUT, ThreadId};
use crate::world::{Bump, LOCAL, Plain, World};

/// Runs a program once.
pub fn run(program: &'static Program) -> Outcome {
    let world = World::new(program);
    Runner { program, world, me: 0 }.run();
    world.own.iter().map(|own| own.seen.get().clone()).collect()
}

/// One thread.
#[derive(Clone, Copy)]
struct Runner {
    program: &'static Program,
    world: &'static World,
    me: ThreadId,
}

/// The threads that were started around here and not joined yet.
type Handles<'scope> = Vec<(ThreadId, Handle<'scope>)>;

enum Handle<'scope> {
    Spawned(JoinHandle<()>),
    Scoped(ScopedJoinHandle<'scope, ()>),
}

/// The locks that are held around here, the newest first.
struct Held<'a> {
    mode: Mode,
    lock: usize,
    data: &'a Plain<u64>,
    outer: Option<&'a Held<'a>>,
}

impl Runner {
    fn run(self) {
        let own = &self.world.own[self.me];
        if self.is_woken_by_those_it_starts() {
            *own.thread.get() = Some(thread::current());
        }
        let mut handles = Vec::new();
        self.body(&self.program.threads[self.me], &mut handles, None);
        drop(own.sender.get().take());
        drop(own.receiver.get().take());
        while let Some(arc) = own.arcs.get().pop() {
            drop(arc);
        }
        drop(own.weak.get().take());
        for (_, handle) in handles {
            handle.join();
        }
        if self.me == 0 {
            for atomic in &self.world.atomics {
                self.see(atomic.load(SeqCst));
            }
        }
    }

    fn is_woken_by_those_it_starts(self) -> bool {
        let starts =
            |thread: &ThreadId| self.program.started_by(*thread).is_some_and(|(by, _)| by == self.me);
        let mut started = (0..self.program.threads.len()).filter(starts);
        started.any(|thread| self.program.thread_has(thread, |op| *op == Op::Unpark(self.me)))
    }

    fn see(self, value: u64) {
        self.world.own[self.me].seen.get().push(value);
    }

    fn body(self, body: &'static [Op], handles: &mut Handles<'_>, held: Option<&Held<'_>>) {
        for op in body {
            self.op(op, handles, held);
        }
    }

    fn op(self, op: &'static Op, handles: &mut Handles<'_>, held: Option<&Held<'_>>) {
        let world = self.world;
        match op {
            Op::Load(at, order) => self.see(world.atomics[*at].load(*order)),
            Op::Store(at, value, order) => world.atomics[*at].store(*value, *order),
            Op::Fetch(change, at, value, order) => {
                self.see(world.atomics[*at].fetch(*change, *value, *order));
            }
            Op::CompareExchange(exchange) => {
                self.see(world.atomics[exchange.at].compare_exchange(exchange));
            }
            Op::Fence(order) => fence(*order),
            Op::SpinUntil(at, value, order, yields) => {
                while world.atomics[*at].load(*order) != *value {
                    if *yields { thread::yield_now() } else { spin_loop() }
                }
            }
            Op::Read(cell) => self.see(*world.cells[*cell].get()),
            Op::Write(cell, value) => *world.cells[*cell].get() = *value,
            Op::Locked { mode, lock, only_try, body } => {
                self.locked(*mode, *lock, *only_try, body, handles, held);
            }
            Op::Replace(mode, lock, value) => self.replace(*mode, *lock, *value, held),
            Op::WaitWhileZero { mutex, timeout } => self.wait_while_zero(*mutex, *timeout),
            Op::Notify(mutex, true) => world.mutexes[*mutex].1.notify_all(),
            Op::Notify(mutex, false) => world.mutexes[*mutex].1.notify_one(),
            Op::Send(_) | Op::DropSender | Op::DropReceiver => self.channel(op),
            Op::Receive | Op::TryReceive | Op::ReceiveTimeout(_) => self.receive(op),
            Op::Park => thread::park(),
            Op::ParkTimeout(time) => thread::park_timeout(Duration::from_micros(*time)),
            Op::Unpark(target) => {
                if let Some(thread) = world.own[*target].thread.get() {
                    thread.unpark();
                }
            }
            Op::Barrier => self.see(world.barrier.wait().is_leader().into()),
            Op::Initialise(kind, number, body, value) => {
                self.initialise(*kind, *number, body, *value, handles, held);
            }
            Op::IsInitialised(kind, number) => self.see(match kind {
                OnceKind::Once => world.once[*number].is_completed().into(),
                OnceKind::OnceLock => world.once_lock[*number].get().is_some().into(),
                OnceKind::LazyLock => 0,
            }),
            Op::Arc(op) => self.arc(*op),
            Op::Spawn(thread) => {
                let runner = Runner { me: *thread, ..self };
                let handle = thread::spawn(move || runner.run());
                self.started(*thread, Handle::Spawned(handle), handles);
            }
            Op::Join(thread) => {
                let index = handles.iter().position(|(started, _)| started == thread);
                handles.swap_remove(index.expect("threads are joined where they were started")).1.join();
            }
            Op::IsFinished(thread) => {
                let handle = handles.iter().find(|(started, _)| started == thread);
                self.see(handle.expect("only threads that are not joined are asked").1.is_finished().into());
            }
            Op::Scope(threads, body) => thread::scope(|scope| {
                let mut handles = Vec::new();
                for &thread in threads {
                    let runner = Runner { me: thread, ..self };
                    let handle = Handle::Scoped(scope.spawn(move || runner.run()));
                    self.started(thread, handle, &mut handles);
                    if !self
                        .program
                        .has(|op| matches!(op, Op::Join(asked) | Op::IsFinished(asked) if *asked == thread))
                    {
                        handles.pop();
                    }
                }
                self.body(body, &mut handles, held);
            }),
            Op::Sleep(time) => thread::sleep(Duration::from_micros(*time)),
            Op::Yield => thread::yield_now(),
            Op::ThreadLocal => LOCAL.with_borrow_mut(|local| {
                local.get_or_insert_with(|| Bump(&world.atomics[0]));
            }),
        }
    }

    fn started<'scope>(self, thread: ThreadId, handle: Handle<'scope>, handles: &mut Handles<'scope>) {
        if self.program.thread_has(self.me, |op| *op == Op::Unpark(thread)) {
            // Nobody but the starter looks at it.
            *self.world.own[thread].thread.get() = Some(handle.thread());
        }
        handles.push((thread, handle));
    }

    fn locked(
        self,
        mode: Mode,
        lock: usize,
        only_try: bool,
        body: &'static [Op],
        handles: &mut Handles<'_>,
        held: Option<&Held<'_>>,
    ) {
        let mut inside = |data: &Plain<u64>| {
            if only_try {
                self.see(1);
            }
            self.body(body, handles, Some(&Held { mode, lock, data, outer: held }));
        };
        let world = self.world;
        let done = match (mode, only_try) {
            (Mode::Mutex, false) => world.mutexes[lock].0.lock().map(|guard| inside(&guard)).is_ok(),
            (Mode::Mutex, true) => world.mutexes[lock].0.try_lock().map(|guard| inside(&guard)).is_ok(),
            (Mode::Read, false) => world.rwlocks[lock].read().map(|guard| inside(&guard)).is_ok(),
            (Mode::Read, true) => world.rwlocks[lock].try_read().map(|guard| inside(&guard)).is_ok(),
            (Mode::Write, false) => world.rwlocks[lock].write().map(|guard| inside(&guard)).is_ok(),
            (Mode::Write, true) => world.rwlocks[lock].try_write().map(|guard| inside(&guard)).is_ok(),
        };
        if !done {
            self.see(0);
        }
    }

    fn replace(self, mode: Mode, lock: usize, value: u64, held: Option<&Held<'_>>) {
        let mut next = held;
        while let Some(held) = next {
            if (held.mode, held.lock) == (mode, lock) {
                self.see(*held.data.get());
                if mode != Mode::Read {
                    *held.data.get() = value;
                }
                return;
            }
            next = held.outer;
        }
        unreachable!("what a lock protects is replaced while that is held");
    }

    fn wait_while_zero(self, mutex: usize, timeout: Option<u64>) {
        let (mutex, condvar) = &self.world.mutexes[mutex];
        let guard = mutex.lock().expect("no thread panics");
        match timeout {
            None => {
                let guard = condvar.wait_while(guard, |data| *data.get() == 0).expect("no thread panics");
                self.see(*guard.get());
            }
            Some(time) => {
                let time = Duration::from_micros(time);
                let waited = condvar.wait_timeout_while(guard, time, |data| *data.get() == 0);
                let (guard, result) = waited.expect("no thread panics");
                self.see(result.timed_out().into());
                self.see(*guard.get());
            }
        }
    }

    fn channel(self, op: &Op) {
        let own = &self.world.own[self.me];
        match op {
            Op::Send(value) => {
                if let Some(sender) = own.sender.get() {
                    self.see(sender.send(*value).into());
                }
            }
            Op::DropSender => drop(own.sender.get().take()),
            _ => drop(own.receiver.get().take()),
        }
    }

    fn receive(self, op: &Op) {
        let Some(receiver) = self.world.own[self.me].receiver.get() else { return };
        self.see(match op {
            Op::Receive => receiver.recv().unwrap_or(NOTHING),
            Op::TryReceive => match receiver.try_recv() {
                Ok(value) => value,
                Err(TryRecvError::Empty) => TIMED_OUT,
                Err(TryRecvError::Disconnected) => NOTHING,
            },
            Op::ReceiveTimeout(time) => match receiver.recv_timeout(Duration::from_micros(*time)) {
                Ok(value) => value,
                Err(RecvTimeoutError::Timeout) => TIMED_OUT,
                Err(RecvTimeoutError::Disconnected) => NOTHING,
            },
            _ => unreachable!("not a way to receive"),
        });
    }

    fn initialise(
        self,
        kind: OnceKind,
        number: usize,
        body: &'static [Op],
        value: u64,
        handles: &mut Handles<'_>,
        held: Option<&Held<'_>>,
    ) {
        match kind {
            OnceKind::Once => self.world.once[number].call_once(|| self.body(body, handles, held)),
            OnceKind::OnceLock => {
                let value = self.world.once_lock[number].get_or_init(|| {
                    self.body(body, handles, held);
                    value
                });
                self.see(*value);
            }
            OnceKind::LazyLock => self.see(*LazyLock::force(&self.world.lazy_lock[number])),
        }
    }

    fn arc(self, op: ArcOp) {
        let own = &self.world.own[self.me];
        let (arcs, weak) = (own.arcs.get(), own.weak.get());
        match op {
            ArcOp::Upgrade => {
                let Some(weak) = weak else { return };
                let upgraded = weak.upgrade();
                self.see(upgraded.is_some().into());
                arcs.extend(upgraded);
                return;
            }
            ArcOp::DropWeak => return drop(weak.take()),
            _ => {}
        }
        let Some(mut newest) = arcs.pop() else { return };
        match op {
            ArcOp::Clone => arcs.push(Arc::clone(&newest)),
            ArcOp::Count => self.see(Arc::strong_count(&newest) as u64),
            ArcOp::GetMut => self.see(Arc::get_mut(&mut newest).is_some().into()),
            ArcOp::Downgrade => *weak = Some(Arc::downgrade(&newest)),
            ArcOp::Drop => return drop(newest),
            ArcOp::IntoInner => {
                let inner = Arc::into_inner(newest);
                self.see(inner.is_some().into());
                return;
            }
            ArcOp::TryUnwrap => match Arc::try_unwrap(newest) {
                Ok(_) => return self.see(1),
                Err(kept) => {
                    self.see(0);
                    newest = kept;
                }
            },
            ArcOp::Upgrade | ArcOp::DropWeak => unreachable!("done above"),
        }
        arcs.push(newest);
    }
}

impl Handle<'_> {
    fn join(self) {
        let joined = match self {
            Handle::Spawned(handle) => handle.join(),
            Handle::Scoped(handle) => handle.join(),
        };
        joined.expect("no thread panics");
    }

    fn is_finished(&self) -> bool {
        match self {
            Handle::Spawned(handle) => handle.is_finished(),
            Handle::Scoped(handle) => handle.is_finished(),
        }
    }

    fn thread(&self) -> thread::Thread {
        match self {
            Handle::Spawned(handle) => handle.thread().clone(),
            Handle::Scoped(handle) => handle.thread().clone(),
        }
    }
}
