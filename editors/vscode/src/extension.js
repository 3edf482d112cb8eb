// The extension: what each command does, and how the parts know each other.
//
// | file | idea |
// |---|---|
// | `tests` | the Test Explorer and the gutter |
// | `failures` | failure files: found, watched, listed |
// | `panel` | reports as panels |
// | `debug` | the debug adapter, linked with panels |
// | `command` | running `cargo raddle` |
// | `source` | files of the user's code, from their names in a failure |
// | `rust`, `manifest`, `output`, `failure`, `page`, `watch`, `link`, `words` | what needs no editor, and is tested without one |
"use strict";

const vscode = require("vscode");
const { command, run } = require("./command");
const { Debugging } = require("./debug");
const { Failures, FailureTree } = require("./failures");
const { Panels } = require("./panel");
const { workingFolder } = require("./source");
const { Tests } = require("./tests");
const { complaint } = require("./words");

/** @param {vscode.ExtensionContext} context */
function activate(context) {
  const failures = new Failures();
  const panels = new Panels(vscode.Uri.joinPath(context.extensionUri, "media", "icon.png"));
  const debugging = new Debugging(failures, panels);
  const tests = new Tests(failures, debugging);
  const tree = vscode.window.createTreeView("raddle.failures", { treeDataProvider: new FailureTree(failures), showCollapseAll: false });
  context.subscriptions.push(failures, panels, debugging, tests, tree);
  // No badge: the icon of the tests already counts those that failed.
  context.subscriptions.push(failures.onDidChange(() => { tree.description = String(failures.entries.length || ""); }));

  /** A command that is about one failure: one of the list, one of a test, or one that is asked for. */
  const forFailure = (/** @type {string} */ name, /** @type {(entry: import("./failures").Entry) => Promise<unknown>} */ act) => {
    context.subscriptions.push(vscode.commands.registerCommand(name, async (argument) => {
      try {
        const entry = await chosen(failures, argument);
        if (entry) await act(entry);
      } catch (error) {
        void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
      }
    }));
  };
  forFailure("raddle.openReport", (entry) => panels.show(entry));
  forFailure("raddle.debugFailure", (entry) => debugging.start(entry));
  forFailure("raddle.replayFailure", (entry) => replay(entry));
  forFailure("raddle.copyDiagram", (entry) => copyDiagram(entry));
  forFailure("raddle.openFailureFile", async (entry) => vscode.window.showTextDocument(entry.uri));
  context.subscriptions.push(vscode.commands.registerCommand("raddle.refreshFailures", () => failures.refresh()));

  void vscode.commands.executeCommand("setContext", "raddle.active", true);
  void failures.refresh();
}

/**
 * The failure that a command is about.
 * @param {Failures} failures
 * @param {any} argument A failure file, an entry of the list, or a message of a test.
 */
async function chosen(failures, argument) {
  const uri = argument instanceof vscode.Uri ? argument : argument?.uri;
  if (uri) return failures.entry(uri);
  await failures.refresh();
  // The menu of a test's message: the newest failure of that test.
  const test = argument?.test?.label;
  const entries = failures.entries.filter(({ failure }) => failure && (test === undefined || failure.test === test));
  if (entries.length === 0) {
    void vscode.window.showInformationMessage("There are no failures. Run the tests with Raddle first.");
    return undefined;
  }
  if (test !== undefined || entries.length === 1) return entries[0];
  const picks = entries.map((entry) => ({ label: entry.failure?.test ?? "", description: entry.failure?.kind, detail: entry.failure?.message, entry }));
  return (await vscode.window.showQuickPick(picks, { placeHolder: "A failure" }))?.entry;
}

/** Replays in a terminal. @param {import("./failures").Entry} entry */
async function replay(entry) {
  const { program, args } = command(["replay", entry.uri.fsPath], entry.uri);
  const scope = vscode.workspace.getWorkspaceFolder(entry.uri) ?? vscode.TaskScope.Workspace;
  const execution = new vscode.ProcessExecution(program, args, { cwd: workingFolder(entry) });
  const name = `replay ${entry.failure?.test ?? ""}`.trim();
  const task = new vscode.Task({ type: "raddle" }, scope, name, "raddle", execution, []);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, clear: true };
  await vscode.tasks.executeTask(task);
}

/** Copies the sequence diagram, for an issue or a chat. @param {import("./failures").Entry} entry */
async function copyDiagram(entry) {
  const result = await run(["show", entry.uri.fsPath, "--format", "mermaid"], { cwd: workingFolder(entry) });
  if (result.code !== 0) throw new Error(complaint(result));
  await vscode.env.clipboard.writeText(result.stdout);
  vscode.window.setStatusBarMessage("The sequence diagram (Mermaid) is in the clipboard.", 5000);
}

module.exports = { activate };
