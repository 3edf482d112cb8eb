"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { Link } = require("../src/link");

/** A link whose sides write down what they are told; jumps end when the test says so. */
function linked() {
  const log = [];
  const jumps = [];
  const link = new Link({
    tellPage: (event) => log.push(`page ${event}`),
    askDebugger: (event) => {
      log.push(`debugger ${event}`);
      return new Promise((resolve, reject) => jumps.push({ resolve, reject }));
    },
    onError: (error) => log.push(`error ${error}`),
  });
  // As the debug adapter does: the request is answered when the jump begins.
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const land = async (event) => {
    jumps.shift().resolve();
    await settle();
    link.debuggerStandsAt(event);
    await settle();
  };
  return { link, log, jumps, land, settle };
}

test("a click moves the debugger, which does not move the page back", async () => {
  const { link, log, land } = linked();
  link.pageWentTo(4);
  await land(4);
  assert.deepEqual(log, ["debugger 4"]);
});

test("a step moves the page, which does not move the debugger back", async () => {
  const { link, log, settle } = linked();
  link.debuggerStandsAt(7);
  link.pageWentTo(7);
  await settle();
  assert.deepEqual(log, ["page 7"]);
});

test("of many requests the first and the last are made", async () => {
  const { link, log, land } = linked();
  for (const event of [1, 2, 3, 4]) link.pageWentTo(event);
  await land(1);
  await land(4);
  assert.deepEqual(log, ["debugger 1", "debugger 4"], "the landing at 1 does not pull the page back from 4");
});

test("a debugger that lands elsewhere takes the page along", async () => {
  const { link, log, land } = linked();
  link.pageWentTo(5);
  await land(6);
  assert.deepEqual(log, ["debugger 5", "page 6"]);
});

test("a debugger at no event leaves the page alone", async () => {
  const { link, log, land } = linked();
  link.debuggerStandsAt(undefined);
  link.pageWentTo(5);
  await land(undefined);
  link.pageWentTo(6);
  assert.deepEqual(log, ["debugger 5", "debugger 6"]);
});

test("a jump that fails is told, and the next one is made", async () => {
  const { link, log, jumps, land, settle } = linked();
  link.pageWentTo(1);
  link.pageWentTo(2);
  jumps.shift().reject("gone");
  await settle();
  await land(2);
  link.pageWentTo(3);
  await land(3);
  assert.deepEqual(log, ["debugger 1", "error gone", "debugger 2", "debugger 3"]);
});
