//! One panel each.

pub(crate) mod colours;
pub(crate) mod source;
pub(crate) mod state;
pub(crate) mod trace;
