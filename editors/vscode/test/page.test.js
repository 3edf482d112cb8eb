"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { forPanel } = require("../src/page");

test("the script comes first in the head, and only there", () => {
  const page = (head) => `<!DOCTYPE html>\n<html>${head}<meta http-equiv="Content-Security-Policy" content="x"></head><body>$& <head></body>`;
  const shim = "<script>window.parent ??= window;</script>";
  assert.equal(forPanel(page("<head>")), page(`<head>${shim}`));
  assert.equal(forPanel(page('<HEAD lang="$1">')), page(`<HEAD lang="$1">${shim}`));
});
