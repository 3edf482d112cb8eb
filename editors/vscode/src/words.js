// Text that people wrote into settings, and text of the command for people.
"use strict";

const { plain } = require("./output");

/**
 * The words of a command line. Quotes keep spaces; nothing else is special.
 * @param {string} line
 * @returns {string[]}
 */
function splitCommand(line) {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((word) => word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single));
}

/**
 * What a command that failed said about it: its last error with what follows, without colours.
 * @param {{ code: number | null, stdout: string, stderr: string }} result
 */
function complaint({ code, stderr, stdout }) {
  const text = plain(stderr).trim() || plain(stdout).trim();
  if (/no such (?:sub)?command: `raddle`/.test(text)) {
    return "`cargo raddle` is not installed. Run `cargo install cargo-raddle`, or change the setting `raddle.command`.";
  }
  const error = text.lastIndexOf("\nerror: ");
  const from = error >= 0 ? text.slice(error + 1) : text;
  return from || `The command ended with exit code ${code}.`;
}

module.exports = { splitCommand, complaint };
