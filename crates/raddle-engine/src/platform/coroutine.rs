//! Coroutines: stacks, and the switch between them.
//!
//! A flow of control that is paused is nothing but a stack pointer. [`switch`] saves the registers that a function must
//! preserve on the current stack, exchanges stack pointers, and restores the registers of the other:
//!
//! ```text
//!   paused:   … caller's frame │ return address │ rbp rbx r12 r13 r14 r15 │ ← context
//!   new:                  0    │ begin          │  0   0   0   0   0   0  │ ← context
//! ```
//!
//! Threads switch to each other directly, and always in this function, below the same callers: so each `ret` goes where the
//! processor expects it to. Through a driver, as with asymmetric coroutines, two returns of every switch are mispredicted,
//! which made a switch cost 35 ns instead of 10.
//!
//! Unwinding ends at `begin`, which has no unwind information. No panic unwinds that far, because the code of threads
//! catches panics.

use std::arch::naked_asm;

use super::stack::SlotStack;

/// A paused flow of control: its stack pointer.
pub(crate) type Context = usize;

/// Pauses the running flow in `from` and resumes the one paused in `to`.
///
/// # Safety
/// `to` must hold a context that was saved here or made by [`prepare`], whose stack is intact. References of the caller
/// must be valid whatever the other flows do.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(from: *mut Context, to: *const Context) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, [rsi]",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// A context on an unused stack that calls `entry` when it is first switched to.
pub(crate) fn prepare(stack: &SlotStack, entry: unsafe extern "C" fn() -> !) -> Context {
    let top = stack.top() - 64;
    // From the context upwards: r15 r14 r13 r12 rbx rbp, then where `switch` returns to. `begin` finds the entry in rbx and
    // a stack pointer that is a multiple of 16.
    let frame: [usize; 7] = [0, 0, 0, 0, entry as usize, 0, begin as *const () as usize];
    let context = top - size_of_val(&frame);
    // SAFETY: within the stack, which nothing uses.
    unsafe { (context as *mut [usize; 7]).write(frame) };
    context
}

#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!("call rbx", "ud2")
}

/// The instruction and the stack pointer that a signal handler must set to make the interrupted coroutine call `entry`
/// instead of continuing.
pub(crate) fn divert(stack: &SlotStack, entry: unsafe extern "C" fn() -> !) -> (usize, usize) {
    // As after a call: the stack pointer is 8 below a multiple of 16.
    (entry as usize, stack.top() - 64 - 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static MAIN: Cell<Context> = const { Cell::new(0) };
        static OTHER: Cell<Context> = const { Cell::new(0) };
        static LOG: Cell<u32> = const { Cell::new(0) };
    }

    unsafe extern "C" fn entry() -> ! {
        loop {
            LOG.set(LOG.get() * 10 + 2);
            // SAFETY: the main context was saved by the switch that came here.
            unsafe { switch(OTHER.with(Cell::as_ptr), MAIN.with(Cell::as_ptr)) };
        }
    }

    #[test]
    fn control_goes_back_and_forth() {
        let stack = SlotStack::map_anywhere(64 << 10);
        OTHER.set(prepare(&stack, entry));
        for _ in 0..3 {
            LOG.set(LOG.get() * 10 + 1);
            // SAFETY: the other context was prepared above or saved by the switch in `entry`.
            unsafe { switch(MAIN.with(Cell::as_ptr), OTHER.with(Cell::as_ptr)) };
        }
        assert_eq!(LOG.get(), 121_212);
    }
}
