//! What Raddle explores, and ordinary tests in an instrumented program. The driver runs one measurement per process:
//!
//! ```text
//! engine explore <program> <strategy> <seconds>
//! engine exhaust <program> <sc|rc11> <on|off> <seconds>
//! engine memory <program> <strategy> <executions>
//! engine event <kind> <alone|same thread|every event> <seconds>
//! engine test <name> <seconds>
//! engine failure <example> <found|small>
//! engine report <events> <directory>
//! engine verification <bare|recorded|verified> <executions>
//! engine schedules <on|off> <executions>
//! engine stress <seconds>
//! ```

#[path = "../shared/classics.rs"]
mod classics;
mod declarative;
#[path = "../shared/events.rs"]
mod events;
mod exhaust;
mod explore;
#[path = "../shared/measure.rs"]
mod measure;
#[path = "../shared/programs.rs"]
mod programs;
mod report;
mod teaching;
#[path = "../shared/tests.rs"]
mod tests;

/// What programs are made of: here, the standard library.
mod rt {
    pub(crate) use std::sync::Mutex;
    pub(crate) use std::sync::atomic::{AtomicUsize, Ordering};
    pub(crate) use std::thread;
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // As under libtest, explorations are not made on the main thread.
    std::thread::scope(|scope| _ = scope.spawn(|| run(&args)));
}

fn run(args: &[&str]) {
    match *args {
        ["explore", program, strategy, seconds] => explore::explore(program, strategy, number(seconds)),
        ["exhaust", program, memory, races, seconds] => {
            exhaust::exhaust(program, memory, races == "on", number(seconds));
        }
        ["memory", program, strategy, executions] => explore::memory(program, strategy, number(executions)),
        ["event", kind, threads, seconds] => explore::event(kind, threads, number(seconds)),
        ["test", name, seconds] => {
            let &(_, test) = tests::TESTS.iter().find(|test| test.0 == name).expect("no such test");
            measure::time(number(seconds), 1, test);
        }
        ["failure", example, how] => declarative::failure(example, how == "small"),
        ["report", events, directory] => report::failure(number(events), directory),
        ["verification", how, executions] => declarative::verification(how, number(executions)),
        ["schedules", races, executions] => teaching::schedules(races == "on", number(executions)),
        ["stress", seconds] => declarative::stress(number(seconds)),
        // Run by hand or by `cargo bench`.
        _ => println!("run `cargo run --release -p raddle-benches`"),
    }
}

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().expect("not a number")
}
