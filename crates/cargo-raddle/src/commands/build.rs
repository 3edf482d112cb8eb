//! `cargo raddle build`: the instrumented test binaries, for debuggers and scripts.

use crate::binary::build_tests;
use crate::cli::BuildArgs;
use crate::error::{Result, exit};
use crate::options::RaddleOptions;
use crate::session::Session;

/// Builds and prints one path a line.
pub(crate) fn build(args: BuildArgs) -> Result<u8> {
    RaddleOptions::default().check()?;
    let session = Session::open(args.cargo)?;
    for binary in build_tests(&session)? {
        println!("{}", binary.executable.display());
    }
    Ok(exit::PASSED)
}
