//! Leaks at the end of an execution: memory that nothing refers to, and threads that nothing can wake.
//!
//! The check is conservative: any word that looks like an address within a block, in a static, on a stack in use or
//! within a reachable block, counts as a reference.
//!
//! A thread that still waits when the closure has returned *lives on by design* if something that outlives the closure could wake it:
//! the workers of a pool in a static, a thread whose handle a static has, a receiver whose sender was leaked on purpose. Precisely:
//!
//! - the futex that it waits at, or its handle, lies in a static, in memory that a static refers to (directly or
//!   through other blocks), or in leaked memory: blocks that were not freed, and that neither a static nor a remaining
//!   thread refers to; or
//! - it waits for the end of a thread that lives on by design.
//!
//! Every other thread that is left is a leak: only its own stack knows the object that it waits for. So is a thread
//! that waits for a mutex of std, wherever the mutex is: its holder will never unlock it.

use std::mem;
use std::ops::Range;
use std::thread::Thread;

use super::{Engine, Outcome};
use crate::detect::fault::Fault;
use crate::isolate::heap::{self, Block};
use crate::isolate::pages::{self, Pages};
use crate::op::ThreadId;
use crate::platform::sys;
use crate::platform::tls_donor;
use crate::platform::unwind;
use crate::thread::{ThreadStatus, VThread};

impl Engine {
    /// Fails a passing execution that leaves unreachable blocks.
    pub(super) fn check_leaked_memory(&mut self) {
        if self.exploration.limits.check_leaks && self.execution.outcome == Some(Outcome::Passed) {
            let mut blocks = Blocks::of(self);
            blocks.reach(self.roots());
            let leaked: Vec<Block> = blocks.not_reached().collect();
            if !leaked.is_empty() {
                self.execution.outcome = Some(Outcome::Fault(Fault::Leak { blocks: leaked }));
            }
        }
    }

    /// Whether a thread is left that does not live on by design. No thread will run again.
    pub(super) fn has_leaked_threads(&self) -> bool {
        let left = || {
            self.threads[..self.execution.alive]
                .iter()
                .filter(|thread| thread.status != ThreadStatus::Finished)
        };
        let mut own = Blocks::of(self);
        own.reach(left().flat_map(|thread| self.memory_of_thread(thread)).collect());
        let mut shared = Blocks::of(self);
        shared.reach(self.outliving());
        let leaked = shared.not_reached().filter(|block| !own.is_reached(block.start));
        let leaked: Vec<_> = leaked.map(|block| block.start..block.start + block.size).collect();
        // Leaked memory counts as static, with all that it refers to.
        shared.reach_blocks(&leaked);
        let leaked =
            left().map(|thread| thread.id).filter(|&id| !self.lives_on(id, &shared, self.execution.alive));
        self.execution.leaked.replace(leaked.collect());
        !self.execution.leaked.borrow().is_empty()
    }

    fn lives_on(&self, thread: ThreadId, shared: &Blocks, depth: usize) -> bool {
        let thread = &self.threads[usize::from(thread)];
        let is_shared = |address: usize| {
            shared.is_reached(address) || self.outliving().iter().any(|memory| memory.contains(&address))
        };
        let handle = self.exploration.handle_at.map(|below| word(thread.tls.thread_locals().end - below));
        match thread.status {
            ThreadStatus::Futex { address, .. } => {
                is_shared(address)
                    || handle.is_some_and(is_shared)
                    // Threads of parking_lot wait in a thread-local that names the lock.
                    || self.memory_of_thread(thread).iter().any(|own| own.contains(&address))
                        && words(address - PARKED..address + PARKED).any(is_shared)
            }
            ThreadStatus::Join(other) => {
                self.threads[usize::from(other)].status != ThreadStatus::Finished
                    && depth > 0
                    && self.lives_on(other, shared, depth - 1)
            }
            _ => false,
        }
    }

    /// Memory that outlives the closure and may refer to the execution's heap.
    fn outliving(&self) -> Vec<Range<usize>> {
        let mut memory = vec![self.exploration.borrowed.memory()];
        let is_own = |page: &Range<usize>| heap::own_statics().iter().any(|own| own.contains(&page.start));
        memory.extend(pages::statics().into_iter().flat_map(heap::without_own_statics));
        memory.extend(self.exploration.pages.iter().flat_map(Pages::changed).filter(|page| !is_own(page)));
        memory
    }

    /// The used part of the stack of a thread that does not run, and its thread-locals.
    fn memory_of_thread(&self, thread: &VThread) -> [Range<usize>; 2] {
        let here = 0usize;
        let pointers = [(&raw const here).addr(), thread.context];
        let used = pointers.map(|pointer| thread.stack.used_from(pointer & !7));
        let whole = thread.stack.bottom()..thread.stack.top();
        let used = used.into_iter().find(|used| !used.is_empty()).unwrap_or(whole);
        [used, thread.tls.thread_locals()]
    }

    /// Memory that is not the execution's heap and may refer to it.
    fn roots(&self) -> Vec<Range<usize>> {
        let here = 0usize;
        let own_stack = (&raw const here).addr() & !7..unwind::outermost_frame();
        let mut roots = vec![own_stack];
        roots.extend(pages::statics());
        roots.extend(self.exploration.pages.iter().flat_map(Pages::changed));
        for thread in &self.threads[..self.execution.alive] {
            if thread.status != ThreadStatus::Finished {
                roots.push(thread.stack.bottom()..thread.stack.top());
                roots.push(thread.tls.thread_locals());
            }
        }
        roots
    }
}

/// Distance from the word that a thread of parking_lot waits at to the name of the lock.
const PARKED: usize = 48;

/// Largest distance from a thread handle's block to the address in the thread-local, which points behind the reference
/// counts.
pub(crate) const BEHIND: usize = 64;

/// Offset below the FS base at which std keeps a thread's handle, found by the calling thread's own.
pub(super) fn where_handles_are() -> Option<usize> {
    let current = std::thread::current();
    if size_of::<Thread>() != size_of::<usize>() {
        return None;
    }
    // SAFETY: the handle is as large as an address, and is not used as one.
    let handle = unsafe { mem::transmute_copy::<Thread, usize>(&current) };
    let end = sys::fs_base();
    let locals = end - tls_donor::tls_size()..end;
    let start = locals.start.next_multiple_of(8);
    let at = words(locals).position(|word| (handle..handle + BEHIND).contains(&word))?;
    Some(end - (start + 8 * at))
}

/// The blocks that an execution has not freed, by address, each with whether it is reachable.
struct Blocks(Vec<(Block, bool)>);

impl Blocks {
    fn of(engine: &Engine) -> Blocks {
        let mut blocks: Vec<(Block, bool)> =
            heap::live(engine.execution.alive).map(|block| (block, false)).collect();
        blocks.sort_unstable_by_key(|(block, _)| block.start);
        Blocks(blocks)
    }

    /// Marks the blocks that memory refers to, directly or through other blocks.
    fn reach(&mut self, mut to_scan: Vec<Range<usize>>) {
        while let Some(memory) = to_scan.pop() {
            for word in words(memory) {
                if let Some((block, is_reached)) = self.find(word)
                    && !*is_reached
                {
                    *is_reached = true;
                    to_scan.push(block.start..block.start + block.size);
                }
            }
        }
    }

    /// Marks blocks as reachable, and the blocks that they refer to.
    fn reach_blocks(&mut self, blocks: &[Range<usize>]) {
        for block in blocks {
            if let Some((_, is_reached)) = self.find(block.start) {
                *is_reached = true;
            }
        }
        self.reach(blocks.to_vec());
    }

    fn is_reached(&self, address: usize) -> bool {
        let after = self.0.partition_point(|(block, _)| block.start <= address);
        let block = after.checked_sub(1).map(|index| &self.0[index]);
        block.is_some_and(|(block, is_reached)| *is_reached && address <= block.start + block.size)
    }

    /// The block that a word refers to. A pointer just past its end counts.
    fn find(&mut self, word: usize) -> Option<&mut (Block, bool)> {
        let after = self.0.partition_point(|(block, _)| block.start <= word);
        let block = after.checked_sub(1).map(|index| &mut self.0[index])?;
        (word <= block.0.start + block.0.size).then_some(block)
    }

    fn not_reached(&self) -> impl Iterator<Item = Block> {
        self.0.iter().filter(|(_, is_reached)| !is_reached).map(|&(block, _)| block)
    }
}

fn words(memory: Range<usize>) -> impl Iterator<Item = usize> {
    let start = memory.start.next_multiple_of(8);
    (start..memory.end.saturating_sub(7)).step_by(8).map(word)
}

fn word(at: usize) -> usize {
    // SAFETY: mapped memory, which nothing changes meanwhile.
    unsafe { (at as *const usize).read_volatile() }
}
