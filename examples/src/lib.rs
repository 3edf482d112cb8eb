//! Small concurrent objects in plain std Rust, most of them twice: as they should be, and with a bug that people make.
//!
//! Nothing in here knows of Raddle; `tests/` has one file per object.

mod graveyard;

pub mod bounded_buffer;
pub mod counter;
pub mod harris_list;
pub mod k_queue;
pub mod michael_scott;
pub mod rendezvous;
pub mod semaphore;
pub mod spsc_queue;
pub mod treiber;
pub mod treiber_reusing;
