//! The checker as a program of its own; `cargo raddle verify` is the same.

fn main() -> std::process::ExitCode {
    raddle_check::cli::run(std::env::args_os())
}
