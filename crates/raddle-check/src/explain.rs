//! Why a history is wrong, for people and for programs.
//!
//! A [`Story`] is a report with everything in words; the [terminal](text::render), [JSON](json::render) and the [HTML
//! page](html::render) show the same one. [`closest`] is the gist of it, for a report that is about more.

mod closest;
#[cfg(feature = "explain")]
pub mod html;
#[cfg(feature = "explain")]
pub mod json;
pub(crate) mod reason;
#[cfg(feature = "explain")]
mod story;
#[cfg(feature = "explain")]
pub mod text;

pub use closest::{Closest, Place, Stuck, closest};
#[cfg(feature = "explain")]
pub use story::{Attempt, Next, Operation, Part, Story, Violation};
