//! The files in `corpus/`: seeds of the fuzzers, and inputs that failed once.
#![allow(missing_docs)]

use std::fs;
use std::path::Path;

fn check(name: &str) {
    let target = fuzz_targets::target(name).expect("a target");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut inputs = 0;
    for file in fs::read_dir(&directory).expect("a directory for the target") {
        let path = file.expect("an entry").path();
        let data = fs::read(&path).expect("a file");
        eprintln!("{}", path.display());
        target(&data);
        // And what is left of it when it is cut off.
        for end in [data.len() / 3, data.len() / 2, data.len().saturating_sub(2)] {
            target(&data[..end]);
        }
        inputs += 1;
    }
    assert!(inputs > 0, "{} is empty", directory.display());
}

#[test]
fn every_target_has_a_corpus() {
    for (name, _) in fuzz_targets::TARGETS {
        check(name);
    }
}
