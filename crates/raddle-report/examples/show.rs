//! Prints a failure file as the terminal shows it: `cargo run -p raddle-report --example show -- <file>`.

use std::path::PathBuf;
use std::process::ExitCode;

use raddle_report::{Failure, Style, render};

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("give the path of a failure file");
        return ExitCode::from(2);
    };
    match Failure::read(&path) {
        Ok(failure) => {
            print!("{}", render(&failure, Style::detect(), Some(&path)));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
