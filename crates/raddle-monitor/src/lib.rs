//! Monitors as on the JVM, marked operations and named fields: real in production, controlled in tests with Raddle.
//!
//! A [`Monitor`] is a re-entrant lock with a condition: [`synchronized`](Monitor::synchronized), [`wait`](Monitor::wait),
//! [`notify`](Monitor::notify), [`notify_all`](Monitor::notify_all). A [`step`] marks an operation that the trace of a failure shows by
//! name. A [`Field`] marks each of its reads and writes.
//!
//! ```
//! use raddle_monitor::{Field, Monitor};
//!
//! /// A buffer with room for one value.
//! struct Slot {
//!     monitor: Monitor<Field<Option<u32>>>,
//! }
//!
//! impl Slot {
//!     fn put(&self, value: u32) {
//!         self.monitor.synchronized(|slot| {
//!             while slot.get().is_some() {
//!                 self.monitor.wait();
//!             }
//!             slot.set(Some(value));
//!             self.monitor.notify_all();
//!         });
//!     }
//!
//!     fn take(&self) -> u32 {
//!         self.monitor.synchronized(|slot| loop {
//!             match slot.get() {
//!                 None => self.monitor.wait(),
//!                 Some(value) => {
//!                     slot.set(None);
//!                     self.monitor.notify_all();
//!                     return value;
//!                 }
//!             }
//!         })
//!     }
//! }
//!
//! let slot = Slot { monitor: Monitor::new(Field::new("slot", None)) };
//! std::thread::scope(|scope| {
//!     scope.spawn(|| (1..=3).for_each(|value| slot.put(value)));
//!     assert_eq!([slot.take(), slot.take(), slot.take()], [1, 2, 3]);
//! });
//! ```
//!
//! **Invariant:** this crate depends on the standard library alone. Code that uses it in production does not link the tester, which
//! makes itself known by [`tester::install`]; until then, each operation asks once whether there is one.

mod field;
mod monitor;
mod ownership;
mod real;
mod step;
pub mod tester;

pub use field::Field;
pub use monitor::Monitor;
pub use step::step;
