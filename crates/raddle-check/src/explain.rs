//! Why a history is wrong, for people and for programs.
//!
//! [`reason`] turns what a search found into a [`Violation`](crate::verdict::Violation); the others render a whole
//! report: [`text`](text::render), [`JSON`](json::render) and an [`HTML page`](html::render).

pub(crate) mod reason;
