// Reports of failures as panels. The command writes the page; a panel shows it.
//
// The page brings its own content security policy, which allows its one script and style sheet by their hashes. Editor and page
// speak by messages `{ type: "raddle.goto", event }`, in both directions.
"use strict";

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const vscode = require("vscode");
const { run } = require("./command");
const { forPanel } = require("./page");
const { workingFolder } = require("./source");
const { complaint } = require("./words");

/** The open panels, one for each failure. */
class Panels {
  /** @param {vscode.Uri} icon */
  constructor(icon) {
    this.icon = icon;
    /** @type {Map<string, vscode.WebviewPanel>} */
    this.open = new Map();
    /** @type {vscode.EventEmitter<{ file: string, event: number }>} */
    this.went = new vscode.EventEmitter();
    /** The page of a failure went to an event. */
    this.onDidGoTo = this.went.event;
  }

  dispose() {
    for (const panel of this.open.values()) panel.dispose();
    this.went.dispose();
  }

  /**
   * Shows the report of a failure beside the editor.
   * @param {import("./failures").Entry} entry
   * @param {{ preserveFocus?: boolean }} [options]
   */
  async show(entry, { preserveFocus = false } = {}) {
    const key = entry.uri.fsPath;
    const known = this.open.get(key);
    if (known) known.reveal(undefined, preserveFocus);
    const html = await page(entry);
    const panel = this.open.get(key) ?? this.create(entry, preserveFocus);
    // A page that stays the same keeps its state.
    if (panel.webview.html !== html) panel.webview.html = html;
  }

  /** Lets the page of a failure, if that is open, go to an event. @param {string} file @param {number} event */
  goTo(file, event) {
    void this.open.get(file)?.webview.postMessage({ type: "raddle.goto", event });
  }

  /** Whether the page of a failure has the keyboard. @param {string} file */
  isActive(file) {
    return this.open.get(file)?.active ?? false;
  }

  /** Gives the page of a failure the keyboard. @param {string} file */
  focus(file) {
    const panel = this.open.get(file);
    panel?.reveal(panel.viewColumn, false);
  }

  /** @param {import("./failures").Entry} entry @param {boolean} preserveFocus */
  create(entry, preserveFocus) {
    const file = entry.uri.fsPath;
    const title = entry.failure?.test.split("::").pop() ?? path.basename(file);
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus };
    const panel = vscode.window.createWebviewPanel("raddle.report", title, where, {
      enableScripts: true,
      enableFindWidget: true,
      retainContextWhenHidden: true,
      localResourceRoots: [],
    });
    panel.iconPath = this.icon;
    panel.webview.onDidReceiveMessage((message) => {
      if (message?.type === "raddle.goto" && Number.isInteger(message.event)) this.went.fire({ file, event: message.event });
    });
    panel.onDidDispose(() => this.open.delete(file));
    this.open.set(file, panel);
    return panel;
  }
}

/** The page of a failure. @param {import("./failures").Entry} entry */
async function page(entry) {
  const folder = await fs.promises.mkdtemp(path.join(os.tmpdir(), "raddle-report-"));
  try {
    const out = path.join(folder, "report.html");
    const result = await run(["show", entry.uri.fsPath, "--html", "-o", out], { cwd: workingFolder(entry) });
    if (result.code !== 0) throw new Error(complaint(result));
    return forPanel(await fs.promises.readFile(out, "utf8"));
  } finally {
    await fs.promises.rm(folder, { recursive: true, force: true });
  }
}

module.exports = { Panels };
