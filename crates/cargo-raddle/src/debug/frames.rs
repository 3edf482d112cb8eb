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
    let Some(first) = first_shown(frames) else { return frames.iter().take(1).map(tidied).collect() };
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

fn is_code_under_test(frame: &Value) -> bool {
    let Some(path) = frame["source"]["path"].as_str() else { return false };
    let of_toolchain = ["/rustc/", "/lib/rustlib/src/"].iter().any(|part| path.contains(part));
    !of_toolchain && !is_raddles(frame) && !is_of_std(&tidy(name(frame)))
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
    of_symbols || CRATES.contains(&crate_of(name)) || name.starts_with("__tsan_") || name == "raddle_stop"
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
}
