//! Uninstrumented functions of std that block or wake threads: `cargo raddle` links programs so that calls of them come
//! here first.

use std::sync::{Once, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use raddle_engine::execution::engine_of_virtual_thread;
use raddle_engine::interface::{self, StdCall};
use raddle_engine::platform::global::GLOBAL;

use crate::{barrier, scope, stdio};

/// Whether a call was made here, and its result.
#[repr(C)]
pub(crate) struct Answer {
    made: u64,
    result: u64,
}

/// Called with the arguments of the function and its number in the list of `cargo raddle` (passthrough/entries.rs).
#[unsafe(no_mangle)]
unsafe extern "C" fn __raddle_std_call(
    first: *mut u32,
    second: *mut u32,
    third: u64,
    fourth: u64,
    _fifth: u64,
    function: u64,
) -> Answer {
    const GO_ON: Answer = Answer { made: 0, result: 0 };
    let Some(engine) = engine_of_virtual_thread() else { return GO_ON };
    // SAFETY: a virtual thread of the running engine.
    let now = || unsafe { interface::now(engine) };
    let after = |seconds: u64, nanoseconds: u64| {
        let time = Duration::new(seconds, nanoseconds as u32).as_nanos();
        now().saturating_add(u64::try_from(time).unwrap_or(u64::MAX))
    };
    let call = match function {
        0 => StdCall::CondvarWait { condvar: first, mutex: second, deadline: None },
        1 => StdCall::CondvarWait { condvar: first, mutex: second, deadline: Some(after(third, fourth)) },
        2 => StdCall::CondvarNotify { condvar: first, count: 1 },
        3 => StdCall::CondvarNotify { condvar: first, count: i32::MAX as u32 },
        4 => StdCall::LockShared { state: first },
        5 => StdCall::LockAlone { state: first },
        6 => {
            let by_user = !GLOBAL.own_park.replace(false);
            StdCall::Park { state: parker(&std::thread::current()), deadline: None, by_user }
        }
        7 => {
            let deadline = Some(after(first.addr() as u64, second.addr() as u64));
            StdCall::Park { state: parker(&std::thread::current()), deadline, by_user: true }
        }
        // SAFETY: a handle of the current thread is their first argument.
        8 => StdCall::Park { state: parker(unsafe { &*first.cast() }), deadline: None, by_user: false },
        9 => {
            let deadline = Some(after(second.addr() as u64, third));
            // SAFETY: as above.
            StdCall::Park { state: parker(unsafe { &*first.cast() }), deadline, by_user: false }
        }
        11 => match barrier::wait(first.cast()) {
            Some(call) => call,
            None => return GO_ON,
        },
        12 => scope::leave(first.cast(), second.addr() & 1 != 0),
        // SAFETY: a handle is their first argument, and points to the locked value.
        15 => match stdio::mutex(unsafe { *first.cast() }) {
            Some(call) => call,
            None => return GO_ON,
        },
        16 => match stdio::mutex(first) {
            Some(call) => call,
            None => return GO_ON,
        },
        // SAFETY: as above.
        17 | 18 => match stdio::reentrant_lock(unsafe { *first.cast() }) {
            Some(call) => call,
            None => return GO_ON,
        },
        19 => scope::enter(first.cast()),
        _ => return GO_ON,
    };
    // SAFETY: the arguments are those of the function.
    match unsafe { interface::std_call(engine, call) } {
        Some(result) => Answer { made: 1, result },
        None => GO_ON,
    }
}

/// Called before `Once::call`; returns the once to call, or the copy, which then has its state.
#[unsafe(no_mangle)]
unsafe extern "C" fn __raddle_once_begins(once: *mut u32, copy: *mut u32) -> *mut u32 {
    // SAFETY: a virtual thread of the running engine, and its arguments.
    engine_of_virtual_thread().map_or(once, |engine| unsafe { interface::once_begins(engine, once, copy) })
}

/// Called after `Once::call`, also when a panic leaves it, with the once or copy that was called.
#[unsafe(no_mangle)]
unsafe extern "C" fn __raddle_once_ends(once: *mut u32, called: *mut u32) {
    if let Some(engine) = engine_of_virtual_thread() {
        // SAFETY: a virtual thread of the running engine, and its arguments.
        unsafe { interface::once_ends(engine, once, called) };
    }
}

/// Called before `Once::wait` and `wait_force`; returns the once or copy to call, as above.
#[unsafe(no_mangle)]
unsafe extern "C" fn __raddle_once_waits(once: *mut u32, copy: *mut u32, force: bool) -> *mut u32 {
    let Some(engine) = engine_of_virtual_thread() else { return once };
    // SAFETY: a virtual thread of the running engine, and its arguments.
    unsafe { interface::once_waits(engine, once, copy, force, once_states()) }
}

/// The states of a `Once` before any call, and when it is complete.
fn once_states() -> [u32; 2] {
    static STATES: OnceLock<[u32; 2]> = OnceLock::new();
    *STATES.get_or_init(|| {
        const { assert!(size_of::<Once>() == size_of::<u32>(), "a once is a word") };
        let once = Once::new();
        // SAFETY: a word.
        let state = || unsafe { (&raw const once).cast::<u32>().read_volatile() };
        let incomplete = state();
        once.call_once(|| ());
        [incomplete, state()]
    })
}

/// The word at which a thread parks.
pub(crate) fn parker(handle: &Thread) -> *mut u32 {
    // SAFETY: the offset was found by inspection.
    unsafe { inner(handle).add(parker_offset()) }
}

/// The address that a handle points to.
pub(crate) fn inner(handle: &Thread) -> *mut u32 {
    const { assert!(size_of::<Thread>() == size_of::<usize>(), "a handle is a pointer") };
    // SAFETY: the sizes are equal; the pointer is only used while the handle lives.
    unsafe { *std::ptr::from_ref(handle).cast::<*mut u32>() }
}

/// Offset, in words, of the futex in a thread's data that `unpark` sets: found on a thread of its own, which has ended.
fn parker_offset() -> usize {
    static OFFSET: OnceLock<usize> = OnceLock::new();
    *OFFSET.get_or_init(|| find_parker().expect("a thread's data has a word that `unpark` sets to 1"))
}

/// Finds the layouts of std's types, before any exploration.
pub(crate) fn look_at_std() {
    parker_offset();
    once_states();
    barrier::look();
    scope::look();
    stdio::look();
}

fn find_parker() -> Option<usize> {
    // A thread that has ended parks no more and was never woken.
    let thread = std::thread::spawn(|| ());
    let handle = thread.thread().clone();
    thread.join().ok()?;
    let words = inner(&handle);
    // SAFETY: the data of a thread is as long as that: two counts, an id, a name and the word.
    let read = |word: usize| unsafe { words.add(word).read_volatile() };
    let before: Vec<u32> = (0..12).map(read).collect();
    handle.unpark();
    (0..12).find(|&word| before[word] != 1 && read(word) == 1)
}
