//! `cargo raddle query`: questions about a failure, JSON in and out. The format is described in `raddle-report/QUERY.md`.

use std::io::Read as _;

use raddle_report::query::Index;
use raddle_report::query::exchange::Request;

use crate::cli::QueryArgs;
use crate::error::{Error, Result, exit};
use crate::report;

/// Prints the response. Nothing is built or run, unless other executions are asked for.
pub(crate) fn query(args: QueryArgs) -> Result<u8> {
    if args.alternatives {
        super::find_alternatives(&args.file, args.output.clone())?;
    }
    let failure = report::read(&args.file)?;
    let request = match args.request {
        Some(request) => request,
        None => {
            let mut request = String::new();
            std::io::stdin().read_to_string(&mut request).map_err(Error::file("read", "standard input"))?;
            request
        }
    };
    let request = Request::parse(&request).map_err(Error::usage)?;
    let response = request.answer(&Index::of(&failure));
    println!("{}", serde_json::to_string(&response).map_err(Error::usage)?);
    Ok(exit::PASSED)
}
