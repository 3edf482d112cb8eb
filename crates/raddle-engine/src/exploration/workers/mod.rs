//! Processes that share the work of an exploration.

pub(crate) mod exhaustive;
pub(crate) mod isolated;
pub(crate) mod mailbox;
pub(crate) mod sampling;
