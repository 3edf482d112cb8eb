// The command that does the work: `cargo raddle`, or what the setting `raddle.command` says.
"use strict";

const { spawn } = require("node:child_process");
const vscode = require("vscode");
const { splitCommand } = require("./words");

/**
 * The program and its arguments.
 * @param {string[]} args
 * @param {vscode.Uri} [scope] Whose settings count.
 * @returns {{ program: string, args: string[] }}
 */
function command(args, scope) {
  const setting = vscode.workspace.getConfiguration("raddle", scope).get("command", "cargo raddle");
  const [program, ...first] = splitCommand(setting);
  if (!program) throw new Error("The setting `raddle.command` is empty. Its default is `cargo raddle`.");
  return { program, args: [...first, ...args] };
}

/**
 * Runs the command to its end.
 * @param {string[]} args
 * @param {object} options
 * @param {string} options.cwd
 * @param {Record<string, string>} [options.env] Variables besides those of the editor.
 * @param {vscode.CancellationToken} [options.token] Ends the command and its children.
 * @param {(text: string) => void} [options.onStdout]
 * @param {(text: string) => void} [options.onStderr]
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
function run(args, { cwd, env, token, onStdout, onStderr }) {
  const line = command(args, vscode.Uri.file(cwd));
  const group = process.platform !== "win32";
  return new Promise((resolve, reject) => {
    const child = spawn(line.program, line.args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      // Cargo's children are ended with cargo.
      detached: group,
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      stdout += text;
      onStdout?.(text);
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      stderr += text;
      onStderr?.(text);
    });
    const cancelled = token?.onCancellationRequested(() => {
      if (child.pid === undefined || child.exitCode !== null) return;
      if (group) process.kill(-child.pid, "SIGINT");
      else child.kill();
    });
    child.on("error", (error) => {
      cancelled?.dispose();
      reject(new Error(notStarted(line.program, error)));
    });
    child.on("close", (code) => {
      cancelled?.dispose();
      resolve({ code, stdout, stderr });
    });
  });
}

/** Why a program did not start, and what to do. */
function notStarted(program, error) {
  return error.code === "ENOENT"
    ? `\`${program}\` was not found. Install Rust and \`cargo install cargo-raddle\`, or change the setting \`raddle.command\`.`
    : `\`${program}\` did not start: ${error.message}`;
}

module.exports = { command, run };
