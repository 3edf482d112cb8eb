//! What is left at the end of an execution: memory that nothing refers to any more, and threads that nobody can wake.
//!
//! Conservative: whatever looks like an address within a block, in a static, on a stack that is still in use or within a block
//! that is itself referred to, counts as a reference.
//!
//! A thread that still waits when the closure has returned *lives on by design* if something that outlives the closure could wake it:
//! the workers of a pool in a static, a thread whose handle a static has, a receiver whose sender was leaked on purpose. Precisely:
//!
//! - what it waits at, or its handle, lies in a static, in memory that a static refers to (directly or through other blocks), or in
//!   memory that was leaked: blocks that were not freed, and that neither a static nor a thread that is left refers to; or
//! - it waits for the end of a thread that lives on by design.
//!
//! Every other thread that is left is a leak: only its own stack knows what it waits for. So is one that waits for a mutex of std, wherever
//! that is: who holds it will never unlock it.

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
use crate::thread::{State, VThread};

impl Engine {
    /// At the end of an execution that passed: if blocks are left that nothing refers to, it has failed.
    pub(crate) fn look_for_leaks(&mut self) {
        if self.exploration.limits.check_leaks && self.execution.outcome == Some(Outcome::Passed) {
            let mut blocks = Blocks::of(self);
            blocks.reach(self.roots());
            let leaked: Vec<Block> = blocks.not_reached().collect();
            if !leaked.is_empty() {
                self.execution.outcome = Some(Outcome::Fault(Fault::Leak { blocks: leaked }));
            }
        }
    }

    /// Whether a thread is left, now that nothing will happen any more, that does not live on by design.
    pub(crate) fn has_leaked_threads(&self) -> bool {
        let left =
            || self.threads[..self.execution.alive].iter().filter(|thread| thread.state != State::Finished);
        let mut own = Blocks::of(self);
        own.reach(left().flat_map(|thread| self.memory_of_thread(thread)).collect());
        let mut shared = Blocks::of(self);
        shared.reach(self.outliving());
        let leaked = shared.not_reached().filter(|block| !own.is_reached(block.start));
        let leaked: Vec<_> = leaked.map(|block| block.start..block.start + block.size).collect();
        // Leaked memory is as good as a static, with all that it refers to.
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
        let handle = self.exploration.handle_at.map(|below| word(thread.lender.thread_locals().end - below));
        match thread.state {
            State::Futex { address, .. } => {
                is_shared(address)
                    || handle.is_some_and(is_shared)
                    // Threads of parking_lot wait in a thread-local that also says for which lock.
                    || self.memory_of_thread(thread).iter().any(|own| own.contains(&address))
                        && words(address - PARKED..address + PARKED).any(is_shared)
            }
            State::Join(other) => {
                self.threads[usize::from(other)].state != State::Finished
                    && depth > 0
                    && self.lives_on(other, shared, depth - 1)
            }
            _ => false,
        }
    }

    /// Memory that is not the execution's heap, outlives the closure, and may refer to it.
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
        [used, thread.lender.thread_locals()]
    }

    /// Memory that is not the execution's heap and may refer to it.
    fn roots(&self) -> Vec<Range<usize>> {
        let here = 0usize;
        let own_stack = (&raw const here).addr() & !7..unwind::outermost_frame();
        let mut roots = vec![own_stack];
        roots.extend(pages::statics());
        roots.extend(self.exploration.pages.iter().flat_map(Pages::changed));
        for thread in &self.threads[..self.execution.alive] {
            if thread.state != State::Finished {
                roots.push(thread.stack.bottom()..thread.stack.top());
                roots.push(thread.lender.thread_locals());
            }
        }
        roots
    }
}

/// How far from the word that a thread of parking_lot waits at it says for which lock.
const PARKED: usize = 48;

/// A handle points to what is counted, the thread-local to what lies behind the counts.
pub(crate) const BEHIND: usize = 64;

/// How far below the FS base of a thread std keeps the thread's handle: where the calling thread has its own.
pub(crate) fn where_handles_are() -> Option<usize> {
    let current = std::thread::current();
    if size_of::<Thread>() != size_of::<usize>() {
        return None;
    }
    // SAFETY: it is as large as an address, and not used as one.
    let handle = unsafe { mem::transmute_copy::<Thread, usize>(&current) };
    let end = sys::fs_base();
    let locals = end - tls_donor::tls_size()..end;
    let start = locals.start.next_multiple_of(8);
    let at = words(locals).position(|word| (handle..handle + BEHIND).contains(&word))?;
    Some(end - (start + 8 * at))
}

/// The blocks that an execution has not freed, by address, and which of them something refers to.
struct Blocks(Vec<(Block, bool)>);

impl Blocks {
    fn of(engine: &Engine) -> Blocks {
        let mut blocks: Vec<(Block, bool)> =
            heap::live(engine.execution.alive).map(|block| (block, false)).collect();
        blocks.sort_unstable_by_key(|(block, _)| block.start);
        Blocks(blocks)
    }

    /// Finds the blocks that memory refers to, and those that they refer to.
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

    /// Takes blocks for such that something refers to.
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

    /// The block that a word refers to. A pointer past the end is one to the block, too.
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
    // SAFETY: memory that is mapped, and that nothing changes meanwhile.
    unsafe { (at as *const usize).read_volatile() }
}
