//! Serialisation of a search as words, so that another process can resume it.
//!
//! The state of a search between two executions can be written and read back. It holds addresses, and values that are addresses;
//! so only a process of the same program with the same memory layout can use it.

use std::hash::Hash;

use super::event::{Access, Event, EventId};
use super::{Graph, Model};
use crate::op::{Order, Rmw};

/// A value that can be written as words and read back.
pub(crate) trait Stored: Sized {
    /// Appends the words of the value.
    fn put(&self, words: &mut Vec<u64>);
    /// Reads a value from the front of the words. None if the words are not those of a value.
    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Self>;
}

macro_rules! stored_numbers {
    ($($type:ty),*) => {$(
        impl Stored for $type {
            fn put(&self, words: &mut Vec<u64>) {
                words.push(*self as u64);
            }

            fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<$type> {
                <$type>::try_from(*words.next()?).ok()
            }
        }
    )*};
}
stored_numbers!(u8, u16, u32, u64, usize);

/// Implements [`Stored`] for a struct: the named fields are stored in this order. Fields after `without` are not stored, and have
/// their default after reading.
macro_rules! stored {
    ($type:ident { $($field:ident),* $(,)? } $(without $left_out:ident)*) => {
        impl $crate::graph::stored::Stored for $type {
            fn put(&self, words: &mut Vec<u64>) {
                $($crate::graph::stored::Stored::put(&self.$field, words);)*
            }

            fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<$type> {
                Some($type {
                    $($field: $crate::graph::stored::Stored::take(words)?,)*
                    $($left_out: Default::default(),)*
                })
            }
        }
    };
}
pub(crate) use stored;

impl Stored for bool {
    fn put(&self, words: &mut Vec<u64>) {
        words.push((*self).into());
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<bool> {
        Some(*words.next()? != 0)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, words: &mut Vec<u64>) {
        self.is_some().put(words);
        self.iter().for_each(|value| value.put(words));
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Option<T>> {
        match bool::take(words)? {
            true => T::take(words).map(Some),
            false => Some(None),
        }
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn put(&self, words: &mut Vec<u64>) {
        self.len().put(words);
        self.iter().for_each(|value| value.put(words));
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Vec<T>> {
        let len = usize::take(words)?;
        // Each element takes at least one word. This check keeps a corrupt length from reserving memory.
        (len <= words.len()).then_some(())?;
        (0..len).map(|_| T::take(words)).collect()
    }
}

impl<K: Stored + Eq + Hash, V: Stored> Stored for std::collections::HashMap<K, V> {
    fn put(&self, words: &mut Vec<u64>) {
        self.len().put(words);
        for (key, value) in self {
            key.put(words);
            value.put(words);
        }
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Self> {
        let len = usize::take(words)?;
        (0..len).map(|_| Some((K::take(words)?, V::take(words)?))).collect()
    }
}

impl<A: Stored, B: Stored, C: Stored> Stored for (A, B, C) {
    fn put(&self, words: &mut Vec<u64>) {
        self.0.put(words);
        self.1.put(words);
        self.2.put(words);
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Self> {
        Some((A::take(words)?, B::take(words)?, C::take(words)?))
    }
}

/// Implements [`Stored`] for an enumeration: the number of the variant, then its fields. The compiler checks that no variant is
/// missing.
macro_rules! stored_enum {
    ($type:ident { $($number:literal $variant:ident $(($($field:ident),*))? $({ $($named:ident),* })?),* $(,)? }) => {
        impl Stored for $type {
            fn put(&self, words: &mut Vec<u64>) {
                match self {
                    $($type::$variant $(($($field),*))? $({ $($named),* })? => {
                        words.push($number);
                        $($($field.put(words);)*)?
                        $($($named.put(words);)*)?
                    })*
                }
            }

            fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<$type> {
                match *words.next()? {
                    $($number => {
                        $($(let $field = Stored::take(words)?;)*)?
                        $($(let $named = Stored::take(words)?;)*)?
                        Some($type::$variant $(($($field),*))? $({ $($named),* })?)
                    })*
                    _ => None,
                }
            }
        }
    };
}

stored_enum!(Order { 0 Relaxed, 1 Acquire, 2 Release, 3 AcqRel, 4 SeqCst });
stored_enum!(Model { 0 Sc, 1 Rc11 });
stored_enum!(Access {
    0 Load,
    1 Store(value),
    2 Rmw(op, operand),
    3 Cas { expected, new, failure },
    4 Lock(value),
    5 RwLockRead,
    6 RwLockWrite,
    7 Decrement,
    8 Fence,
    9 Spawn(thread),
    10 Begin,
    11 Join(thread),
    12 Woken,
    13 TimedOut,
    14 ReadCompletions,
    15 RwLockTryRead,
    16 RwLockTryWrite,
    17 AwaitGreater(value),
    18 LeaveScope,
    19 EndScope(thread),
    20 Choose(alternatives),
    21 AwaitNotEqual(value),
    22 RwLockRequestWrite,
    23 RwLockWriteAfterRequest,
    24 RwLockUnlock(added),
});

impl Stored for Rmw {
    fn put(&self, words: &mut Vec<u64>) {
        words.push(*self as u64);
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Rmw> {
        Rmw::ALL.get(usize::take(words)?).copied()
    }
}

stored!(Event {
    thread,
    access,
    order,
    declared_order,
    location,
    size,
    po,
    reads_hash,
    stamp,
    rf,
    read,
    written,
    blocked,
});

impl Stored for Graph {
    fn put(&self, words: &mut Vec<u64>) {
        self.model.put(words);
        self.symmetric_predecessors.put(words);
        self.locations.iter().map(|location| location.init).collect::<Vec<u64>>().put(words);
        self.events.len().put(words);
        for (id, event) in self.events.iter().enumerate() {
            event.put(words);
            self.co_index_when_added(id as EventId).put(words);
        }
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Graph> {
        let mut graph = Graph::new(Model::take(words)?);
        graph.symmetric_predecessors = Stored::take(words)?;
        for (location, init) in Vec::<u64>::take(words)?.into_iter().enumerate() {
            graph.set_init(location as u32, init);
        }
        for _ in 0..usize::take(words)? {
            let event = Event::take(words)?;
            graph.push(event, usize::take(words)?);
        }
        Some(graph)
    }
}

impl Graph {
    /// The co-index that a write had when it was added: only writes that were added before it count.
    fn co_index_when_added(&self, id: EventId) -> usize {
        let event = self.event(id);
        if !event.is_in_co() {
            return 0;
        }
        let before = &self.co(event.location)[..self.co_index(event.location, id) - 1];
        1 + before.iter().filter(|&&write| write < id).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a value of each variant from words, and writes it again.
    fn round_trip<T: Stored>(variants: usize) {
        for number in 0..variants {
            let words = [number as u64, 1, 1, 1];
            let mut rest = words.iter();
            let value = T::take(&mut rest).expect("every number is a variant");
            let mut again = Vec::new();
            value.put(&mut again);
            assert_eq!(again, words[..words.len() - rest.len()]);
        }
        assert!(
            T::take(&mut [variants as u64, 1, 1, 1].iter()).is_none(),
            "there are more variants than {variants}"
        );
    }

    #[test]
    fn every_variant_can_be_stored() {
        round_trip::<Order>(5);
        round_trip::<Model>(2);
        round_trip::<Rmw>(Rmw::ALL.len());
        round_trip::<Access>(25);
    }
}
