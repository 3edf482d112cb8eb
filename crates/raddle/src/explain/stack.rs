//! Call stacks in the terms of the report: frames with source lines, interned.

use raddle_engine::platform::unwind::CallFrame;
use raddle_report::failure::{Frame, StackNode};

use super::Explainer;

impl Explainer<'_> {
    /// The interned stack, without Raddle's own frames at either end.
    pub(super) fn stack(&mut self, stack: &[CallFrame]) -> Option<u32> {
        let mut lines: Vec<u32> = Vec::new();
        for frame in stack {
            lines.extend(self.symbols(frame.return_address));
        }
        let ours = |&id: &u32| is_ours(&self.frames[id as usize]);
        let first = lines.iter().take_while(|id| ours(id)).count();
        let last = lines[first..].iter().position(ours).map_or(lines.len(), |at| first + at);
        let mut caller = None;
        for &frame in lines[first..last].iter().rev() {
            let node = StackNode { frame, caller };
            let next = self.stacks.len() as u32;
            let id = *self.stack_ids.entry(node).or_insert(next);
            if id == next {
                self.stacks.push(node);
            }
            caller = Some(id);
        }
        caller
    }

    /// The functions of a stack, innermost first.
    pub(super) fn functions(&self, mut stack: Option<u32>) -> Vec<&str> {
        let mut functions = Vec::new();
        while let Some(node) = stack.map(|id| self.stacks[id as usize]) {
            functions.push(&*self.frames[node.frame as usize].function);
            stack = node.caller;
        }
        functions
    }

    fn symbols(&mut self, return_address: usize) -> Vec<u32> {
        if let Some(known) = self.symbols.get(&return_address) {
            return known.clone();
        }
        let frames = self.program.map_or_else(Vec::new, |program| program.frames(return_address as u64));
        let ids: Vec<u32> = frames
            .into_iter()
            .map(|frame| {
                let next = self.frames.len() as u32;
                let id = *self.frame_ids.entry(frame.clone()).or_insert(next);
                if id == next {
                    self.frames.push(frame);
                }
                id
            })
            .collect();
        self.symbols.insert(return_address, ids.clone());
        ids
    }
}

/// Whether a frame is Raddle's own: the engine below the code under test, or the caller of the closure. Intercepted symbols such as
/// `syscall` have no path and are recognised by their files.
fn is_ours(frame: &Frame) -> bool {
    let function = frame.function.trim_start_matches('<');
    let file = frame.file.as_deref().unwrap_or("");
    ["raddle_engine::", "raddle_intercept::", "raddle::"].iter().any(|own| function.starts_with(own))
        || file.contains("raddle-intercept") && file.ends_with(".rs")
}
