//! Thread-locals for virtual threads.
//!
//! On x86-64, thread-locals lie just below the address in the FS register. A *donor* is an OS thread that is made once,
//! parks for ever and runs no Rust code; a virtual thread runs with the donor's FS base and so has thread-locals, an
//! `errno` and a `pthread_self` of its own.
//!
//! ```text
//!     FS base - tls size            FS base
//!         │  the program's thread-locals  │ glibc's thread control block │
//!         └──── restored from an image ───┴── left alone ────────────────┘
//! ```
//!
//! The image is taken when the donor is new, with [`ROLE`] set. Copying it back restores the initial thread-locals,
//! after the virtual thread has ended or been abandoned.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::global::{ROLE, VIRTUAL};
use super::{elf, sys};

pub(crate) const DONORS: usize = 0x2300_0000_0000;
pub(crate) const DONOR_STACK: usize = 256 << 10;

/// A parked OS thread whose thread-locals a virtual thread uses.
#[derive(Debug)]
pub struct TlsDonor {
    /// The FS base.
    pub fs_base: usize,
    image: Box<[u8]>,
}

impl TlsDonor {
    /// Starts the donor for the virtual thread with this number, with its thread-locals at an address that depends on
    /// nothing else.
    pub fn start(thread: usize) -> TlsDonor {
        let stack = DONORS + thread * DONOR_STACK;
        sys::reserve(stack, DONOR_STACK);
        let published = AtomicUsize::new(0);
        // SAFETY: `attr` is initialised before use; `published` outlives the wait below; the stack is mapped and unused.
        // All signals are blocked while the donor is made, so that it never runs a handler.
        unsafe {
            let mut attr = MaybeUninit::<libc::pthread_attr_t>::zeroed();
            libc::pthread_attr_init(attr.as_mut_ptr());
            libc::pthread_attr_setstack(attr.as_mut_ptr(), stack as *mut c_void, DONOR_STACK);
            let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
            let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            let create: sys::PthreadCreate = std::mem::transmute(sys::real_symbol(c"pthread_create"));
            let mut handle = 0;
            let error = create(&mut handle, attr.as_ptr(), park, (&raw const published).cast_mut().cast());
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
            assert!(
                error == 0,
                "raddle: cannot start an OS thread (error {error}); is there a limit on threads (ulimit -u)?"
            );
        }
        while published.load(Ordering::Acquire) == 0 {
            // SAFETY: no arguments.
            unsafe { sys::raw_syscall(libc::SYS_sched_yield, [0; 6]) };
        }
        let fs_base = published.load(Ordering::Acquire);
        let role = ROLE.with(ptr::from_ref).addr().wrapping_sub(sys::fs_base()).wrapping_add(fs_base);
        let size = tls_size();
        // SAFETY: thread-locals have the same offsets from the FS base in every thread; the donor does not use its own.
        let image = unsafe {
            (role as *mut u8).write(VIRTUAL);
            std::slice::from_raw_parts((fs_base - size) as *const u8, size).into()
        };
        TlsDonor { fs_base, image }
    }

    /// The memory of the thread-locals.
    pub fn thread_locals(&self) -> std::ops::Range<usize> {
        self.fs_base - self.image.len()..self.fs_base
    }

    /// Restores the initial thread-locals.
    pub fn restore(&self) {
        let len = self.image.len();
        // SAFETY: the block belongs to the donor, which is parked, and no virtual thread uses it now.
        unsafe { ptr::copy_nonoverlapping(self.image.as_ptr(), (self.fs_base - len) as *mut u8, len) };
    }
}

extern "C" fn park(published: *mut c_void) -> *mut c_void {
    // SAFETY: the creator waits until the value is stored.
    unsafe { (*published.cast::<AtomicUsize>()).store(sys::fs_base(), Ordering::Release) };
    loop {
        // SAFETY: no arguments.
        unsafe { sys::raw_syscall(libc::SYS_pause, [0; 6]) };
    }
}

/// The size of the program's own block of thread-locals.
pub(crate) fn tls_size() -> usize {
    let segments = elf::segments();
    let tls = segments.iter().find(|segment| segment.is(libc::PT_TLS)).map(|segment| segment.header);
    tls.map_or(0, |tls| (tls.p_memsz as usize).next_multiple_of((tls.p_align as usize).max(1)))
}
