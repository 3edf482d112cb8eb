//! Measures Raddle beside its peers and prints one table: `cargo run --release -p raddle-benches`.

mod build;
mod cell;
mod record;
mod sections;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use cell::Bench;

fn main() -> ExitCode {
    let mut bench = Bench { seconds: 1.0, times: 3, ..Bench::default() };
    let mut sections = Vec::new();
    let (mut json, mut other) = (None, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut file = |name: &str| (arg == name).then(|| args.next().map(PathBuf::from)).flatten();
        match sections::ALL.iter().find(|section| section.0 == arg) {
            Some(section) => sections.push(section.1),
            None if arg == "--quick" => (bench.seconds, bench.times) = (0.1, 1),
            None if let Some(file) = file("--json") => json = Some(file),
            None if let Some(file) = file("--compare") => other = Some(file),
            None => {
                let names: Vec<_> = sections::ALL.iter().map(|section| section.0).collect();
                eprintln!(
                    "usage: cargo run --release -p raddle-benches -- [--quick] [--json FILE] [--compare FILE] [{}]...",
                    names.join("|")
                );
                return ExitCode::from(2);
            }
        }
    }
    let before = match other.map(|file| record::read(&file)).transpose() {
        Ok(before) => before,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    if sections.is_empty() {
        sections.extend(sections::ALL.iter().map(|section| section.1));
    }
    let begin = Instant::now();
    match build::engine() {
        Ok(engine) => bench.engine = engine,
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::FAILURE;
        }
    }
    for section in sections {
        section(&bench);
    }
    println!("\nmeasured in {} s; each figure is the median of {}", begin.elapsed().as_secs(), bench.times);
    if let Some(before) = before {
        record::compare(&before);
    }
    if let Some(Err(problem)) = json.map(|file| record::write(&file)) {
        eprintln!("error: {problem}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
