// What `cargo raddle test` prints, line by line: verdicts of tests, and the report of each failure.
//
// The lines are those of Rust's standard test harness. Nothing here knows the editor.
"use strict";

/** Text without the escape sequences of colours. */
const plain = (text) => text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, "");

/** @typedef {{ name: string, verdict: "passed" | "failed" | "skipped", note?: string }} Verdict */

/** Reads output in pieces. `onVerdict` is called as soon as the line of a verdict is complete. */
class OutputReader {
  /** @param {(verdict: Verdict) => void} onVerdict */
  constructor(onVerdict) {
    this.onVerdict = onVerdict;
    /** The output of each failed test, by name. @type {Map<string, string>} */
    this.reports = new Map();
    this.rest = "";
    /** @type {string | undefined} */
    this.section = undefined;
  }

  /** @param {string} text */
  push(text) {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.line(plain(line).replace(/\r$/, ""));
  }

  /** Takes the last line, which may lack its end. */
  finish() {
    if (this.rest) this.push("\n");
    this.section = undefined;
  }

  /** @param {string} line */
  line(line) {
    const heading = /^---- (.+) stdout ----$/.exec(line);
    if (heading) {
      this.section = heading[1];
      this.reports.set(this.section, "");
    } else if (/^(?:failures|successes):$/.test(line) || line.startsWith("test result: ")) {
      this.section = undefined;
    } else if (this.section !== undefined) {
      this.reports.set(this.section, `${this.reports.get(this.section)}${line}\n`);
    } else {
      const verdict = parseVerdict(line);
      if (verdict) this.onVerdict(verdict);
    }
  }
}

const VERDICTS = /** @type {const} */ ({ ok: "passed", FAILED: "failed", ignored: "skipped" });

/**
 * The verdict of a line such as `test queue::poll ... FAILED (timed out)`.
 * @param {string} line
 * @returns {Verdict | undefined}
 */
function parseVerdict(line) {
  const match = /^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(?:(?:, | \()(.*?)\)?)?$/.exec(line);
  if (!match) return undefined;
  const verdict = { name: match[1], verdict: VERDICTS[/** @type {keyof typeof VERDICTS} */ (match[2])] };
  return match[3] ? { ...verdict, note: match[3] } : verdict;
}

module.exports = { OutputReader, parseVerdict, plain };
