//! `cargo raddle show`: the report of a failure file.

use crate::cli::ShowArgs;
use crate::error::{Result, exit};
use crate::report;
use crate::terminal::Terminal;

/// Prints the report. Nothing is built or run.
pub(crate) fn show(args: ShowArgs) -> Result<u8> {
    let failure = report::read(&args.file)?;
    print!("{}", report::render(&failure, &args.file, &Terminal::new(&args.output)));
    Ok(exit::PASSED)
}
