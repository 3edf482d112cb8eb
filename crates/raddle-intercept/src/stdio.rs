//! The mutexes of std's handles for input and output. Programs cannot ask for them, so they are found by inspecting
//! locks.

use std::io;
use std::sync::{Mutex, OnceLock};
use std::thread::{self, ThreadId};

use raddle_engine::interface::StdCall;

/// The layout of a `ReentrantLock`: offsets in words of 32 bits.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// The word of its mutex.
    mutex: usize,
    /// The first of two words with the holding thread.
    owner: usize,
}

/// The call that locks a `Mutex`, which begins with its word.
pub(crate) fn mutex(lock: *mut u32) -> Option<StdCall> {
    layout().map(|_| StdCall::Lock { word: lock })
}

/// The call that locks a `ReentrantLock`, if the layout is known and the current thread does not hold it.
pub(crate) fn reentrant_lock(lock: *mut u32) -> Option<StdCall> {
    let layout = layout()?;
    // SAFETY: the offsets were found by inspection.
    unsafe {
        let owner = lock.add(layout.owner).cast::<u64>().read_volatile();
        (owner != current_id()).then(|| StdCall::Lock { word: lock.add(layout.mutex) })
    }
}

/// The layout, found before any exploration.
pub(crate) fn look() {
    layout();
}

fn layout() -> Option<Layout> {
    static LAYOUT: OnceLock<Option<Layout>> = OnceLock::new();
    // The first thread of a process has a number that could be the state of a mutex.
    *LAYOUT.get_or_init(|| thread::spawn(find).join().ok().flatten())
}

fn find() -> Option<Layout> {
    let mutex = Mutex::new(0u64);
    let free = words(&mutex);
    let held = mutex.lock().ok()?;
    if (free, words(&mutex)) != ([0], [1]) {
        return None;
    }
    drop(held);

    // The lock precedes the protected value, and has a mutex, a count, and an owner of 64 bits.
    const WORDS: usize = 4;
    const { assert!(size_of::<io::Stderr>() == size_of::<usize>(), "a handle is a pointer") };
    let handle = io::stderr();
    // SAFETY: the handle points to the lock.
    let lock = unsafe { &**(&raw const handle).cast::<*const [u32; WORDS]>() };
    let first = io::stderr().lock();
    let once: [u32; WORDS] = words(lock);
    let second = io::stderr().lock();
    let twice: [u32; WORDS] = words(lock);
    drop((first, second));
    let id = current_id();
    let is_owner = |&word: &usize| u64::from(once[word]) | u64::from(once[word + 1]) << 32 == id;
    let owner = (0..WORDS - 1).step_by(2).find(is_owner)?;
    // The word that the second lock changes is the count.
    let is_mutex = |&word: &usize| word / 2 != owner / 2 && once[word] != 0 && twice[word] == once[word];
    Some(Layout { mutex: (0..WORDS).find(is_mutex)?, owner })
}

/// The first words of a value, which others may change.
fn words<const COUNT: usize, T>(value: &T) -> [u32; COUNT] {
    // SAFETY: the value has as many words.
    unsafe { std::ptr::from_ref(value).cast::<[u32; COUNT]>().read_volatile() }
}

fn current_id() -> u64 {
    const { assert!(size_of::<ThreadId>() == size_of::<u64>(), "an id is a number") };
    // SAFETY: the sizes are equal.
    unsafe { std::mem::transmute::<ThreadId, u64>(thread::current().id()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_found() {
        assert!(layout().is_some());
        let handle = io::stdout();
        // SAFETY: a handle points to its lock.
        let lock = unsafe { *(&raw const handle).cast::<*mut u32>() };
        let Some(StdCall::Lock { word }) = reentrant_lock(lock) else { panic!("the layout is known") };
        let held = handle.lock();
        // SAFETY: a word of the lock.
        assert_ne!(unsafe { word.read_volatile() }, 0);
        assert!(reentrant_lock(lock).is_none(), "the thread holds it");
        drop(held);
    }
}
