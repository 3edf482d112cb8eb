//! What instrumentation is: the compiler flags, and which crates get them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::announce;
use crate::cargo::metadata::Package;
use crate::cargo::{Metadata, UNSTABLE};
use crate::error::{Error, Result};
use crate::passthrough::Passthrough;

/// A compiler argument (or an option and its value) with the reason for it.
pub(crate) struct Flag {
    pub(crate) args: &'static [&'static str],
    /// Documentation for whoever changes the table.
    #[allow(dead_code, reason = "read by people")]
    pub(crate) why: &'static str,
}

/// What is added to the command line of every instrumented crate.
pub(crate) const FLAGS: &[Flag] = &[
    Flag {
        args: &["-C", "passes=function(tsan),forceattrs,function(atomic-expand,tsan)"],
        why: "the thread sanitizer's pass turns atomic accesses into calls, all but fetch_min and fetch_max; atomic-expand \
              makes those loops of compare-exchange, which the second run sees. Expanding first would hide more: it \
              makes `fetch_sub(1) == 1` one machine instruction. The second run also announces copies of memory and volatile \
              accesses, in functions that have the attribute which forceattrs gives them in between. In optimised code they \
              have it from the beginning, and the first run does that",
    },
    Flag {
        args: &["-C", "llvm-args=-tsan-distinguish-volatile"],
        why: "volatile accesses are announced by other names: who writes them knows that others access the place meanwhile",
    },
    Flag {
        args: &["-C", "llvm-args=-tsan-instrument-func-entry-exit=0"],
        why: "stacks are walked by frame pointers where they are needed, so calls need not be announced",
    },
    Flag {
        args: &["-C", "force-frame-pointers=yes"],
        why: "lets the engine walk the stack at an event without unwinding tables",
    },
    Flag {
        args: &["-C", "llvm-args=-rotation-max-header-size=0"],
        why: "a loop that waits is recognised by coming back to the same code; rotation makes a copy of the first round",
    },
    Flag { args: &["-C", "llvm-args=-unroll-allow-peeling=false"], why: "and so does peeling" },
    Flag { args: &["-C", "strip=none"], why: "profiles strip what traces need to name source lines" },
    Flag {
        args: &["-C", "split-debuginfo=off"],
        why: "profiles may put debug information into files of its own, traces read it from the program",
    },
    Flag {
        args: &["--cfg", "raddle"],
        why: "lets tests (never the code under test) ask whether they are explored",
    },
    Flag { args: &["--check-cfg", "cfg(raddle)"], why: "and ask without a warning" },
];

/// What makes plain accesses be announced.
pub(crate) const ANNOUNCED: &[Flag] = &[
    Flag {
        args: &["-C", "passes=asan,rewrite-symbols,forceattrs,function(dce)"],
        why: "the address sanitizer's pass announces plain accesses by calls that the code takes for one instruction: they change \
              two registers and the flags, where a function changes most. Values stay in registers, which is most of the \
              difference if the calls are taken out (raddle-engine, platform/idle_calls.rs). What the thread sanitizer's pass \
              announces as well is removed by the other passes (announce.rs)",
    },
    Flag {
        args: &[
            "-C",
            "llvm-args=-force-attribute=sanitize_thread",
            "-C",
            "llvm-args=-force-attribute=sanitize_address",
        ],
        why: "so that data races and all uses of freed memory are found. It costs time: code that explores nothing takes up to \
              twice as long",
    },
    Flag {
        args: &[
            "-C",
            "llvm-args=-asan-optimize-callbacks",
            "-C",
            "llvm-args=-asan-instrumentation-with-call-threshold=0",
            "-C",
            "llvm-args=-asan-mapping-scale=0",
        ],
        why: "the calls are those that change two registers, also where the address is not aligned",
    },
    Flag {
        args: &[
            "-C",
            "llvm-args=-asan-opt-same-temp=0",
            "-C",
            "llvm-args=-asan-opt-globals=0",
            "-C",
            "llvm-args=-asan-use-stack-safety=0",
        ],
        why: "a write is announced after a read of the same place, and accesses that are in bounds can race",
    },
    Flag {
        args: &[
            "-C",
            "llvm-args=-asan-instrument-atomics=0",
            "-C",
            "llvm-args=-asan-stack=0",
            "-C",
            "llvm-args=-asan-globals=0",
            "-C",
            "llvm-args=-asan-constructor-kind=none",
        ],
        why: "nothing else of the address sanitizer is of use",
    },
    Flag {
        args: &["-C", "no-redzone=yes", "-C", "llvm-args=-enable-shrink-wrap=false"],
        why: "the calls push a return address, of which code that takes them for an instruction knows nothing; and stacks are walked from \
              there, which takes a frame",
    },
];

/// What is added to crates that are optimised, but not together with others. Crates that are compiled incrementally stay as they are: one part
/// would be compiled again after each change.
pub(crate) const WHOLE: Flag = Flag {
    args: &["-C", "codegen-units=1"],
    why: "the parts of a crate would be optimised together after each of them was by itself. The passes of the instrumentation run in \
          between, and loops that have calls of theirs are not vectorised. One part is better code in less time of the processor",
};

/// Added where the profile gives no debug information at all: traces name source lines and variables.
pub(crate) const DEBUGINFO: &[&str] = &["-C", "debuginfo=2"];

/// The instrumentation of one build, as the wrapper reads it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// What is added to the command line of an instrumented crate.
    pub(crate) flags: Vec<String>,
    /// What is added if the crate is optimised, but neither together with others nor incrementally.
    pub(crate) whole: Vec<String>,
    /// What is added if the profile asks for no debug information.
    pub(crate) debuginfo: Vec<String>,
    /// The libraries that are not instrumented.
    pub(crate) uninstrumented: Uninstrumented,
    /// What is added to the command lines of those.
    pub(crate) libraries: LibraryFlags,
    /// What is added to the command line of every crate, because it may be linked with instrumented ones.
    pub(crate) link: Vec<String>,
    /// The compiler, with its version, as it describes itself.
    pub(crate) compiler: String,
    /// Where the wrapper notes the test binaries that have a `main` of their own.
    pub(crate) own_main: PathBuf,
    /// Where the wrapper notes how test binaries are compiled.
    pub(crate) command_lines: PathBuf,
}

/// Libraries that are not instrumented, each by its root source file.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Uninstrumented {
    /// Raddle's own and what they are made of.
    pub(crate) engine: BTreeSet<PathBuf>,
    /// What the user lists.
    pub(crate) listed: BTreeSet<PathBuf>,
}

/// What is added to the command lines of uninstrumented libraries.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LibraryFlags {
    /// Added unless the library is optimised anyway.
    ///
    /// Without it, instrumented code would call uninstrumented code by accident. Below `opt-level=2` the compiler takes
    /// instances of generic functions from the libraries it finds them in: a test that loads an atomic (`atomic_load::<u32>`, a
    /// function of its own then) would use the engine's copy of that function, unseen by the engine. Optimised libraries
    /// offer no copies. And nobody wants to wait for an unoptimised engine.
    pub(crate) optimised: Vec<String>,
    /// Added to all of them, because `optimised` is not enough: instances of generic functions that are never inlined (`Arc::drop_slow`, the parts of
    /// `sort`) are shared at every level. The compiler offers to other crates only instances that could be exported from a program, and
    /// hidden symbols cannot. Empty where the compiler does not know the flag.
    pub(crate) hidden: Vec<String>,
    /// Added to `optimised` for the user's libraries, where the profile does not say otherwise: unoptimised code has them.
    pub(crate) assertions: Vec<String>,
    /// Added to Raddle's own libraries and to those that they are made of. Their debug information would be most of a test binary, take a
    /// third of the time to compile them, and tell a trace nothing: it shows the program's own code. Line tables alone would do harm:
    /// functions in them have names without paths, by which a trace could not tell that they are Raddle's.
    pub(crate) engine: Vec<String>,
    /// Those that run at every event.
    pub(crate) hot: Group,
    /// Those that run at some events, on the stack of the program, and those whose loops are compared with the loops of other programs.
    pub(crate) warm: Group,
    /// Those that run once for each execution, or read whole programs.
    pub(crate) cold: Group,
    /// Added to all others, where programs are linked from machine code: they run once for each test or failure.
    pub(crate) frozen: Vec<String>,
    /// Whether cargo's wish to compile them incrementally is granted: where somebody works on them. Others compile them once, which
    /// takes longer that way.
    pub(crate) incremental: bool,
}

/// Libraries of Raddle's, or libraries that Raddle is made of, which are compiled alike.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Group {
    pub(crate) crates: Vec<String>,
    /// Added to their command lines, where programs are linked from machine code.
    pub(crate) flags: Vec<String>,
}

/// What LLVM does with cold crates: it removes what nobody calls, inlines, and keeps values in registers.
const PASSES: &str = "passes=function(sroa,early-cse,simplifycfg),globaldce,cgscc(inline,function(sroa,early-cse,simplifycfg)),globaldce";

impl LibraryFlags {
    /// The flags of this version, for this compiler.
    pub(crate) fn new(metadata: &Metadata, rustc: &OsStr) -> LibraryFlags {
        let mut flags = LibraryFlags::usual();
        flags.incremental = metadata.members().any(|package| package.name == "raddle");
        if !is_known(rustc, &flags.hidden) {
            eprintln!(
                "warning: this compiler lets programs share functions with Raddle's libraries, unseen: the last drop of an \
                 `Arc<String>` is one step (see \"What is controlled, and what is not\" in the book)"
            );
            flags.hidden.clear();
        }
        flags
    }

    /// The flags where nobody works on the libraries and the compiler knows all of them.
    pub(crate) fn usual() -> LibraryFlags {
        let args = |options: &[&str]| {
            options.iter().flat_map(|option| ["-C".to_owned(), (*option).to_owned()]).collect()
        };
        let group = |crates: &[&str], flags: &[&str]| Group {
            crates: crates.iter().map(|name| (*name).to_owned()).collect(),
            flags: args(flags),
        };
        LibraryFlags {
            optimised: args(&["opt-level=3"]),
            hidden: vec!["-Zdefault-visibility=hidden".to_owned()],
            assertions: args(&["debug-assertions=yes"]),
            engine: args(&["debuginfo=0"]),
            // Better code, in less time, than of many parts that are optimised together afterwards.
            hot: group(&["raddle_axioms", "raddle_engine", "raddle_intercept"], &["codegen-units=1"]),
            // The parts of a crate are not optimised together: a third of the time.
            warm: group(&["iced_x86", "raddle_stress"], &["lto=off"]),
            // The compiler takes them for optimised, and LLVM does what pays most: half of the time.
            cold: group(
                &["gimli", "raddle", "raddle_check", "raddle_refine", "raddle_reflect"],
                &["lto=off", "opt-level=2", "no-prepopulate-passes", PASSES],
            ),
            // They are not optimised at all, though the compiler takes them for that, and machine code is made as of unoptimised code.
            frozen: args(&[
                "lto=off",
                "opt-level=2",
                "no-prepopulate-passes",
                "llvm-args=-fast-isel",
                "llvm-args=-regalloc=fast",
                "llvm-args=-optimize-regalloc=false",
            ]),
            incremental: false,
        }
    }
}

/// Whether the compiler knows the unstable flags.
fn is_known(rustc: &OsStr, flags: &[String]) -> bool {
    let mut command = Command::new(rustc);
    command.env(UNSTABLE.0, UNSTABLE.1).args(flags).args(["--print", "sysroot"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The libraries that must not be instrumented.
pub(crate) fn uninstrumented(metadata: &Metadata) -> Result<Uninstrumented> {
    let sources = |packages: Vec<&Package>| {
        packages.into_iter().filter_map(Package::library).map(|library| library.src_path.clone()).collect()
    };
    // Instrumented, the engine would be a client of itself. Only what tests link counts: the command, whose packages are in the
    // workspace of Raddle itself, may share dependencies with the code under test.
    let engine = metadata.reachable(metadata.packages.iter().filter(|package| package.name == "raddle"));
    let names = listed(metadata)?;
    let listed = metadata.packages.iter().filter(|package| names.contains(&package.name)).collect();
    Ok(Uninstrumented { engine: sources(engine), listed: sources(listed) })
}

/// What `[package.metadata.raddle]` of the members and `[workspace.metadata.raddle]` list.
fn listed(metadata: &Metadata) -> Result<BTreeSet<String>> {
    let mut names = read_list(&metadata.metadata, "workspace.metadata.raddle")?;
    for package in metadata.members() {
        names.extend(read_list(&package.metadata, "package.metadata.raddle")?);
    }
    for name in &names {
        if !metadata.packages.iter().any(|package| package.name == *name) {
            eprintln!("warning: `{name}` is listed as uninstrumented but nothing here depends on it");
        }
    }
    Ok(names)
}

fn read_list(metadata: &Value, table: &str) -> Result<BTreeSet<String>> {
    match metadata.pointer("/raddle/uninstrumented") {
        None => Ok(BTreeSet::new()),
        Some(list) => serde_json::from_value(list.clone()).map_err(|_| {
            Error::usage(format_args!(
                "write `uninstrumented` in [{table}] as a list of package names: [\"crate-a\"]"
            ))
        }),
    }
}

/// What programs are linked with: definitions for those that do not link Raddle's, and an identity, which a replay
/// compares; not every C compiler asks its linker for one.
pub(crate) fn link_args(passthrough: &Passthrough, target: &str) -> Vec<String> {
    let mut args = vec!["-C".to_owned(), format!("link-arg={}", passthrough.library.display())];
    for function in &passthrough.wrapped {
        args.extend(["-C".to_owned(), format!("link-arg=-Wl,--wrap={function}")]);
    }
    if target.contains("linux") {
        args.extend(["-C".to_owned(), "link-arg=-Wl,--build-id=sha1".to_owned()]);
    }
    args
}

/// Whether any package here depends on Raddle.
pub(crate) fn uses_raddle(metadata: &Metadata) -> bool {
    metadata.packages.iter().any(|package| package.name == "raddle")
}

/// The flags as arguments. Plain accesses are announced if there is a file of `renames`, which that needs.
pub(crate) fn flags(renames: Option<&Path>) -> Vec<String> {
    let announced = if renames.is_some() { ANNOUNCED } else { &[] };
    let flags = FLAGS.iter().chain(announced).flat_map(|flag| flag.args).map(|arg| (*arg).to_owned());
    flags.chain(renames.into_iter().flat_map(announce::flags)).collect()
}

impl Flag {
    pub(crate) fn to_args(&self) -> Vec<String> {
        self.args.iter().map(|arg| (*arg).to_owned()).collect()
    }
}

/// A short name for some text.
pub(crate) fn key(parts: &[&str]) -> String {
    // FNV-1a, because the name must be the same whichever compiler built this program.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0xff])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_depends_on_every_part_and_on_where_parts_end() {
        let keys = [key(&["ab", "c"]), key(&["a", "bc"]), key(&["abc"]), key(&["ab", "d"])];
        let distinct: BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(key(&["ab", "c"]), keys[0]);
    }

    #[test]
    fn the_compiler_is_asked_whether_it_knows_a_flag() {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        assert!(is_known(&rustc, &LibraryFlags::usual().hidden));
        assert!(!is_known(&rustc, &["-Zno-such-flag=hidden".to_owned()]));
    }

    /// A workspace of packages with their normal dependencies.
    fn workspace(packages: &[(&str, &[&str])]) -> Metadata {
        let package = |name: &str| {
            serde_json::json!({
                "id": name, "name": name, "version": "1.0.0", "manifest_path": format!("{name}/Cargo.toml"),
                "targets": [{"name": name, "kind": ["lib"], "src_path": format!("{name}/src/lib.rs")}],
            })
        };
        let dependency = |name: &&str| serde_json::json!({"pkg": name, "dep_kinds": [{"kind": null}]});
        let node = |(name, dependencies): &(&str, &[&str])| serde_json::json!({"id": name, "deps": dependencies.iter().map(dependency).collect::<Vec<_>>()});
        serde_json::from_value(serde_json::json!({
            "packages": packages.iter().map(|(name, _)| package(name)).collect::<Vec<_>>(),
            "workspace_members": [], "workspace_root": "", "target_directory": "",
            "resolve": {"nodes": packages.iter().map(node).collect::<Vec<_>>()},
        }))
        .unwrap()
    }

    #[test]
    fn only_what_tests_link_of_raddle_is_left_out() {
        let metadata = workspace(&[
            ("raddle", &["raddle-engine"]),
            ("raddle-engine", &["libc"]),
            ("raddle-tui", &["raddle-engine", "parking_lot"]),
            ("my-crate", &["parking_lot", "raddle"]),
            ("libc", &[]),
            ("parking_lot", &["libc"]),
        ]);
        let left_out = uninstrumented(&metadata).unwrap();
        let expected = ["libc/src/lib.rs", "raddle-engine/src/lib.rs", "raddle/src/lib.rs"];
        assert_eq!(left_out.engine, expected.map(PathBuf::from).into());
        assert!(left_out.listed.is_empty());
    }

    #[test]
    fn the_list_must_be_a_list_of_names() {
        let good = serde_json::json!({ "raddle": { "uninstrumented": ["a", "b"] } });
        assert_eq!(read_list(&good, "t").unwrap(), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        assert!(read_list(&Value::Null, "t").unwrap().is_empty());
        let bad = serde_json::json!({ "raddle": { "uninstrumented": "a" } });
        assert!(read_list(&bad, "t").unwrap_err().to_string().contains("[t]"));
    }
}
