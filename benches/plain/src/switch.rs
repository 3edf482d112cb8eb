//! What the engine's switches are made of: a coroutine's resume and suspend, and a change of the FS base.

use std::arch::asm;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::measure;

/// Times a resume and the suspend that answers it. With `fs`, the FS base is written before each; with `call`, the
/// coroutine suspends in a function that it calls, as a thread does in a hook.
pub(crate) fn switch(kind: &str, seconds: f64) {
    const PAIRS: u64 = 100_000;
    let (fs, call) = (kind == "fs", kind == "call");
    let mut coroutine = Coroutine::<(), (), ()>::new(move |yielder, ()| {
        loop {
            if fs {
                write_fs_base();
            }
            if call {
                suspend(yielder);
            } else {
                yielder.suspend(());
            }
        }
    });
    measure::time(seconds, PAIRS, || {
        for _ in 0..PAIRS {
            if fs {
                write_fs_base();
            }
            assert!(matches!(coroutine.resume(()), CoroutineResult::Yield(())));
        }
    });
    // It never ends, and owns nothing that would have to be dropped.
    // SAFETY: as said.
    unsafe { coroutine.force_reset() };
}

#[inline(never)]
fn suspend(yielder: &Yielder<(), ()>) {
    yielder.suspend(());
    // The call must not become a jump.
    std::hint::black_box(());
}

/// Writes the FS base as it is.
#[inline(always)]
fn write_fs_base() {
    // SAFETY: glibc keeps the base at FS:0, so nothing changes.
    unsafe { asm!("wrfsbase {base}", base = in(reg) fs_base(), options(nostack, preserves_flags)) };
}

#[inline(always)]
fn fs_base() -> usize {
    let base;
    // SAFETY: reads the thread control block's own address.
    unsafe { asm!("mov {base}, fs:0", base = out(reg) base, options(nostack, preserves_flags, readonly)) };
    base
}
