"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { test } = require("node:test");
const { FolderWatch } = require("../src/watch");

/** Waits until the watch has spoken since a moment. */
async function told(count, since) {
  for (let tries = 0; count() === since; tries++) {
    assert.ok(tries < 200, "a change was not noticed");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("a folder is watched from before it exists until after it is gone", async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "raddle-watch-"));
  const folder = path.join(root, "target", "raddle", "failures");
  let changes = 0;
  const watch = new FolderWatch(folder, () => changes++);
  const step = async (act) => {
    // Events of the step before may still be under way.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = changes;
    act();
    await told(() => changes, before);
  };
  try {
    await step(() => fs.mkdirSync(folder, { recursive: true }));
    await step(() => fs.writeFileSync(path.join(folder, "a.json"), "{}"));
    await step(() => fs.writeFileSync(path.join(folder, "a.json"), "[]"));
    await step(() => fs.rmSync(path.join(folder, "a.json")));
    await step(() => fs.rmSync(path.join(root, "target"), { recursive: true }));
    await step(() => fs.mkdirSync(folder, { recursive: true }));
    await step(() => {
      fs.rmSync(folder, { recursive: true });
      fs.mkdirSync(folder);
    });
    await step(() => fs.writeFileSync(path.join(folder, "b.json"), "{}"));
    const before = changes;
    fs.writeFileSync(path.join(root, "elsewhere"), "");
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(changes, before, "other folders do not matter");
  } finally {
    watch.dispose();
    fs.rmSync(root, { recursive: true });
  }
});
