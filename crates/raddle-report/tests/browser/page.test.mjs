// The page in a real browser: `cargo xtask page-test`. PAGES is the directory of the sample pages, CHROMIUM the browser.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { scrub, slowestQuestion } from "./frames.mjs";

const { PAGES, CHROMIUM, PLAYWRIGHT } = process.env;
const { chromium } = (await import(pathToFileURL(PLAYWRIGHT).href)).default;
let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
});
after(() => browser.close());

/** Opens a sample page, runs a test on it, and checks that nothing went wrong meanwhile. */
function check(name, sample, run, { fragment = "", viewport = { width: 1280, height: 800 }, ...options } = {}) {
  test(name, async () => {
    const context = await browser.newContext({ viewport, ...options });
    const page = await context.newPage();
    const wrong = [];
    page.on("console", (message) => wrong.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => wrong.push(`error: ${error.stack}`));
    page.on("dialog", (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    page.on("request", (request) => { if (!/^(file|data):/.test(request.url())) wrong.push(`request: ${request.url()}`); });
    await page.goto(pathToFileURL(join(PAGES, `${sample}.html`)).href + fragment);
    await page.locator("#app").waitFor();
    await run(page);
    assert.deepEqual(wrong, []);
    await context.close();
  });
}

const position = (page) => page.locator("#position").textContent().then((text) => Number(text.split(" / ")[0]));
const now = (page) => page.locator("#now").textContent();
const text = (page, selector) => page.locator(selector).textContent();
const focusTrace = (page) => page.locator("#rows").focus();

/** Waits until the current event is this one. */
async function at(page, event) {
  await page.waitForFunction((wanted) => document.querySelector("#position").textContent.startsWith(`${wanted} / `), event);
}

check("the failure is shown", "queue", async (page) => {
  assert.equal(await text(page, "#class"), "✗ incorrect results");
  assert.equal(await text(page, "#test"), "queue_test");
  assert.match(await text(page, "#why .body"), /the order that explains most.*T1 enqueue\(1\) -> \(\).*should be Some\(1\)/s);
  assert.match(await text(page, "#why .body"), /From #15 on, every execution fails: all 212 executions/);
  assert.match(await text(page, "#why .body"), /cargo raddle replay target\/raddle\/failures\/queue.json/);
});

check("names, values and source text are text", "queue", async (page) => {
  await page.locator("#tab-state").click();
  // The diagram is drawn in the next frame.
  await page.waitForFunction(() => document.querySelector("#state .diagram").textContent !== "");
  assert.equal(await page.locator("img").count(), 0);
  assert.match(await page.locator("#state .diagram").innerHTML(), /&lt;\/script&gt;&lt;img/);
  assert.match(await text(page, "#source .body"), /<\/script>/);
});

check("rows are chosen by a click", "queue", async (page) => {
  await page.locator("#rows .row", { hasText: "Node#2.next.store" }).click();
  await at(page, 11);
  assert.match(await now(page), /#11.*T2.*Node#2\.next\.store/);
  await page.waitForFunction(() => location.hash === "#event=11");
  assert.equal(await page.locator("#rows .row.current").count(), 1);
});

check("keys step both ways", "queue", async (page) => {
  await focusTrace(page);
  const steps = [["Home", 0], ["ArrowRight", 1], ["ArrowRight", 2], ["ArrowLeft", 1], ["End", 24], ["p", 23], ["p", 22], ["n", 23]];
  for (const [key, event] of steps) { await page.keyboard.press(key); await at(page, event); }
  await page.evaluate(() => { location.hash = "#event=10"; });
  await at(page, 10);
  await page.keyboard.press("w");
  await at(page, 6);
  await page.keyboard.press("j");
  await at(page, 8);
  await page.keyboard.press("k");
  await at(page, 6);
});

check("calls fold and unfold", "queue", async (page) => {
  await focusTrace(page);
  await page.keyboard.press("Home");
  await at(page, 0);
  const inside = page.locator("#rows .row", { hasText: "Queue::enqueue" });
  await inside.first().waitFor();
  const fold = page.locator("#rows .row.operation", { hasText: "enqueue(1)" }).locator(".fold");
  await fold.click();
  await page.locator("#rows .row.operation[aria-label*='enqueue(1)'][aria-label$=', folded']").waitFor();
  assert.equal(await page.locator("#rows .row.call.t1:not([hidden])").count(), 0);
  await fold.click();
  await page.locator("#rows .row.call.t1:not([hidden])").waitFor();
  await focusTrace(page);
  await page.keyboard.press("a");
  await page.keyboard.press("Home");
  assert.equal(await page.locator("#every").getAttribute("aria-pressed"), "true");
  await page.locator("#rows .row.quiet", { hasText: "node.value = 1" }).first().click();
  await at(page, 5);
});

check("the slider scrubs and the player plays", "queue", async (page) => {
  await page.locator("#slider").fill("4");
  await at(page, 4);
  await page.locator("#slider").focus();
  await page.keyboard.press("ArrowRight");
  await at(page, 5);
  await page.locator("#first").click();
  await at(page, 0);
  await page.locator("#play").click();
  await page.waitForFunction(() => Number(document.querySelector("#position").textContent.split(" ")[0]) > 5);
  await page.getByRole("button", { name: "Pause" }).click();
  const stopped = await position(page);
  await page.waitForTimeout(700);
  assert.equal(await position(page), stopped);
});

check("the search finds rows", "queue", async (page) => {
  await focusTrace(page);
  await page.keyboard.press("/");
  await page.keyboard.type("dequeue");
  assert.equal(await text(page, "#found"), "3 rows");
  await page.keyboard.press("Enter");
  await at(page, 13);
  assert.match(await page.locator("#rows .row.current").getAttribute("aria-label"), /operation dequeue/);
  await page.keyboard.press("Enter");
  await at(page, 14);
  await page.keyboard.press("Shift+Enter");
  await at(page, 13);
  await page.keyboard.press("Escape");
  assert.equal(await text(page, "#found"), "");
});

check("questions are answered", "queue", async (page) => {
  await page.locator("#links").getByText("where from?").click();
  assert.match(await text(page, "#ask .body"), /Where did the value of #10 come from\?.*#10.*#6.*It is the initial value/s);
  await page.locator("#links").getByText("who wrote?").click();
  assert.match(await text(page, "#ask .body"), /Who wrote queue\.tail\?.*#6.*#10/s);
  await page.locator("#links").getByText("what before?").click();
  assert.match(await text(page, "#ask .body"), /What must have happened before #10\?.*T1.*everything that T1 did before it \(4 events\) #6/s);
  await page.locator("#ask .answers").getByText("queue.tail.swap").click();
  await at(page, 6);
}, { fragment: "#event=10" });

check("a missed write is named", "queue", async (page) => {
  await page.locator("#links").getByText("who missed?").click();
  assert.match(await text(page, "#ask .body"), /Nobody/);
}, { fragment: "#event=18" });

check("the state changes and nodes stay put", "queue", async (page) => {
  await page.locator("#tab-state").click();
  const places = () => page.locator(".node").evaluateAll((nodes) => nodes.map((node) => node.getAttribute("transform")));
  const first = await places();
  assert.equal(first.length, 4);
  await page.locator("#slider").fill("5");
  await at(page, 5);
  await page.locator(".node.changed").waitFor();
  assert.match(await text(page, ".node.changed"), /Node#2/);
  assert.equal(await text(page, "#state-note"), "1 object changed");
  assert.equal(await page.locator(".node:not(.absent)").count(), 3);
  await page.locator("#slider").fill("23");
  await page.locator(".node.freed").waitFor();
  assert.match(await text(page, ".node.freed"), /Node#1.*freed/s);
  assert.ok((await page.locator("path.pointer.dangling").count()) > 0);
  assert.deepEqual(await places(), first);
  await page.locator(".node .line", { hasText: "tail" }).click();
  assert.match(await text(page, "#ask .body"), /The history of queue\.tail.*➜ Node#1 before the first event.*➜ Node#2.*➜ Node#3/s);
  await page.locator("#state-text").click();
  assert.match(await text(page, ".state-text"), /queue: Queue#1.*head: ➜ Node#1/s);
});

check("the source shows the line of each thread", "queue", async (page) => {
  assert.match(await text(page, ".src.here"), /T2.*22.*old\.next\.store\(new, Release\)/s);
  assert.equal(await page.locator("#source .marks .thread").count(), 2);
  await page.locator("#files .chip", { hasText: "queue.rs:10" }).click();
  assert.match(await text(page, ".file-name"), /tests\/queue\.rs/);
}, { fragment: "#event=11" });

check("the nearest passing execution stands beside the failing one", "queue", async (page) => {
  await page.locator("#tab-pass").click();
  assert.match(await text(page, "#pass .body"), /the same 7 events.*T2.*goes on and the test fails.*T1.*passed/s);
  assert.match(await text(page, "#pass .results"), /dequeue\(\).*None.*Some\(1\)/s);
});

check("parts that a failure does not have are left out", "bare", async (page) => {
  assert.equal(await page.locator("#state").count(), 0);
  assert.equal(await page.locator("#pass").count(), 0);
  await focusTrace(page);
  for (const key of ["Home", "ArrowDown", "ArrowDown", "o", "b", "End"]) await page.keyboard.press(key);
  await at(page, 24);
});

check("an obstruction is shown where an operation spins", "spins", async (page) => {
  const spin = await page.evaluate(() => JSON.parse(document.querySelector("#failure-data").textContent).trace.events.findIndex((event) => event.switch === "spinning") - 1);
  assert.ok(spin > 0);
  await at(page, spin);
  assert.match(await now(page), /not obstruction-free/);
  assert.match(await text(page, "#why .body"), /Where an operation waits for another thread.*spins at/s);
  assert.equal(await page.locator(`#why [data-event="${spin}"]`).count() > 0, true);
});

check("a failure without events has its reasons", "empty", async (page) => {
  assert.match(await text(page, "#why .body"), /should be Some\(1\)/);
  assert.equal(await page.locator("footer").isVisible(), false);
});

check("a fragment chooses the event", "queue", (page) => at(page, 17), { fragment: "#event=17" });

test("pages around this one lead and follow", async () => {
  const wrapper = join(PAGES, "wrapper.html");
  writeFileSync(wrapper, "<!DOCTYPE html><title>x</title><iframe src=\"queue.html\" width=1200 height=700></iframe><script>heard=[];addEventListener('message',m=>heard.push(m.data))</script>");
  const page = await browser.newPage();
  await page.goto(pathToFileURL(wrapper).href);
  const frame = page.frames()[1];
  await frame.locator("#app").waitFor();
  await page.evaluate(() => document.querySelector("iframe").contentWindow.postMessage({ type: "raddle.goto", event: 14 }, "*"));
  await at(frame, 14);
  assert.deepEqual(await page.evaluate("heard"), [], "a page that follows does not answer");
  await frame.locator("#forth").click();
  await at(frame, 15);
  assert.deepEqual(await page.evaluate("heard"), [{ type: "raddle.goto", event: 15 }]);
  await page.close();
});

/** The contrast of two colours, as WCAG defines it. */
function contrast(one, other) {
  const light = (colour) => {
    const parts = colour.match(/\w\w/g).map((part) => parseInt(part, 16) / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

for (const colorScheme of ["light", "dark"]) {
  check(`colours are readable: ${colorScheme}`, "queue", async (page) => {
    const colours = () => page.evaluate(() => Object.fromEntries(["--panel", "--text", "--dim", "--bad", "--good", "--accent", ...Array.from({ length: 8 }, (_, at) => `--t${at}`)]
      .map((name) => [name, getComputedStyle(document.documentElement).getPropertyValue(name).trim()])));
    const look = async () => {
      const { "--panel": panel, ...others } = await colours();
      for (const [name, colour] of Object.entries(others)) assert.ok(contrast(colour, panel) >= 4.5, `${name} ${colour} on ${panel}: ${contrast(colour, panel)}`);
      return panel;
    };
    const own = await look();
    await focusTrace(page);
    await page.keyboard.press("t");
    assert.notEqual(await look(), own);
  }, { colorScheme });
}

check("a small screen needs no sideways scrolling", "queue", async (page) => {
  for (const panel of ["why", "scenario", "trace", "state", "source", "ask", "pass"]) assert.ok(await page.locator(`#${panel}`).isVisible(), panel);
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= screen, `${wide} > ${screen}`);
  await page.locator("#forth").click();
  const shifted = await page.evaluate(() => {
    const lanes = [...document.querySelectorAll("#rows .lifeline")].map((line) => line.getBoundingClientRect().left);
    const dots = [...document.querySelectorAll("#rows .row:not([hidden]) .dot")].map((dot) => { const { left, width } = dot.getBoundingClientRect(); return left + width / 2; });
    return dots.filter((dot) => !lanes.some((lane) => Math.abs(lane - dot) < 4));
  });
  assert.deepEqual(shifted, [], "events stand on the lines of their threads");
}, { viewport: { width: 360, height: 740 }, hasTouch: true });

check("long texts make the page no wider", "large", async (page) => {
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= screen, `${wide} > ${screen}`);
});

check("the whole trace is printed", "queue", async (page) => {
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.match(await text(page, ".print-rows"), /enqueue\(1\).*Node#1\.next\.load.*dequeue\(\) -> None/s);
  const overlaps = await page.locator(".print-rows li").evaluateAll((rows) => rows.filter((row) => {
    const [line, ...others] = [...row.children].map((part) => part.getBoundingClientRect());
    return row.firstChild.scrollWidth > line.width + 1 || others.some((other) => other.left < line.right - 1);
  }).length);
  assert.equal(overlaps, 0, "lines of the source have room");
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= screen, `${wide} > ${screen}`);
  assert.equal(await page.locator("footer").isVisible(), false);
  assert.ok(await page.locator("#why").isVisible() && await page.locator("#state").isVisible());
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator(".print-rows").count(), 0);
});

check("everything has a name for screen readers", "queue", async (page) => {
  const nameless = await page.locator("button, input, [role=button], [role=tab], [role=img]").evaluateAll((elements) => elements
    .filter((element) => !(element.textContent.trim() || element.getAttribute("aria-label") || element.closest("label"))).map((element) => element.outerHTML));
  assert.deepEqual(nameless, []);
  const active = await page.locator("#rows").getAttribute("aria-activedescendant");
  assert.equal(await page.locator(`#${active}`).getAttribute("aria-selected"), "true");
  assert.equal(await page.locator("#now").getAttribute("aria-live"), "polite");
  await page.locator("#tab-why").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator("#tab-state").getAttribute("aria-selected"), "true");
  assert.ok(await page.locator("#state").isVisible());
  await page.locator("#rows").focus();
  await page.keyboard.press("?");
  assert.ok(await page.getByRole("dialog").isVisible());
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("dialog").count(), 0);
});

// The page answers in its own language what `cargo raddle query` answers in Rust: the answers name the same events.
for (const sample of ["store-buffering", "message-passing", "peterson", "broken-queue", "queue", "lost-update"]) {
  check(`the page and the index agree on ${sample}`, sample, async (page) => {
    const expected = JSON.parse(readFileSync(join(PAGES, `${sample}.answers.json`), "utf8"));
    await page.locator("#tab-ask").click();
    const given = await page.evaluate(async (count) => {
      const numbers = () => [...document.querySelectorAll("#ask .answers li .number")].map((number) => Number(number.textContent.trim().slice(1)));
      const slider = document.querySelector("#slider");
      const all = [];
      for (let event = 0; event < count; event++) {
        slider.value = event;
        slider.dispatchEvent(new Event("input"));
        const offered = () => (document.querySelector("#ask .suggestions .note") || { textContent: "" }).textContent;
        for (let frame = 0; frame < 100 && offered() !== `About event #${event}:`; frame++) await new Promise(requestAnimationFrame);
        const answer = { writers: null, readers: null, missed: null, before: null, source: null };
        const names = [[/^Who wrote/, "writers"], [/^Who read/, "readers"], [/^Who missed/, "missed"], [/must have happened/, "before"], [/^Where did/, "source"]];
        for (const [words, name] of names) {
          const button = [...document.querySelectorAll("#ask .suggestions button")].find((button) => words.test(button.textContent));
          if (!button) continue;
          button.click();
          answer[name] = numbers();
        }
        all.push(answer);
      }
      return all;
    }, expected.length);
    given.forEach((answer, event) => {
      const own = answer.before;
      const wanted = expected[event];
      if (wanted.writers !== null && answer.writers !== null) assert.deepEqual(answer.writers, wanted.writers, `writers of #${event}`);
      if (wanted.readers !== null && answer.readers !== null) assert.deepEqual(answer.readers, wanted.readers, `readers of #${event}`);
      if (answer.missed !== null) assert.deepEqual(answer.missed, wanted.missed, `missed #${event}`);
      // The page names the event before of the same thread as well, first.
      const others = wanted.before.length === own.length ? own : own.slice(1);
      assert.deepEqual(others, wanted.before, `before #${event}`);
      if (wanted.source !== null && answer.source !== null) assert.equal(answer.source[1], wanted.source, `source of #${event}`);
    });
    assert.ok(given.some((answer) => answer.writers !== null && answer.writers.length > 0), "some events write");
  });
}

// How long a frame and a question take depends on the machine, and is measured by the benchmark. On every machine, though, a trace of ten
// times the events must not make frames slower, nor questions slower by more than that.

/** Opens the page of a tenth of the events beside a page. */
async function tenth(page) {
  const smaller = await page.context().newPage();
  await smaller.goto(pathToFileURL(join(PAGES, "large-tenth.html")).href);
  await smaller.locator("#app").waitFor();
  return smaller;
}

for (const [name, tab, width, height] of [
  ["the state in front", "state", 1280, 800],
  // Every panel is in sight, and the trace has half as many rows again.
  ["a wide window", null, 1600, 1000],
]) {
  check(`ten thousand events scrub smoothly: ${name}`, "large", async (page) => {
    const smaller = await tenth(page);
    if (tab) for (const each of [page, smaller]) await each.locator(`#tab-${tab}`).click();
    await page.waitForTimeout(300);
    const [cost, small] = await scrub([page, smaller]);
    console.log(`200 objects, ${name}: ${cost.busy.toFixed(1)} ms of processor time for a frame of 10,000 events, ${small.busy.toFixed(1)} of 1,000`);
    assert.ok(cost.busy < 2 * small.busy, `${cost.busy} ms beside ${small.busy}`);
    // A second layout in a frame means that a script asked for a measure after a change.
    assert.ok(cost.layouts < 1.25, `${cost.layouts} layouts in a frame`);
    // After the slider has come to rest, what was left out on the way is there.
    await page.bringToFront();
    await page.waitForTimeout(200);
    const current = page.locator("#rows .row.current");
    assert.equal(await page.locator("#rows").getAttribute("aria-activedescendant"), await current.getAttribute("id"));
    assert.match(await current.getAttribute("aria-label"), /^T\d: .*at src\/list\.rs/);
    assert.match(await text(page, ".node .toucher"), /T\d/);
    const rows = await page.locator("#rows .row:not([hidden])").evaluateAll((rows) => rows.map((row) => Number(row.getAttribute("aria-posinset"))));
    assert.deepEqual(rows, rows.map((_, at) => rows[0] + at), "rows are in order");
  }, { viewport: { width, height } });
}

check("questions about ten thousand events take no more than ten times as long", "large", async (page) => {
  const smaller = await tenth(page);
  const cheapest = [Infinity, Infinity];
  for (let round = 0; round < 3; round++) {
    for (const [which, each, event] of [[0, page, 9877], [1, smaller, 987]]) {
      await each.bringToFront();
      await each.evaluate((event) => { location.hash = `#event=${event}`; }, event);
      await at(each, event);
      cheapest[which] = Math.min(cheapest[which], await slowestQuestion(each));
    }
  }
  const [asked, small] = cheapest;
  console.log(`200 objects: ${asked.toFixed(1)} ms of processor time for the slowest question about 10,000 events, ${small.toFixed(1)} about 1,000`);
  // Twice that, because the times are short. An answer that compares all events with all others takes a hundred times as long.
  assert.ok(asked < 20 * small, `${asked} ms beside ${small}`);
});
