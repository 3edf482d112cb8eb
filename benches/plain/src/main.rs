//! What is measured without Raddle. The driver runs one measurement per process:
//!
//! ```text
//! plain loom <program> <seconds>
//! plain shuttle <program> <random|pct|dfs> <seconds>
//! plain switch <bare|fs|call> <seconds>
//! plain event <kind> <seconds>
//! plain test <name> <seconds>
//! plain stress <program> <seconds>
//! ```

#[path = "../../shared/events.rs"]
mod events;
#[path = "../../shared/measure.rs"]
mod measure;
mod on_loom;
mod on_shuttle;
mod stress;
mod switch;
#[path = "../../shared/tests.rs"]
mod tests;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match *args.as_slice() {
        ["loom", program, seconds] => on_loom::explore(program, number(seconds)),
        ["shuttle", program, strategy, seconds] => on_shuttle::explore(program, strategy, number(seconds)),
        ["switch", kind, seconds] => switch::switch(kind, number(seconds)),
        ["event", kind, seconds] => {
            let &(_, events) = events::KINDS.iter().find(|known| known.0 == kind).expect("no such event");
            let places = events::places();
            measure::time(number(seconds), events::EVENTS, || events(&places));
        }
        ["test", name, seconds] => {
            let &(_, test) = tests::TESTS.iter().find(|test| test.0 == name).expect("no such test");
            measure::time(number(seconds), 1, test);
        }
        ["stress", program, seconds] => stress::stress(program, number(seconds)),
        _ => eprintln!("run `cargo run --release -p raddle-benches`"),
    }
}

fn number(text: &str) -> f64 {
    text.parse().expect("not a number")
}
