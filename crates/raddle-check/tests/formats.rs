//! History files: what is read, and what is said about those that cannot be.

use std::io::{BufRead, BufReader, Cursor, Read};

use raddle_check::format::{Error, Format, Kind, Record, detect, read_history, records};
use raddle_check::model::kv::Kv;
use raddle_check::model::register::{Register, RegisterOp};
use raddle_check::{Outcome, Value};

fn read(text: &str, format: Format) -> Result<Vec<Record>, Error> {
    records(Cursor::new(text), format).collect()
}

/// The error of reading `text` as a history of a compare-and-set register.
fn mistake(text: &str, format: Format) -> String {
    let error = match read_history(Cursor::new(text), format, &Register::default(), false) {
        Ok(_) => panic!("{text:?} was read"),
        Err(error) => error,
    };
    error.to_string()
}

#[track_caller]
fn expect_mistake(format: Format, text: &str, expected: &str) {
    assert_eq!(mistake(text, format), expected);
}

#[test]
fn the_three_formats_say_the_same() {
    let jsonl = r#"
        {"process": 3, "type": "invoke", "f": "cas", "value": [1, 2]}
        {"process": 3, "type": "ok", "f": "cas", "value": [1, 2]}
    "#;
    let edn = "[{:process 3, :type :invoke, :f :cas, :value [1 2]}\n ; a comment }\n #jepsen.history.Op{:process 3\n\
               :type :ok :f :cas :value [1 2]}\n{:process :nemesis :type :info :f :start :value \"}\"}]";
    let log = "INFO  jepsen.util - 3\t:invoke\t:cas\t[1 2]\nINFO jepsen.core - unrelated\nINFO  jepsen.util - 3   :ok :cas    \
               [1 2]\nINFO  jepsen.util - :nemesis :info :start nil\n";
    let strip = |records: Vec<Record>| {
        records.into_iter().map(|r| (r.process, r.kind, r.name, r.key, r.value)).collect::<Vec<_>>()
    };
    let all = [
        strip(read(jsonl, Format::Jsonl).unwrap()),
        strip(read(edn, Format::Edn).unwrap()),
        strip(read(log, Format::JepsenLog).unwrap()),
    ];
    assert_eq!(all[0].len(), 2);
    assert_eq!(all[0][1].1, Kind::Ok);
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
}

#[test]
fn values_of_every_kind_are_read() {
    let jsonl =
        r#"{"process": 0, "type": "ok", "f": "x", "value": [null, true, -7, "a\"b", {"k": [], "2": 1}]}"#;
    let edn = r#"{:process 0 :type :ok :f :x :value (nil true -7 "a\"b" {"k" [] 2 1})}"#;
    let from_json = read(jsonl, Format::Jsonl).unwrap().remove(0).value;
    assert_eq!(from_json, read(edn, Format::Edn).unwrap().remove(0).value);
    assert_eq!(from_json.to_string(), r#"[nil true -7 "a\"b" [[2 1] ["k" []]]]"#);
    let keyword =
        read("{:process 0 :type :ok :f :x :value [:a sym \\c #{1}]}", Format::Edn).unwrap().remove(0);
    assert_eq!(keyword.value.to_string(), r#"[:a "sym" "c" [1]]"#);
}

#[test]
fn operations_are_paired() {
    let text = r#"{"process": 0, "type": "invoke", "f": "write", "value": 1}
        {"process": 1, "type": "invoke", "f": "write", "value": 2}
        {"process": 2, "type": "invoke", "f": "write", "value": 3}
        {"process": 1, "type": "fail", "f": "write", "value": 2}
        {"process": 2, "type": "info", "f": "write"}
        {"process": 2, "type": "invoke", "f": "read"}
        {"process": 0, "type": "ok", "f": "write", "value": 1}
        {"type": "crash"}"#;
    let loaded = read_history(Cursor::new(text), Format::Jsonl, &Register::default(), false).unwrap();
    let all = loaded.history.operations();
    assert_eq!(all.len(), 3, "the failed one did not happen");
    assert_eq!(all[0].outcome, Outcome::Returned { output: Value::Int(1), at: 6 });
    assert_eq!(
        (all[1].input.clone(), all[1].outcome.clone()),
        (RegisterOp::Write(Value::Int(3)), Outcome::Unknown)
    );
    assert_eq!(all[2].outcome, Outcome::Unknown, "still open at the end");
    assert_eq!(loaded.lines, [1, 3, 6]);
    assert_eq!(loaded.history.crashes(), [7]);
}

#[test]
fn times_make_ties() {
    let text = r#"{"time": 5, "process": 0, "type": "invoke", "f": "read"}
        {"time": 5, "process": 0, "type": "ok", "f": "read", "value": 0}"#;
    let loaded = read_history(Cursor::new(text), Format::Jsonl, &Register::default(), false).unwrap();
    assert_eq!(loaded.history.operations()[0].call, 5);
    assert_eq!(loaded.history.operations()[0].returned_at(), Some(5));
    expect_mistake(
        Format::Jsonl,
        "{\"time\": 5, \"process\": 0, \"type\": \"invoke\", \"f\": \"read\"}\n\
         {\"time\": 4, \"process\": 0, \"type\": \"ok\", \"f\": \"read\"}",
        "line 2: `time` is missing or earlier than that of the line before",
    );
}

#[test]
fn keys_are_fields_or_halves_of_values() {
    let fields = r#"{:process 0, :type :invoke, :f :get, :key "3", :value nil}
                    {:process 0, :type :ok, :f :get, :key "3", :value "x"}"#;
    let halves = r#"{:process 0, :type :invoke, :f :get, :value ["3" nil]}
                    {:process 0, :type :ok, :f :get, :value ["3" "x"]}"#;
    let read = |text| read_history(Cursor::new(text), Format::Edn, &Kv::default(), true).unwrap().history;
    assert_eq!(read(fields), read(halves));
    expect_mistake(
        Format::Edn,
        fields,
        "line 1: the operation has a key, but the model is one object: check it with a partition by key",
    );
}

#[test]
fn mistakes_in_the_order_of_events() {
    let call = r#"{"process": 4, "type": "invoke", "f": "read"}"#;
    let ok = r#"{"process": 4, "type": "ok", "f": "read"}"#;
    expect_mistake(Format::Jsonl, ok, "line 1: process 4 ends `read`, but has no operation open");
    expect_mistake(
        Format::Jsonl,
        &format!("{call}\n\n{call}"),
        "line 3: process 4 calls `read` while its `read` of line 1 is open: a process has one operation open at a time",
    );
    expect_mistake(
        Format::Jsonl,
        &format!("{call}\n{}", ok.replace("read", "write")),
        "line 2: process 4 ends `write`, but the operation it has open is `read` of line 1",
    );
}

#[test]
fn mistakes_in_operations() {
    let line =
        |f: &str, value: &str| format!(r#"{{"process": 0, "type": "invoke", "f": "{f}", "value": {value}}}"#);
    expect_mistake(
        Format::Jsonl,
        &line("swap", "1"),
        "line 1: unknown operation `swap`: this model has read, write, cas",
    );
    expect_mistake(Format::Jsonl, &line("cas", "1"), "line 1: `cas` takes a pair [expected new], not 1");
}

#[test]
fn mistakes_in_json() {
    let json = |text: &str, expected: &str| expect_mistake(Format::Jsonl, text, expected);
    json("{\"process\": 0, \"type\": \"inv", "line 1: EOF while parsing a string (column 27)");
    json("{\"process\": 0, \"f\": \"read\"}", "line 1: missing field `type` (column 27)");
    json("{\"type\": \"ok\", \"f\": \"read\"}", "line 1: `process` is missing");
    json("{\"type\": \"ok\", \"process\": 1}", "line 1: `f`, the name of the operation, is missing");
    json(
        "{\"type\": \"yes\", \"process\": 1, \"f\": \"x\"}",
        "line 1: `type` should be invoke, ok, fail, info or crash, not `yes`",
    );
    json(
        "{\"type\": \"ok\", \"process\": 1, \"f\": \"x\", \"valeu\": 1}",
        "line 1: unknown field `valeu`, expected one of `type`, `process`, `f`, `key`, `value`, `time` (column 46)",
    );
    json(
        "{\"type\": \"ok\", \"process\": 1, \"f\": \"x\", \"value\": 1.5}",
        "line 1: invalid type: floating point `1.5`, expected null, a truth value, an integer, a text, a list or a mapping \
         (column 51)",
    );
}

#[test]
fn mistakes_in_edn() {
    let edn = |text: &str, expected: &str| expect_mistake(Format::Edn, text, expected);
    edn("\n{:process 0 :type :invoke", "line 2: the map begun here never ends: the file is cut off");
    edn(
        "[\n{:process 0 :type :invoke :f :read}",
        "line 1: the history begun here with a bracket never ends: the file is cut off",
    );
    edn("read 1", "line 1: an operation should be a map: `{:process 0, …}`");
    edn("{:process 0 :type :invoke}", "line 1: `:f`, the name of the operation, is missing or no keyword");
    edn("{:process 0 :type :yes :f :read}", "line 1: `:type` should be :invoke, :ok, :fail, :info or :crash");
    edn("{:process \"a\" :type :ok :f :read}", "line 1: `:process` should be a number");
    edn("{:process 0 :type :ok :f :read :value 1.5}", "line 1: numbers with a fraction are not supported");
    edn("{:process 0 :type}", "line 1: this is not EDN: UnexpectedEOF");
}

#[test]
fn mistakes_in_logs() {
    let log = |text: &str, expected: &str| expect_mistake(Format::JepsenLog, text, expected);
    log("hello", "line 1: this is no line of a Jepsen log: it does not name `jepsen.util`");
    log("INFO  jepsen.util - x :ok :read nil", "line 1: the process should be a number, not `x`");
    log("INFO  jepsen.util - 1 :yes :read nil", "line 1: `:yes` should be :invoke, :ok, :fail or :info");
    log("INFO  jepsen.util - 1 :ok", "line 1: the line ends before the name of the operation");
    log("INFO  jepsen.util - 1 :invoke :cas", "line 1: the line ends before the value of `cas`");
    log("INFO  jepsen.util - 1 :invoke :cas [1", "line 1: this is not EDN: UnexpectedEOF");
}

#[test]
fn the_format_is_told_by_the_beginning() {
    assert_eq!(detect(b"\n {\"process\": 0"), Ok(Format::Jsonl));
    assert_eq!(detect(b"{:process 0"), Ok(Format::Edn));
    assert_eq!(detect(b"; from a test\n[{"), Ok(Format::Edn));
    assert_eq!(detect(b"2026-01-01 INFO  jepsen.util - 0 :invoke"), Ok(Format::JepsenLog));
    assert!(detect(b"\x7fELF").is_err());
    assert!("yaml".parse::<Format>().is_err());
}

/// Bytes without end, counted.
struct Endless {
    pattern: &'static [u8],
    given: u64,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        for byte in buffer.iter_mut() {
            *byte = self.pattern[(self.given % self.pattern.len() as u64) as usize];
            self.given += 1;
        }
        Ok(buffer.len())
    }
}

#[test]
fn garbage_without_end_is_given_up_soon() {
    let patterns: [&'static [u8]; 8] = [b"a", b"{", b"[", b"\xff\x00", b"{\"", b"{:a \"", b"{:a [", b"#"];
    for format in [Format::Jsonl, Format::Edn, Format::JepsenLog] {
        for pattern in patterns {
            let mut source = BufReader::new(Endless { pattern, given: 0 });
            let first = records(&mut source, format).next().expect("there is something to say");
            assert!(first.is_err(), "{format:?} {pattern:?}");
            let given = source.get_ref().given;
            assert!(given < 3 << 20, "{format:?} {pattern:?}: read {given} bytes first");
        }
    }
}

#[test]
fn after_a_mistake_nothing_is_read() {
    let mut all = records(Cursor::new("nonsense\nnonsense\n"), Format::Jsonl);
    assert!(all.next().unwrap().is_err());
    assert!(all.next().is_none());
}

#[test]
fn reading_stops_where_the_device_fails() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is on fire"))
        }
    }
    let mut reader = BufReader::new(Broken);
    assert!(reader.fill_buf().is_err());
    let error = records(reader, Format::Edn).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "line 1: cannot read on: the disk is on fire");
}

#[test]
fn the_schema_has_the_fields_that_are_read() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/history.schema.json");
    let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut described: Vec<String> = schema["properties"].as_object().unwrap().keys().cloned().collect();
    described.sort();
    let message = mistake(r#"{"type": "crash", "nonsense": 1}"#, Format::Jsonl);
    let mut known: Vec<String> = message.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    known.sort();
    assert_eq!(described, known);
    let kinds = schema["properties"]["type"]["enum"].as_array().unwrap();
    for kind in kinds {
        let line = format!(r#"{{"type": {kind}, "process": 0, "f": "read"}}"#);
        assert_eq!(read(&line, Format::Jsonl).map(|records| records.len()), Ok(1));
    }
}
