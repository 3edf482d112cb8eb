//! What each command does. Each returns the exit code.

mod build;
mod demo;
mod nextest;
mod replay;
mod show;
mod test;

pub(crate) use self::build::build;
pub(crate) use self::demo::demo;
pub(crate) use self::nextest::nextest;
pub(crate) use self::replay::replay;
pub(crate) use self::show::show;
pub(crate) use self::test::{run_tests, test};
