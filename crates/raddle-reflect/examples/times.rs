//! Measures what opening a program and asking about addresses costs:
//! `cargo run --release -p raddle-reflect --example times -- <program>`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use raddle_reflect::{Program, ReflectError};

fn main() -> Result<(), ReflectError> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("/proc/self/exe"), PathBuf::from);
    let size = std::fs::metadata(&path).map_or(0, |file| file.len());
    println!("{} ({} MB)", path.display(), size >> 20);

    let (program, took) = timed(|| Program::open(&path, 0));
    let program = program?;
    println!("open            {took:>12.1?}");
    println!("build id        {:>12.1?}", timed(|| program.build_id()).1);

    // Addresses all over the program: most of them in some function.
    let addresses: Vec<u64> = (1..2000).map(|n| n * size / 4 / 2000).collect();
    let known: Vec<u64> = addresses.iter().copied().filter(|&a| program.function(a).is_some()).collect();
    println!("functions hit   {:>12}", known.len());

    let program = Program::open(&path, 0)?;
    let Some(&first) = known.first() else { return Ok(()) };
    println!("first question  {:>12.1?}", timed(|| program.classify(first)).1);
    report("classify", &known, |address| {
        program.classify(address);
    });
    report("classify again", &known, |address| {
        program.classify(address);
    });
    report("frames", &known, |address| drop(program.frames(address)));
    report("frames again", &known, |address| drop(program.frames(address)));
    println!("first static    {:>12.1?}", timed(|| program.static_name(size / 4)).1);
    report("static_name", &addresses, |address| drop(program.static_name(address)));
    Ok(())
}

fn report(what: &str, addresses: &[u64], mut ask: impl FnMut(u64)) {
    let mut times: Vec<Duration> = addresses.iter().map(|&address| timed(|| ask(address)).1).collect();
    times.sort_unstable();
    let total: Duration = times.iter().sum();
    let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
    println!(
        "{what:<15} median {median:>9.1?}, mean {:>9.1?}, worst {worst:>9.1?}",
        total / times.len() as u32
    );
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}
