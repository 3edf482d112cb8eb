// Pictures of pages for the book: `cargo xtask gallery`. NAMES are the pages in PAGES, PICTURES the directory for the pictures.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { withPalette } from "./palette.mjs";

const { PAGES, PICTURES, NAMES, CHROMIUM, PLAYWRIGHT } = process.env;
const { chromium } = (await import(pathToFileURL(PLAYWRIGHT).href)).default;
mkdirSync(PICTURES, { recursive: true });
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1320, height: 860 } });
for (const name of NAMES.split(" ")) {
  await page.goto(pathToFileURL(join(PAGES, `${name}.html`)).href);
  await page.locator("#app").waitFor();
  await page.waitForTimeout(400);
  const path = join(PICTURES, `${name}.png`);
  const picture = withPalette(await page.screenshot());
  writeFileSync(path, picture);
  console.log(`${path}: ${Math.ceil(picture.length / 1024)} KB`);
}
await browser.close();
