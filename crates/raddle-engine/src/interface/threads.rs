//! Threads: spawn, join, thread-locals, panics, and the end of the process.

use std::ffi::c_void;

use crate::execution::Engine;
use crate::execution::order_hash::{Kind, Step};
use crate::op::ThreadId;
use crate::outcome::Outcome;
use crate::platform::global::{GLOBAL, MAX_KEYS};
use crate::semantics::{dispatch, enter};
use crate::thread::{Destructor, KeyDestructor, Start, StartRoutine, ThreadStatus};
use crate::trace::{Action, SwitchReason};

/// Spawns a thread; returns its number, after passing it to `made` before the thread can run.
///
/// # Safety
/// As for [`super::fence`]; `routine` must be callable with `argument` on another thread.
pub unsafe fn spawn(
    engine: *mut Engine,
    routine: StartRoutine,
    argument: *mut c_void,
    made: impl FnOnce(ThreadId),
) -> ThreadId {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let start = Start::Routine(routine, argument);
            dispatch!(engine, spawn(start, made))
        })
    }
}

/// Sets the symmetry class of the threads that the current one spawns from now on. Returns the class before.
///
/// Threads of one class are symmetric: they run the same code, and exchanging two of them shows nothing new. Of
/// executions that differ by such an exchange, the exhaustive search makes one. Threads count as symmetric if they have
/// the same class and their parent made nothing but spawns between them.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn make_alike(engine: *mut Engine, kind: Option<u64>) -> Option<u64> {
    // SAFETY: the caller's.
    unsafe { std::mem::replace(&mut (*engine).current().child_class, kind) }
}

/// A symmetry class without threads of the current thread, if all its classes come from here.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn unused_kind(engine: *mut Engine) -> u64 {
    // SAFETY: the caller's.
    unsafe { (*engine).current().children.into() }
}

/// Joins a thread; returns the result of its routine. None if there is no such thread to join.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn join(engine: *mut Engine, thread: ThreadId) -> Option<*mut c_void> {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let index = usize::from(thread);
            if index >= engine.execution.alive
                || engine.threads[index].joined
                || engine.threads[index].detached
            {
                return None;
            }
            engine.comes_to(Step::new(Kind::Join, thread.into()));
            if engine.threads[index].status != ThreadStatus::Finished {
                engine.current().spin.reset();
                engine.block(ThreadStatus::Join(thread), SwitchReason::Joining);
            }
            engine.threads[index].joined = true;
            dispatch!(engine, join(thread));
            engine.record(|| Action::Join { thread });
            Some(engine.threads[index].result)
        })
    }
}

/// Detaches a thread: no thread will join it.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn detach(engine: *mut Engine, thread: ThreadId) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            if let Some(thread) = engine.threads.get_mut(usize::from(thread)) {
                thread.detached = true;
            }
            engine.current().dropped_handle = Some(thread);
            dispatch!(engine, detach(thread));
        });
    }
}

/// Registers a destructor of a thread-local of the current thread.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn at_thread_exit(engine: *mut Engine, destructor: Destructor) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.current().destructors.push(destructor)) };
}

/// Registers the destructor of a thread-specific key that was made outside executions.
pub fn note_key(key: u32, destructor: Option<KeyDestructor>) {
    if let Some(known) = GLOBAL.key_destructors.get(key as usize) {
        known.set(destructor);
    }
}

/// Makes a thread-specific key that lasts as long as the execution.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn make_key(engine: *mut Engine, destructor: Option<KeyDestructor>) -> u32 {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            engine.execution.keys.push(destructor);
            (MAX_KEYS + engine.execution.keys.len() - 1) as u32
        })
    }
}

/// The current thread's value of a key.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn specific(engine: *mut Engine, key: u32) -> *mut c_void {
    // SAFETY: the caller's.
    let thread = unsafe { (*engine).current() };
    thread.specific.iter().find(|(known, _)| *known == key).map_or(std::ptr::null_mut(), |(_, value)| *value)
}

/// Sets the current thread's value of a key.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn set_specific(engine: *mut Engine, key: u32, value: *mut c_void) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            let specific = &mut engine.current().specific;
            match specific.iter_mut().find(|(known, _)| *known == key) {
                Some(known) => known.1 = value,
                None => specific.push((key, value)),
            }
        });
    }
}

/// Names the current thread.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn name_thread(engine: *mut Engine, name: &str) {
    // SAFETY: the caller's.
    unsafe { enter(engine, |engine| engine.current().name = Some(name.to_owned())) };
}

/// The current thread's number, and the lowest address and length of its stack.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn current_stack(engine: *mut Engine) -> (ThreadId, usize, usize) {
    // SAFETY: the caller's.
    unsafe {
        let thread = (*engine).current();
        (thread.id, thread.stack.bottom(), thread.stack.top() - thread.stack.bottom())
    }
}

/// The current thread panics, with this message.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn panicked(engine: *mut Engine, message: impl FnOnce() -> String) {
    // SAFETY: the caller's.
    unsafe {
        enter(engine, |engine| {
            dispatch!(engine, panics());
            let message = message();
            engine.record(|| Action::Panic { message: message.clone() });
            engine.execution.panic = Some((engine.current_id(), message));
            if engine.exploration.limits.notes_stacks {
                engine.execution.stopped_at = crate::platform::unwind::call_stack();
            }
        });
    }
}

/// The current panic will end the thread: nothing in the code under test catches it.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn panic_ends_thread(engine: *mut Engine) {
    // SAFETY: the caller's.
    unsafe {
        if (*engine).execution.panic.is_none() {
            // The code under test has its own panic hook, which alone knows the message, or no hook was called.
            panicked(engine, || {
                "a panic whose message only the program's own panic hook has seen".to_owned()
            });
        }
        (*engine).current().panicked = true;
    }
}

/// The code under test ends the process, by a signal that it raises itself or by exiting.
///
/// # Safety
/// As for [`super::fence`].
pub unsafe fn end_process(engine: *mut Engine, signal: Option<i32>, code: i32) -> ! {
    GLOBAL.in_engine.set(true);
    // SAFETY: the caller's.
    unsafe {
        let thread = (*engine).current_id();
        match signal {
            Some(signal) => {
                (*engine).record(|| Action::Signal { signal });
                (*engine).stop(Outcome::Crash { thread, signal, address: 0 })
            }
            None => {
                (*engine).record(|| Action::Exit { code });
                (*engine).stop(Outcome::Exit { thread, code })
            }
        }
    }
}
