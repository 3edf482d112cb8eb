// Raddle tests in the text of a Rust file.
//
// The text is not parsed: comments and strings are blanked, and attributes, modules, functions and braces are looked for in the rest.
// Tests that a macro writes are not found. Nothing here knows files, packages or the editor.
"use strict";

/**
 * @typedef {object} FoundTest
 * @property {string} name The path of the test function within the file: `tests::counter_test`.
 * @property {number} start Where the item's keyword (`impl`, `fn`) is.
 * @property {number} end The end of the item.
 */

/**
 * The Raddle tests of a file: what is marked `#[raddle::test]`, and `#[test]` functions whose bodies use Raddle.
 * @param {string} text
 * @returns {FoundTest[]}
 */
function findTests(text) {
  // Cheap, and true of most files.
  if (!text.includes("raddle")) return [];
  const code = blank(text);
  const imported = importedNames(code);
  const usesRaddle = (body) => /\braddle\s*::|\bExplorer\b/.test(body) || imported.some((name) => hasWord(body, name));
  const bareTest = imported.includes("test");

  const found = [];
  const modules = [];
  let attributes = [];
  let depth = 0;
  const token = /#!?\[|[{}]|;|\b(?:mod|fn|impl)\b/g;
  for (let match; (match = token.exec(code)); ) {
    const at = match.index;
    switch (match[0]) {
      case "#![":
      case "#[": {
        const end = closing(code, at + match[0].length - 1);
        if (match[0] === "#[") attributes.push({ code: code.slice(at + 2, end), text: text.slice(at + 2, end) });
        token.lastIndex = end + 1;
        break;
      }
      case "{":
        depth++;
        attributes = [];
        break;
      case "}":
        depth--;
        if (modules.length && modules[modules.length - 1].depth > depth) modules.pop();
        attributes = [];
        break;
      case ";":
        attributes = [];
        break;
      case "mod": {
        const header = /^mod\s+(?:r#)?(\w+)\s*\{/.exec(code.slice(at));
        if (header) {
          depth++;
          modules.push({ name: header[1], depth });
          token.lastIndex = at + header[0].length;
          attributes = [];
        }
        break;
      }
      default: {
        const item = readItem(code, at, match[0]);
        if (!item) break;
        const mark = attributes.map((attribute) => testAttribute(attribute, bareTest)).find(Boolean);
        attributes = [];
        const name = mark && testName(mark, item, code.slice(item.open, item.end), usesRaddle);
        if (name) found.push({ name: [...modules.map((module) => module.name), name].join("::"), start: at, end: item.end });
        // No tests are looked for in bodies: libtest does not know those.
        token.lastIndex = item.end;
      }
    }
  }
  return found;
}

/** The libtest name of a marked item, or undefined if the item is no Raddle test. */
function testName(mark, item, body, usesRaddle) {
  if (item.keyword === "fn") return mark.isRaddle || usesRaddle(body) ? item.name : undefined;
  if (!mark.isRaddle || /\bmanual\b/.test(mark.code)) return undefined;
  const given = /\bname\s*=\s*"([^"]*)"/.exec(mark.text);
  return given ? given[1] : snakeCase(item.name);
}

/** An attribute that makes a test, if the given one does. */
function testAttribute({ code, text }, bareTest) {
  const path = /^\s*(?:::\s*)?([\w:\s]*?)\s*(?:\(|$)/.exec(code)?.[1].replace(/\s/g, "");
  if (path === "raddle::test") return { isRaddle: true, code, text };
  // After `use raddle::test`, the bare name is Raddle's.
  if (path === "test") return { isRaddle: bareTest, code, text };
  return undefined;
}

/** A function or impl block with a body, from its keyword on. */
function readItem(code, at, keyword) {
  const open = bodyStart(code, at);
  if (open === undefined) return undefined;
  const header = code.slice(at, open);
  let name;
  if (keyword === "fn") {
    name = /^fn\s+(?:r#)?(\w+)/.exec(header)?.[1];
  } else {
    const type = header.replace(/^impl\s*/, "").replace(/^<[^{]*?>\s*(?=[A-Za-z_])/, "").replace(/\bwhere\b[^]*$/, "");
    name = /(\w+)\s*$/.exec(/^[\w:\s]+/.exec(type)?.[0] ?? "")?.[1];
  }
  return name ? { keyword, name, open, end: closing(code, open) + 1 } : undefined;
}

/** The brace that opens the body of the item, if the item has one. */
function bodyStart(code, at) {
  for (let index = at; index < code.length; index++) {
    const letter = code[index];
    if (letter === "{") return index;
    if (letter === ";" || letter === "}") return undefined;
    if (letter === "(" || letter === "[") index = closing(code, index);
  }
  return undefined;
}

/** The bracket that closes the one at `open`; the end of the text if there is none. */
function closing(code, open) {
  let depth = 0;
  for (let index = open; index < code.length; index++) {
    if ("([{".includes(code[index])) depth++;
    else if (")]}".includes(code[index]) && --depth === 0) return index;
  }
  return code.length - 1;
}

/** The names that `use raddle::..;` brings into the file. */
function importedNames(code) {
  const names = [];
  for (const [, tree] of code.matchAll(/\buse\s+(?:::\s*)?raddle\s*::([^;]*);/g)) {
    for (const leaf of tree.split(/[{},]/)) {
      const name = /(?:\bas\s+)?(\w+)\s*$/.exec(leaf.trim())?.[1];
      if (name && name !== "_" && name !== "self") names.push(name);
    }
  }
  return names;
}

const hasWord = (text, word) => new RegExp(`\\b${word}\\b`).test(text);

/** The text with comments, strings and characters replaced by spaces, so that offsets stay the same. */
function blank(text) {
  // Alternatives: line comment, block comment, raw string, string, character (a lifetime has no closing quote).
  const opaque = /\/\/[^\n]*|\/\*|\b(?:br|cr|r)(#*)"|\b[bc]?"(?:\\[^]|[^"\\])*"|"(?:\\[^]|[^"\\])*"|b?'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])'/gu;
  let out = "";
  let last = 0;
  for (let match; (match = opaque.exec(text)); ) {
    let end = match.index + match[0].length;
    if (match[0] === "/*") end = endOfComment(text, match.index);
    else if (match[1] !== undefined) {
      const close = text.indexOf(`"${match[1]}`, end);
      end = close < 0 ? text.length : close + 1 + match[1].length;
    }
    out += text.slice(last, match.index) + text.slice(match.index, end).replace(/[^\n]/g, " ");
    last = opaque.lastIndex = end;
  }
  return out + text.slice(last);
}

/** The end of a block comment; those nest. */
function endOfComment(text, start) {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = start;
  let depth = 0;
  for (let match; (match = mark.exec(text)); ) {
    depth += match[0] === "/*" ? 1 : -1;
    if (depth === 0) return match.index + 2;
  }
  return text.length;
}

/** The name that `#[raddle::test]` gives the test function of a type: `MSQueue` becomes `ms_queue`. */
function snakeCase(name) {
  return name
    .replace(/([^A-Z_])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])(?=[A-Z][a-z])/g, "$1_")
    .toLowerCase();
}

module.exports = { findTests, snakeCase };
