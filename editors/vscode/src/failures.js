// The failure files of the workspace: found, watched, and shown as a list.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { parseFailure, parsePlaces, headline } = require("./failure");
const { FolderWatch } = require("./watch");

/**
 * @typedef {object} Entry
 * @property {vscode.Uri} uri
 * @property {number} modified When the file was written, in milliseconds.
 * @property {import("./failure").Failure} [failure]
 * @property {string} [problem] Why the file cannot be read.
 */

/** Where cargo puts failures, from the folder of a workspace or package. */
const FAILURES = path.join("target", "raddle", "failures");

/** The failures that are known now. */
class Failures {
  constructor() {
    /** @type {Entry[]} */
    this.entries = [];
    /** Entries by path, so that files that stay the same are read once. @type {Map<string, Entry>} */
    this.known = new Map();
    /** @type {Map<string, FolderWatch>} */
    this.watchers = new Map();
    /** @type {vscode.EventEmitter<void>} */
    this.changed = new vscode.EventEmitter();
    this.onDidChange = this.changed.event;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    this.manifests = vscode.workspace.createFileSystemWatcher("**/Cargo.toml", false, true, false);
    this.manifests.onDidCreate(() => this.later());
    this.manifests.onDidDelete(() => this.later());
  }

  dispose() {
    clearTimeout(this.timer);
    this.manifests.dispose();
    for (const watcher of this.watchers.values()) watcher.dispose();
    this.changed.dispose();
  }

  /** Looks again soon: several files often change at once. */
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.refresh(), 200);
  }

  /** Looks at all folders. */
  async refresh() {
    const folders = await failureFolders();
    this.watch(folders);
    const found = (await Promise.all(folders.map((folder) => this.readFolder(folder)))).flat();
    found.sort((one, other) => other.modified - one.modified || one.uri.fsPath.localeCompare(other.uri.fsPath));
    this.entries = found;
    this.known = new Map(found.map((entry) => [entry.uri.fsPath, entry]));
    this.changed.fire();
  }

  /** The failures of a test that were written since a moment. @param {string} test @param {number} since */
  newOf(test, since) {
    return this.entries.filter(({ failure, modified }) => failure?.test === test && modified >= since);
  }

  /** The entry of a file, from the list or from disk. @param {vscode.Uri} uri */
  async entry(uri) {
    return this.known.get(uri.fsPath) ?? this.read(uri.fsPath);
  }

  /** Where an event of a failure is. @param {Entry} entry @param {number} event */
  async place({ uri }, event) {
    try {
      return parsePlaces(await fs.promises.readFile(uri.fsPath, "utf8"))[event];
    } catch {
      // The file has changed or gone, which the list will say.
      return undefined;
    }
  }

  /** @param {string[]} folders */
  watch(folders) {
    for (const [folder, watcher] of this.watchers) {
      if (folders.includes(folder)) continue;
      watcher.dispose();
      this.watchers.delete(folder);
    }
    for (const folder of folders) {
      if (this.watchers.has(folder)) continue;
      const watcher = new FolderWatch(folder, () => this.later());
      this.watchers.set(folder, watcher);
    }
  }

  /** @param {string} folder */
  async readFolder(folder) {
    const names = await fs.promises.readdir(folder).catch(() => /** @type {string[]} */ ([]));
    const entries = await Promise.all(names.filter((name) => name.endsWith(".json")).map((name) => this.read(path.join(folder, name))));
    return entries.filter((entry) => entry !== undefined);
  }

  /** @param {string} file @returns {Promise<Entry | undefined>} */
  async read(file) {
    try {
      const { mtimeMs: modified } = await fs.promises.stat(file);
      const known = this.known.get(file);
      if (known?.modified === modified) return known;
      const uri = vscode.Uri.file(file);
      const text = await fs.promises.readFile(file, "utf8");
      try {
        return { uri, modified, failure: parseFailure(text) };
      } catch (error) {
        return { uri, modified, problem: error instanceof Error ? error.message : String(error) };
      }
    } catch {
      // Deleted since it was listed.
      return undefined;
    }
  }
}

/** The folders that may have failures: those of every package and workspace here, and those of the setting. */
async function failureFolders() {
  const folders = new Set();
  for (const { uri } of vscode.workspace.workspaceFolders ?? []) {
    folders.add(path.join(uri.fsPath, FAILURES));
    for (const other of vscode.workspace.getConfiguration("raddle", uri).get("failureFolders", [])) {
      folders.add(path.resolve(uri.fsPath, other));
    }
  }
  for (const manifest of await vscode.workspace.findFiles("**/Cargo.toml", "**/{target,node_modules}/**", 1000)) {
    const folder = path.join(path.dirname(manifest.fsPath), FAILURES);
    // Members of a workspace have no target folder of their own.
    if (fs.existsSync(folder)) folders.add(folder);
  }
  return [...folders];
}

/** The list in the side bar. @implements {vscode.TreeDataProvider<Entry>} */
class FailureTree {
  /** @param {Failures} failures */
  constructor(failures) {
    this.failures = failures;
    this.onDidChangeTreeData = failures.onDidChange;
  }

  /** @param {Entry} [entry] */
  getChildren(entry) {
    return entry ? [] : this.failures.entries;
  }

  /** @param {Entry} entry */
  getTreeItem({ uri, failure, problem }) {
    const item = new vscode.TreeItem(failure?.test ?? path.basename(uri.fsPath));
    item.id = uri.toString();
    if (!failure) {
      item.description = problem;
      item.tooltip = problem;
      item.iconPath = new vscode.ThemeIcon("warning", new vscode.ThemeColor("list.warningForeground"));
      item.contextValue = "unreadable";
      item.command = { command: "vscode.open", title: "Open File", arguments: [uri] };
      return item;
    }
    item.description = `${failure.kind}: ${headline(failure.message)}`;
    const tooltip = new vscode.MarkdownString();
    tooltip.appendMarkdown("**").appendText(failure.test).appendMarkdown("** ").appendText(failure.kind).appendMarkdown("\n\n");
    tooltip.appendCodeblock(failure.message, "text").appendText(vscode.workspace.asRelativePath(uri));
    item.tooltip = tooltip;
    item.iconPath = new vscode.ThemeIcon(ICONS[failure.kind] ?? "error", new vscode.ThemeColor("testing.iconFailed"));
    item.contextValue = "failure";
    item.command = { command: "raddle.openReport", title: "Open Report", arguments: [uri] };
    item.accessibilityInformation = { label: `${failure.test}, ${failure.kind}, ${headline(failure.message)}` };
    return item;
  }
}

/** @type {Record<string, string>} */
const ICONS = {
  deadlock: "lock",
  livelock: "sync",
  "lost-wake-up": "bell-slash",
  "data-race": "git-compare",
  "time-limit": "watch",
  "incorrect-results": "checklist",
};

module.exports = { Failures, FailureTree };
