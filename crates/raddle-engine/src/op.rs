//! Operations of instrumented code: memory orders, read-modify-writes and their arithmetic, callers and threads.

use std::sync::atomic::Ordering;

/// The number of a virtual thread within an execution. Thread 0 runs the closure; the others are numbered as they are
/// spawned.
pub type ThreadId = u16;

/// A memory order, as LLVM's instrumentation numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Relaxed.
    Relaxed,
    /// Acquire (consume counts as acquire).
    Acquire,
    /// Release.
    Release,
    /// Acquire and release.
    AcqRel,
    /// Sequentially consistent.
    SeqCst,
}

impl Order {
    /// The orders of success and failure of a compare-exchange, which instrumented code passes in one number.
    #[inline]
    pub fn pair_from_abi(orders: u32) -> [Order; 2] {
        [Order::from_abi(orders), Order::from_abi(orders >> 8)]
    }

    /// From the number that instrumented code passes.
    #[inline]
    pub fn from_abi(order: u32) -> Order {
        match order & 0xff {
            0 => Order::Relaxed,
            1 | 2 => Order::Acquire,
            3 => Order::Release,
            4 => Order::AcqRel,
            _ => Order::SeqCst,
        }
    }

    /// Whether a load or fence of this order acquires.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel | Order::SeqCst)
    }

    /// Whether a store or fence of this order releases.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::SeqCst)
    }
}

impl From<Order> for Ordering {
    #[inline]
    fn from(order: Order) -> Ordering {
        match order {
            Order::Relaxed => Ordering::Relaxed,
            Order::Acquire => Ordering::Acquire,
            Order::Release => Ordering::Release,
            Order::AcqRel => Ordering::AcqRel,
            Order::SeqCst => Ordering::SeqCst,
        }
    }
}

/// The effect of a pending step, as far as strategies care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads the address only.
    Read,
    /// May change the value at the address.
    Write,
    /// Locks the mutex at the address, and cannot run while it is locked.
    Lock,
    /// Independent of every other step: the beginning of a thread, a fence, a yield.
    Nothing,
    /// Is marked, or an operation of a monitor: may do anything.
    Marked,
    /// Not known: the thread was woken.
    Woken,
}

/// The step that a thread will take when it runs next.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// The address.
    pub address: usize,
    /// The effect.
    pub effect: Effect,
}

impl Pending {
    /// A step that is independent of every other.
    pub const NOTHING: Pending = Pending { address: 0, effect: Effect::Nothing };

    /// What a thread does when it is woken.
    pub const WOKEN: Pending = Pending { address: 0, effect: Effect::Woken };

    /// A marked operation. All of them conflict.
    pub const MARKED: Pending = Pending { address: 0, effect: Effect::Marked };

    /// Whether the order of the two steps can matter.
    #[inline]
    pub fn conflicts(&self, other: &Pending) -> bool {
        let touches = |effect| !matches!(effect, Effect::Nothing | Effect::Woken);
        self.address == other.address
            && touches(self.effect)
            && touches(other.effect)
            && (self.effect != Effect::Read || other.effect != Effect::Read)
    }
}

const _: () = {
    let mut index = 0;
    while index < Rmw::ALL.len() {
        assert!(Rmw::ALL[index] as usize == index);
        index += 1;
    }
    // The last one, or `ALL` lacks some.
    assert!(Rmw::SignedMax as usize + 1 == Rmw::ALL.len());
};

/// A read-modify-write operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the atomic methods")]
pub enum Rmw {
    Swap,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Nand,
    Min,
    Max,
    SignedMin,
    SignedMax,
}

impl Rmw {
    /// All operations, each at the index that is its number.
    pub const ALL: [Rmw; 11] = [
        Rmw::Swap,
        Rmw::Add,
        Rmw::Sub,
        Rmw::And,
        Rmw::Or,
        Rmw::Xor,
        Rmw::Nand,
        Rmw::Min,
        Rmw::Max,
        Rmw::SignedMin,
        Rmw::SignedMax,
    ];

    /// Whether the compiler may expand the operation into a loop of loads and compare-exchanges, because the processor
    /// has no instruction that returns the old value.
    pub fn may_be_expanded(self) -> bool {
        !matches!(self, Rmw::Swap | Rmw::Add | Rmw::Sub)
    }

    /// The name of the atomic method.
    pub fn name(self) -> &'static str {
        match self {
            Rmw::Swap => "swap",
            Rmw::Add => "fetch_add",
            Rmw::Sub => "fetch_sub",
            Rmw::And => "fetch_and",
            Rmw::Or => "fetch_or",
            Rmw::Xor => "fetch_xor",
            Rmw::Nand => "fetch_nand",
            Rmw::Min | Rmw::SignedMin => "fetch_min",
            Rmw::Max | Rmw::SignedMax => "fetch_max",
        }
    }
}

/// The code that calls for an operation.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The return address.
    pub pc: usize,
    /// The frame pointer of the calling function.
    pub fp: usize,
}

/// An integer that instrumented code accesses atomically.
pub trait Int: Copy + Eq {
    /// The value, widened.
    fn widen(self) -> u128;
    /// The value that was widened.
    fn narrow(wide: u128) -> Self;
    /// The result of a read-modify-write.
    fn apply(self, op: Rmw, operand: Self) -> Self;
}

macro_rules! int {
    ($($type:ty),*) => {$(
        impl Int for $type {
            #[inline(always)]
            fn widen(self) -> u128 {
                self as u128
            }

            #[inline(always)]
            fn narrow(wide: u128) -> $type {
                wide as $type
            }

            #[inline(always)]
            fn apply(self, op: Rmw, operand: $type) -> $type {
                match op {
                    Rmw::Swap => operand,
                    Rmw::Add => self.wrapping_add(operand),
                    Rmw::Sub => self.wrapping_sub(operand),
                    Rmw::And => self & operand,
                    Rmw::Or => self | operand,
                    Rmw::Xor => self ^ operand,
                    Rmw::Nand => !(self & operand),
                    Rmw::Min => self.min(operand),
                    Rmw::Max => self.max(operand),
                    Rmw::SignedMin => self.cast_signed().min(operand.cast_signed()).cast_unsigned(),
                    Rmw::SignedMax => self.cast_signed().max(operand.cast_signed()).cast_unsigned(),
                }
            }
        }
    )*};
}
int!(u8, u16, u32, u64, u128);
