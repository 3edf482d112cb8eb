// Which package and target a Rust file belongs to, and under which module path: cargo's rules for files, read from `Cargo.toml`.
//
// Only names and paths of targets are read from the manifest. Nothing here knows the editor or the file system.
"use strict";

/**
 * @typedef {object} Manifest
 * @property {string | undefined} name The package, if the manifest has one.
 * @property {{ kind: string, name?: string, path?: string }[]} targets Targets that the manifest names.
 */

/**
 * @typedef {object} Target
 * @property {string[]} args The arguments that select the target: `--test queue`.
 * @property {string} label The same for people: `tests/queue.rs`.
 * @property {string} module The module that the file is, within the target; empty for its root.
 */

/** @param {string} text @returns {Manifest} */
function parseManifest(text) {
  /** @type {Manifest} */
  const manifest = { name: undefined, targets: [] };
  /** @type {{ kind: string, name?: string, path?: string } | undefined} */
  let section;
  for (const line of text.split("\n")) {
    const heading = /^\s*\[(\[)?\s*([\w.-]+)\s*\]/.exec(line);
    if (heading) {
      section = { kind: heading[2] };
      if (heading[1] || heading[2] === "lib") manifest.targets.push(section);
      continue;
    }
    const entry = /^\s*(name|path)\s*=\s*["']([^"']*)["']/.exec(line);
    if (!entry || !section) continue;
    section[/** @type {"name" | "path"} */ (entry[1])] = entry[2];
    if (section.kind === "package" && entry[1] === "name") manifest.name = entry[2];
  }
  manifest.targets = manifest.targets.filter(({ kind }) => ["lib", "bin", "test", "bench", "example"].includes(kind));
  return manifest;
}

/**
 * The target of a file.
 * @param {Manifest} manifest
 * @param {string} file The file's path within the package, with slashes.
 * @param {(path: string) => boolean} exists Whether the package has a file.
 * @returns {Target | undefined} Nothing if cargo would not look there.
 */
function targetOf(manifest, file, exists) {
  const named = manifest.targets.find(({ path }) => path === file);
  if (named) return { args: select(named.kind, named.name), label: file, module: "" };
  const parts = file.replace(/\.rs$/, "").split("/");
  const folder = parts.shift() ?? "";
  const kind = { src: "src", tests: "test", benches: "bench", examples: "example" }[folder];
  if (!kind || parts.length === 0) return undefined;
  if (kind !== "src") return inFolder(kind, folder, parts, exists);
  if (parts[0] === "bin" && parts.length > 1) return inFolder("bin", "src/bin", parts.slice(1), exists);
  if (parts.length === 1 && parts[0] === "main") return { args: ["--bin", manifest.name ?? "main"], label: file, module: "" };
  const args = exists("src/lib.rs") || !exists("src/main.rs") ? ["--lib"] : ["--bin", manifest.name ?? "main"];
  return { args, label: args[0] === "--lib" ? "src/lib.rs" : "src/main.rs", module: parts[0] === "lib" ? "" : modulePath(parts) };
}

/**
 * A file in a folder whose files are targets, as are its folders with a `main.rs`.
 * @param {string} kind
 * @param {string} folder
 * @param {string[]} parts
 * @param {(path: string) => boolean} exists
 * @returns {Target | undefined}
 */
function inFolder(kind, folder, [name, ...rest], exists) {
  if (rest.length === 0) return { args: select(kind, name), label: `${folder}/${name}.rs`, module: "" };
  const root = `${folder}/${name}/main.rs`;
  // Otherwise a module that several targets may share.
  if (!exists(root)) return undefined;
  return { args: select(kind, name), label: root, module: rest.join("/") === "main" ? "" : modulePath(rest) };
}

const select = (/** @type {string} */ kind, /** @type {string | undefined} */ name) => (kind === "lib" || !name ? ["--lib"] : [`--${kind}`, name]);

const modulePath = (/** @type {string[]} */ parts) => (parts[parts.length - 1] === "mod" ? parts.slice(0, -1) : parts).join("::");

module.exports = { parseManifest, targetOf };
