// The page of a failure, made fit for a panel.
"use strict";

/**
 * VS Code takes `window.parent` away from pages in panels. A page that asks whether it is in a frame must find what a page on its own
 * finds: itself. The script comes before the page's content security policy, which would not allow it.
 */
const PARENT = "<script>window.parent ??= window;</script>";

/** @param {string} html */
const forPanel = (html) => html.replace(/<head[^>]*>/i, (head) => head + PARENT);

module.exports = { forPanel };
