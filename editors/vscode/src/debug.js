// The debugger: `cargo raddle debug FILE --dap` is the debug adapter, and each session is linked with the page of its failure.
"use strict";

const path = require("node:path");
const vscode = require("vscode");
const { command } = require("./command");
const { Link } = require("./link");
const { locate, workingFolder } = require("./source");

/** The request by which the debug adapter goes to an event: `{ event }`. */
const GO_TO = "raddle/gotoEvent";
/** The time after which the editor has opened the file of a stack frame, in milliseconds. */
const FOCUS_DELAY = 150;
/** The event by which the debug adapter says where the program stands, after each stop: `{ event }`, or null before the first one. */
const POSITION = "raddle/position";

/** Sessions and what they are linked with. */
class Debugging {
  /** @param {import("./failures").Failures} failures @param {import("./panel").Panels} panels */
  constructor(failures, panels) {
    this.failures = failures;
    this.panels = panels;
    /** The link of each session, by the session's id. @type {Map<string, { file: string, link: Link }>} */
    this.links = new Map();
    /** @type {NodeJS.Timeout | undefined} */
    this.revealing = undefined;
    /** The failure whose page has the keyboard and asked the debugger to go somewhere. @type {string | undefined} */
    this.asking = undefined;
    this.parts = [
      vscode.debug.registerDebugAdapterDescriptorFactory("raddle", { createDebugAdapterDescriptor: (session) => this.adapter(session) }),
      vscode.debug.registerDebugConfigurationProvider("raddle", {
        resolveDebugConfiguration: (_, config) => this.complete(config),
        resolveDebugConfigurationWithSubstitutedVariables: (folder, config) => this.resolve(folder, config),
      }),
      vscode.debug.onDidStartDebugSession((session) => this.started(session)),
      vscode.debug.onDidTerminateDebugSession((session) => this.links.delete(session.id)),
      vscode.debug.onDidReceiveDebugSessionCustomEvent(({ session, event, body }) => this.told(session, event, body)),
      vscode.debug.onDidChangeActiveStackItem(() => this.giveBackFocus()),
      panels.onDidGoTo(({ file, event }) => void this.pageWentTo(file, event)),
    ];
  }

  dispose() {
    clearTimeout(this.revealing);
    for (const part of this.parts) part.dispose();
  }

  /** Starts debugging a failure. @param {import("./failures").Entry} entry */
  async start({ uri, failure }) {
    const name = failure ? `Raddle: ${failure.test}` : "Raddle";
    const folder = vscode.workspace.getWorkspaceFolder(uri) ?? vscode.workspace.workspaceFolders?.[0];
    await vscode.debug.startDebugging(folder, { type: "raddle", request: "launch", name, failure: uri.fsPath });
  }

  /** Asks which failure, if there is no configuration. @param {vscode.DebugConfiguration} config */
  async complete(config) {
    if (config.failure) return config;
    await this.failures.refresh();
    const picks = this.failures.entries.flatMap(({ uri, failure }) =>
      failure ? [{ label: failure.test, description: failure.kind, detail: failure.message, file: uri.fsPath }] : []);
    if (picks.length === 0) {
      void vscode.window.showInformationMessage("There is no failure to debug. Run the tests with Raddle first.");
      return undefined;
    }
    const pick = picks.length === 1 ? picks[0] : await vscode.window.showQuickPick(picks, { placeHolder: "The failure to debug" });
    return pick && { ...config, type: "raddle", request: "launch", name: `Raddle: ${pick.label}`, failure: pick.file };
  }

  /** @param {vscode.WorkspaceFolder | undefined} folder @param {vscode.DebugConfiguration} config */
  resolve(folder, config) {
    return { ...config, failure: path.resolve(folder?.uri.fsPath ?? "", config.failure) };
  }

  /** @param {vscode.DebugSession} session */
  async adapter(session) {
    const file = vscode.Uri.file(session.configuration.failure);
    const entry = await this.failures.entry(file);
    if (!entry) throw new Error(`There is no failure file ${file.fsPath}. Run the test again.`);
    const { program, args } = command(["debug", file.fsPath, "--dap"], file);
    return new vscode.DebugAdapterExecutable(program, args, { cwd: workingFolder(entry) });
  }

  /** @param {vscode.DebugSession} session */
  async started(session) {
    if (session.type !== "raddle") return;
    const file = session.configuration.failure;
    this.linkOf(session);
    if (session.configuration.report === false) return;
    const entry = await this.failures.entry(vscode.Uri.file(file));
    try {
      if (entry) await this.panels.show(entry, { preserveFocus: true });
    } catch (error) {
      // Debugging goes on without its page.
      void vscode.window.showWarningMessage(`The report cannot be shown: ${text(error)}`);
    }
    const link = this.links.get(session.id)?.link;
    if (link?.shown !== undefined) this.panels.goTo(file, link.shown);
  }

  /** The debug adapter said something of its own. */
  told(/** @type {vscode.DebugSession} */ session, /** @type {string} */ name, /** @type {any} */ body) {
    if (session.type !== "raddle" || name !== POSITION) return;
    // At the end of the execution no thread may be left that stands at an event.
    const event = body?.standing === "end" ? body.event ?? body.events - 1 : body?.event;
    this.linkOf(session).debuggerStandsAt(Number.isInteger(event) ? event : undefined);
  }

  /** Made when first needed: a session may speak before the editor says that it has started. @param {vscode.DebugSession} session */
  linkOf(session) {
    const known = this.links.get(session.id);
    if (known) return known.link;
    const file = session.configuration.failure;
    const link = new Link({
      tellPage: (event) => this.panels.goTo(file, event),
      askDebugger: async (event) => session.customRequest(GO_TO, { event }),
      onError: (error) => void vscode.window.showWarningMessage(`The debugger cannot go there: ${text(error)}`),
    });
    this.links.set(session.id, { file, link });
    return link;
  }

  /** The debugger follows the page; without one, the editor does. @param {string} file @param {number} event */
  async pageWentTo(file, event) {
    const session = [...this.links.values()].find((linked) => linked.file === file);
    if (session) {
      if (this.panels.isActive(file)) this.asking = file;
      return session.link.pageWentTo(event);
    }
    clearTimeout(this.revealing);
    // Not each event that a slider passes.
    this.revealing = setTimeout(() => void this.reveal(file, event), 150);
  }

  /** The editor takes the keyboard when the debugger stops. Whoever goes through the page with it wants to go on there. */
  giveBackFocus() {
    const file = this.asking;
    this.asking = undefined;
    if (file !== undefined) setTimeout(() => this.panels.focus(file), FOCUS_DELAY);
  }

  /** Shows the line of an event beside the page. @param {string} file @param {number} event */
  async reveal(file, event) {
    const entry = await this.failures.entry(vscode.Uri.file(file));
    const location = entry && locate(entry, await this.failures.place(entry, event));
    if (!location) return;
    const visible = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.fsPath === location.uri.fsPath);
    const viewColumn = visible?.viewColumn ?? vscode.ViewColumn.One;
    const { start } = location.range;
    const selection = new vscode.Range(start, start);
    await vscode.window.showTextDocument(location.uri, { viewColumn, preserveFocus: true, preview: true, selection });
  }
}

const text = (/** @type {unknown} */ error) => (error instanceof Error ? error.message : String(error));

module.exports = { Debugging };
