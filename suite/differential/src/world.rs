//! The objects of a program, of std's types.

use std::cell::{RefCell, UnsafeCell};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Weak};
use std::thread::Thread;

use crate::atomic::Atomic;
use crate::program::{Change, OnceKind, Program};

/// Everything that threads share. It is leaked: what owned it would have to count who uses it.
#[derive(Debug)]
pub struct World {
    pub(crate) atomics: Vec<Atomic>,
    pub(crate) cells: Vec<Plain<u64>>,
    pub(crate) mutexes: Vec<(Mutex<Plain<u64>>, Condvar)>,
    pub(crate) rwlocks: Vec<RwLock<Plain<u64>>>,
    pub(crate) barrier: Barrier,
    pub(crate) once: Vec<Once>,
    pub(crate) once_lock: Vec<OnceLock<u64>>,
    pub(crate) lazy_lock: Vec<Lazy>,
    pub(crate) own: Vec<Own>,
}

/// Its closure adds 1 to the first atomic.
type Lazy = LazyLock<u64, Box<dyn FnOnce() -> u64 + Send + Sync>>;

/// What belongs to one thread, and after its end to whoever started it.
#[derive(Debug, Default)]
pub(crate) struct Own {
    pub(crate) seen: Plain<Vec<u64>>,
    pub(crate) sender: Plain<Option<AnySender>>,
    pub(crate) receiver: Plain<Option<Receiver<u64>>>,
    pub(crate) arcs: Plain<Vec<Arc<Bump>>>,
    pub(crate) weak: Plain<Option<Weak<Bump>>>,
    /// For whoever wakes it. Noted by itself, before it starts others, or by whoever starts it.
    pub(crate) thread: Plain<Option<Thread>>,
}

/// Plain data that threads share.
#[derive(Debug, Default)]
pub struct Plain<T>(UnsafeCell<T>);

// SAFETY: data races are what is looked for; a program that has one is stopped when it happens, or its outcome is not looked at.
unsafe impl<T> Sync for Plain<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Plain<T> {}

impl<T> Plain<T> {
    /// Access to it.
    #[allow(clippy::mut_from_ref, reason = "it is what programs race for")]
    pub(crate) fn get(&self) -> &mut T {
        // SAFETY: see `Sync`; no reference outlives an operation.
        unsafe { &mut *self.0.get() }
    }
}

/// Either kind of sender.
#[derive(Clone, Debug)]
pub(crate) enum AnySender {
    Unbounded(Sender<u64>),
    Bounded(SyncSender<u64>),
}

impl AnySender {
    pub(crate) fn send(&self, value: u64) -> bool {
        match self {
            AnySender::Unbounded(sender) => sender.send(value).is_ok(),
            AnySender::Bounded(sender) => sender.send(value).is_ok(),
        }
    }
}

/// Adds 1 to an atomic when it is dropped.
#[derive(Debug)]
pub(crate) struct Bump(pub(crate) &'static Atomic);

impl Drop for Bump {
    fn drop(&mut self) {
        self.0.fetch(Change::Add, 1, SeqCst);
    }
}

thread_local! {
    /// What is destroyed at the end of a thread.
    pub(crate) static LOCAL: RefCell<Option<Bump>> = const { RefCell::new(None) };
}

impl World {
    /// The objects of a program, as they are at first.
    pub(crate) fn new(program: &Program) -> &'static World {
        let atomics: Vec<Atomic> = program.atomics.iter().map(|&width| Atomic::new(width)).collect();
        let many = |count: usize| 0..count;
        let world: &'static mut World = Box::leak(Box::new(World {
            atomics,
            cells: many(program.cells()).map(|_| Plain::default()).collect(),
            mutexes: many(program.locks(true)).map(|_| Default::default()).collect(),
            rwlocks: many(program.locks(false)).map(|_| RwLock::default()).collect(),
            barrier: Barrier::new(program.barrier),
            once: many(program.onces(OnceKind::Once)).map(|_| Once::new()).collect(),
            once_lock: many(program.onces(OnceKind::OnceLock)).map(|_| OnceLock::new()).collect(),
            lazy_lock: Vec::new(),
            own: program.threads.iter().map(|_| Own::default()).collect(),
        }));
        // SAFETY: it is never freed, and nothing but its first atomic is accessed by this reference.
        let first: Option<&'static Atomic> =
            unsafe { (&raw const world.atomics).as_ref() }.and_then(|all| all.first());
        if let Some(first) = first {
            let lazy = |_| Lazy::new(Box::new(|| first.fetch(Change::Add, 1, SeqCst)));
            world.lazy_lock = many(program.onces(OnceKind::LazyLock)).map(lazy).collect();
            world.hand_out_arcs(program, first);
        }
        world.hand_out_ends(program);
        world
    }

    fn hand_out_arcs(&self, program: &Program, first: &'static Atomic) {
        let mut owners = (0..program.threads.len()).filter(|&thread| program.has_arc(thread));
        let Some(last) = owners.next_back() else { return };
        let arc = Arc::new(Bump(first));
        owners.for_each(|owner| self.own[owner].arcs.get().push(Arc::clone(&arc)));
        self.own[last].arcs.get().push(arc);
    }

    fn hand_out_ends(&self, program: &Program) {
        if !program.has_channel() {
            return;
        }
        let (sender, receiver) = match program.capacity {
            None => {
                let (sender, receiver) = mpsc::channel();
                (AnySender::Unbounded(sender), receiver)
            }
            Some(capacity) => {
                let (sender, receiver) = mpsc::sync_channel(capacity);
                (AnySender::Bounded(sender), receiver)
            }
        };
        if let Some(owner) = program.receiver() {
            *self.own[owner].receiver.get() = Some(receiver);
        }
        for owner in (0..program.threads.len()).filter(|&thread| program.has_sender(thread)) {
            *self.own[owner].sender.get() = Some(sender.clone());
        }
    }
}
