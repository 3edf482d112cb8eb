//! `cargo raddle debug`: a debugger at the events of a failing execution.

use std::io::{self, BufReader};
use std::net::{Ipv4Addr, TcpListener};

use crate::cli::DebugArgs;
use crate::debug::{Debugger, Request, Session, prompt};
use crate::error::{Error, Result, exit};
use crate::report;

/// Serves an editor on standard input and output or on a port, or a person on the terminal.
pub(crate) fn debug(args: DebugArgs) -> Result<u8> {
    if let Some(file) = &args.file {
        report::read(file)?;
    }
    let debugger = Debugger::find(args.debugger.as_deref())?;
    let request = args.file.map(|file| Request { file, force: args.force });
    match args.port {
        _ if args.cli => {
            let request = request.ok_or_else(|| Error::usage("`--cli` needs a failure file"))?;
            prompt(debugger, request)?;
        }
        Some(port) => serve(port, &debugger, request.as_ref())?,
        None => Session::new(BufReader::new(io::stdin()), io::stdout(), debugger, request)?.serve(),
    }
    Ok(exit::PASSED)
}

/// Serves one editor on a port of this machine.
fn serve(port: u16, debugger: &Debugger, request: Option<&Request>) -> Result<()> {
    let problem = |error: io::Error| Error::usage(format_args!("cannot listen on port {port}: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(problem)?;
    let address = listener.local_addr().map_err(problem)?;
    eprintln!("listening on {address}");
    let (stream, _) = listener.accept().map_err(problem)?;
    stream.set_nodelay(true).map_err(problem)?;
    let reader = BufReader::new(stream.try_clone().map_err(problem)?);
    Session::new(reader, stream, debugger.clone(), request.cloned())?.serve();
    Ok(())
}
