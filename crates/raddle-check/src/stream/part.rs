//! One independent part of a stream, checked by search and, where there is one, by a monitor.
//!
//! Both are right, but each may have to give up: the search when there are too many orders, the monitor when an
//! operation is none it knows. The part is checked as long as one of them goes on.

use std::time::Instant;

use rustc_hash::FxHashMap;

use super::backlog::{Backlog, End, Ready};
use super::queue::QueueWatch;
use super::{Found, Stop};
use crate::engine::frontier::{Frontier, NO_DEADLINE};
use crate::engine::limits::{Budget, Exhausted, Limits};
use crate::engine::lts::Lts;
use crate::model::Model;
use crate::monitor::Collection;

pub(super) struct Part<M: Model> {
    pub(super) backlog: Backlog<M::Input, M::Output>,
    search: Option<Search<M>>,
    watch: Option<QueueWatch>,
    /// What the search may use while the monitor can do without it.
    spare: Limits,
    /// What has been called and will return.
    open: FxHashMap<u64, (M::Input, M::Output)>,
}

struct Search<M: Model> {
    lts: Lts<M>,
    frontier: Frontier,
    slots: FxHashMap<u64, usize>,
}

/// More states than this are not listed.
const MOST_STATES: usize = 4;

impl<M: Model> Part<M> {
    pub(super) fn new(model: &M, spare: usize) -> Self {
        let mut lts = Lts::new();
        let frontier = Frontier::new(lts.initial(model));
        Part {
            backlog: Backlog::new(),
            search: Some(Search { lts, frontier, slots: FxHashMap::default() }),
            watch: (model.collection() == Some(Collection::Queue)).then(QueueWatch::default),
            spare: Limits { time: None, memory: Some(spare) },
            open: FxHashMap::default(),
        }
    }

    /// Checks every event that waits for nothing.
    pub(super) fn advance(&mut self, model: &M, budget: &mut Budget) -> Result<(), Stop> {
        while let Some(event) = self.backlog.next() {
            match event {
                Ready::Call { operation, input, end } => self.call(model, operation, input, end)?,
                Ready::Return { operation, position } => self.close(model, operation, position, budget)?,
            }
        }
        Ok(())
    }

    fn call(&mut self, model: &M, operation: u64, input: M::Input, end: End<M::Output>) -> Result<(), Stop> {
        let (output, deadline) = match end {
            End::Never => return Ok(()),
            // Whether a read of unknown outcome took place or not makes no difference.
            End::Unknown if model.is_read_only(&input, None) => return Ok(()),
            End::Unknown => (None, NO_DEADLINE),
            End::Returned { output, event, .. } => (Some(output), event),
        };
        if let Some(watch) = &mut self.watch
            && let Err(reason) = watch.open(operation, model.role(&input, output.as_ref()), output.is_some())
        {
            self.watch = None;
            if self.search.is_none() {
                return Err(Stop::Unsupported(format!("{reason}, and there are too many orders to try")));
            }
        }
        if let Some(Search { lts, frontier, slots }) = &mut self.search {
            let class = lts.class(model, &input, output.as_ref());
            let slot = frontier.open(lts, class, deadline, 0);
            if output.is_some() {
                slots.insert(operation, slot);
            }
        }
        if let Some(output) = output {
            self.open.insert(operation, (input, output));
        }
        Ok(())
    }

    fn close(&mut self, model: &M, operation: u64, position: u64, budget: &mut Budget) -> Result<(), Stop> {
        let (input, output) = self.open.remove(&operation).expect("what returns has been called");
        let wrong = |why: String| {
            let summary = format!("{} has no place in any order{why}", model.describe(&input, Some(&output)));
            Err(Stop::Violation(Found { key: None, operation, position, summary }))
        };
        if let Some(watch) = &mut self.watch
            && let Err(complaint) = watch.close(operation)
        {
            return wrong(format!(": {complaint}"));
        }
        // The time limit is the whole stream's, the backlog counts as memory.
        budget.spend(|| self.backlog.bytes()).map_err(Stop::Limit)?;
        let Some(Search { lts, frontier, slots }) = &mut self.search else { return Ok(()) };
        let slot = slots.remove(&operation).expect("what returns is open in the search");
        let mut spare = Budget::new(self.spare, Instant::now());
        let budget = if self.watch.is_some() { &mut spare } else { budget };
        match frontier.close(lts, model, slot, budget) {
            Ok(true) => frontier.tidy(lts, model),
            Ok(false) => {
                let tried = frontier.tried_states();
                let shown =
                    tried.iter().take(MOST_STATES).map(|&state| model.describe_state(lts.state(state)));
                let mut states: Vec<String> = shown.collect();
                if tried.len() > MOST_STATES {
                    states.push(format!("one of {} others", tried.len() - MOST_STATES));
                }
                return wrong(format!("; the state before it is {}", states.join(" or ")));
            }
            Err(Exhausted::Memory) if self.watch.is_some() => self.search = None,
            Err(limit) => return Err(Stop::Limit(limit)),
        }
        Ok(())
    }
}
