//! Searches that go on in later processes come to the outcomes of the whole.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use differential::interpret::run;
use differential::random::{Profile, program};
use raddle::{Explorer, Memory, Strategy};

const PROFILES: [Profile; 5] =
    [Profile::Atomics, Profile::Locks, Profile::Condvar, Profile::Channels, Profile::Mixed];

/// Run by the test below, in processes of their own.
#[test]
#[ignore = "a part of another test"]
fn part() {
    let Ok(which) = std::env::var("DIFFERENTIAL_PROGRAM") else { return };
    let (profile, seed) = which.split_once(' ').unwrap();
    let profile = PROFILES[profile.parse::<usize>().unwrap()];
    let program = Box::leak(Box::new(program(profile, seed.parse().unwrap())));
    let explorer = Explorer::new().strategy(Strategy::Exhaustive).memory(Memory::Sc).allow_one_thread(true);
    match explorer.budget(Duration::from_secs(10)).try_run(|| run(program)) {
        Ok(report) => {
            for outcome in report.outcomes.keys() {
                println!("outcome: {outcome:?}");
            }
            println!("executions: {} {}", report.executions, report.exhausted);
        }
        Err(failure) => println!("failure: {:?}", failure.kind),
    }
}

/// What a search came to, or the part of it that one process makes.
#[derive(Default, PartialEq, Debug)]
struct Part {
    outcomes: BTreeSet<String>,
    executions: String,
    ended: bool,
}

fn in_process(directory: &Path, which: &str, variables: &[(&str, &str)]) -> Part {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "part", "--ignored", "--nocapture", "--test-threads=1"])
        .env("RADDLE_OWNED", "1")
        .env("RADDLE_TEST", "part")
        .env("RADDLE_FAILURES", directory)
        .env("DIFFERENTIAL_PROGRAM", which)
        .env_remove("RADDLE_PROGRESS")
        .envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let told =
        |what: &'static str| text.lines().filter_map(move |line| line.split_once(what)).map(|(_, told)| told);
    if let Some(kind) = told("failure: ").next() {
        return Part { outcomes: [kind.to_owned()].into(), executions: String::new(), ended: true };
    }
    let figures = told("executions: ").next().and_then(|figures| figures.split_once(' '));
    let (executions, ended) = figures.unwrap_or_else(|| {
        panic!("{which}: {text}{}", String::from_utf8_lossy(&output.stderr));
    });
    let outcomes = told("outcome: ").map(str::to_owned).collect();
    Part { outcomes, executions: executions.to_owned(), ended: ended == "true" }
}

#[test]
fn parts_have_the_outcomes_of_the_whole() {
    let directory = std::env::temp_dir().join(format!("raddle-differential-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut in_parts = 0;
    for (number, profile) in PROFILES.iter().enumerate() {
        for seed in 0..4 {
            let which = format!("{number} {seed}");
            let whole = in_process(&directory, &which, &[]);
            if !whole.ended {
                continue;
            }
            let mut parts = Part::default();
            let mut processes = 0;
            while !parts.ended {
                let variables = [("RADDLE_RESUME", "on"), ("RADDLE_EXECUTIONS", "4")];
                let part = in_process(&directory, &which, &variables);
                parts.outcomes.extend(part.outcomes);
                (parts.executions, parts.ended) = (part.executions, part.ended);
                processes += 1;
                // The rest at once.
                if processes == 10 && !parts.ended {
                    let part = in_process(&directory, &which, &[("RADDLE_RESUME", "on")]);
                    parts.outcomes.extend(part.outcomes);
                    (parts.executions, parts.ended) = (part.executions, part.ended);
                    break;
                }
            }
            assert_eq!(parts, whole, "{profile:?}, seed {seed}");
            in_parts += u32::from(processes > 1);
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(in_parts > 4, "only {in_parts} programs took more than one process");
}
