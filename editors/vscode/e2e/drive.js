// Drives VS Code in a browser and checks what a user would see. Arguments: the folder of the tools, the root of the repository, and
// the `cargo-raddle` to test with; without the last one, a stand-in is used.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { parsePlaces } = require("../src/failure");
const { makeWorkspace, startServer } = require("./server");
const { Editor } = require("./editor");

const [tools, root, given] = process.argv.slice(2);
const out = path.join(tools, "out");
const workspace = path.join(out, "workspace");
const failures = path.join(workspace, "target", "raddle", "failures");
const command = given ? `"${given}"` : `node "${path.join(__dirname, "fake-raddle.js")}"`;
/** The real command builds Raddle first. */
const patience = given ? 600_000 : 60_000;

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});

async function main() {
  fs.rmSync(out, { recursive: true, force: true });
  makeWorkspace(workspace, root);
  const server = await startServer({ tools, out, command });
  const editor = await Editor.open({ tools, out, url: `${server.url}/?folder=${workspace}` });
  try {
    for (const step of [gutter, runs, watches, listed, report, followsWithoutDebugger, debugs, steps, jumps, keys, ends, copies, replays, debugsTests]) {
      const began = Date.now();
      try {
        await step(editor);
      } catch (error) {
        await editor.screenshot(`failed-${step.name}`);
        if (editor.pageErrors.length > 0) console.error("errors of the report:", editor.pageErrors);
        throw new Error(`step \`${step.name}\``, { cause: error });
      }
      await editor.screenshot(step.name);
      console.log(`ok ${step.name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    }
    assert.deepEqual(editor.pageErrors, [], "the report made errors");
    console.log(`screenshots: ${out}`);
  } finally {
    await editor.close();
    server.stop();
  }
}

/** Tests of Raddle, and no others, can be run from the gutter. */
async function gutter(editor) {
  await editor.openFile("counter.rs");
  await editor.until("two tests in the gutter", async () => (await editor.page.locator(".glyph-margin-widgets .codicon-testing-run-icon").count()) === 2);
}

/** Running all tests finds failures in both packages. */
async function runs(editor) {
  assert.ok(!fs.existsSync(failures), "the failures must come from this run");
  await editor.command("Testing: Focus on Test Explorer View");
  const explorer = editor.page.locator(".test-explorer-tree, .test-explorer").first();
  await editor.until("both packages", async () => /counter[^]*queue/.test(await explorer.innerText()));
  await editor.command("Test: Run All Tests");
  await editor.until("failure files", async () => fs.existsSync(failures) && fs.readdirSync(failures).filter((name) => name.endsWith(".json")).length >= 2, patience);
  await editor.until("verdicts", async () => /1\/3/.test(await editor.page.locator(".result-summary").first().innerText()), patience);
  await editor.until("the end of the run", async () => (await editor.page.locator(".test-explorer .codicon-loading").count()) === 0, patience);
}

/** The list follows the folder. */
async function watches(editor) {
  const file = path.join(failures, "lost_update.json");
  const kept = fs.readFileSync(file);
  await editor.until("two failures", async () => (await editor.failures()).length === 2);
  fs.rmSync(file);
  await editor.until("one failure", async () => (await editor.failures()).length === 1);
  fs.writeFileSync(file, kept.subarray(0, 100));
  await editor.until("a file that was cut off", async () => (await editor.failures()).some((row) => /lost_update\.json.*cut off/.test(row)));
  fs.writeFileSync(file, kept);
  await editor.until("two failures again", async () => (await editor.failures()).length === 2);
}

/** Each failure has its test, kind and message. */
async function listed(editor) {
  await editor.until("test, kind and message", async () => (await editor.failures()).some((row) => /lost_update.*panic: assertion `left == right` failed/.test(row)));
  assert.ok((await editor.failures()).some((row) => /stack_test/.test(row)));
}

/** A click opens the report. */
async function report(editor) {
  await editor.failure("lost_update").click();
  await editor.until("the report", async () => (await (await editor.report())?.locator("#test").innerText()) === "lost_update");
}

/** Without a debugger, the editor shows the line of an event, and the page stays where it is. */
async function followsWithoutDebugger(editor) {
  const places = placesOfEvents();
  for (const event of someEvents(places)) {
    await editor.pickEvent(event);
    await editor.until(`the line of event ${event}`, async () => (await editor.cursorLine()) === places[event].line);
  }
  assert.ok(await editor.report(), "the report is still in sight");
}

/** Debugging stops at an event and offers to step back. */
async function debugs(editor) {
  await editor.menu(editor.failure("lost_update"), "Debug Failure");
  await editor.until("Step Back", () => editor.toolbar("Step Back").isVisible(), patience);
  await editor.until("Reverse", () => editor.toolbar("Reverse").isVisible());
  await editor.until("a stop", async () => (await editor.stoppedLine()) !== undefined, patience);
}

/** The page follows the debugger, forwards and backwards. */
async function steps(editor) {
  const places = placesOfEvents();
  const [from] = someEvents(places);
  await editor.pickEvent(from);
  await editor.until("the debugger at the event", async () => (await editor.stoppedLine()) === places[from].line);
  await editor.toolbar("Step Back").click();
  await editor.until("the page at an earlier event", async () => (await editor.pageEvent()) < from);
  const back = await editor.pageEvent();
  await editor.toolbar("Continue").click();
  await editor.until("the page at a later event", async () => (await editor.pageEvent()) > back);
}

/** The debugger follows the page, and only the last of many requests counts. */
async function jumps(editor) {
  const places = placesOfEvents();
  for (const event of someEvents(places)) {
    await editor.pickEvent(event);
    await editor.until(`the debugger at event ${event}`, async () => (await editor.stoppedLine()) === places[event].line);
    assert.equal(await editor.pageEvent(), event);
  }
  const [target] = someEvents(places);
  for (let event = 0; event < places.length; event++) await editor.pickEvent(event);
  await editor.pickEvent(target);
  await editor.until("the debugger at the last request", async () => (await editor.stoppedLine()) === places[target].line);
  assert.equal(await editor.pageEvent(), target);
}

/** The page keeps the keyboard while the debugger follows. */
async function keys(editor) {
  const places = placesOfEvents();
  const [, first] = someEvents(places);
  await editor.pickEvent(first);
  await (await editor.report()).locator("#now").click();
  for (let event = first; event < first + 3; event++) {
    await editor.until(`the keyboard in the page at event ${event}`, () => editor.reportHasFocus());
    // Until the debugger has arrived, and the editor has had its chance to take the keyboard.
    await editor.page.waitForTimeout(700);
    await editor.page.keyboard.press("ArrowRight");
    await editor.until(`event ${event + 1}`, async () => (await editor.pageEvent()) === event + 1);
  }
}

async function ends(editor) {
  await editor.toolbar("Stop").click();
  await editor.until("no toolbar", async () => !(await editor.toolbar("Stop").isVisible()));
  await editor.command("Testing: Focus on Test Explorer View");
}

/** Debugging a test runs it, and debugs the failure that it finds. */
async function debugsTests(editor) {
  await editor.command("Test: Debug All Tests");
  await editor.until("Step Back", () => editor.toolbar("Step Back").isVisible(), patience);
  await editor.until("a stop", async () => (await editor.stoppedLine()) !== undefined, patience);
  await ends(editor);
}

async function copies(editor) {
  await editor.menu(editor.failure("lost_update"), "Copy Sequence Diagram");
  const read = () => editor.page.evaluate(() => navigator.clipboard.readText());
  await editor.until("a diagram", async () => (await read()).startsWith("sequenceDiagram"));
}

async function replays(editor) {
  await editor.menu(editor.failure("lost_update"), "Replay Failure");
  const said = given ? /left: 1/ : /replayed lost_update/;
  await editor.until("the replay", async () => said.test(await editor.terminal()), patience);
}

/** Where the events of the failure are that is looked at. */
function placesOfEvents() {
  return parsePlaces(fs.readFileSync(path.join(failures, "lost_update.json"), "utf8"));
}

/** Events in the library at different lines, the later one first: the load, the store and the load again. */
function someEvents(places) {
  const inside = places.map((place, event) => ({ place, event })).filter(({ place }) => place?.file.endsWith("lib.rs"));
  const load = inside.find(({ place }) => place.line === 7);
  const store = inside.find(({ place }) => place.line === 8);
  assert.ok(load && store, "the trace has the load and the store of the counter");
  return [store.event, load.event, store.event];
}
