//! What each command does. Each returns the exit code.

mod build;
mod debug;
mod demo;
mod generate;
mod grade;
mod litmus;
mod nextest;
mod query;
pub(crate) mod replay;
mod show;
mod spec;
mod test;
mod validate;
mod why;

pub(crate) use self::build::build;
pub(crate) use self::debug::debug;
pub(crate) use self::demo::demo;
pub(crate) use self::generate::{GenerateArgs, generate};
pub(crate) use self::grade::{GradeArgs, HELP as GRADE_HELP, grade};
pub(crate) use self::litmus::{LitmusArgs, litmus};
pub(crate) use self::nextest::nextest;
pub(crate) use self::query::query;
pub(crate) use self::replay::{find_alternatives, replay};
pub(crate) use self::show::show;
pub(crate) use self::spec::{SpecArgs, spec};
pub(crate) use self::test::{run_tests, test};
pub(crate) use self::validate::{ProjectArgs, SizeArgs, ValidateArgs, validate};
pub(crate) use self::why::why;
