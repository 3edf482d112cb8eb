//! Why a history is wrong, for people and for programs.
//!
//! A [`Story`] is a report with everything in words; the [terminal](text::render), [JSON](json::render) and the [HTML
//! page](html::render) show the same one. [`closest`] is the gist of it, for a report that is about more.

mod closest;
pub mod html;
pub mod json;
pub(crate) mod reason;
mod story;
pub mod text;

pub use closest::{Closest, Place, Stuck, closest};
pub use story::{Attempt, Next, Operation, Part, Story, Violation};
