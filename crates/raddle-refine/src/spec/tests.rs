//! Specifications, right and wrong.

use std::collections::BTreeSet;

use super::decode::{CRATE_KEYS, METHOD_KEYS, MODEL_KEYS, SPEC_KEYS};
use super::java::{JAVA_KEYS, JAVA_METHOD_KEYS};
use super::*;

const MAP: &str = r#"{
    "type": "dashmap::DashMap", "generics": ["i32", "i32"],
    "crate": { "name": "dashmap", "version": "6", "features": ["inline"], "default-features": false },
    "constructor": "dashmap::DashMap::with_shard_amount(2)",
    "methods": [
        { "name": "insert", "parameters": ["i32", { "type": "i32" }], "trusted": true },
        { "name": "get", "parameters": ["&i32"], "readonly": true, "trusted": true, "call": "object.get($1).map(|r| *r)" },
        { "name": "len", "readonly": true, "consistency": "weak" }
    ]
}"#;

#[test]
fn the_same_in_json_and_in_toml() {
    let toml = r#"
        type = "dashmap::DashMap"
        generics = ["i32", "i32"]
        crate = { name = "dashmap", version = "6", features = ["inline"], default-features = false }
        constructor = "dashmap::DashMap::with_shard_amount(2)"

        [[methods]]
        name = "insert"
        parameters = ["i32", { type = "i32" }]
        trusted = true

        [[methods]]
        name = "get"
        parameters = ["&i32"]
        readonly = true
        trusted = true
        call = "object.get($1).map(|r| *r)"

        [[methods]]
        name = "len"
        readonly = true
        consistency = "weak"
    "#;
    let json = Spec::read(MAP, Language::Json).unwrap();
    assert_eq!(json, Spec::read(toml, Language::Toml).unwrap());
    let spec = json.spec;
    assert_eq!(spec.object, "dashmap::DashMap<i32, i32>");
    assert!(spec.dependencies[0].no_default_features);
    assert_eq!(spec.method("len").unwrap().level, Level::Weak);
    let calls = spec.calls(spec.method("insert").unwrap(), 2);
    assert_eq!(calls.len(), 4);
    assert_eq!(spec.expression(&calls[2]).unwrap(), "object.insert(1, 0)");
    let get = "get(7)".parse().unwrap();
    assert_eq!(spec.expression(&get).unwrap(), "object.get(&7).map(|r| *r)");
}

#[track_caller]
fn refused(text: &str, messages: &[&str]) {
    let mistakes = Spec::read(text, Language::Json).unwrap_err();
    let found: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(found, messages);
}

#[test]
fn every_mistake_has_its_place_and_what_was_expected() {
    refused("{", &["line 1, column 2: expected a key in quotes, found the end of the file"]);
    refused("[]", &["line 1, column 1: expected a specification as a table, found a list"]);
    refused("{\n  \"type\": 3,\n  \"methods\": []\n}", &["line 2, column 11: expected text, found 3"]);
    refused(
        r#"{ "type": "A", "methods": [
            { "name": "f", "parameters": ["T"], "readonly": 1 },
            { "nam": "g" },
            { "name": "h", "consistency": "strong" },
            { "name": "h" }
        ] }"#,
        &[
            "line 1, column 27: there are two methods `h`, expected different names: give one another name, and a `call`",
            "line 2, column 43: expected a type with values to try (integers, bool, char, String, &str, Option, Vec and other \
             collections, maps, tuples, references to these), found `T`",
            "line 2, column 61: expected true or false, found 1",
            "line 3, column 13: `name` is missing, expected the name of the method",
            "line 3, column 15: `nam` is not known here, expected one of name, parameters, void, readonly, trusted, consistency, \
             visibility, call, show, documented, bulk, harnessParameters",
            "line 4, column 43: expected one of weak, basic, monotonic, peer, causal, complete, found `strong`",
        ],
    );
    refused(
        r#"{ "type": "A", "crate": { "name": "a" }, "default_parameters": [1], "methods": [{ "name": "f" }] }"#,
        &[
            "line 1, column 25: expected `version` or `path` for the crate `a`, found neither",
            "line 1, column 64: expected as many `default_parameters` as `parameters`, found 1 for 0",
        ],
    );
    let mistakes = Spec::read("type = \"A\"\nmethods = [", Language::Toml).unwrap_err();
    assert_eq!(mistakes[0].place.line, 2, "{mistakes:?}");
}

#[test]
fn schemas_that_do_not_fit_are_refused_in_one_sentence() {
    let spec = Spec::read(MAP, Language::Json).unwrap().spec;
    let check = |text: &str| spec.check(&text.parse().unwrap()).unwrap_err();
    assert_eq!(check("{ put(0,1) }"), "the specification has no method `put`; it has insert, get, len");
    assert_eq!(check("{ insert(0) }"), "`insert(0)` has 1 arguments, but `insert` takes 2");
    assert_eq!(check("{ get(true) }"), "the argument `true` of `get(true)` is no value of type `&i32`");
}

/// A specification as Violat ships them.
const ARRAY_BLOCKING_QUEUE: &str = r#"{
    "class": "java.util.concurrent.ArrayBlockingQueue",
    "parameters": [{ "type": "int" }], "default_parameters": [20],
    "harnessParameters": { "values": 2 },
    "methods": [
        { "name": "offer", "parameters": [{ "type": "java.lang.Object" }], "void": false, "readonly": false, "trusted": true, "visibility": "complete" },
        { "name": "addAll", "parameters": [{ "type": ["int"] }], "visibility": "weak" },
        { "name": "putAll", "parameters": [{ "type": { "int": "int" } }], "visibility": "self" },
        { "name": "hashCode", "parameters": [] },
        { "name": "drainTo", "parameters": [], "visibility": "weak" }
    ]
    JAVA
}"#;

#[test]
fn specifications_of_violat_load_with_a_table() {
    let table = r#", "java": {
        "type": "queue::Queue<i32>", "types": { "int": "i32", "java.lang.Object": "i32" },
        "methods": { "offer": "push", "addAll": { "name": "extend", "call": "object.extend($1)" }, "putAll": "put_all", "drainTo": null }
    }"#;
    let loaded = Spec::read(&ARRAY_BLOCKING_QUEUE.replace("JAVA", table), Language::Json).unwrap();
    assert_eq!(loaded.spec.constructor, "<queue::Queue<i32>>::new(20)");
    let names: Vec<&str> = loaded.spec.methods.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(names, ["push", "extend", "put_all"]);
    assert_eq!(loaded.spec.methods[1].parameters[0].to_string(), "Vec<i32>");
    assert_eq!(loaded.spec.methods[2].level, Level::Basic);
    let notes: Vec<&str> = loaded.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(
        notes,
        [
            "`hashCode` is left out, because it has no `visibility`",
            "`drainTo` is left out, as `java.methods` says"
        ]
    );
}

#[test]
fn specifications_of_violat_without_a_table_are_refused_with_what_is_missing() {
    refused(
        &ARRAY_BLOCKING_QUEUE.replace("JAVA", ""),
        &[
            "line 2, column 14: `java.util.concurrent.ArrayBlockingQueue` is a class of Java, expected a table `java` with the Rust \
           `type`, the `methods` offer, addAll, putAll, drainTo and the `types` int, java.lang.Object",
        ],
    );
    let table = r#", "java": { "type": "Q", "types": { "int": "i32" }, "methods": { "offer": "push", "addAll": "a" } }"#;
    refused(
        &ARRAY_BLOCKING_QUEUE.replace("JAVA", table),
        &[
            "line 6, column 53: `java.lang.Object` is a type of Java, expected its Rust type in `java.types`",
            "line 8, column 19: `putAll` is a method of Java, expected its Rust name (or null) in `java.methods`",
            "line 10, column 19: `drainTo` is a method of Java, expected its Rust name (or null) in `java.methods`",
        ],
    );
}

/// The published schema knows the keys that the reader knows, no more and no less.
#[test]
fn the_json_schema_is_that_of_the_reader() {
    let schema: serde_json::Value = serde_json::from_str(JSON_SCHEMA).unwrap();
    let keys = |pointer: &str| {
        let table = schema.pointer(pointer).and_then(serde_json::Value::as_object).unwrap();
        table.keys().cloned().collect::<BTreeSet<_>>()
    };
    let known = |keys: &[&str]| keys.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert_eq!(keys("/properties"), known(SPEC_KEYS));
    assert_eq!(keys("/$defs/method/properties"), known(METHOD_KEYS));
    assert_eq!(keys("/$defs/crate/oneOf/1/properties"), known(CRATE_KEYS));
    assert_eq!(keys("/properties/model/properties"), known(MODEL_KEYS));
    assert_eq!(keys("/properties/java/properties"), known(JAVA_KEYS));
    let method = "/properties/java/properties/methods/additionalProperties/oneOf/3/properties";
    assert_eq!(keys(method), known(JAVA_METHOD_KEYS));
    let levels = schema.pointer("/$defs/level/enum").and_then(serde_json::Value::as_array).unwrap();
    let named: BTreeSet<_> = levels.iter().filter_map(|name| Level::from_name(name.as_str()?)).collect();
    assert_eq!((named.len(), levels.len()), (Level::ALL.len(), 9));
}
