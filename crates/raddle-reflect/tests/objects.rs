//! Values of all kinds in another process, as debug information alone shows them, unoptimised and optimised.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use raddle_reflect::Program;
use raddle_reflect::objects::{Block, Moment, Owner, Recorder, Space, Variable};

#[test]
fn scalars() {
    check("integers", "(1, -2, 3, -4, 5, -6, 7)");
    check("floats", "(1.5, -0.25)");
    check("bool", "true");
    check("char", "'ß'");
    check("units", "[(), ()]");
    check("unit-structs", "[Unit]");
    check("duration", "1.5s");
    check("ordering", "Less");
    check("colours", "[Red, Green]");
    check("function", "objects::twice");
}

#[test]
fn structures() {
    check("newtype", "2.5");
    check("generic", "Generic { item: (1, 'x') }");
    check("array", "[1, 2, 3]");
    check("nested-array", "[[1, 2], [3, 4]]");
    check("long-array", &format!("[{}, … 36 more]", ["7"; 64].join(", ")));
    check("range", "Range { start: 3, end: 5 }");
    check("padded", "1");
    check("union", "<a union>");
}

#[test]
fn wrappers() {
    check("atomics", "(true, 3, -1, 9)");
    check("atomic-pointer", "null");
    check("cells", "(1, 2, Some(3), 4)");
    check("uninit", "5");
    check("nonzero", "(5, Some(6), None)");
}

#[test]
fn enums() {
    check("shape-empty", "Empty");
    check("shape-circle", "Circle(1.5)");
    check("shape-square", "Square { side: 2, label: \"sq\" }");
    check("options", "(Some(1), None, Some(Some(false)), Some(None), None)");
    check("result", "[Ok(1), Err(\"bad\")]");
    check("option-box", "(Some(u32#1), None); u32#1 = 1");
}

#[test]
fn collections() {
    check("string", r#""a \"b\"\n""#);
    check("str", "\"static\"");
    check("box-str", "\"boxed\"");
    check("arc-str", "\"shared\"");
    check("long-string", &format!("\"{}\"…", "x".repeat(200)));
    check("path", "\"/tmp\"");
    check("vec", "[Some(1), None]");
    check("empty-vec", "[]");
    check("vec-of-strings", "[\"a\", \"b\"]");
    check("slice", "[1, 2]");
    check("box-slice", "[1, 2]");
    check("arc-slice", "[8, 9]");
    check("deque", "[2, 3, 4, 5]");
    check("heap", "[3, 1]");
    check("hash-map", "{1: \"one\"}");
    check("hash-map-empty", "{}");
    check("hash-set", "[4]");
    check("btree-map", "{0: 0, 1: 10, 2: 20, 3: 30, 4: 40}");
    let deep: Vec<String> = (0..64).map(|key| format!("{key}: ()")).collect();
    check("btree-deep", &format!("{{{}, … 36 more}}", deep.join(", ")));
    check("btree-set", "['a', 'b']");
}

#[test]
fn pointers() {
    check("rc", "RefCell#1; RefCell#1 = Counted { x: 1 }");
    check("arc", "Counted#1; Counted#1 = Counted { x: 2 }");
    check("weak", "(Counted#1, null); Counted#1 = Counted { x: 2 }");
    check("reference", "u8#1; u8#1 = 2");
    check("closure", "{closure} { captured: u8#1, borrowed: String#1 }; u8#1 = 5; String#1 = \"s\"");
    check("dyn", "Dog#1; Dog#1 = Dog { age: 3 }");
    check("arc-dyn", "Dog#1; Dog#1 = Dog { age: 4 }");
    check("wild", "0xdeadbee8 tagged 7");
}

#[test]
fn locks() {
    check("mutex", "Mutex(unlocked: Some(u8#1)); u8#1 = 1");
    check("mutex-held", "Mutex(locked by T7: 2)");
    check("mutex-poisoned", "Mutex(unlocked, poisoned: 3)");
    check(
        "rwlocks",
        "(RwLock(unlocked: 'r'), RwLock(read-locked by 2: 's'), RwLock(write-locked by T7: 't'))",
    );
    check("once", "(4, <uninit>)");
    check("lazy", "11");
    check("lazy-unset", "<uninit>");
}

#[test]
fn graphs() {
    check(
        "list",
        "Node#1; Node#1 = Node { value: 1, next: Node#2 }; Node#2 = Node { value: 2, next: Node#3 }; \
         Node#3 = Node { value: 3, next: null }",
    );
    check("cycle", "Node#1; Node#1 = Node { value: 4, next: Node#1 }");
    check("tagged", "Node#1 tagged 1; Node#1 = Node { value: 3, next: null }");
    check(
        "doubly",
        "Doubly#1; Doubly#1 = Doubly { name: \"a\", prev: None, next: Some(Doubly#2) }; \
         Doubly#2 = Doubly { name: \"b\", prev: Some(Doubly#1), next: None }",
    );
    // The type of one pointer tells what the other leads to.
    check("opaque", "(Node#1, Node#1); Node#1 = Node { value: 3, next: null }");
}

#[test]
fn pointers_to_freed_blocks_dangle() {
    for fixture in fixtures() {
        let text = fixture.show("dangling");
        assert!(text.starts_with("0x") && text.ends_with(" (freed)"), "{text}");
    }
}

#[test]
fn garbage_is_shown_and_never_followed_out_of_bounds() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for fixture in fixtures() {
        let names: Vec<String> = fixture.values.keys().cloned().collect();
        for round in 0..40 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407 + round);
            let garbage = Garbage { seed: random, real: fixture };
            for name in &names {
                fixture.show_in(name, &garbage);
            }
        }
    }
}

#[test]
fn changes_turn_each_state_into_the_next() {
    for fixture in fixtures() {
        let (address, anchor) = fixture.values["list"];
        let mut recorder = Recorder::new();
        let of = recorder.type_of_anchor(&fixture.program, anchor).expect("the type of the list");
        let head = Variable { name: "list".into(), address, of, owner: Owner::Program, is_poor: false };
        let second = fixture.word(fixture.word(address) + fixture.next_offset(address));
        let before = OneBlock { start: second, freed: false, real: fixture };
        recorder.add_root(&fixture.program, head, &before);
        let at = |event, freed| Moment { event: Some(event), thread: 0, freed };
        let first = recorder.observe(&fixture.program, at(0, &[]), &before);
        assert_eq!(first.len(), 4, "the pointer and three nodes");
        assert_eq!(recorder.observe(&fixture.program, at(1, &[]), &before), []);
        // The second node is freed: the pointer to it dangles.
        let after = OneBlock { freed: true, ..before };
        let changes = recorder.observe(&fixture.program, at(2, &[second]), &after);
        let objects = recorder.finish();
        let texts: Vec<String> = changes
            .iter()
            .map(|change| format!("{:?} {}", change.path, change.value.text(&objects.list)))
            .collect();
        assert_eq!(texts, ["[1] Node#2 (freed)"]);
        assert_eq!(objects.list[2].freed, Some(2));
        assert_eq!(objects.list[2].since, Some(0));
        assert_eq!(objects.roots[0].name, "list");
    }
}

/// The goal is a millisecond an event; the limit leaves room for slow machines. Each object is read by a system call here.
#[test]
fn looking_again_is_cheap() {
    for fixture in fixtures() {
        let (address, anchor) = fixture.values["long-list"];
        let mut recorder = Recorder::new();
        let of = recorder.type_of_anchor(&fixture.program, anchor).expect("the type of the list");
        let head = Variable { name: "list".into(), address, of, owner: Owner::Program, is_poor: false };
        recorder.add_root(&fixture.program, head, fixture);
        let begun = Instant::now();
        for event in 0..100 {
            let moment = Moment { event: Some(event), thread: 0, freed: &[] };
            let changes = recorder.observe(&fixture.program, moment, fixture);
            assert_eq!(changes.len(), if event == 0 { 201 } else { 0 });
        }
        let each = begun.elapsed() / 100;
        println!("{each:?} an event for 201 objects at opt-level {}", fixture.opt_level);
        assert!(each < Duration::from_millis(20), "{each:?}");
    }
}

#[track_caller]
fn check(name: &str, expected: &str) {
    for fixture in fixtures() {
        assert_eq!(fixture.show(name), expected, "at opt-level {}", fixture.opt_level);
    }
}

/// A running fixture, which waits.
struct Fixture {
    opt_level: u32,
    program: Program,
    memory: File,
    /// The address of each value, and the function whose generic argument is its type.
    values: HashMap<String, (u64, u64)>,
    freed: Vec<Block>,
    _process: Child,
}

fn fixtures() -> &'static [Fixture; 2] {
    static FIXTURES: OnceLock<[Fixture; 2]> = OnceLock::new();
    FIXTURES.get_or_init(|| [0, 3].map(Fixture::start))
}

impl Fixture {
    fn start(opt_level: u32) -> Fixture {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/objects.rs");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("objects-{}-{opt_level}", std::process::id()));
        std::fs::create_dir_all(&out).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let status = Command::new(rustc)
            .arg(source)
            .args([
                "--edition=2024",
                "-g",
                "--allow=warnings",
                &format!("-Copt-level={opt_level}"),
                "--out-dir",
            ])
            .arg(&out)
            .status()
            .expect("rustc runs");
        assert!(status.success(), "the fixture does not compile");
        let path = out.join("objects");
        let mut process = Command::new(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the fixture runs");
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let (mut bias, mut values, mut freed) = (0, HashMap::new(), Vec::new());
        for line in lines.take_while(|line| line != "ready") {
            let fields: Vec<&str> = line.split(' ').collect();
            match fields[..] {
                ["bias", at] => bias = hex(at),
                ["value", name, address, anchor] => {
                    values.insert(name.to_owned(), (hex(address), hex(anchor)));
                }
                ["freed", start, size] => {
                    freed.push(Block { start: hex(start), size: size.parse().unwrap(), freed: true });
                }
                _ => panic!("{line}"),
            }
        }
        let program = Program::open(&path, bias).unwrap();
        let memory = File::open(format!("/proc/{}/mem", process.id())).unwrap();
        std::fs::remove_dir_all(out).unwrap();
        Fixture { opt_level, program, memory, values, freed, _process: process }
    }

    /// A value, and the objects that it leads to.
    fn show(&self, name: &str) -> String {
        self.show_in(name, self)
    }

    fn show_in(&self, name: &str, space: &dyn Space) -> String {
        let (address, anchor) = self.values[name];
        let mut recorder = Recorder::new();
        let of = recorder.type_of_anchor(&self.program, anchor).expect("the type of the value");
        let value = Variable { name: name.into(), address, of, owner: Owner::Program, is_poor: false };
        recorder.add_root(&self.program, value, space);
        let moment = Moment { event: None, thread: 7, freed: &[] };
        let changes = recorder.observe(&self.program, moment, space);
        let objects = recorder.finish().list;
        let mut values = vec![None; objects.len()];
        changes.iter().for_each(|change| change.apply(&mut values));
        let texts = values.iter().zip(&objects).enumerate().map(|(index, (value, object))| {
            let value = value.as_ref().expect("every object has a value").text(&objects).to_string();
            if index == 0 { value } else { format!("{} = {value}", object.name) }
        });
        texts.collect::<Vec<_>>().join("; ")
    }

    fn word(&self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        assert!(self.read(address, &mut bytes));
        u64::from_le_bytes(bytes)
    }

    /// The offset of the pointer in a node, which the compiler chooses.
    fn next_offset(&self, list: u64) -> u64 {
        let node = self.word(list);
        if self.word(node) > 1 << 32 { 0 } else { 8 }
    }
}

impl Space for Fixture {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.memory.read_exact_at(bytes, address).is_ok()
    }

    fn block(&self, address: u64) -> Option<Block> {
        self.freed.iter().find(|block| (block.start..block.start + block.size).contains(&address)).copied()
    }
}

/// The memory of a fixture with one block that is known to be one.
struct OneBlock<'a> {
    start: u64,
    freed: bool,
    real: &'a Fixture,
}

impl Space for OneBlock<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        self.real.read(address, bytes)
    }

    fn block(&self, address: u64) -> Option<Block> {
        let block = Block { start: self.start, size: 16, freed: self.freed };
        (block.start..block.start + block.size).contains(&address).then_some(block)
    }
}

/// Memory in which about every second word is random, and the rest that of a fixture.
struct Garbage<'a> {
    seed: u64,
    real: &'a Fixture,
}

impl Space for Garbage<'_> {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let is_mapped = self.real.read(address, bytes);
        for (index, byte) in bytes.iter_mut().enumerate() {
            let mut hash = self.seed ^ ((address + index as u64) / 8).wrapping_mul(0x2545_f491_4f6c_dd1d);
            hash = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash ^= hash >> 32;
            if hash & 1 == 0 {
                *byte = (hash >> (8 * (index % 7))) as u8;
            }
        }
        is_mapped || self.seed & 3 == 0
    }

    fn block(&self, address: u64) -> Option<Block> {
        let start = address & !0xff;
        (self.seed & 16 == 0).then_some(Block { start, size: 256, freed: (start >> 8) & 7 == 0 })
    }
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("a hexadecimal number")
}
