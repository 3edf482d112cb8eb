//! Memory that is left at the end of an execution although nothing refers to it any more.
//!
//! Conservative: whatever looks like an address within a block, in a static, on a stack that is still in use or within a block
//! that is itself referred to, counts as a reference.

use std::ops::Range;

use super::{Engine, Outcome};
use crate::fault::Fault;
use crate::isolate::heap::{self, Block};
use crate::isolate::pages::{self, Pages};
use crate::thread::State;
use crate::trace;

impl Engine {
    /// At the end of an execution that passed: if blocks are left that nothing refers to, it has failed.
    pub(super) fn look_for_leaks(&mut self) {
        if self.limits.check_leaks && self.outcome == Some(Outcome::Passed) {
            let blocks = self.leaked_blocks();
            if !blocks.is_empty() {
                self.outcome = Some(Outcome::Fault(Fault::Leak { blocks }));
            }
        }
    }

    fn leaked_blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<(Block, bool)> = heap::live(self.alive).map(|block| (block, false)).collect();
        blocks.sort_unstable_by_key(|(block, _)| block.start);
        let mut to_scan = self.roots();
        while let Some(memory) = to_scan.pop() {
            for word in words(memory) {
                let after = blocks.partition_point(|(block, _)| block.start <= word);
                let Some((block, is_reached)) = after.checked_sub(1).map(|index| &mut blocks[index]) else {
                    continue;
                };
                // A pointer past the end is one to the block, too.
                if !*is_reached && word <= block.start + block.size {
                    *is_reached = true;
                    to_scan.push(block.start..block.start + block.size);
                }
            }
        }
        blocks.into_iter().filter(|(_, is_reached)| !is_reached).map(|(block, _)| block).collect()
    }

    /// Memory that is not the execution's heap and may refer to it.
    fn roots(&self) -> Vec<Range<usize>> {
        let here = 0usize;
        let own_stack = (&raw const here).addr() & !7..trace::outermost_frame();
        let mut roots = vec![own_stack];
        roots.extend(pages::statics());
        roots.extend(self.pages.iter().flat_map(Pages::changed));
        for thread in &self.threads[..self.alive] {
            if thread.state != State::Finished {
                roots.push(thread.stack.bottom()..thread.stack.top());
                roots.push(thread.lender.thread_locals());
            }
        }
        roots
    }
}

fn words(memory: Range<usize>) -> impl Iterator<Item = usize> {
    let start = memory.start.next_multiple_of(8);
    // SAFETY: memory that is mapped, and that nothing changes meanwhile.
    (start..memory.end.saturating_sub(7)).step_by(8).map(|at| unsafe { (at as *const usize).read_volatile() })
}
