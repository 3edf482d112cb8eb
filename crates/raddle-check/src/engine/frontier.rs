//! Frontier search: the events of a history in real-time order, over the set of all configurations.
//!
//! This is Lowe's just-in-time linearization ("Testing for linearizability", 2017; `knossos.linear`): a configuration
//! is a state and the set of *open* operations already in it. A call opens an operation. A return keeps the
//! configurations that can have the operation in their order by now and forgets it: what is kept depends on how many
//! operations overlap, not on how many there are. The first return that leaves no configuration is the earliest event
//! that proves a violation.
//!
//! Three reductions keep the set small; none changes a verdict:
//! - *Eager reads.* An operation that never changes any state and is possible now is ordered now.
//! - *Fewest optional operations.* See [`ConfigSet`]; and one that would not change the state is not used.
//! - *First come, first served among equals.* Of open operations with the same input and output, only the one that
//!   returns first is ordered next; any order that does otherwise can swap the two.

use rustc_hash::FxHashMap;

use super::Attempt;
use super::config::{Config, ConfigSet};
use super::limits::{Budget, Exhausted};
use super::lts::{Class, Lts, StateId};
use super::mask::{Mask, Words};
use crate::model::Model;

/// The deadline of an operation that never returns.
pub(crate) const NO_DEADLINE: u64 = u64::MAX;

/// The set of configurations, with its masks as wide as the open operations need.
pub(crate) enum Frontier {
    Narrow(Search<u64>),
    Wide(Search<Words>),
}

/// Calls a method of whichever search there is.
macro_rules! each_width {
    ($frontier:expr, $search:ident => $body:expr) => {
        match $frontier {
            Frontier::Narrow($search) => $body,
            Frontier::Wide($search) => $body,
        }
    };
}

/// An operation that has been called and is not over.
#[derive(Clone, Debug)]
struct Open {
    class: Class,
    deadline: u64,
    slot: u32,
    op: u32,
    read_only: bool,
}

impl Open {
    fn is_optional(&self) -> bool {
        self.deadline == NO_DEADLINE
    }

    /// What the third reduction orders by. A function, so one sort is compiled for all widths and models.
    fn rank(&self) -> (Class, u64) {
        (self.class, self.deadline)
    }
}

pub(crate) struct Search<K> {
    configs: Vec<Config<K>>,
    /// By class, then deadline: the order the third reduction wants.
    open: Vec<Open>,
    /// The open operations whose outcome is unknown.
    optional: K,
    used_slots: Vec<bool>,
    next: ConfigSet<K>,
    seen: ConfigSet<K>,
    stack: Vec<Config<K>>,
    paths: Option<Paths>,
    /// Every state in which some order of some of the operations so far can end, with one such order, if a contract
    /// asked for them.
    cuts: Option<FxHashMap<StateId, u32>>,
    /// The most configurations held after an event.
    widest: usize,
}

/// The orders behind the configurations, as a tree from leaves to root.
#[derive(Default)]
struct Paths {
    nodes: Vec<Step>,
    /// The configurations expanded at the last return: if it left none, how far each attempt got.
    expanded: Vec<(u32, StateId)>,
}

struct Step {
    parent: u32,
    op: u32,
    depth: u32,
}

const ROOT: u32 = u32::MAX;

impl Frontier {
    pub(crate) fn new(initial: StateId) -> Frontier {
        Frontier::Narrow(Search::new(initial))
    }

    /// A frontier that remembers the orders behind its configurations, for [`attempts`](Frontier::attempts).
    pub(crate) fn recording(initial: StateId) -> Frontier {
        let mut search = Search::new(initial);
        search.paths = Some(Paths::default());
        Frontier::Narrow(search)
    }

    /// Remembers every state at which the order of what has happened so far may be cut short.
    pub(crate) fn remember_cuts(&mut self) {
        each_width!(self, search => search.cuts = Some(search.configs.iter().map(|c| (c.state, c.path)).collect()));
    }

    /// Opens an operation that has to be over at `deadline`, and returns the slot to close it by.
    pub(crate) fn open<M: Model>(&mut self, lts: &Lts<M>, class: Class, deadline: u64, op: usize) -> usize {
        if let Frontier::Narrow(search) = self
            && search.open.len() == u64::CAPACITY
        {
            let search = std::mem::replace(search, Search::new(StateId(0)));
            *self = Frontier::Wide(search.widen());
        }
        each_width!(self, search => search.open(class, lts.is_read_only(class), deadline, op))
    }

    /// Closes the operation in `slot`; `false` if no order explains the history up to here.
    pub(crate) fn close<M: Model>(
        &mut self,
        lts: &mut Lts<M>,
        model: &M,
        slot: usize,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        each_width!(self, search => search.close(lts, model, slot, budget))
    }

    /// A crash of the whole system: what is open takes effect now or never. If cuts are remembered, only a prefix of
    /// what took effect may have survived.
    pub(crate) fn crash<M: Model>(
        &mut self,
        lts: &mut Lts<M>,
        model: &M,
        budget: &mut Budget,
    ) -> Result<(), Exhausted> {
        each_width!(self, search => search.crash(lts, model, budget))
    }

    /// Lets the transition system forget what no configuration needs, if it holds too much.
    pub(crate) fn tidy<M: Model>(&mut self, lts: &mut Lts<M>, model: &M) {
        if lts.is_crowded() {
            each_width!(self, search => search.tidy(lts, model));
        }
    }

    /// The most configurations that were held after an event.
    pub(crate) fn widest(&self) -> usize {
        each_width!(self, search => search.widest)
    }

    /// The states that were tried at the last return, each once: if it left nothing, what it did not fit.
    pub(crate) fn tried_states(&mut self) -> Vec<StateId> {
        let mut states: Vec<StateId> = each_width!(self, search => {
            let mut tried = Vec::new();
            search.seen.drain_into(&mut tried);
            tried.into_iter().map(|config| config.state).collect()
        });
        states.sort_unstable();
        states.dedup();
        states
    }

    /// How far the attempts got at the return that failed, the `most` longest. Needs a recording frontier.
    pub(crate) fn attempts(&self, most: usize) -> Vec<Attempt> {
        each_width!(self, search => search.paths.as_ref().map(|paths| paths.attempts(most)).unwrap_or_default())
    }
}

impl Search<u64> {
    fn widen(self) -> Search<Words> {
        let widen = |c: Config<u64>| Config { state: c.state, done: c.done.into(), path: c.path };
        Search {
            configs: self.configs.into_iter().map(widen).collect(),
            open: self.open,
            optional: self.optional.into(),
            used_slots: self.used_slots,
            next: ConfigSet::new(),
            seen: ConfigSet::new(),
            stack: Vec::new(),
            paths: self.paths,
            cuts: self.cuts,
            widest: self.widest,
        }
    }
}

impl<K: Mask> Search<K> {
    fn new(initial: StateId) -> Search<K> {
        Search {
            configs: vec![Config { state: initial, done: K::default(), path: ROOT }],
            open: Vec::new(),
            optional: K::default(),
            used_slots: Vec::new(),
            next: ConfigSet::new(),
            seen: ConfigSet::new(),
            stack: Vec::new(),
            paths: None,
            cuts: None,
            widest: 1,
        }
    }

    fn open(&mut self, class: Class, read_only: bool, deadline: u64, op: usize) -> usize {
        let slot = self.used_slots.iter().position(|used| !used).unwrap_or(self.used_slots.len());
        if slot == self.used_slots.len() {
            self.used_slots.push(true);
        } else {
            self.used_slots[slot] = true;
        }
        let open = Open { class, deadline, slot: slot as u32, op: op as u32, read_only };
        if open.is_optional() {
            self.optional.insert(slot);
        }
        let at = self.open.partition_point(|o| o.rank() <= open.rank());
        self.open.insert(at, open);
        slot
    }

    fn close<M: Model>(
        &mut self,
        lts: &mut Lts<M>,
        model: &M,
        slot: usize,
        budget: &mut Budget,
    ) -> Result<bool, Exhausted> {
        self.next.clear();
        self.seen.clear();
        if let Some(paths) = &mut self.paths {
            paths.expanded.clear();
        }
        // Taken out and put back, so that its memory is used again.
        let mut configs = std::mem::take(&mut self.configs);
        for mut config in configs.drain(..) {
            if !config.done.contains(slot) {
                self.order_reads(lts, model, &mut config);
            }
            self.keep(config, slot);
        }
        self.configs = configs;
        while let Some(config) = self.stack.pop() {
            budget.spend(|| self.bytes() + lts.bytes())?;
            self.expand(lts, model, config, slot);
        }
        self.next.drain_into(&mut self.configs);
        self.widest = self.widest.max(self.configs.len());
        self.release(slot);
        Ok(!self.configs.is_empty())
    }

    /// Files a configuration: with the closing operation in its order it survives, without it has to be expanded.
    fn keep(&mut self, mut config: Config<K>, closing: usize) {
        if let Some(cuts) = &mut self.cuts {
            cuts.entry(config.state).or_insert(config.path);
        }
        if config.done.contains(closing) {
            config.done.remove(closing);
            self.next.insert(config, &self.optional);
        } else if self.seen.insert(config.clone(), &self.optional) {
            self.stack.push(config);
        }
    }

    /// Tries every open operation that may be next in the order of `config`.
    fn expand<M: Model>(&mut self, lts: &mut Lts<M>, model: &M, config: Config<K>, closing: usize) {
        if let Some(paths) = &mut self.paths {
            paths.expanded.push((config.path, config.state));
        }
        let mut tried = None;
        for i in 0..self.open.len() {
            let Open { class, slot, op, .. } = self.open[i];
            if tried == Some(class) || config.done.contains(slot as usize) {
                continue;
            }
            tried = Some(class);
            let edge = lts.edge(model, config.state, class);
            for target in 0..lts.fan_out(edge) {
                let state = lts.target(edge, target);
                if state == config.state && self.optional.contains(slot as usize) {
                    continue;
                }
                let mut next =
                    Config { state, done: config.done.clone(), path: self.record(config.path, op) };
                next.done.insert(slot as usize);
                self.order_reads(lts, model, &mut next);
                self.keep(next, closing);
            }
        }
    }

    /// Orders the open operations that only read and fit the state of `config`.
    fn order_reads<M: Model>(&mut self, lts: &mut Lts<M>, model: &M, config: &mut Config<K>) {
        for i in 0..self.open.len() {
            let Open { class, slot, op, read_only, .. } = self.open[i];
            if read_only
                && !config.done.contains(slot as usize)
                && lts.edge(model, config.state, class).is_legal()
            {
                config.done.insert(slot as usize);
                config.path = self.record(config.path, op);
            }
        }
    }

    fn crash<M: Model>(&mut self, lts: &mut Lts<M>, model: &M, budget: &mut Budget) -> Result<(), Exhausted> {
        let has_cuts = self.cuts.is_some();
        self.cuts.get_or_insert_default();
        // No slot has this number, so nothing closes and everything that can still be ordered is.
        let nothing = self.used_slots.len();
        self.seen.clear();
        for config in std::mem::take(&mut self.configs) {
            self.keep(config, nothing);
        }
        while let Some(config) = self.stack.pop() {
            budget.spend(|| self.bytes() + lts.bytes())?;
            self.expand(lts, model, config, nothing);
        }
        let mut states: Vec<(StateId, u32)> =
            self.cuts.iter().flatten().map(|(&s, &path)| (s, path)).collect();
        states.sort_unstable();
        if !has_cuts {
            self.cuts = None;
        }
        self.configs =
            states.into_iter().map(|(state, path)| Config { state, done: K::default(), path }).collect();
        self.open.clear();
        self.used_slots.clear();
        self.optional = K::default();
        Ok(())
    }

    fn release(&mut self, slot: usize) {
        self.used_slots[slot] = false;
        self.optional.remove(slot);
        self.open.retain(|open| open.slot as usize != slot);
    }

    fn record(&mut self, parent: u32, op: u32) -> u32 {
        let Some(paths) = &mut self.paths else { return ROOT };
        let depth = paths.depth(parent) + 1;
        paths.nodes.push(Step { parent, op, depth });
        paths.nodes.len() as u32 - 1
    }

    fn tidy<M: Model>(&mut self, lts: &mut Lts<M>, model: &M) {
        let mut cuts: Option<Vec<(StateId, u32)>> = self.cuts.take().map(|cuts| cuts.into_iter().collect());
        let states = self.configs.iter_mut().map(|config| &mut config.state);
        let states = states.chain(cuts.iter_mut().flatten().map(|(state, _)| state));
        let classes = self.open.iter_mut().map(|open| &mut open.class);
        lts.collect(states, classes, model);
        self.cuts = cuts.map(|cuts| cuts.into_iter().collect());
        self.open.sort_by_key(Open::rank);
    }

    fn bytes(&self) -> usize {
        let each = size_of::<Config<K>>() + 24 + self.optional.heap_bytes().max(self.used_slots.len() / 8);
        let held = self.configs.len() + self.next.len() + self.seen.len() + self.stack.len();
        held * each + self.paths.as_ref().map_or(0, |paths| paths.nodes.len() * 12 + paths.expanded.len() * 8)
    }
}

impl Paths {
    fn depth(&self, path: u32) -> u32 {
        if path == ROOT { 0 } else { self.nodes[path as usize].depth }
    }

    fn attempts(&self, most: usize) -> Vec<Attempt> {
        let mut expanded = self.expanded.clone();
        expanded.sort_by_key(|&(path, _)| std::cmp::Reverse(self.depth(path)));
        expanded.truncate(most);
        expanded
            .into_iter()
            .map(|(path, state)| Attempt { order: self.order(path), state, next: None })
            .collect()
    }

    fn order(&self, mut path: u32) -> Vec<usize> {
        let mut order = Vec::new();
        while path != ROOT {
            let step = &self.nodes[path as usize];
            order.push(step.op as usize);
            path = step.parent;
        }
        order.reverse();
        order
    }
}
