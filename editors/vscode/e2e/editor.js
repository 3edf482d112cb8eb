// VS Code in a browser, as a user sees it.
"use strict";

const path = require("node:path");

class Editor {
  static async open({ tools, out, url }) {
    const { chromium } = require(path.join(tools, "playwright", "node_modules", "playwright-core"));
    const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
    const context = await browser.newContext({ viewport: { width: 1600, height: 1000 }, permissions: ["clipboard-read", "clipboard-write"] });
    const editor = new Editor(browser, await context.newPage(), out);
    await editor.page.goto(url);
    await editor.page.locator(".monaco-workbench").waitFor({ timeout: 60_000 });
    return editor;
  }

  constructor(browser, page, out) {
    this.browser = browser;
    this.page = page;
    this.out = out;
    /** What went wrong within reports: exceptions, and what their policies forbid. */
    this.pageErrors = [];
    // Scripts of VS Code have addresses; the script of a report has none.
    page.on("pageerror", (error) => { if (/<anonymous>/.test(error.stack)) this.pageErrors.push(error.stack); });
    page.on("console", (message) => {
      if (message.type() === "error" && /vscode-webview|fake\.html|Content Security Policy/.test(`${message.location().url} ${message.text()}`)) this.pageErrors.push(message.text());
    });
  }

  async close() {
    await this.browser.close();
  }

  async screenshot(name) {
    await this.page.screenshot({ path: path.join(this.out, `${name}.png`) });
  }

  /** Waits until a condition holds. */
  async until(what, holds, timeout = 30_000) {
    const end = Date.now() + timeout;
    for (let last; ; ) {
      try {
        if (await holds()) return;
        last = undefined;
      } catch (error) {
        last = error;
      }
      if (Date.now() > end) throw new Error(`there is no sign of: ${what}`, { cause: last });
      await this.page.waitForTimeout(100);
    }
  }

  /** Runs a command of the palette. */
  async command(name) {
    await this.page.keyboard.press("F1");
    const input = this.page.locator(".quick-input-widget input");
    await input.waitFor();
    await input.fill(`>${name}`);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name.replace(/^.*: /, "") }).first().waitFor();
    await this.page.keyboard.press("Enter");
    await input.waitFor({ state: "hidden" });
  }

  async openFile(name) {
    await this.page.keyboard.press("Control+p");
    const input = this.page.locator(".quick-input-widget input");
    await input.waitFor();
    await input.fill(name);
    await this.page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().click();
  }

  /** The rows of the list of failures. */
  async failures() {
    const rows = this.failureRows();
    return (await rows.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  }

  failure(test) {
    return this.failureRows().filter({ hasText: test }).first();
  }

  /** Chooses an item of a context menu. */
  async menu(row, item) {
    await row.click({ button: "right" });
    const entry = this.page.locator(".context-view .action-item", { hasText: item });
    await entry.waitFor();
    // A menu ignores clicks until it has been open for a moment.
    await this.until(item, async () => {
      await entry.hover({ timeout: 1000 });
      await this.page.keyboard.press("Enter");
      await entry.waitFor({ state: "hidden", timeout: 1000 });
      return true;
    });
  }

  failureRows() {
    const pane = this.page.locator(".pane", { has: this.page.locator(".pane-header", { hasText: "Raddle Failures" }) });
    return pane.locator(".monaco-list-row");
  }

  /** The document of the report, if one is in sight. */
  async report() {
    for (const frame of this.page.frames()) {
      if (frame !== this.page.mainFrame() && (await frame.locator("#now").isVisible())) return frame;
    }
    return undefined;
  }

  /** Moves the slider of the report, as a user does. */
  async pickEvent(event) {
    const frame = await this.report();
    if (!frame) throw new Error("no report is in sight");
    await frame.locator("#slider").fill(String(event));
  }

  /** The event that the report shows. */
  async pageEvent() {
    const frame = await this.report();
    return Number(/#(\d+)/.exec(await frame.locator("#now").innerText())[1]);
  }

  /** Whether keys go to the report. */
  async reportHasFocus() {
    return (await this.report()).evaluate(() => document.hasFocus());
  }

  toolbar(name) {
    return this.page.locator(`.debug-toolbar .action-label[aria-label^="${name}"]`);
  }

  /** The line of the cursor in the text editor. */
  async cursorLine() {
    return Number(await this.page.locator(".monaco-editor .line-numbers.active-line-number").first().innerText());
  }

  /** The line that the debugger has stopped at. */
  async stoppedLine() {
    return this.page.evaluate(() => {
      const mark = document.querySelector(".view-overlays .debug-top-stack-frame-line");
      if (!mark) return undefined;
      const top = mark.getBoundingClientRect().top;
      const numbers = [...mark.closest(".monaco-editor").querySelectorAll(".margin-view-overlays .line-numbers")];
      const own = numbers.find((number) => Math.abs(number.getBoundingClientRect().top - top) < 4);
      return own && Number(own.textContent);
    });
  }

  async terminal() {
    return (await this.page.locator(".xterm-rows").allInnerTexts()).join("\n").replace(/\u00a0/g, " ");
  }
}

module.exports = { Editor };
