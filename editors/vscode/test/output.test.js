"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { OutputReader, parseVerdict } = require("../src/output");
const { complaint, splitCommand } = require("../src/words");

test("verdicts of lines", () => {
  const check = (line, expected) => assert.deepEqual(parseVerdict(line), expected, line);
  check("test a::b ... ok", { name: "a::b", verdict: "passed" });
  check("test a::b ... FAILED", { name: "a::b", verdict: "failed" });
  check("test slow ... FAILED (timed out after 60 s)", { name: "slow", verdict: "failed", note: "timed out after 60 s" });
  check("test a ... ignored", { name: "a", verdict: "skipped" });
  check("test a ... ignored, needs a network", { name: "a", verdict: "skipped", note: "needs a network" });
  check("test p - should panic ... ok", { name: "p", verdict: "passed" });
  for (const line of ["test result: ok. 1 passed; 0 failed", "running 1 test", "test a ...", "  test a ... ok", "test a ... okay"]) {
    check(line, undefined);
  }
});

const OUTPUT = `
running 3 tests
test good ... \u001b[32mok\u001b[0m
test queue::bad ... \u001b[31mFAILED\u001b[0m
test left ... ignored

failures:

---- queue::bad stdout ----
\u001b[1mpanic\u001b[0m: lost
test fake ... ok
failing line


failures:
    queue::bad

test result: FAILED. 1 passed; 1 failed; 1 ignored`;

test("output is read however it is cut", () => {
  for (const size of [1, 7, 64, OUTPUT.length]) {
    const verdicts = [];
    const reader = new OutputReader(({ name, verdict }) => verdicts.push(`${name} ${verdict}`));
    for (let at = 0; at < OUTPUT.length; at += size) reader.push(OUTPUT.slice(at, at + size));
    reader.finish();
    assert.deepEqual(verdicts, ["good passed", "queue::bad failed", "left skipped"], `in pieces of ${size}`);
    assert.equal(reader.reports.get("queue::bad")?.trim(), "panic: lost\ntest fake ... ok\nfailing line");
    assert.equal(reader.reports.size, 1);
  }
});

test("a last line without its end counts", () => {
  const verdicts = [];
  const reader = new OutputReader((verdict) => verdicts.push(verdict.name));
  reader.push("test a ... ok\r\ntest b ... ok");
  assert.deepEqual(verdicts, ["a"]);
  reader.finish();
  assert.deepEqual(verdicts, ["a", "b"]);
});

test("commands are split at spaces outside of quotes", () => {
  const check = (line, expected) => assert.deepEqual(splitCommand(line), expected, line);
  check("cargo raddle", ["cargo", "raddle"]);
  check(`  "/opt/my tools/cargo-raddle"   --x='a b'c `, ["/opt/my tools/cargo-raddle", "--x=a bc"]);
  check(`a "" b`, ["a", "", "b"]);
  check("", []);
});

test("complaints are the last error, or say what to install", () => {
  const check = (stderr, stdout, expected) => assert.equal(complaint({ code: 2, stderr, stdout }), expected);
  check("   Compiling x\nerror: first\n\n\u001b[1merror\u001b[0m: second\n  why\n", "", "error: second\n  why");
  check("error: only\n", "", "error: only");
  check("", "on stdout", "on stdout");
  check("", "", "The command ended with exit code 2.");
  const install = /cargo install cargo-raddle/;
  assert.match(complaint({ code: 101, stdout: "", stderr: "error: no such command: `raddle`\n\n\tView all" }), install);
});
