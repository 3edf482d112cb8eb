//! What a virtual thread runs on: a coroutine, or an OS thread of its own.
//!
//! Both work alike. The explorer resumes a thread and waits until it pauses; a paused thread waits until it is resumed. So
//! exactly one of them runs at any time, and schedules mean the same on both. OS threads are slower by far; they are for
//! debuggers, which know nothing of coroutines.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::global::{ROLE, VIRTUAL};
use crate::stack::SlotStack;
use crate::sys;

/// Which kind of runner an exploration uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Coroutines with borrowed thread-locals.
    Coroutines,
    /// An OS thread per virtual thread.
    OsThreads,
}

/// How a runner came back for the last time.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// It ran to its end.
    Returned,
    /// A signal ended it; the engine's outcome says which.
    Trapped,
}

pub(crate) enum Runner {
    Coroutine(Coroutine<(), (), End, SlotStack>),
    OsThread(Box<Baton>),
}

/// The side of a runner that its own code sees.
#[derive(Clone, Copy)]
pub(crate) enum Pauser {
    Coroutine(*const Yielder<(), ()>),
    OsThread(*const Baton),
}

impl Runner {
    /// A runner on this stack (or, for an OS thread, on another of the same size), which calls `body` when it is first resumed.
    ///
    /// # Safety
    /// The stack must not be used by another runner; what `body` refers to must outlive the runner.
    pub(crate) unsafe fn new(backend: Backend, stack: SlotStack, body: impl FnOnce(Pauser) -> End) -> Runner {
        match backend {
            Backend::Coroutines => {
                let body = move |yielder: &Yielder<(), ()>, ()| body(Pauser::Coroutine(yielder));
                // SAFETY: the caller's.
                Runner::Coroutine(unsafe { Coroutine::with_stack_unchecked(stack, body) })
            }
            // SAFETY: the caller's.
            Backend::OsThreads => Runner::OsThread(unsafe { start(stack.size(), Box::new(body)) }),
        }
    }

    /// Lets the thread run until it pauses. Some if that was for ever.
    ///
    /// # Safety
    /// `fs_base` must be that of the thread's lender, which a coroutine runs with.
    #[inline]
    pub(crate) unsafe fn resume(&mut self, fs_base: usize) -> Option<End> {
        match self {
            Runner::Coroutine(coroutine) => {
                // SAFETY: the caller's; the explorer's own is restored when it stops driving.
                unsafe { sys::set_fs_base(fs_base) };
                match coroutine.resume(()) {
                    CoroutineResult::Yield(()) => None,
                    CoroutineResult::Return(end) => Some(end),
                }
            }
            Runner::OsThread(baton) => baton.resume(),
        }
    }

    /// Gives the thread up where it stands.
    pub(crate) fn abandon(self) {
        match self {
            Runner::Coroutine(mut coroutine) => {
                if coroutine.started() && !coroutine.done() {
                    // SAFETY: nothing on the stack owns anything outside what is rolled back with it.
                    unsafe { coroutine.force_reset() };
                }
            }
            // An OS thread that has not ended waits for ever; its baton and its stack must stay.
            Runner::OsThread(baton) if !baton.ended.get() => _ = Box::leak(baton),
            // SAFETY: the thread has nothing left to do but to exit; then nothing uses its stack.
            Runner::OsThread(baton) => unsafe {
                type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
                let join: Join = std::mem::transmute(sys::real_symbol(c"pthread_join"));
                join(baton.handle.get(), std::ptr::null_mut());
                baton.stack.unmap();
            },
        }
    }

    /// The stack that the thread runs on, where that is not the one it was given.
    pub(crate) fn own_stack(&self) -> Option<SlotStack> {
        match self {
            Runner::Coroutine(_) => None,
            Runner::OsThread(baton) => Some(baton.stack),
        }
    }

    /// The coroutine, for the signal handler that ends it.
    pub(crate) fn coroutine(&self) -> Option<&Coroutine<(), (), End, SlotStack>> {
        match self {
            Runner::Coroutine(coroutine) => Some(coroutine),
            Runner::OsThread(_) => None,
        }
    }
}

impl Pauser {
    /// Pauses the calling thread until it is resumed.
    ///
    /// # Safety
    /// The caller must run on the runner that this belongs to.
    #[inline]
    pub(crate) unsafe fn pause(self) {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Pauser::Coroutine(yielder) => (*yielder).suspend(()),
                Pauser::OsThread(baton) => (*baton).pause(),
            }
        }
    }

    /// Runs something on the explorer's stack, with the explorer's thread-locals.
    ///
    /// # Safety
    /// As for [`Pauser::pause`]; `explorer_fs` must be the explorer's FS base.
    pub(crate) unsafe fn on_explorer<T>(self, explorer_fs: usize, work: impl FnOnce() -> T) -> T {
        struct OneAtATime<T>(T);
        // SAFETY: the explorer and the thread that asks never run at the same time.
        unsafe impl<T> Send for OneAtATime<T> {}

        let work = OneAtATime(work);
        match self {
            Pauser::Coroutine(yielder) => {
                let own = sys::fs_base();
                // SAFETY: the caller's; both FS bases are valid.
                let result = unsafe {
                    (*yielder).on_parent_stack(move || {
                        let OneAtATime(work) = { work };
                        sys::set_fs_base(explorer_fs);
                        let result = work();
                        sys::set_fs_base(own);
                        OneAtATime(result)
                    })
                };
                result.0
            }
            Pauser::OsThread(baton) => {
                let mut work = Some(work.0);
                let mut result = None;
                let mut request = || result = work.take().map(|work| work());
                // SAFETY: the caller's; the request is answered before this returns.
                unsafe { (*baton).ask(&mut request) };
                result.expect("the explorer answers every request")
            }
        }
    }
}

type Body = Box<dyn FnOnce(Pauser) -> End>;

/// Passes control between the explorer and one OS thread.
pub(crate) struct Baton {
    /// Whose turn it is.
    turn: AtomicU32,
    ended: Cell<bool>,
    handle: Cell<libc::pthread_t>,
    stack: SlotStack,
    request: Cell<Option<*mut dyn FnMut()>>,
    body: Cell<Option<Body>>,
}

const EXPLORERS: u32 = 0;
const THREADS: u32 = 1;

impl Baton {
    fn resume(&self) -> Option<End> {
        loop {
            self.give(THREADS);
            self.wait_for(EXPLORERS);
            let Some(request) = self.request.take() else { break };
            // SAFETY: the thread that asked waits until it is resumed.
            unsafe { (*request)() };
        }
        self.ended.get().then_some(End::Returned)
    }

    fn pause(&self) {
        self.give(EXPLORERS);
        self.wait_for(THREADS);
    }

    fn ask(&self, request: &mut dyn FnMut()) {
        let request: *mut (dyn FnMut() + '_) = request;
        // SAFETY: only the lifetime changes; the request is taken out before `pause` returns.
        self.request
            .set(Some(unsafe { std::mem::transmute::<*mut (dyn FnMut() + '_), *mut dyn FnMut()>(request) }));
        self.pause();
    }

    fn give(&self, whose: u32) {
        self.turn.store(whose, SeqCst);
        let args = [self.turn.as_ptr() as i64, libc::FUTEX_WAKE.into(), 1, 0, 0, 0];
        // SAFETY: a wake-up at a live address.
        unsafe { sys::raw_syscall(libc::SYS_futex, args) };
    }

    fn wait_for(&self, whose: u32) {
        while self.turn.load(SeqCst) != whose {
            let args = [self.turn.as_ptr() as i64, libc::FUTEX_WAIT.into(), i64::from(1 - whose), 0, 0, 0];
            // SAFETY: a wait at a live address.
            unsafe { sys::raw_syscall(libc::SYS_futex, args) };
        }
    }
}

/// Starts an OS thread that waits for its first turn.
unsafe fn start<'a>(stack_size: usize, body: Box<dyn FnOnce(Pauser) -> End + 'a>) -> Box<Baton> {
    // SAFETY: only the lifetime changes; the caller promises that what the body refers to outlives the runner.
    let body = unsafe {
        std::mem::transmute::<Box<dyn FnOnce(Pauser) -> End + 'a>, Box<dyn FnOnce(Pauser) -> End + 'static>>(
            body,
        )
    };
    let stack = SlotStack::map_anywhere(stack_size);
    let baton = Box::new(Baton {
        turn: AtomicU32::new(EXPLORERS),
        ended: Cell::new(false),
        handle: Cell::new(0),
        stack,
        request: Cell::new(None),
        body: Cell::new(Some(body)),
    });
    // SAFETY: `attr` is initialised before use; the baton outlives the thread: it is leaked if the thread never ends.
    unsafe {
        let mut attr = MaybeUninit::<libc::pthread_attr_t>::zeroed();
        libc::pthread_attr_init(attr.as_mut_ptr());
        libc::pthread_attr_setstack(attr.as_mut_ptr(), stack.bottom() as *mut c_void, stack.size());
        let create: sys::PthreadCreate = std::mem::transmute(sys::real_symbol(c"pthread_create"));
        let mut handle = 0;
        let error: c_int = create(&mut handle, attr.as_ptr(), run, (&raw const *baton).cast_mut().cast());
        baton.handle.set(handle);
        assert!(
            error == 0,
            "raddle: cannot start an OS thread (error {error}); is there a limit on threads (ulimit -u)?"
        );
    }
    baton
}

extern "C" fn run(baton: *mut c_void) -> *mut c_void {
    // SAFETY: see `start`.
    let baton = unsafe { &*baton.cast::<Baton>() };
    baton.wait_for(THREADS);
    ROLE.set(VIRTUAL);
    if let Some(body) = baton.body.take() {
        body(Pauser::OsThread(baton));
    }
    ROLE.set(crate::global::NO_ROLE);
    baton.ended.set(true);
    baton.give(EXPLORERS);
    std::ptr::null_mut()
}
