//! Virtual threads as OS threads: slow, but debuggers understand them.
//!
//! Each flow of control has a [`Turn`]. Passing control means giving the other its turn and waiting for one's own.
//!
//! **Invariant:** exactly one flow runs at any time, so that schedules mean the same as with coroutines.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use super::global::{NO_ROLE, ROLE, VIRTUAL};
use super::stack::SlotStack;
use super::sys;

/// The turn of a flow of control: whether it may run.
#[derive(Debug, Default)]
pub(crate) struct Turn(AtomicU32);

impl Turn {
    /// Lets the flow run.
    pub(crate) fn give(&self) {
        self.0.store(1, SeqCst);
        let args = [self.0.as_ptr() as i64, libc::FUTEX_WAKE.into(), 1, 0, 0, 0];
        // SAFETY: a wake-up at a live address.
        unsafe { sys::raw_syscall(libc::SYS_futex, args) };
    }

    /// Waits until the flow may run.
    pub(crate) fn take(&self) {
        while self.0.swap(0, SeqCst) == 0 {
            let args = [self.0.as_ptr() as i64, libc::FUTEX_WAIT.into(), 0, 0, 0, 0];
            // SAFETY: a wait at a live address.
            unsafe { sys::raw_syscall(libc::SYS_futex, args) };
        }
    }
}

/// An OS thread that runs when it has its turn.
#[derive(Debug)]
pub(crate) struct OsThread {
    pub(crate) turn: Turn,
    pub(crate) stack: SlotStack,
    handle: libc::pthread_t,
    ended: AtomicBool,
    /// Runs the thread and passes the turn on at its end.
    body: unsafe fn(),
}

impl OsThread {
    /// Starts a thread that waits for its first turn and then calls `body`.
    pub(crate) fn start(stack_size: usize, body: unsafe fn()) -> Box<OsThread> {
        let stack = SlotStack::map_anywhere(stack_size);
        let mut thread = Box::new(OsThread {
            turn: Turn::default(),
            stack,
            handle: 0,
            ended: AtomicBool::new(false),
            body,
        });
        // SAFETY: `attr` is initialised before use; the box outlives the thread: it is leaked if the thread never ends.
        unsafe {
            let mut attr = MaybeUninit::<libc::pthread_attr_t>::zeroed();
            libc::pthread_attr_init(attr.as_mut_ptr());
            libc::pthread_attr_setstack(attr.as_mut_ptr(), stack.bottom() as *mut c_void, stack.size());
            let create: sys::PthreadCreate = std::mem::transmute(sys::real_symbol(c"pthread_create"));
            let argument = (&raw mut *thread).cast();
            let error = create(&raw mut thread.handle, attr.as_ptr(), run, argument);
            assert!(
                error == 0,
                "raddle: cannot start an OS thread (error {error}); is there a limit on threads (ulimit -u)?"
            );
        }
        thread
    }

    /// Joins the thread if it has ended. A thread that has not waits for its turn for ever, and keeps its memory.
    pub(crate) fn abandon(self: Box<OsThread>) {
        if !self.ended.load(SeqCst) {
            Box::leak(self);
            return;
        }
        type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
        // SAFETY: the thread has nothing left to do but to exit; then nothing uses its stack.
        unsafe {
            let join: Join = std::mem::transmute(sys::real_symbol(c"pthread_join"));
            join(self.handle, std::ptr::null_mut());
            self.stack.unmap();
        }
    }

    /// Announces that the thread will pass its turn on for the last time.
    pub(crate) fn will_end(&self) {
        self.ended.store(true, SeqCst);
    }
}

extern "C" fn run(thread: *mut c_void) -> *mut c_void {
    // SAFETY: see `start`.
    let thread = unsafe { &*thread.cast::<OsThread>() };
    thread.turn.take();
    ROLE.set(VIRTUAL);
    // SAFETY: it is this thread's turn.
    unsafe { (thread.body)() };
    ROLE.set(NO_ROLE);
    std::ptr::null_mut()
}
