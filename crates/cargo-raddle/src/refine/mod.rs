//! Tests of refinement: specifications become projects, projects become processes, and what these print becomes a report.
//!
//! | file | idea |
//! |---|---|
//! | `load` | specification files |
//! | `project` | the generated project: written, built, without the methods that do not compile |
//! | `diagnose` | the compiler's messages in one sentence |
//! | `process` | one schema in a process of its own |
//! | `pace` | how long each schema is tried |
//! | `batch` | all schemas of a specification; violations made smaller |
//! | `extract` | specifications from source code |
//! | `declared` | declarative tests as specifications |
//! | `present` | text, JSON, JUnit, tables |

mod batch;
pub(crate) mod declared;
mod diagnose;
pub(crate) mod extract;
mod load;
mod pace;
pub(crate) mod present;
mod process;
mod project;

pub(crate) use self::batch::{Batch, Violation, draw, filter_methods, parse, suspects};
pub(crate) use self::load::load;
pub(crate) use self::process::Runner;
pub(crate) use self::project::{Project, calls_of};
