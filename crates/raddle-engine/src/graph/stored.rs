//! A search as words, so that another process can go on with it.
//!
//! Everything that is known of a search between two executions can be written down and read back. It holds addresses and
//! values that are addresses, so that only a process of the same program can use it in which everything lies where it lay.

use std::hash::Hash;

use super::event::{Access, Event, EventId};
use super::{Graph, Model};
use crate::event::{Order, Rmw};

/// Something that can be written as words and read back.
pub(super) trait Stored: Sized {
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
pub(super) use stored;

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

/// Enumerations are stored as their place in a table.
fn position<T: Copy + PartialEq>(table: &[T], value: T) -> u64 {
    table.iter().position(|&other| other == value).expect("the table has all of them") as u64
}

const ORDERS: [Order; 5] = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];
const OPERATIONS: [Rmw; 9] =
    [Rmw::Swap, Rmw::Add, Rmw::Sub, Rmw::And, Rmw::Or, Rmw::Xor, Rmw::Nand, Rmw::Min, Rmw::Max];
const MODELS: [Model; 2] = [Model::Sc, Model::Rc11];

macro_rules! stored_by_table {
    ($($type:ty: $table:ident),*) => {$(
        impl Stored for $type {
            fn put(&self, words: &mut Vec<u64>) {
                words.push(position(&$table, *self));
            }

            fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<$type> {
                $table.get(usize::take(words)?).copied()
            }
        }
    )*};
}
stored_by_table!(Order: ORDERS, Rmw: OPERATIONS, Model: MODELS);

impl Stored for Access {
    fn put(&self, words: &mut Vec<u64>) {
        let (kind, parameters) = match *self {
            Access::Load => (0, [0; 3]),
            Access::Store(value) => (1, [value, 0, 0]),
            Access::Rmw(op, operand) => (2, [position(&OPERATIONS, op), operand, 0]),
            Access::Cas { expected, new, failure } => (3, [expected, new, position(&ORDERS, failure)]),
            Access::Lock(value) => (4, [value, 0, 0]),
            Access::LockShared => (5, [0; 3]),
            Access::LockAlone => (6, [0; 3]),
            Access::Drop => (7, [0; 3]),
            Access::Fence => (8, [0; 3]),
            Access::Spawn(thread) => (9, [thread.into(), 0, 0]),
            Access::Begin => (10, [0; 3]),
            Access::Join(thread) => (11, [thread.into(), 0, 0]),
            Access::Woken => (12, [0; 3]),
            Access::TimedOut => (13, [0; 3]),
            Access::Look => (14, [0; 3]),
            Access::TryLockShared => (15, [0; 3]),
            Access::TryLockAlone => (16, [0; 3]),
            Access::Await(value) => (17, [value, 0, 0]),
            Access::LeaveScope => (18, [0; 3]),
            Access::EndScope(thread) => (19, [thread.into(), 0, 0]),
            Access::Choose(ways) => (20, [ways.into(), 0, 0]),
            Access::AwaitOther(value) => (21, [value, 0, 0]),
            Access::AskAlone => (22, [0; 3]),
            Access::LockAsked => (23, [0; 3]),
            Access::Unlock(added) => (24, [added.into(), 0, 0]),
        };
        words.push(kind);
        words.extend(parameters);
    }

    fn take(words: &mut std::slice::Iter<'_, u64>) -> Option<Access> {
        let kind = *words.next()?;
        let [a, b, c] = [*words.next()?, *words.next()?, *words.next()?];
        Some(match kind {
            0 => Access::Load,
            1 => Access::Store(a),
            2 => Access::Rmw(*OPERATIONS.get(a as usize)?, b),
            3 => Access::Cas { expected: a, new: b, failure: *ORDERS.get(c as usize)? },
            4 => Access::Lock(a),
            5 => Access::LockShared,
            6 => Access::LockAlone,
            7 => Access::Drop,
            8 => Access::Fence,
            9 => Access::Spawn(a.try_into().ok()?),
            10 => Access::Begin,
            11 => Access::Join(a.try_into().ok()?),
            12 => Access::Woken,
            13 => Access::TimedOut,
            14 => Access::Look,
            15 => Access::TryLockShared,
            16 => Access::TryLockAlone,
            17 => Access::Await(a),
            18 => Access::LeaveScope,
            19 => Access::EndScope(a.try_into().ok()?),
            20 => Access::Choose(a.try_into().ok()?),
            21 => Access::AwaitOther(a),
            22 => Access::AskAlone,
            23 => Access::LockAsked,
            24 => Access::Unlock(a.try_into().ok()?),
            _ => return None,
        })
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
