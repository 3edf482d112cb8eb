//! What the monitors need to know of each value.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Collection, Complaint, Role, Seen};
use crate::timeline::{NEVER, Span};
use crate::value::Value;

/// No operation.
pub(super) const NONE: u32 = u32::MAX;

/// The call of the removal of a value that is never removed: later than everything.
pub(super) const END: u32 = u32::MAX - 1;

/// What happened to one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fact {
    /// The operation that added it; `NONE` for the initial value of a register.
    pub(super) add: u32,
    /// The operation that removed it, or `NONE`.
    pub(super) remove: u32,
    /// The first return of its operations.
    pub(super) lo: u32,
    /// The last call of its operations.
    pub(super) hi: u32,
}

impl Fact {
    const UNKNOWN: Fact = Fact { add: NONE, remove: NONE, lo: NEVER, hi: 0 };

    /// Whether the value is certainly inside at some time.
    pub(super) fn is_critical(&self) -> bool {
        self.lo < self.hi
    }
}

/// What happened, by value.
pub(super) struct Facts {
    /// By operation. Operations that never return do so after everything else.
    pub(super) spans: Vec<Span>,
    /// By value.
    pub(super) values: Vec<Fact>,
    /// Value and operation, by value.
    pub(super) peeks: Vec<(u32, u32)>,
    /// Value and operation, in any order.
    pub(super) absents: Vec<(u32, u32)>,
    pub(super) empties: Vec<u32>,
    /// One more than the last rank.
    pub(super) ranks: u32,
}

impl Facts {
    /// Gathers the facts. The outer error says why no monitor applies, the inner one what is already wrong.
    pub(super) fn gather(
        collection: &Collection,
        spans: Vec<Span>,
        seen: &impl Fn(usize) -> Seen,
    ) -> Result<Result<Facts, Complaint>, String> {
        let mut ids = Ids::new(spans.len(), seen);
        let ranks = spans.iter().map(|s| s.call.max(if s.ret == NEVER { 0 } else { s.ret })).max();
        let mut facts = Facts {
            values: Vec::new(),
            peeks: Vec::new(),
            absents: Vec::new(),
            empties: Vec::new(),
            ranks: ranks.map_or(0, |rank| rank + 1),
            spans,
        };
        let initial = match collection {
            Collection::Register { initial } => Some(facts.id(&mut ids, initial) as usize),
            _ => None,
        };
        let mut removed_twice = None;
        for op in 0..facts.spans.len() {
            let role = match seen(op) {
                Seen::Role(role) => role,
                Seen::Ignored => continue,
                Seen::Unclear if facts.spans[op].ret == NEVER => {
                    return Err("an operation that may have removed something has an unknown outcome".into());
                }
                Seen::Unclear => return Err("some operations are none the monitor knows".into()),
            };
            match role {
                Role::Add(value) => {
                    let id = facts.id(&mut ids, &value) as usize;
                    if facts.values[id].add != NONE || initial == Some(id) {
                        return Err(format!("the value {value} is added more than once"));
                    }
                    facts.values[id].add = op as u32;
                }
                Role::Remove(value) => {
                    let id = facts.id(&mut ids, &value) as usize;
                    if facts.values[id].remove != NONE {
                        removed_twice.get_or_insert((facts.values[id].remove, op as u32));
                    }
                    facts.values[id].remove = op as u32;
                }
                Role::Peek(value) => {
                    let id = facts.id(&mut ids, &value);
                    facts.peeks.push((id, op as u32));
                }
                Role::Absent(value) => {
                    let id = facts.id(&mut ids, &value);
                    facts.absents.push((id, op as u32));
                }
                Role::Empty => facts.empties.push(op as u32),
            }
        }
        facts.peeks.sort_unstable();
        facts.drop_unseen_adds();
        facts.bound(initial);
        let name = |op: u32| match seen(op as usize) {
            Seen::Role(Role::Add(v) | Role::Remove(v) | Role::Peek(v)) => v,
            _ => Value::Nil,
        };
        if let Some((first, second)) = removed_twice {
            // Another addition of the value would have ruled the monitor out, so this is final.
            let summary = format!("{} is removed twice and added at most once", name(first));
            let add = facts.values.iter().find(|fact| fact.remove == second).map(|fact| fact.add);
            let core = [first, second].into_iter().chain(add).filter(|&op| op != NONE).map(|op| op as usize);
            return Ok(Err(Complaint { summary, core: core.collect() }));
        }
        Ok(facts.check_order(initial, &name).map(|()| facts))
    }

    /// The operations on `value`, in no particular order.
    pub(super) fn operations(&self, value: u32) -> impl Iterator<Item = u32> + '_ {
        let fact = self.values[value as usize];
        let peeks = self.peeks_of(value).iter().map(|&(_, op)| op);
        [fact.add, fact.remove].into_iter().filter(|&op| op != NONE).chain(peeks)
    }

    pub(super) fn peeks_of(&self, value: u32) -> &[(u32, u32)] {
        let from = self.peeks.partition_point(|&(v, _)| v < value);
        let to = from + self.peeks[from..].partition_point(|&(v, _)| v == value);
        &self.peeks[from..to]
    }

    /// The span of the removal; after everything if there is none.
    pub(super) fn removal(&self, value: u32) -> Span {
        match self.values[value as usize].remove {
            NONE => Span { call: END, ret: NEVER },
            op => self.spans[op as usize],
        }
    }

    /// The span of the addition; before everything for an initial value.
    pub(super) fn addition(&self, value: u32) -> Span {
        match self.values[value as usize].add {
            NONE => Span { call: 0, ret: 0 },
            op => self.spans[op as usize],
        }
    }

    /// A complaint whose core is all operations on these values and some others.
    pub(super) fn complaint(
        &self,
        summary: String,
        values: impl IntoIterator<Item = u32>,
        others: &[u32],
    ) -> Complaint {
        let mut core: Vec<usize> = others.iter().map(|&op| op as usize).collect();
        for value in values {
            core.extend(self.operations(value).map(|op| op as usize));
        }
        core.sort_unstable();
        core.dedup();
        Complaint { summary, core }
    }

    fn id(&mut self, ids: &mut Ids, value: &Value) -> u32 {
        let id = ids.get(value);
        if id as usize >= self.values.len() {
            self.values.resize(id as usize + 1, Fact::UNKNOWN);
        }
        id
    }

    /// An addition of unknown outcome that nobody saw may as well not have happened.
    fn drop_unseen_adds(&mut self) {
        for value in 0..self.values.len() as u32 {
            let fact = &self.values[value as usize];
            let is_open = fact.add != NONE && self.spans[fact.add as usize].ret == NEVER;
            if is_open && fact.remove == NONE && self.peeks_of(value).is_empty() {
                self.values[value as usize].add = NONE;
            }
        }
    }

    /// Sets the first return and last call of each value.
    fn bound(&mut self, initial: Option<usize>) {
        for (id, fact) in self.values.iter_mut().enumerate() {
            for op in [fact.add, fact.remove].into_iter().filter(|&op| op != NONE) {
                fact.lo = fact.lo.min(self.spans[op as usize].ret);
                fact.hi = fact.hi.max(self.spans[op as usize].call);
            }
            if initial == Some(id) {
                fact.lo = 0;
            }
        }
        for &(value, op) in &self.peeks {
            let fact = &mut self.values[value as usize];
            fact.lo = fact.lo.min(self.spans[op as usize].ret);
            fact.hi = fact.hi.max(self.spans[op as usize].call);
        }
        if initial.is_none() {
            for fact in self.values.iter_mut().filter(|fact| fact.add != NONE && fact.remove == NONE) {
                fact.hi = END;
            }
        }
    }

    /// Each value is added before it is seen, and not seen after it is gone.
    fn check_order(&self, initial: Option<usize>, name: &impl Fn(u32) -> Value) -> Result<(), Complaint> {
        for (id, fact) in self.values.iter().enumerate() {
            let value = id as u32;
            if fact.add == NONE {
                if initial != Some(id)
                    && let Some(op) = self.operations(value).next()
                {
                    let summary = format!("{} is seen, but was never added", name(op));
                    return Err(self.complaint(summary, [value], &[]));
                }
                continue;
            }
            if fact.lo < self.addition(value).call {
                let summary = format!("{} is seen before it is added", name(fact.add));
                return Err(self.complaint(summary, [value], &[]));
            }
            if fact.hi > self.removal(value).ret {
                let summary = format!("{} is seen after it was removed", name(fact.add));
                return Err(self.complaint(summary, [value], &[]));
            }
        }
        Ok(())
    }
}

/// Histories that repeat values mostly do so soon: this tells before anything is computed for all operations.
pub(super) fn look_for_repetition(operations: usize, seen: &impl Fn(usize) -> Seen) -> Result<(), String> {
    const FIRST: usize = 256;
    let mut added = FxHashSet::default();
    for op in 0..operations.min(FIRST) {
        if let Seen::Role(Role::Add(value)) = seen(op)
            && let Some(value) = added.replace(value)
        {
            return Err(format!("the value {value} is added more than once"));
        }
    }
    Ok(())
}

/// Numbers for values: a table if they are integers close together, as generated ones are, else a hash map.
enum Ids {
    Table { first: i64, table: Vec<u32>, next: u32 },
    Map(FxHashMap<Value, u32>),
}

impl Ids {
    fn new(operations: usize, seen: &impl Fn(usize) -> Seen) -> Ids {
        let (mut first, mut last) = (i64::MAX, i64::MIN);
        for op in 0..operations {
            if let Seen::Role(Role::Add(v) | Role::Remove(v) | Role::Peek(v) | Role::Absent(v)) = seen(op) {
                match v {
                    Value::Int(n) => (first, last) = (first.min(n), last.max(n)),
                    _ => return Ids::Map(FxHashMap::default()),
                }
            }
        }
        match last.checked_sub(first).and_then(|range| usize::try_from(range).ok()) {
            Some(range) if range < operations * 4 => {
                Ids::Table { first, table: vec![NONE; range + 1], next: 0 }
            }
            _ => Ids::Map(FxHashMap::default()),
        }
    }

    fn get(&mut self, value: &Value) -> u32 {
        match self {
            Ids::Table { first, table, next } => {
                let slot = value.as_int().and_then(|n| table.get_mut(n.checked_sub(*first)? as usize));
                match slot {
                    Some(id) => {
                        if *id == NONE {
                            *id = *next;
                            *next += 1;
                        }
                        *id
                    }
                    // The initial value of a register is none of those seen.
                    None => {
                        *next += 1;
                        *next - 1
                    }
                }
            }
            Ids::Map(map) => {
                if let Some(&id) = map.get(value) {
                    return id;
                }
                let next = map.len() as u32;
                map.insert(value.clone(), next);
                next
            }
        }
    }
}
