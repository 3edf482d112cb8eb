//! Configurations: one way to have ordered the operations so far, and sets of them.

use rustc_hash::FxHashMap;

use super::lts::StateId;
use super::mask::Mask;

/// What a way to order the past leaves open: the state reached and which of the open operations are already in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config<K> {
    pub(crate) state: StateId,
    pub(crate) done: K,
    /// Where the order itself is kept, if it is recorded; not part of what makes two configurations alike.
    pub(crate) path: u32,
}

/// Configurations none of which makes another superfluous.
///
/// Of two that agree in state and in the operations that have to take effect, the one that has used up fewer of the
/// optional ones (whose outcome is unknown) can do all the other can.
pub(crate) struct ConfigSet<K> {
    few: Vec<Config<K>>,
    /// Used instead of `few` once there are too many to compare one by one.
    many: FxHashMap<(StateId, K), Alternatives<K>>,
    len: usize,
}

/// Done sets that differ in the optional operations only, each with its path.
struct Alternatives<K> {
    first: (K, u32),
    rest: Vec<(K, u32)>,
}

const FEW: usize = 8;

impl<K: Mask> ConfigSet<K> {
    pub(crate) fn new() -> Self {
        ConfigSet { few: Vec::new(), many: FxHashMap::default(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn clear(&mut self) {
        self.few.clear();
        self.len = 0;
        if self.many.is_empty() {
            return;
        }
        // Clearing costs the capacity; one burst must not slow down every later event.
        if self.many.capacity() > 1024 && self.many.len() * 8 < self.many.capacity() {
            self.many = FxHashMap::default();
        } else {
            self.many.clear();
        }
    }

    /// Adds `config` unless one that can do as much is here; says whether it was added.
    pub(crate) fn insert(&mut self, config: Config<K>, optional: &K) -> bool {
        if self.many.is_empty() {
            if self.few.len() < FEW {
                return self.insert_few(config, optional);
            }
            for config in std::mem::take(&mut self.few) {
                self.insert_many(config, optional);
            }
            self.len = self.many.values().map(|found| 1 + found.rest.len()).sum();
        }
        self.insert_many(config, optional)
    }

    /// Takes the configurations out.
    pub(crate) fn drain_into(&mut self, out: &mut Vec<Config<K>>) {
        out.append(&mut self.few);
        for ((state, _), found) in self.many.drain() {
            let all = std::iter::once(found.first).chain(found.rest);
            out.extend(all.map(|(done, path)| Config { state, done, path }));
        }
        self.clear();
    }

    fn insert_few(&mut self, config: Config<K>, optional: &K) -> bool {
        let alike = |other: &Config<K>| {
            other.state == config.state && other.done.minus(optional) == config.done.minus(optional)
        };
        if self.few.iter().any(|other| alike(other) && other.done.is_subset(&config.done)) {
            return false;
        }
        self.few.retain(|other| !(alike(other) && config.done.is_subset(&other.done)));
        self.few.push(config);
        self.len = self.few.len();
        true
    }

    fn insert_many(&mut self, config: Config<K>, optional: &K) -> bool {
        let entry = (config.done, config.path);
        let key = (config.state, entry.0.minus(optional));
        let Some(found) = self.many.get_mut(&key) else {
            self.many.insert(key, Alternatives { first: entry, rest: Vec::new() });
            self.len += 1;
            return true;
        };
        if found.first.0.is_subset(&entry.0) || found.rest.iter().any(|(used, _)| used.is_subset(&entry.0)) {
            return false;
        }
        let before = found.rest.len();
        found.rest.retain(|(used, _)| !entry.0.is_subset(used));
        self.len -= before - found.rest.len();
        if entry.0.is_subset(&found.first.0) {
            found.first = entry;
        } else {
            found.rest.push(entry);
            self.len += 1;
        }
        true
    }
}
