// Measures a page for the benchmark: PAGE is the file, CHROMIUM the browser. Prints names and milliseconds.

import { pathToFileURL } from "node:url";
import { scrub, slowestQuestion } from "./frames.mjs";

const { PAGE, CHROMIUM, PLAYWRIGHT } = process.env;
const { chromium } = (await import(pathToFileURL(PLAYWRIGHT).href)).default;
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const begin = performance.now();
await page.goto(pathToFileURL(PAGE).href);
await page.locator("#app").waitFor();
const opened = performance.now() - begin;
await page.locator("#tab-state").click();
await page.waitForTimeout(300);
const [{ busy }] = await scrub([page], 10);
const asked = await slowestQuestion(page);
for (const [name, value] of Object.entries({ opened, frame: busy, asked })) console.log(`${name}\t${value}`);
await browser.close();
