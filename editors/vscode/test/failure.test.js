"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { parseFailure, parsePlaces, headline } = require("../src/failure");

const EXAMPLE = fs.readFileSync(path.join(__dirname, "../../../crates/raddle-report/tests/example.json"), "utf8");

test("the documented example is read", () => {
  const failure = parseFailure(EXAMPLE);
  assert.equal(failure.test, "counter::lost_update");
  assert.equal(failure.kind, "panic");
  assert.equal(headline(failure.message), "assertion `left == right` failed");
  assert.equal(failure.package, "counter");
  assert.equal(failure.manifest, undefined);
  assert.deepEqual(failure.place, { file: "tests/counter.rs", line: 15 });
  const places = parsePlaces(EXAMPLE);
  assert.equal(places.length, 15);
  assert.equal(places[0], undefined, "the begin of a thread has no place");
  assert.deepEqual(places[4], { file: "src/lib.rs", line: 7 }, "frames of the standard library are passed over");
});

test("the manifest is that of the build", () => {
  const json = JSON.parse(EXAMPLE);
  json.build.cargo_args = ["--release", "--manifest-path", "/a/Cargo.toml"];
  assert.equal(parseFailure(JSON.stringify(json)).manifest, "/a/Cargo.toml");
});

test("bad files get one sentence", () => {
  const edit = (change) => {
    const json = JSON.parse(EXAMPLE);
    change(json);
    return JSON.stringify(json);
  };
  const check = (text, expected) => {
    assert.throws(() => parseFailure(text), (error) => expected.test(error.message) && !error.message.includes("\n"));
  };
  check("", /cut off or edited/);
  check(EXAMPLE.slice(0, 500), /cut off or edited/);
  check("null", /does not say its format/);
  check("[]", /does not say its format/);
  check(edit((json) => { json.format = 2; }), /newer Raddle.*format 2/);
  check(edit((json) => { delete json.message; }), /lacks fields/);
  check(edit((json) => { json.trace = 7; }), /lacks fields/);
});

test("indices that lead nowhere give no place", () => {
  const json = JSON.parse(EXAMPLE);
  json.trace.events[4].at = 10_000;
  json.trace.stacks[9] = { frame: 99, caller: 9 };
  const places = parsePlaces(JSON.stringify(json));
  assert.equal(places[4], undefined);
  assert.equal(places[6], undefined);
});
