// Raddle tests in the gutter and in the Test Explorer: packages, their targets, and the tests of each.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { run } = require("./command");
const { parseManifest, targetOf } = require("./manifest");
const { OutputReader, plain } = require("./output");
const { findTests } = require("./rust");
const { locate } = require("./source");
const { complaint } = require("./words");

/**
 * What a run needs to know of a test.
 * @typedef {object} TestData
 * @property {string} name As libtest names it.
 * @property {string} folder The package's folder.
 * @property {string} package
 * @property {string[]} target The arguments that select the target.
 */

const RUST_FILES = "**/*.rs";
const NOT_OURS = "**/{target,node_modules,.git}/**";

class Tests {
  /**
   * @param {import("./failures").Failures} failures
   * @param {import("./debug").Debugging} debugging
   */
  constructor(failures, debugging) {
    this.failures = failures;
    this.debugging = debugging;
    this.controller = vscode.tests.createTestController("raddle", "Raddle");
    /** @type {WeakMap<vscode.TestItem, TestData>} */
    this.data = new WeakMap();
    /** The items of each file. @type {Map<string, vscode.TestItem[]>} */
    this.items = new Map();
    /** @type {Map<string, NodeJS.Timeout>} */
    this.timers = new Map();
    this.controller.resolveHandler = (item) => (item ? undefined : this.scan());
    this.controller.refreshHandler = () => this.scan();
    const { Run, Debug } = vscode.TestRunProfileKind;
    this.controller.createRunProfile("Run", Run, (request, token) => this.run(request, token), true);
    this.controller.createRunProfile("Debug", Debug, (request, token) => this.run(request, token), true);

    const watcher = vscode.workspace.createFileSystemWatcher(RUST_FILES);
    watcher.onDidCreate((uri) => this.readLater(uri));
    watcher.onDidChange((uri) => this.readLater(uri));
    watcher.onDidDelete((uri) => this.replace(uri, []));
    this.parts = [
      this.controller,
      watcher,
      vscode.workspace.onDidOpenTextDocument((document) => this.readDocument(document)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => document.languageId === "rust" && this.readLater(document.uri)),
    ];
    for (const document of vscode.workspace.textDocuments) this.readDocument(document);
  }

  dispose() {
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const part of this.parts) part.dispose();
  }

  /** Looks at all files. */
  async scan() {
    const files = await vscode.workspace.findFiles(RUST_FILES, NOT_OURS);
    const found = new Set(files.map((uri) => uri.fsPath));
    for (const file of this.items.keys()) if (!found.has(file)) this.replace(vscode.Uri.file(file), []);
    await Promise.all(files.map((uri) => this.read(uri)));
  }

  /** @param {vscode.Uri} uri */
  readLater(uri) {
    clearTimeout(this.timers.get(uri.fsPath));
    this.timers.set(uri.fsPath, setTimeout(() => {
      this.timers.delete(uri.fsPath);
      void this.read(uri);
    }, 300));
  }

  /** @param {vscode.Uri} uri */
  async read(uri) {
    if (uri.scheme !== "file" || /(?:^|[\\/])target[\\/]/.test(vscode.workspace.asRelativePath(uri))) return;
    const open = vscode.workspace.textDocuments.find((document) => document.uri.fsPath === uri.fsPath);
    const text = open ? open.getText() : await fs.promises.readFile(uri.fsPath, "utf8").catch(() => "");
    this.readText(uri, text);
  }

  /** @param {vscode.TextDocument} document */
  readDocument(document) {
    if (document.languageId === "rust" && vscode.workspace.getWorkspaceFolder(document.uri)) void this.read(document.uri);
  }

  /** @param {vscode.Uri} uri @param {string} text */
  readText(uri, text) {
    const found = findTests(text);
    const home = found.length > 0 ? homeOf(uri.fsPath) : undefined;
    if (!home) return this.replace(uri, []);
    const lines = lineStarts(text);
    const items = found.map((test) => {
      const name = [home.target.module, test.name].filter(Boolean).join("::");
      const item = this.controller.createTestItem(`${uri.toString()}#${name}`, name, uri);
      item.range = new vscode.Range(position(lines, test.start), position(lines, test.end));
      this.data.set(item, { name, folder: home.folder, package: home.package, target: home.target.args });
      return item;
    });
    this.replace(uri, items, home);
  }

  /**
   * Replaces the items of a file.
   * @param {vscode.Uri} uri
   * @param {vscode.TestItem[]} items
   * @param {Home} [home]
   */
  replace(uri, items, home) {
    for (const old of this.items.get(uri.fsPath) ?? []) {
      if (!items.some((item) => item.id === old.id)) remove(this.controller, old);
    }
    this.items.delete(uri.fsPath);
    if (!home) return;
    const packageItem = child(this.controller, this.controller.items, home.folder, home.package, undefined);
    const rootFile = vscode.Uri.file(path.join(home.folder, home.target.label));
    const targetItem = child(this.controller, packageItem.children, `${home.folder}#${home.target.label}`, home.target.label, rootFile);
    for (const item of items) {
      const old = targetItem.children.get(item.id);
      // An item that stays keeps its last verdict.
      if (old) old.range = item.range;
      else targetItem.children.add(item);
    }
    const kept = items.map((item) => targetItem.children.get(item.id)).filter((item) => item !== undefined);
    this.items.set(uri.fsPath, kept);
  }

  /** @param {vscode.TestRunRequest} request @param {vscode.CancellationToken} token */
  async run(request, token) {
    if (this.items.size === 0) await this.scan();
    const run = this.controller.createTestRun(request);
    const debugs = request.profile?.kind === vscode.TestRunProfileKind.Debug;
    /** @type {import("./failures").Entry[]} */
    const found = [];
    try {
      const batches = [...this.batches(request)];
      for (const { items } of batches) for (const item of items.values()) run.enqueued(item);
      for (const batch of batches) {
        if (token.isCancellationRequested) break;
        found.push(...(await this.runBatch(run, batch, token)));
      }
    } finally {
      run.end();
    }
    if (debugs && found.length > 0) await this.debugging.start(found[0]);
    else if (debugs && !token.isCancellationRequested) {
      void vscode.window.showInformationMessage("There is nothing to debug: Raddle found no failure.");
    }
  }

  /** The tests of a request by target: each target is run by one command. @param {vscode.TestRunRequest} request */
  batches(request) {
    /** @type {Map<string, { data: TestData, items: Map<string, vscode.TestItem> }>} */
    const batches = new Map();
    const visit = (/** @type {vscode.TestItem} */ item) => {
      if (request.exclude?.includes(item)) return;
      const data = this.data.get(item);
      if (data) {
        const key = [data.folder, ...data.target].join("\n");
        const batch = batches.get(key) ?? { data, items: new Map() };
        batch.items.set(data.name, item);
        batches.set(key, batch);
      }
      item.children.forEach(visit);
    };
    if (request.include) request.include.forEach(visit);
    else this.controller.items.forEach(visit);
    return batches.values();
  }

  /**
   * Runs tests of one target. Returns the failures that were found.
   * @param {vscode.TestRun} testRun
   * @param {{ data: TestData, items: Map<string, vscode.TestItem> }} batch
   * @param {vscode.CancellationToken} token
   */
  async runBatch(testRun, { data, items }, token) {
    const began = Date.now();
    const pending = new Map(items);
    /** @type {vscode.TestItem[]} */
    const failed = [];
    for (const item of items.values()) testRun.started(item);
    const show = (/** @type {string} */ text) => testRun.appendOutput(text.replace(/\r?\n/g, "\r\n"));
    const reader = new OutputReader(({ name, verdict }) => {
      const item = pending.get(name);
      if (!item) return;
      pending.delete(name);
      if (verdict === "passed") testRun.passed(item);
      else if (verdict === "skipped") testRun.skipped(item);
      // The report comes later.
      else failed.push(item);
    });
    const names = [...items.keys()];
    const args = ["test", "-p", data.package, ...data.target, names[0], "--", "--exact", ...names.slice(1)];
    let problem;
    try {
      const result = await run(args, {
        cwd: data.folder,
        env: { CARGO_TERM_COLOR: "always" },
        token,
        onStdout: (text) => {
          show(text);
          reader.push(text);
        },
        onStderr: show,
      });
      reader.finish();
      problem = result.code === 0 ? "This test was not run: no test has this name now. Save the file and look again." : complaint(result);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    if (token.isCancellationRequested) {
      for (const item of pending.values()) testRun.skipped(item);
    } else {
      for (const item of pending.values()) testRun.errored(item, new vscode.TestMessage(problem));
    }
    await this.failures.refresh();
    return failed.flatMap((item) => {
      const name = this.data.get(item)?.name ?? "";
      const entries = this.failures.newOf(name, began);
      testRun.failed(item, failureMessage(item, reader.reports.get(name), entries[0]));
      return entries;
    });
  }
}

/**
 * @param {vscode.TestItem} item
 * @param {string | undefined} report
 * @param {import("./failures").Entry | undefined} entry
 */
function failureMessage(item, report, entry) {
  const message = new vscode.TestMessage(plain(report ?? entry?.failure?.message ?? "The test failed.").trim());
  const own = item.uri && item.range ? new vscode.Location(item.uri, item.range.start) : undefined;
  message.location = (entry && locate(entry, entry.failure?.place)) ?? own;
  // The menu of the message offers the report.
  if (entry) message.contextValue = "raddle.failure";
  return message;
}

/** @typedef {{ folder: string, package: string, target: import("./manifest").Target }} Home */

/** The package and target of a file. @param {string} file @returns {Home | undefined} */
function homeOf(file) {
  for (let folder = path.dirname(file); folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const manifestFile = path.join(folder, "Cargo.toml");
    if (!fs.existsSync(manifestFile)) continue;
    const manifest = parseManifest(fs.readFileSync(manifestFile, "utf8"));
    if (!manifest.name) return undefined;
    const inside = path.relative(folder, file).split(path.sep).join("/");
    const target = targetOf(manifest, inside, (other) => fs.existsSync(path.join(folder, other)));
    return target && { folder, package: manifest.name, target };
  }
  return undefined;
}

/**
 * The child of a collection, made if it is not there.
 * @param {vscode.TestController} controller
 * @param {vscode.TestItemCollection} children
 * @param {string} id
 * @param {string} label
 * @param {vscode.Uri | undefined} uri
 */
function child(controller, children, id, label, uri) {
  const known = children.get(id);
  if (known) return known;
  const item = controller.createTestItem(id, label, uri);
  children.add(item);
  return item;
}

/** Removes an item and those around it that become empty. @param {vscode.TestController} controller @param {vscode.TestItem} item */
function remove(controller, item) {
  const { parent } = item;
  (parent?.children ?? controller.items).delete(item.id);
  if (parent && parent.children.size === 0) remove(controller, parent);
}

/** The offsets at which lines start. @param {string} text */
function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

/** @param {number[]} starts @param {number} offset */
function position(starts, offset) {
  let low = 0;
  for (let high = starts.length; high - low > 1; ) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle;
  }
  return new vscode.Position(low, offset - starts[low]);
}

module.exports = { Tests };
