//! A search as words, so that another process can go on with it.
//!
//! Everything that is known of a search between two executions can be written down and read back. It holds addresses and
//! values that are addresses, so that only a process of the same program can use it in which everything lies where it lay.

use std::hash::Hash;

use super::event::{Access, Event, EventId};
use super::{Graph, Model};
use crate::op::{Order, Rmw};

/// Something that can be written as words and read back.
pub(crate) trait Stored: Sized {
    fn put(&self, words: &mut Vec<u64>);
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

/// What is stored of a struct: the fields named. Those named as `without` are not, and begin empty.
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
        // Each takes a word at least: a length that was not written here makes no room for itself.
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

/// Enumerations are stored as the number of the variant, then its fields. The match over the variants is the compiler's: none can be
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
    5 LockShared,
    6 LockAlone,
    7 Drop,
    8 Fence,
    9 Spawn(thread),
    10 Begin,
    11 Join(thread),
    12 Woken,
    13 TimedOut,
    14 Look,
    15 TryLockShared,
    16 TryLockAlone,
    17 Await(value),
    18 LeaveScope,
    19 EndScope(thread),
    20 Choose(ways),
    21 AwaitOther(value),
    22 AskAlone,
    23 LockAsked,
    24 Unlock(added),
});

impl Stored for Rmw {
    fn put(&self, words: &mut Vec<u64>) {
        words.push(*self as u64);
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Rmw> {
        Rmw::ALL.get(usize::take(words)?).copied()
    }
}

stored!(Event { thread, access, order, wanted, place, size, po, past, stamp, rf, read, written, waits });

impl Stored for Graph {
    fn put(&self, words: &mut Vec<u64>) {
        self.model.put(words);
        self.leaders.put(words);
        self.places.iter().map(|place| place.init).collect::<Vec<u64>>().put(words);
        self.events.len().put(words);
        for (id, event) in self.events.iter().enumerate() {
            event.put(words);
            self.rank_when_added(id as EventId).put(words);
        }
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Graph> {
        let mut graph = Graph::new(Model::take(words)?);
        graph.leaders = Stored::take(words)?;
        for (place, init) in Vec::<u64>::take(words)?.into_iter().enumerate() {
            graph.set_init(place as u32, init);
        }
        for _ in 0..usize::take(words)? {
            let event = Event::take(words)?;
            graph.push(event, usize::take(words)?);
        }
        Some(graph)
    }
}

impl Graph {
    /// Where a write stood among those of its place when it was added: after those that are there already and come before.
    fn rank_when_added(&self, id: EventId) -> usize {
        let event = self.event(id);
        if !event.writes() || event.waits {
            return 0;
        }
        let before = &self.co(event.place)[..self.rank(event.place, id) - 1];
        1 + before.iter().filter(|&&write| write < id).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a value of every variant from words, and writes it again.
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
