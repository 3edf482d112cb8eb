//! Searches for a failing execution: everything that explorations of closures and tests of operations have in common.
//!
//! | module | idea |
//! |---|---|
//! | [`exploration`] | one call of an exploration: where, which number, whose process |
//! | [`config`] | options as the engine's configuration and strategy |
//! | [`classifier`] | debug information for the engine: code sites and names of memory locations |
//! | [`attempt`] | one search on the engine: its run, whether its answer counts, the replay of its failure |
//! | [`reproduce`] | whether a replay shows the same failure |
//! | [`completeness`] | whether a search made every execution |
//! | [`portfolio`], [`phases`] | the searches of one exploration: one, or those of strategy `auto` |
//! | [`reach`], [`coverage`] | threads and sites that an exploration reached, and the lines of those |
//! | [`snapshots`] | the objects of a failing execution, while it is recorded |
//! | [`summary`] | searches in words |
//! | [`resume`] | exhaustive searches that a later process continues |
//! | [`record`] | a record of all searches, for comparing two versions of the engine |
//! | [`progress`], [`promise`] | lines to `cargo raddle`: how far a search is, and when the next line comes at the latest |

pub(crate) mod attempt;
pub(crate) mod classifier;
pub(crate) mod completeness;
pub(crate) mod config;
pub(crate) mod coverage;
pub(crate) mod exploration;
pub(crate) mod phases;
pub(crate) mod portfolio;
pub(crate) mod progress;
pub(crate) mod promise;
pub(crate) mod reach;
mod record;
pub(crate) mod reproduce;
pub(crate) mod resume;
pub(crate) mod snapshots;
pub(crate) mod summary;
