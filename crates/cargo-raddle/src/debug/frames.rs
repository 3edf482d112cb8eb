//! Call stacks as a person wants to see them: the code under test, without Raddle's own frames, under names as they are written
//! in Rust.

use serde_json::{Value, json};

/// The frames that are shown of a call stack, innermost first: from the innermost one of the code under test to its outermost
/// one. The standard library's frames in between are kept, and marked as less important.
pub(crate) fn shown(frames: &[Value]) -> Vec<Value> {
    let tidied = |frame: &Value| {
        let mut frame = frame.clone();
        frame["name"] = json!(tidy(name(&frame)));
        frame
    };
    let Some(first) = first_shown(frames) else {
        // What has called Raddle, at least.
        let calls_raddle = |pair: &[Value]| is_raddles(&pair[0]) && !is_raddles(&pair[1]);
        let caller = frames.windows(2).position(calls_raddle).map_or(0, |callee| callee + 1);
        return frames.iter().skip(caller).take(1).map(tidied).collect();
    };
    let last = frames.iter().rposition(is_code_under_test).unwrap_or(first);
    let mut shown = Vec::new();
    for frame in &frames[first..=last] {
        let mut frame = tidied(frame);
        if !is_code_under_test(&frame) {
            if is_raddles(&frame) {
                continue;
            }
            frame["presentationHint"] = json!("subtle");
        }
        shown.push(frame);
    }
    shown
}

/// The index of the innermost frame of the code under test.
pub(crate) fn first_shown(frames: &[Value]) -> Option<usize> {
    frames.iter().position(is_code_under_test)
}

/// Whether the innermost frames of a stack do something for Raddle. Copies that the program makes go through Raddle, too.
pub(crate) fn is_raddles_work(frames: &[Value]) -> bool {
    let is_copy = |frame: &Value| name(frame).starts_with("__tsan_mem");
    frames.iter().any(is_raddles) && !frames.iter().any(is_copy)
}

/// Whether the innermost frames of a stack give memory back.
pub(crate) fn is_freeing(frames: &[Value]) -> bool {
    let function =
        |frame: &Value| tidy(name(frame)).rsplit("::").next().map(str::to_owned).unwrap_or_default();
    frames
        .iter()
        .any(|frame| is_raddles(frame) && matches!(&*function(frame), "free" | "realloc" | "realloc_from"))
}

fn is_code_under_test(frame: &Value) -> bool {
    let Some(path) = frame["source"]["path"].as_str() else { return false };
    let of_toolchain = ["/rustc/", "/lib/rustlib/src/"].iter().any(|part| path.contains(part));
    // Nobody has the sources of the C library where it was built: its paths are left as they were written.
    let of_system = !path.starts_with('/') && !name(frame).contains("::");
    !of_toolchain && !of_system && !is_raddles(frame) && !is_of_std(&tidy(name(frame)))
}

fn name(frame: &Value) -> &str {
    frame["name"].as_str().unwrap_or_default()
}

/// Whether a frame is Raddle's. Its C symbols, such as `pthread_join`, are known by their files only.
fn is_raddles(frame: &Value) -> bool {
    let path = frame["source"]["path"].as_str().unwrap_or_default();
    let of_symbols = ["/raddle-intercept", "/raddle-engine"].iter().any(|part| path.contains(part));
    let name = &*tidy(name(frame));
    const CRATES: [&str; 5] =
        ["raddle", "raddle_engine", "raddle_intercept", "raddle_reflect", "raddle_check"];
    let is_callback = ["__tsan_", "__asan_"].iter().any(|prefix| name.starts_with(prefix));
    of_symbols || CRATES.contains(&crate_of(name)) || is_callback || name == "raddle_stop"
}

fn is_of_std(name: &str) -> bool {
    ["core", "alloc", "std", "test"].contains(&crate_of(name))
}

/// The crate that a function is from: `core` of `<core::option::Option<T> as ...>::eq`.
fn crate_of(name: &str) -> &str {
    let name = name.trim_start_matches(['<', '&', '(', '*', '_']);
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()
}

/// A function's name as it is written in Rust, from what a debugger makes of the compiler's name.
pub(crate) fn tidy(name: &str) -> String {
    let name = name.rsplit_once("::h").filter(|(_, hash)| is_hash(hash)).map_or(name, |(name, _)| name);
    let mut tidied = String::new();
    let mut rest = name;
    while let Some(at) = rest.find('$') {
        let escape = &rest[at + 1..];
        let Some((code, after)) = escape.split_once('$') else { break };
        let Some(text) = unescape(code) else {
            tidied.push_str(&rest[..=at]);
            rest = escape;
            continue;
        };
        // An identifier cannot begin with an escape: an underscore comes first.
        let before = &rest[..at];
        let before =
            before.strip_suffix('_').filter(|part| part.is_empty() || part.ends_with("::")).unwrap_or(before);
        tidied.push_str(before);
        tidied.push(text);
        rest = after;
    }
    tidied.push_str(rest);
    tidied.replace("..", "::").replace("{{", "{").replace("}}", "}")
}

fn is_hash(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn unescape(code: &str) -> Option<char> {
    Some(match code {
        "LT" => '<',
        "GT" => '>',
        "RF" => '&',
        "BP" => '*',
        "LP" => '(',
        "RP" => ')',
        "C" => ',',
        "SP" => '@',
        _ => char::from_u32(u32::from_str_radix(code.strip_prefix('u')?, 16).ok()?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tidied() {
        for (name, tidied) in [
            ("demo::Spsc::dequeue::h0550a1b2c3d4e5f6", "demo::Spsc::dequeue"),
            ("demo::main::_$u7b$$u7b$closure$u7d$$u7d$::h0550a1b2c3d4e5f6", "demo::main::{closure}"),
            (
                "_$LT$alloc..sync..Arc$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$::drop",
                "<alloc::sync::Arc<T> as core::ops::drop::Drop>::drop",
            ),
            ("<demo::Spsc>::dequeue", "<demo::Spsc>::dequeue"),
            ("raddle_stop", "raddle_stop"),
            ("a$b", "a$b"),
            ("f::{{closure}}", "f::{closure}"),
        ] {
            assert_eq!(tidy(name), tidied);
        }
    }

    fn frame(name: &str, path: &str) -> Value {
        match path {
            "" => json!({"name": name}),
            _ => json!({"name": name, "source": {"path": path}}),
        }
    }

    #[test]
    fn stacks_begin_and_end_with_code_under_test() {
        let frames = [
            frame("raddle_stop", "/home/raddle-engine/src/platform/debugger.rs"),
            frame("raddle_engine::execution::Engine::record::h0550a1b2c3d4e5f6", "/home/recording.rs"),
            frame("__tsan_atomic32_load", ""),
            frame("pthread_join", "/home/raddle-intercept/src/threads.rs"),
            frame("core::sync::atomic::atomic_load", "/rustc/1234/library/core/src/sync/atomic.rs"),
            frame("counter::Counter::increment", "/home/counter/src/lib.rs"),
            frame("core::ops::function::FnOnce::call_once", "/rustc/1234/library/core/src/ops/function.rs"),
            frame("raddle::operation::operation", "/home/raddle/src/operation.rs"),
            frame("tests::lost_update", "/home/counter/tests/tests.rs"),
            frame("std::sys::thread_start", "/rustc/1234/library/std/src/sys/thread.rs"),
        ];
        assert_eq!(first_shown(&frames), Some(5));
        let names: Vec<_> = shown(&frames).iter().map(|frame| name(frame).to_owned()).collect();
        assert_eq!(
            names,
            ["counter::Counter::increment", "core::ops::function::FnOnce::call_once", "tests::lost_update"]
        );
        // Where there is nothing to show, there is something to look at.
        assert_eq!(shown(&frames[..3]).len(), 1);
    }

    #[test]
    fn without_code_under_test_the_caller_of_raddle_is_shown() {
        let frames = [
            frame("core::hint::black_box", "/rustc/1234/library/core/src/hint.rs"),
            frame("raddle_stop", "/home/raddle-engine/src/platform/debugger.rs"),
            frame("pthread_join", "/home/raddle-intercept/src/threads.rs"),
            frame("std::sys::thread::join", "/rustc/1234/library/std/src/sys/thread.rs"),
            frame("raddle::operation::operation", "/home/raddle/src/operation.rs"),
        ];
        assert_eq!(first_shown(&frames), None);
        assert_eq!(shown(&frames).len(), 1);
        assert_eq!(shown(&frames)[0]["name"], "std::sys::thread::join");
        assert_eq!(shown(&frames[..2])[0]["name"], "core::hint::black_box");
    }

    #[test]
    fn what_raddle_writes_for_itself_is_told_apart() {
        let memset = || frame("__memset_avx2_unaligned_erms", "sysdeps/x86_64/multiarch/memset.S");
        let copy = || frame("__tsan_memcpy", "/home/raddle-intercept/src/plain.rs");
        let free = || frame("free", "/home/raddle-intercept/src/memory.rs");
        let user = || frame("counter::Counter::reset", "/home/counter/src/lib.rs");
        for (frames, first, is_raddles) in [
            (vec![memset(), free(), user()], 2, true),
            (vec![memset(), user()], 1, false),
            (vec![memset(), copy(), user()], 2, false),
            (vec![user(), free(), user()], 0, false),
        ] {
            assert_eq!(first_shown(&frames), Some(first), "{frames:?}");
            assert_eq!(is_raddles_work(&frames[..first]), is_raddles, "{frames:?}");
            assert_eq!(is_freeing(&frames[..first]), is_raddles, "{frames:?}");
        }
    }
}
