// The nearest passing execution beside the failing one, from the last common events on.

const MAX_PASS_ROWS = 300;
/** The number of common rows before the executions part. */
const COMMON_ROWS = 4;

function startPass() {
  const pass = failure.nearest_pass;
  const panel = $("#pass");
  if (!pass || !view.pass) { panel.remove(); return; }
  const swap = h("p", {}, "Both executions begin with the same ", h("b", {}, plural(pass.common, "event")), ". Then ",
    threadSign(pass.failing_thread), " goes on and the test fails; had ", threadSign(pass.passing_thread), " gone on instead, it would have passed.");
  panel.querySelector(".body").replaceChildren(...[swap, resultTable(pass), h("div", { class: "sides" },
    side("fails", view.rows, pass.common, true), side("passes", view.pass.rows, pass.common_of_pass, false))].filter(Boolean));
}

function side(title, rows, common, isLink) {
  const parting = rows.findIndex((row) => row.kind !== "switch" && row.span[1] > common);
  const from = Math.max(0, (parting < 0 ? rows.length : parting) - COMMON_ROWS);
  const shown = rows.slice(from, from + MAX_PASS_ROWS);
  const items = shown.map((row) => {
    const isCommon = row.span[1] <= common;
    const text = h("span", { class: `${row.kind} row-text` }, row.within ? `${row.within}: ` : "", row.text);
    text.style.paddingLeft = `${Math.min(row.depth, 6) * 12}px`;
    const sign = row.kind === "switch" ? "⇄" : threadSign(row.thread);
    const goes = isLink && row.span[0] < COUNT;
    return h("li", { class: `${threadClass(row.thread)}${isCommon ? " common" : ""}` }, goes
      ? h("button", { type: "button", class: "link plain", on: { click: () => select(eventOfRow(row)) } }, sign, " ", text) : [sign, " ", text]);
  });
  const skipped = from > 0 ? h("p", { class: "note" }, `… ${plural(from, "common row")}`) : null;
  return h("div", {}, h("h3", { class: title }, title === "fails" ? "✗ fails" : "✓ passes"), skipped || "", h("ol", { class: "side" }, items));
}

/** The results that differ. */
function resultTable(pass) {
  if (!failure.scenario || !pass.scenario) return null;
  const rows = [];
  const add = (where, failing, passing) => (failing || []).forEach((operation, at) => {
    const other = (passing || [])[at];
    const [bad, good] = [operation, other || {}].map(({ result }) => (result === undefined ? "did not return" : result));
    if (bad !== good) rows.push(h("tr", {}, h("td", {}, ...withThreads(where)), h("td", {}, h("code", {}, operation.call)), h("td", { class: "bad" }, h("code", {}, bad)), h("td", { class: "good" }, h("code", {}, good))));
  });
  add("before", failure.scenario.init, pass.scenario.init);
  failure.scenario.parallel.forEach((operations, at) => add(`T${at + 1}`, operations, pass.scenario.parallel[at]));
  add("after", failure.scenario.post, pass.scenario.post);
  if (rows.length === 0) return null;
  return h("table", { class: "results" }, h("thead", {}, h("tr", {}, ["", "operation", "✗ fails", "✓ passes"].map((text) => h("th", {}, text)))), h("tbody", {}, rows));
}
