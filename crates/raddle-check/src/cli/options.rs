//! The arguments of the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::format::Format;
use crate::model::register::Nil;
use crate::{Contract, Ties};

/// Decides whether a concurrent history is correct, and says why not.
#[derive(Debug, Parser)]
#[command(name = "raddle-check", version, arg_required_else_help = true)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Check a history
    Verify(Verify),
    /// List the models
    Models,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 accepted, 1 violation, 2 bad input or usage, 3 unknown (a limit was reached)"
)]
pub(super) struct Verify {
    /// The history, or - for standard input
    pub(super) file: PathBuf,

    /// What the history is of: register, cas-register, queue, kv, ... (see `models`)
    #[arg(long, value_name = "MODEL")]
    pub(super) model: String,

    /// Check every key by itself, or the whole history in one piece
    #[arg(long, value_name = "BY")]
    pub(super) partition: Option<Partition>,

    /// What makes it correct: linearizable, sequential, serializable, strictly-serializable, quiescent, k-relaxed:K,
    /// lateness:K, stuttering:K, quasi:K, set-linearizable, interval-linearizable, durable, strictly-durable,
    /// buffered-durable, anything
    #[arg(long, default_value_t, value_name = "CONTRACT")]
    pub(super) contract: Contract,

    /// How it is written: jsonl, edn, jepsen-log; told by its beginning if left out
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<Format>,

    /// What it means that an operation returns when another is called
    #[arg(long, default_value = "concurrent", value_name = "RULE")]
    pub(super) ties: TieRule,

    /// What it means that a read of a register returned nil: that the register held nil, or, as Knossos has it, that nobody
    /// knows what it held
    #[arg(long, default_value = "value", value_name = "MEANING")]
    pub(super) nil: NilRule,

    /// Check while reading, and stop at the first event that proves a violation
    #[arg(long)]
    pub(super) stream: bool,

    /// Write a page that shows the history and what is wrong with it
    #[arg(long, value_name = "OUT")]
    pub(super) html: Option<PathBuf>,

    /// Print the report as JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Say how each part was decided
    #[arg(long)]
    pub(super) explain: bool,

    /// Give up after this long: 500ms, 10s, 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) time_limit: Option<Duration>,

    /// Give up when a search holds this much: 64M, 2G
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(super) memory_limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Partition {
    /// Each key by itself
    Key,
    /// One piece
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TieRule {
    /// The two overlap
    Concurrent,
    /// The one that returns comes first
    Ordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum NilRule {
    /// Nil, like any other value
    Value,
    /// Any value
    Anything,
}

impl From<NilRule> for Nil {
    fn from(rule: NilRule) -> Nil {
        match rule {
            NilRule::Value => Nil::Value,
            NilRule::Anything => Nil::Anything,
        }
    }
}

impl From<TieRule> for Ties {
    fn from(rule: TieRule) -> Ties {
        match rule {
            TieRule::Concurrent => Ties::Concurrent,
            TieRule::Ordered => Ties::Ordered,
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let seconds = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{unit}` is no unit of time: use ms, s, m or h")),
    };
    let number: f64 = number.parse().map_err(|_| "there is no number".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

fn bytes(text: &str) -> Result<usize, String> {
    let (number, unit) = split(text);
    let factor: usize = match unit.to_ascii_uppercase().trim_end_matches('B').trim_end_matches('I') {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return Err(format!("`{unit}` is no unit of memory: use K, M or G")),
    };
    let number: usize = number.parse().map_err(|_| "there is no number".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "that is more than there can be".into())
}

/// The number at the start of `text`, and what follows it.
fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}
