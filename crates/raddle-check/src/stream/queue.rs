//! The queue monitor for streams: the rules of [`crate::monitor`], applied as the events come, in memory of what is in
//! the queue.
//!
//! Nothing else is remembered, so a value may be added again once it is gone.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::monitor::Role;
use crate::value::Value;

#[derive(Default)]
pub(super) struct QueueWatch {
    /// Counts the instants before and after each event.
    now: u64,
    /// The values that are or may be inside, and those whose operations are open.
    values: FxHashMap<Value, Fate>,
    /// The values that are certainly inside and that nobody is removing: since when, and which.
    certain: BTreeSet<(u64, Value)>,
    /// The last instant at which nothing was certainly inside.
    last_empty: u64,
    /// The operations that will return, with the instant of their call.
    open: FxHashMap<u64, (Role, u64)>,
}

/// What is known about a value.
#[derive(Default)]
struct Fate {
    /// When its addition was called.
    called: Option<u64>,
    /// When its addition returned.
    added: Option<u64>,
    /// Its addition will not return.
    is_loose: bool,
    /// How many removals of it are open.
    removers: u32,
    /// A removal of it has returned.
    is_gone: bool,
}

impl QueueWatch {
    /// An operation was called whose end is known; the error says why this monitor cannot go on.
    pub(super) fn open(&mut self, operation: u64, role: Option<Role>, returns: bool) -> Result<(), String> {
        let Some(role) = role else {
            return Err(match returns {
                true => "an operation is none the monitor knows".into(),
                false => "an operation that may have removed something has an unknown outcome".into(),
            });
        };
        self.pass_instant();
        match &role {
            Role::Add(value) => {
                let fate = self.values.entry(value.clone()).or_default();
                if fate.called.is_some() {
                    return Err(format!("the value {value} is added again before it is gone"));
                }
                (fate.called, fate.is_loose) = (Some(self.now), !returns);
            }
            Role::Remove(value) => {
                let fate = self.values.entry(value.clone()).or_default();
                fate.removers += 1;
                if let Some(added) = fate.added {
                    self.certain.remove(&(added, value.clone()));
                }
            }
            Role::Empty => {}
            Role::Peek(_) | Role::Absent(_) => return Err("the stream has peeks".into()),
        }
        self.pass_instant();
        if returns {
            self.open.insert(operation, (role, self.now));
        }
        Ok(())
    }

    /// An operation returned; the error says what is wrong with that.
    pub(super) fn close(&mut self, operation: u64) -> Result<(), String> {
        self.pass_instant();
        let Some((role, called)) = self.open.remove(&operation) else { return Ok(()) };
        match role {
            Role::Add(value) => {
                let fate = self.values.entry(value.clone()).or_default();
                fate.added = Some(self.now);
                if fate.removers == 0 && !fate.is_gone {
                    self.certain.insert((self.now, value));
                } else {
                    self.forget_if_over(value);
                }
            }
            Role::Remove(value) => {
                let fate = self.values.entry(value.clone()).or_default();
                let Some(added) = fate.called else { return Err(format!("{value} was never added")) };
                if std::mem::replace(&mut fate.is_gone, true) {
                    return Err(format!("{value} was added once and is removed twice"));
                }
                if let Some((_, oldest)) = self.certain.first().filter(|(since, _)| *since < added) {
                    return Err(format!("{oldest} was added before it and is still inside"));
                }
                fate.removers -= 1;
                self.forget_if_over(value);
            }
            Role::Empty if self.last_empty < called => return Err("something is inside all the time".into()),
            Role::Empty | Role::Peek(_) | Role::Absent(_) => {}
        }
        self.pass_instant();
        Ok(())
    }

    fn forget_if_over(&mut self, value: Value) {
        let is_over =
            |fate: &Fate| fate.is_gone && fate.removers == 0 && (fate.added.is_some() || fate.is_loose);
        if self.values.get(&value).is_some_and(is_over) {
            self.values.remove(&value);
        }
    }

    fn pass_instant(&mut self) {
        self.now += 1;
        if self.certain.is_empty() {
            self.last_empty = self.now;
        }
    }
}
