//! Grading of submissions to a course on concurrent programming.
//!
//! | module | idea |
//! |---|---|
//! | [`course`] | what `course.toml` says: tests with points, limits, what submissions may contain |
//! | [`submission`] | the files of a submission, read with care |
//! | [`lint`] | what a submission may not contain |
//! | [`recipe`] | one build of the course, of which each submission repeats only its own part |
//! | [`slim`] | libraries without what only makes linking slow |
//! | [`sandbox`] | programs in isolation |
//! | [`grader`] | one submission: build it, run each test, judge |
//! | [`hint`] | the kind of mistake behind a failure |
//! | [`gradebook`] | results |
//! | [`store`] | results that are kept, so that nothing is graded twice |
//! | [`writers`] | results for students, teachers and other programs |
//!
//! The command `cargo raddle grade` puts them together. The book's chapter on grading says how to use it.
//!
//! **Invariant:** nothing here knows the engine, nor how cargo is called. A submission's code runs in the [`sandbox`] only.

pub mod course;
pub mod gradebook;
pub mod grader;
pub mod hint;
pub mod interrupt;
pub mod lint;
pub mod recipe;
pub mod sandbox;
pub mod slim;
pub mod store;
pub mod submission;
pub mod writers;
