//! Small objects in the style of a course on concurrent programming. Production code: it does not know the tester.
#![forbid(unsafe_code)]

pub mod monitor_queue;
pub mod std_queue;
