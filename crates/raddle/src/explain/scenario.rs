//! The scenario of an execution: the operations that its threads called, with their results.

use raddle_engine::trace::{Action, Trace};
use raddle_report::failure::{Operation, Scenario};

/// The scenario; none if the code under test marked no operations.
///
/// The calls of thread 0 before its first spawn are the init part, those after its first join the post part.
pub(super) fn of(trace: &Trace) -> Option<Scenario> {
    let mut scenario = Scenario::default();
    let mut columns: Vec<Vec<Operation>> = Vec::new();
    let (mut spawned, mut joined) = (false, false);
    for event in &trace.events {
        let thread = usize::from(event.thread);
        if columns.len() <= thread {
            columns.resize(thread + 1, Vec::new());
        }
        let part = match (thread, spawned, joined) {
            (0, false, _) => &mut scenario.init,
            (0, true, true) => &mut scenario.post,
            _ => &mut columns[thread],
        };
        match &event.action {
            Action::Spawn { .. } => spawned = true,
            Action::Join { .. } if thread == 0 => joined = true,
            Action::Call { call } => part.push(Operation { call: call.clone(), result: None, recipe: None }),
            Action::Return { call, result } => {
                if let Some(open) = part.iter_mut().rev().find(|operation| operation.call == *call) {
                    open.result.get_or_insert_with(|| result.clone());
                }
            }
            _ => {}
        }
    }
    scenario.parallel = columns.into_iter().filter(|column| !column.is_empty()).collect();
    let any = !(scenario.init.is_empty() && scenario.parallel.is_empty() && scenario.post.is_empty());
    any.then_some(scenario)
}
