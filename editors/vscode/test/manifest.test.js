"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { parseManifest, targetOf } = require("../src/manifest");

const MANIFEST = `
[package]
name = "my-crate" # the name
version = "0.1.0"

[dependencies.other]
name = "not-this"
path = "../other"

[lib]
name = "my_lib"

[[bin]]
name = "tool"
path = "tools/tool.rs"

[[test]]
name = 'renamed'
path = "tests/odd/place.rs"
harness = false
`;

test("names and paths of targets are read", () => {
  assert.deepEqual(parseManifest(MANIFEST), {
    name: "my-crate",
    targets: [
      { kind: "lib", name: "my_lib" },
      { kind: "bin", name: "tool", path: "tools/tool.rs" },
      { kind: "test", name: "renamed", path: "tests/odd/place.rs" },
    ],
  });
  assert.equal(parseManifest('[workspace]\nmembers = ["a"]\n').name, undefined);
});

test("files belong to targets as cargo finds them", () => {
  const check = (file, others, expected) => {
    const target = targetOf(parseManifest(MANIFEST), file, (path) => others.includes(path));
    assert.equal(target && `${target.args.join(" ")} | ${target.label} | ${target.module}`, expected, file);
  };
  const library = ["src/lib.rs"];
  check("src/lib.rs", library, "--lib | src/lib.rs | ");
  check("src/queue.rs", library, "--lib | src/lib.rs | queue");
  check("src/queue/mod.rs", library, "--lib | src/lib.rs | queue");
  check("src/queue/tests.rs", library, "--lib | src/lib.rs | queue::tests");
  check("src/main.rs", library, "--bin my-crate | src/main.rs | ");
  check("src/queue.rs", ["src/main.rs"], "--bin my-crate | src/main.rs | queue");
  check("src/bin/other.rs", library, "--bin other | src/bin/other.rs | ");
  check("src/bin/big/main.rs", ["src/bin/big/main.rs"], "--bin big | src/bin/big/main.rs | ");
  check("tools/tool.rs", [], "--bin tool | tools/tool.rs | ");
  check("tests/queue.rs", [], "--test queue | tests/queue.rs | ");
  check("tests/all/main.rs", ["tests/all/main.rs"], "--test all | tests/all/main.rs | ");
  check("tests/all/stack.rs", ["tests/all/main.rs"], "--test all | tests/all/main.rs | stack");
  check("tests/common/mod.rs", [], undefined);
  check("tests/odd/place.rs", [], "--test renamed | tests/odd/place.rs | ");
  check("examples/show.rs", [], "--example show | examples/show.rs | ");
  check("benches/speed.rs", [], "--bench speed | benches/speed.rs | ");
  check("build.rs", [], undefined);
  check("xtask/src/main.rs", [], undefined);
});
