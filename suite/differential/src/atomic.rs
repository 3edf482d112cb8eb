//! Atomics whose type is known only when the program runs.

use std::ptr::without_provenance_mut;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use crate::program::{Change, Exchange, Width};

/// One of std's atomics.
#[derive(Debug)]
pub enum Atomic {
    /// As [`Width::Bool`].
    Bool(AtomicBool),
    /// As [`Width::U8`].
    U8(AtomicU8),
    /// As [`Width::U16`].
    U16(AtomicU16),
    /// As [`Width::U32`].
    U32(AtomicU32),
    /// As [`Width::U64`].
    U64(AtomicU64),
    /// As [`Width::Usize`].
    Usize(AtomicUsize),
    /// As [`Width::Ptr`].
    Ptr(AtomicPtr<u8>),
}

/// The same call for whatever the atomic is. `$put` makes a value of a number, `$got` a number of a value.
macro_rules! call {
    ($atomic:expr, |$it:ident, $put:ident, $got:ident| $call:expr) => {
        match $atomic {
            Atomic::Bool($it) => with!(bool_of, <u64 as From<bool>>::from, $put, $got, $call),
            Atomic::U8($it) => with!(|value| value as u8, <u64 as From<u8>>::from, $put, $got, $call),
            Atomic::U16($it) => with!(|value| value as u16, <u64 as From<u16>>::from, $put, $got, $call),
            Atomic::U32($it) => with!(|value| value as u32, <u64 as From<u32>>::from, $put, $got, $call),
            Atomic::U64($it) => with!(|value| value, |value: u64| value, $put, $got, $call),
            Atomic::Usize($it) => {
                with!(|value| value as usize, |value: usize| value as u64, $put, $got, $call)
            }
            Atomic::Ptr($it) => with!(pointer_of, number_of, $put, $got, $call),
        }
    };
}

macro_rules! with {
    ($into:expr, $from:expr, $put:ident, $got:ident, $call:expr) => {{
        #[allow(unused_variables, reason = "some calls only put or only get")]
        let ($put, $got) = (converts_into($into), converts_from($from));
        $call
    }};
}

macro_rules! fetch {
    ($it:ident, $type:ty, $change:ident, $value:ident, $order:ident) => {{
        let value = $value as $type;
        (match $change {
            Change::Swap => $it.swap(value, $order),
            Change::Add => $it.fetch_add(value, $order),
            Change::Sub => $it.fetch_sub(value, $order),
            Change::And => $it.fetch_and(value, $order),
            Change::Or => $it.fetch_or(value, $order),
            Change::Xor => $it.fetch_xor(value, $order),
            Change::Min => $it.fetch_min(value, $order),
            Change::Max => $it.fetch_max(value, $order),
        }) as u64
    }};
}

fn converts_into<T>(into: impl Fn(u64) -> T) -> impl Fn(u64) -> T {
    into
}

fn converts_from<T>(from: impl Fn(T) -> u64) -> impl Fn(T) -> u64 {
    from
}

fn bool_of(value: u64) -> bool {
    value & 1 == 1
}

fn pointer_of(value: u64) -> *mut u8 {
    without_provenance_mut(value as usize)
}

fn number_of(pointer: *mut u8) -> u64 {
    pointer.addr() as u64
}

impl Atomic {
    /// One that holds 0.
    pub fn new(width: Width) -> Atomic {
        match width {
            Width::Bool => Atomic::Bool(AtomicBool::new(false)),
            Width::U8 => Atomic::U8(AtomicU8::new(0)),
            Width::U16 => Atomic::U16(AtomicU16::new(0)),
            Width::U32 => Atomic::U32(AtomicU32::new(0)),
            Width::U64 => Atomic::U64(AtomicU64::new(0)),
            Width::Usize => Atomic::Usize(AtomicUsize::new(0)),
            Width::Ptr => Atomic::Ptr(AtomicPtr::new(std::ptr::null_mut())),
        }
    }

    /// As std's.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> u64 {
        call!(self, |it, put, got| got(it.load(order)))
    }

    /// As std's.
    #[inline(always)]
    pub fn store(&self, value: u64, order: Ordering) {
        call!(self, |it, put, got| it.store(put(value), order));
    }

    /// What was there. Not every type has every change.
    #[inline(always)]
    pub fn fetch(&self, change: Change, value: u64, order: Ordering) -> u64 {
        match (change, self) {
            (Change::Swap, _) => call!(self, |it, put, got| got(it.swap(put(value), order))),
            (Change::And, Atomic::Bool(it)) => it.fetch_and(bool_of(value), order).into(),
            (Change::Or, Atomic::Bool(it)) => it.fetch_or(bool_of(value), order).into(),
            (Change::Xor, Atomic::Bool(it)) => it.fetch_xor(bool_of(value), order).into(),
            (_, Atomic::U8(it)) => fetch!(it, u8, change, value, order),
            (_, Atomic::U16(it)) => fetch!(it, u16, change, value, order),
            (_, Atomic::U32(it)) => fetch!(it, u32, change, value, order),
            (_, Atomic::U64(it)) => fetch!(it, u64, change, value, order),
            (_, Atomic::Usize(it)) => fetch!(it, usize, change, value, order),
            (_, Atomic::Bool(_) | Atomic::Ptr(_)) => unreachable!("a type without such an operation"),
        }
    }

    /// What was there, whether that was replaced or not.
    #[inline(always)]
    pub fn compare_exchange(&self, exchange: &Exchange) -> u64 {
        let Exchange { current, new, success, failure, weak, .. } = *exchange;
        call!(self, |it, put, got| got(if weak {
            it.compare_exchange_weak(put(current), put(new), success, failure).unwrap_or_else(|found| found)
        } else {
            it.compare_exchange(put(current), put(new), success, failure).unwrap_or_else(|found| found)
        }))
    }
}
