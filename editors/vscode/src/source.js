// Files of the user's code, from their names in a failure.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

/**
 * The position of a place. The compiler names files from the root of the cargo workspace.
 * @param {import("./failures").Entry} entry
 * @param {import("./failure").Place | undefined} place
 * @returns {vscode.Location | undefined}
 */
function locate(entry, place) {
  if (!place) return undefined;
  const file = roots(entry).map((root) => path.resolve(root, place.file)).find((file) => fs.existsSync(file));
  return file === undefined ? undefined : new vscode.Location(vscode.Uri.file(file), new vscode.Position(place.line - 1, 0));
}

/** The folder in which the command finds the package of a failure. @param {import("./failures").Entry} entry */
function workingFolder(entry) {
  const isPackage = (/** @type {string} */ folder) => fs.existsSync(path.join(folder, "Cargo.toml"));
  return roots(entry).find(isPackage) ?? path.dirname(entry.uri.fsPath);
}

/** Folders that the names of files may start from, the likeliest first. */
function roots(/** @type {import("./failures").Entry} */ { uri, failure }) {
  const folders = [];
  if (failure?.manifest) {
    for (let folder = path.dirname(failure.manifest); folder !== path.dirname(folder); folder = path.dirname(folder)) {
      folders.push(folder);
    }
  }
  // The folder that `target/raddle/failures` is in.
  folders.push(path.resolve(path.dirname(uri.fsPath), "..", "..", ".."));
  const own = vscode.workspace.getWorkspaceFolder(uri);
  if (own) folders.push(own.uri.fsPath);
  for (const folder of vscode.workspace.workspaceFolders ?? []) folders.push(folder.uri.fsPath);
  return [...new Set(folders)];
}

module.exports = { locate, workingFolder };
