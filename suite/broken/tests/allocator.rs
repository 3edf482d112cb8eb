//! A global allocator of the code under test sees what that code allocates, and nothing of Raddle's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use broken::{finds, passes, searching};
use raddle::Kind;

/// Counts what goes through it.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static FREED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(1, SeqCst);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        FREED.fetch_add(1, SeqCst);
        // SAFETY: the caller's.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a program allocates and frees.
fn counted(program: fn()) -> (usize, usize) {
    let before = (ALLOCATED.load(SeqCst), FREED.load(SeqCst));
    program();
    (ALLOCATED.load(SeqCst) - before.0, FREED.load(SeqCst) - before.1)
}

fn allocates_nothing() {
    let (word, mutex) = (AtomicUsize::new(0), Mutex::new(0));
    for _ in 0..20 {
        word.fetch_add(1, SeqCst);
        *mutex.lock().unwrap() += 1;
        thread::yield_now();
        thread::sleep(Duration::from_micros(1));
    }
}

fn makes_threads() {
    let shared = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..3)
        .map(|i| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.lock().unwrap().push(i))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(shared.lock().unwrap().len(), 3);
}

/// Whatever Raddle allocates while the code under test runs, its allocator does not see.
#[test]
fn a_global_allocator_sees_the_programs_blocks_only() {
    passes(|| assert_eq!(counted(allocates_nothing), (0, 0)));
    // As many blocks as without Raddle. The first time, std allocates more.
    makes_threads();
    let alone = counted(makes_threads);
    passes(move || {
        makes_threads();
        assert_eq!(counted(makes_threads), alone);
    });
}

/// A block that is lost in some interleavings is found by those, not by a block of Raddle's in the first execution.
#[test]
fn a_block_that_an_interleaving_loses_is_found() {
    finds(
        &searching(),
        Kind::Panic,
        || {
            let live = || ALLOCATED.load(SeqCst) - FREED.load(SeqCst);
            let before = live();
            let owners = Arc::new(AtomicUsize::new(0));
            let block = Box::into_raw(Box::new([0u64; 150])).addr();
            let other = Arc::clone(&owners);
            let release = move |owners: &AtomicUsize| {
                // The mistake: both may find that the other has not been there.
                let first = owners.load(SeqCst) == 0;
                owners.store(1, SeqCst);
                if !first {
                    // SAFETY: the last one.
                    drop(unsafe { Box::from_raw(block as *mut [u64; 150]) });
                }
            };
            let thread = thread::spawn(move || release(&other));
            release(&owners);
            thread.join().unwrap();
            drop(owners);
            assert!(live() <= before, "a block is lost");
        },
        |failure| assert!(failure.message.contains("a block is lost"), "{}", failure.message),
    );
}
