//! `cargo run -p differential -- generate --seed S --count N --opt-level O --out DIR`: writes a crate of tests whose programs are Rust, of N
//! seeds from S on. `cargo raddle test --manifest-path DIR/Cargo.toml` runs them.
//!
//! `cargo run -p differential -- tests`: prints what `tests/generated.rs` has to be.
//!
//! `cargo run -p differential -- show PROFILE SEED`: prints one program, and what the brute force knows about it.

use std::path::PathBuf;
use std::process::ExitCode;

use differential::generate::{KEPT, tests, write_crate};
use differential::oracle::{Freedom, known};
use differential::random::{Profile, program};
use differential::source::source;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!(
                "{problem}\nuse `generate --seed 0 --count 10 --opt-level 0 --out DIR`, `tests` or `show PROFILE SEED`"
            );
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    match arguments.first().map(String::as_str) {
        Some("generate") => generate(&arguments[1..]),
        Some("tests") => {
            print!("{}", tests(&Profile::ALL, KEPT));
            Ok(())
        }
        Some("show") => show(&arguments[1..]),
        _ => Err("there is no such command".to_owned()),
    }
}

fn generate(arguments: &[String]) -> Result<(), String> {
    let (mut seed, mut count, mut opt_level, mut out) = (0, 10, 0, None);
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} has no value", pair[0])) };
        match name.as_str() {
            "--seed" => seed = number(value)?,
            "--count" => count = number(value)?,
            "--opt-level" => opt_level = number(value)? as u8,
            "--out" => out = Some(PathBuf::from(value)),
            _ => return Err(format!("there is no option {name}")),
        }
    }
    let out = out.ok_or("--out says where the crate is to be")?;
    write_crate(&out, seed..seed + count, opt_level).map_err(|error| format!("{}: {error}", out.display()))
}

fn show(arguments: &[String]) -> Result<(), String> {
    let [profile, seed] = arguments else { return Err("a profile and a seed are needed".to_owned()) };
    let same = |known: &&Profile| format!("{known:?}").eq_ignore_ascii_case(profile);
    let profile = Profile::ALL.iter().find(same).ok_or("there is no such profile")?;
    let program = program(*profile, number(seed)?);
    println!("{}", source(&program));
    for freedom in [Freedom::Least, Freedom::Most] {
        println!("// {freedom:?} freedom: {:?}", known(&program, freedom, 1_000_000));
    }
    Ok(())
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}
