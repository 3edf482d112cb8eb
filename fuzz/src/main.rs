//! One target of `fuzz-targets` under libFuzzer; `FUZZ_TARGET` names it.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
        match &*name {
            "regressions" => raddle::fuzz_regressions,
            _ => fuzz_targets::target(&name).expect("there is such a target"),
        }
    });
    target(data);
});
