// A failure file as the editor needs it: what failed, and where in the source each event is.
//
// The format is documented in `crates/raddle-report/FORMAT.md`. Everything that needs more than these few fields is the command's.
"use strict";

/** The highest version of the format that is understood. */
const FORMAT = 1;

/**
 * @typedef {object} Failure
 * @property {string} test
 * @property {string} kind
 * @property {string} message
 * @property {string} [package] The package of the test.
 * @property {string} [manifest] The `Cargo.toml` that the test was built with.
 * @property {Place} [place] Where the failure shows: the last event that has a place.
 */

/** @typedef {{ file: string, line: number }} Place A line, from 1, of a file as the compiler names it. */

/**
 * Reads a failure file.
 * @param {string} text
 * @returns {Failure}
 * @throws {Error} With one sentence for the user.
 */
function parseFailure(text) {
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error("This is no failure file: it was cut off or edited. Run the test again.");
  }
  if (typeof json?.format !== "number") throw new Error("This is no failure file: it does not say its format.");
  if (json.format > FORMAT) throw new Error(`A newer Raddle wrote this file (format ${json.format}). Update the extension.`);
  const words = [json.test, json.kind, json.message];
  if (!words.every((word) => typeof word === "string") || !Array.isArray(json.trace?.events)) {
    throw new Error("This failure file lacks fields: it was edited. Run the test again.");
  }
  const args = Array.isArray(json.build?.cargo_args) ? json.build.cargo_args : [];
  return {
    test: json.test,
    kind: json.kind,
    message: json.message,
    package: json.build?.package?.split("@")[0],
    manifest: args[args.indexOf("--manifest-path") + 1 || args.length],
    place: places(json).filter(Boolean).pop(),
  };
}

/**
 * Where each event of a failure file is in the user's code. Not part of the failure: a list of failures would be large with it.
 * @param {string} text
 * @returns {(Place | undefined)[]}
 */
const parsePlaces = (text) => places(JSON.parse(text));

const places = (json) => json.trace.events.map((event) => placeOf(json.trace, event?.at));

/** The innermost frame of a call stack that is the user's. */
function placeOf(trace, stack) {
  for (let at = stack, steps = 0; typeof at === "number" && steps < 10_000; steps++) {
    const node = trace.stacks?.[at];
    const frame = trace.frames?.[node?.frame];
    if (frame && !frame.internal && frame.file && frame.line) return { file: frame.file, line: frame.line };
    at = node?.caller;
  }
  return undefined;
}

/** The first line of a message. @param {string} message */
const headline = (message) => message.split("\n", 1)[0];

module.exports = { parseFailure, parsePlaces, headline };
