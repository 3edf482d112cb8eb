//! What is said about a program that was compiled with the real instrumentation, unoptimised and optimised.

mod fixture;

use std::sync::OnceLock;

use fixture::Fixture;
use raddle_reflect::{Program, Site};

#[test]
fn the_program_s_own_accesses_are_the_user_s() {
    for label in
        ["counter", "field", "nested", "element", "local", "through", "arc-inner", "thread-body", "fetch_add"]
    {
        check_sites(label, Site::User);
    }
}

#[test]
fn counting_handles_is_neither_the_user_s_nor_a_question() {
    check_sites("arc-clone", Site::RefCountUp);
    check_sites("arc-downgrade", Site::RefCountUp);
    check_sites("weak-clone", Site::RefCountUp);
    check_sites("weak-upgrade", Site::User);
    check_sites("arc-count", Site::User);
    check_sites("arc-drop", Site::RefCountDown);
    check_sites("weak-drop", Site::WeakCountDown);
}

#[test]
fn locking_a_mutex_is_told_from_unlocking_it_and_from_its_flags() {
    for fixture in fixtures() {
        for event in fixture.labelled("lock") {
            let expected: &[Site] = match event.symbol.as_str() {
                "compare_exchange" => &[Site::MutexLock],
                "load" => &[Site::ThreadBookkeeping],
                // Optimisation may leave no trace of the guard's own functions.
                _ => &[Site::Std, Site::User],
            };
            let site = fixture.site(event);
            assert!(expected.contains(&site), "{site:?}: {} in {}", event.symbol, fixture.path.display());
        }
    }
}

#[test]
fn starting_and_joining_threads_is_bookkeeping() {
    for fixture in fixtures() {
        for event in fixture.labelled("thread") {
            let site = fixture.site(event);
            let expected = [Site::ThreadBookkeeping, Site::ScopeEnd];
            assert!(expected.contains(&site), "{site:?}: {} in {}", event.symbol, fixture.path.display());
        }
    }
}

#[test]
fn operations_made_into_loops_are_told() {
    for operation in ["fetch_min", "fetch_max", "fetch_nand", "fetch_and", "fetch_or", "fetch_xor"] {
        check_sites(operation, Site::ExpandedRmw(operation));
    }
}

#[test]
fn plumbing_alone_says_that_the_caller_decides() {
    let event = unoptimised().labelled("field")[0];
    assert_eq!(unoptimised().program.classify(event.stack[0].0), Site::Plumbing);
    let event = optimised().labelled("field")[0];
    assert_eq!(optimised().program.classify(event.stack[0].0), Site::User);
}

#[test]
fn frames_name_the_user_s_line() {
    for fixture in fixtures() {
        let event = fixture.labelled("counter")[0];
        let all = fixture.program.frames(event.stack[0].0);
        assert!(all[0].internal && all[0].function.starts_with("core::sync::atomic::"), "{all:#?}");
        assert_eq!(all[0].file.as_deref(), Some("core/src/sync/atomic.rs"));
        let user = &fixture.user_frames(event)[0];
        assert_eq!(user.function, "program::statics");
        assert_eq!(user.file.as_deref(), Some("tests/fixtures/program.rs"));
        assert_eq!(user.line, Some(line_of("COUNTER.fetch_add")));
        let main = &fixture.user_frames(event)[1];
        assert_eq!((main.function.as_str(), main.line), ("program::main", Some(line_of("    statics();"))));
    }
}

#[test]
fn inlined_closures_keep_their_names() {
    for fixture in fixtures() {
        let body = fixture.labelled("thread-body")[0];
        let frames = fixture.user_frames(body);
        assert_eq!(frames[0].function, "program::threads::{closure}");
        assert!(
            frames.iter().all(|frame| frame.file.as_ref().unwrap().ends_with("program.rs")),
            "{frames:#?}"
        );
    }
}

#[test]
fn physical_functions_are_those_that_were_called() {
    let event = optimised().labelled("counter")[0];
    assert_eq!(optimised().program.function(event.stack[0].0).as_deref(), Some("program::statics"));
    let event = unoptimised().labelled("counter")[0];
    let innermost = unoptimised().program.function(event.stack[0].0).unwrap();
    assert!(innermost.starts_with("core::sync::atomic::"), "{innermost}");
}

#[test]
fn statics_have_names_down_to_the_field() {
    for fixture in fixtures() {
        let name = |label: &str, nth: usize| {
            fixture.program.static_name(fixture.labelled(label)[nth].address).unwrap_or_default()
        };
        assert_eq!(name("counter", 0), "program::COUNTER");
        assert_eq!(name("field", 0), "program::STATE.ready");
        assert_eq!(name("nested", 0), "program::STATE.inner.high");
        assert_eq!(name("nested", 1), "program::STATE.inner.low");
        assert_eq!(name("element", 0), "program::TABLE[2]");
        assert_eq!(name("lock", 0), "program::LOCK");
        assert_eq!(fixture.program.static_name(0x1000), None);
    }
}

#[test]
fn locals_have_names_down_to_the_field() {
    let fixture = unoptimised();
    let name = |label: &str| fixture.local_name(fixture.labelled(label)[0]).unwrap_or_default();
    assert_eq!(name("local"), "gate.waiting");
    assert_eq!(name("through"), "gate.open");
    assert_eq!(name("method"), "self.gate.open");
    assert_eq!(name("closure"), "pair.1");
}

#[test]
fn a_local_is_named_without_reading_memory_where_it_lies_in_the_frame() {
    let fixture = unoptimised();
    let event = fixture.labelled("local")[0];
    let names = event.stack.iter().map(|&(ra, fp)| fixture.program.local_name(ra, fp, event.address));
    assert_eq!(names.flatten().next().as_deref(), Some("gate.waiting"));
}

#[test]
fn builds_have_identities() {
    let [one, other] = fixtures().map(|fixture| fixture.program.build_id());
    assert_ne!(one, other);
    assert_eq!(one, Program::open(&unoptimised().path, 0).unwrap().build_id());
    assert!(one.len() >= 16 && one.bytes().all(|b| b.is_ascii_hexdigit()), "{one}");
}

#[test]
fn the_running_program_knows_itself() {
    let program = Program::current().unwrap();
    let here = the_running_program_knows_itself as fn() as usize as u64;
    let frames = program.frames(here + 1);
    assert_eq!(frames.last().unwrap().function, "instrumented::the_running_program_knows_itself");
    assert!(frames[0].file.as_ref().unwrap().ends_with("tests/instrumented.rs"), "{frames:?}");
}

#[test]
fn what_is_no_program_is_refused() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let error = Program::open(&source, 0).err().unwrap().to_string();
    assert!(error.contains("is not a 64-bit little-endian ELF program"), "{error}");
    assert!(Program::open(&source.join("none"), 0).is_err());
}

#[track_caller]
fn check_sites(label: &str, expected: Site) {
    for fixture in fixtures() {
        for event in fixture.labelled(label) {
            let frames: Vec<_> = event
                .stack
                .iter()
                .flat_map(|&(ra, _)| fixture.program.frames(ra))
                .map(|f| f.function)
                .collect();
            let place = fixture.path.parent().unwrap().file_name().unwrap();
            assert_eq!(
                fixture.site(event),
                expected,
                "{} under {label} in {place:?}: {frames:#?}",
                event.symbol
            );
        }
    }
}

fn fixtures() -> [&'static Fixture; 2] {
    [unoptimised(), optimised()]
}

fn unoptimised() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| Fixture::build(0))
}

fn optimised() -> &'static Fixture {
    static FIXTURE: OnceLock<Fixture> = OnceLock::new();
    FIXTURE.get_or_init(|| Fixture::build(3))
}

/// The line of the fixture program that begins with or contains a text.
fn line_of(text: &str) -> u32 {
    let source = include_str!("fixtures/program.rs");
    1 + source.lines().position(|line| line.contains(text)).expect("the text is in the fixture") as u32
}
