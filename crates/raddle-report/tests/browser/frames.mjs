// What a frame and a question cost in the page, for its tests and for the benchmark.

import assert from "node:assert/strict";

/** A function that tells the milliseconds of processor time that the page has used, and the number of its layouts. */
async function meter(page) {
  const session = await page.context().newCDPSession(page);
  // The time of the processor, because the machine may be busy with other things.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    const value = (name) => metrics.find((metric) => metric.name === name).value;
    return { busy: value("TaskDuration") * 1000, layouts: value("LayoutCount") };
  };
}

/**
 * The cost of a frame while the slider jumps through the trace, for each of these pages. Other programs make a processor slower, never
 * faster, so the pages take turns, and the cheapest of the rounds counts.
 */
export async function scrub(pages, rounds = 8) {
  const FRAMES = 40;
  const costs = [];
  for (const page of pages) costs.push({ page, measure: await meter(page), busy: Infinity, layouts: Infinity });
  for (let round = 0; round < rounds; round++) {
    for (const cost of costs) {
      await cost.page.bringToFront();
      const begin = await cost.measure();
      await cost.page.evaluate(async ([count, first]) => {
        const slider = document.querySelector("#slider");
        for (let at = 0; at < count; at++) {
          slider.value = ((first + at) * 83) % (Number(slider.max) + 1);
          slider.dispatchEvent(new Event("input"));
          await new Promise(requestAnimationFrame);
        }
      }, [FRAMES, round * FRAMES]);
      const end = await cost.measure();
      for (const name of ["busy", "layouts"]) cost[name] = Math.min(cost[name], (end[name] - begin[name]) / FRAMES);
    }
  }
  return costs;
}

/** The processor time of the slowest question about the current event. */
export async function slowestQuestion(page) {
  const measure = await meter(page);
  await page.locator("#rows").focus();
  await page.waitForTimeout(200);
  let slowest = 0;
  const time = async (ask, argument) => {
    const { busy: from } = await measure();
    await page.evaluate(ask, argument);
    slowest = Math.max(slowest, (await measure()).busy - from);
  };
  for (const key of ["o", "b"]) await time((key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })) && undefined, key);
  const buttons = await page.locator("#ask .suggestions button").count();
  assert.ok(buttons > 0);
  for (let at = 0; at < buttons; at++) await time((at) => document.querySelectorAll("#ask .suggestions button")[at].click(), at);
  return slowest;
}
