//! What each command does. Each returns the exit code.

mod build;
#[cfg(feature = "all")]
mod debug;
mod demo;
#[cfg(feature = "all")]
mod generate;
#[cfg(feature = "all")]
mod grade;
#[cfg(feature = "all")]
mod litmus;
mod nextest;
#[cfg(feature = "all")]
mod query;
pub(crate) mod replay;
#[cfg(feature = "all")]
mod show;
#[cfg(feature = "all")]
mod spec;
mod test;
#[cfg(feature = "all")]
mod validate;
#[cfg(feature = "all")]
mod why;

pub(crate) use self::build::build;
#[cfg(feature = "all")]
pub(crate) use self::debug::debug;
pub(crate) use self::demo::demo;
#[cfg(feature = "all")]
pub(crate) use self::generate::{GenerateArgs, generate};
#[cfg(feature = "all")]
pub(crate) use self::grade::{GradeArgs, HELP as GRADE_HELP, grade};
#[cfg(feature = "all")]
pub(crate) use self::litmus::{LitmusArgs, litmus};
pub(crate) use self::nextest::nextest;
#[cfg(feature = "all")]
pub(crate) use self::query::query;
#[cfg(feature = "all")]
pub(crate) use self::replay::find_alternatives;
pub(crate) use self::replay::replay;
#[cfg(feature = "all")]
pub(crate) use self::show::show;
#[cfg(feature = "all")]
pub(crate) use self::spec::{SpecArgs, spec};
pub(crate) use self::test::{run_tests, test};
#[cfg(feature = "all")]
pub(crate) use self::validate::{ProjectArgs, SizeArgs, ValidateArgs, validate};
#[cfg(feature = "all")]
pub(crate) use self::why::why;
