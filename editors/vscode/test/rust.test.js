"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { findTests, snakeCase } = require("../src/rust");

/** Each test of a text as its name and the source line that it starts at. */
function found(text) {
  return findTests(text).map(({ name, start }) => `${name} | ${text.slice(start).split("\n")[0].trim()}`);
}

const cases = {
  "impl blocks are named after their types": [
    `#[raddle::test(iterations = 20)]
     impl CounterTest {
         #[operation]
         fn inc(&self) -> usize { self.0.inc() }
     }`,
    ["counter_test | impl CounterTest {"],
  ],
  "a given name counts, and `manual` makes no test": [
    `#[raddle::test(name = "by_name", spec = VecDeque<u32>)] impl a::B<u8> {}
     #[raddle::test(manual)] impl C {}`,
    ["by_name | impl a::B<u8> {}"],
  ],
  "generic impl blocks": [
    `#[::raddle::test] impl<const N: usize> RingTest<N> where [u8; N]: Sized { }`,
    ["ring_test | impl<const N: usize> RingTest<N> where [u8; N]: Sized { }"],
  ],
  "functions are tests of Raddle if their bodies are": [
    `#[test]
     fn explores() { raddle::explore(|| {}); }
     #[test]
     fn searches() { Explorer::new().run(|| {}); }
     #[test]
     fn plain() { assert!(true); }
     fn helper() { raddle::explore(|| {}); }
     #[raddle::test(executions = 5)]
     fn marked() {}`,
    [
      "explores | fn explores() { raddle::explore(|| {}); }",
      "searches | fn searches() { Explorer::new().run(|| {}); }",
      "marked | fn marked() {}",
    ],
  ],
  "imported names count": [
    `use raddle::{explore as search, operation, search::{Strategy, self}};
     #[test] fn one() { search(|| ()); }
     #[test] fn two() { check(Strategy::Random); }
     #[test] fn three() { explore(|| ()); }`,
    ["one | fn one() { search(|| ()); }", "two | fn two() { check(Strategy::Random); }"],
  ],
  "the bare attribute, if imported": [
    `use raddle::test;
     #[test] impl Queue {}
     #[test(seed = 1)] fn f() {}`,
    ["queue | impl Queue {}", "f | fn f() {}"],
  ],
  "modules are part of the name": [
    `mod outer {
         #[cfg(test)]
         mod tests {
             #[test] fn inside() { raddle::explore(|| {}) }
         }
         #[test] fn after() { raddle::explore(|| {}) }
     }
     #[test] fn outside() { raddle::explore(|| {}) }`,
    [
      "outer::tests::inside | fn inside() { raddle::explore(|| {}) }",
      "outer::after | fn after() { raddle::explore(|| {}) }",
      "outside | fn outside() { raddle::explore(|| {}) }",
    ],
  ],
  "comments and strings are not code": [
    `// #[raddle::test] impl A {}
     /* /* #[raddle::test] */ impl B {} */
     const S: &str = "#[raddle::test] impl C {}"; const R: &str = r##"" #[test] fn d() { raddle::x() } "##;
     const BRACES: (char, char, u8) = ('{', '\\'', b'}');
     #[test] fn e<'a>() { let _: &'a str = "raddle::"; }
     #[test] #[ignore = "mod x { ]"] fn f() { /* } */ raddle::explore(|| "}") }`,
    ['f | fn f() { /* } */ raddle::explore(|| "}") }'],
  ],
  "attributes between the mark and the item": [
    `#[raddle::test]
     #[ignore]
     #[cfg(feature = "slow")]
     impl SlowTest {}`,
    ["slow_test | impl SlowTest {}"],
  ],
  "an attribute belongs to the next item only": [
    `#[raddle::test] struct NotAllowed;
     impl Next {}
     #[test] use raddle as _;
     fn f() { raddle::explore(|| {}) }`,
    [],
  ],
  "types in headers": [
    `#[test] pub(crate) fn arrays(_: [u8; 3]) -> [(); { 0 }] { raddle::explore(|| {}) }
     #[test] fn g() { raddle::explore(|| {}) }`,
    ["arrays | fn arrays(_: [u8; 3]) -> [(); { 0 }] { raddle::explore(|| {}) }", "g | fn g() { raddle::explore(|| {}) }"],
  ],
  "half-written code ends": ["#[raddle::test] impl X { fn f( { raddle [", ["x | impl X { fn f( { raddle ["]],
};

for (const [name, [text, expected]] of Object.entries(cases)) {
  test(name, () => assert.deepEqual(found(text), expected));
}

test("names are made as the attribute makes them", () => {
  for (const [camel, snake] of [
    ["CounterTest", "counter_test"],
    ["Counter", "counter"],
    ["MSQueue", "ms_queue"],
    ["Queue2Test", "queue2_test"],
    ["LRUCacheTest", "lru_cache_test"],
    ["already_snake", "already_snake"],
    ["Odd_Name", "odd_name"],
  ]) {
    assert.equal(snakeCase(camel), snake);
  }
});
