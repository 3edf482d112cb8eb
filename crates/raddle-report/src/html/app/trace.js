// The trace panel: a column for each thread. Only the rows in sight exist as elements.

const ROW = 24;
/** The room for lines of the source: as much as the longest needs, within limits. */
const GUTTER_MIN = 90;
const GUTTER_MAX = 210;
const GUTTER_CHARACTER = 7;
const LANE_MIN = 26;
const LANE_MAX = 230;
/** The room that the text of the last column gets at least. */
const LAST_COLUMN = 330;
const OVERSCAN = 6;
const INDENT = 14;

const rowsBox = $("#rows");
const rowsCanvas = $("#canvas");
const pool = [];
let relationLayer = null;
/** The threads that have a column: those with a row that may be seen. */
let columns = [];
let columnOf = new Map();
let laneGap = LANE_MAX;
let gutter = GUTTER_MIN;
/** The scroll position and height, kept here because asking for them costs a layout. */
const sight = { top: 0, height: 600, width: 600 };
let shownWindow = "";
let matches = new Set();

const laneX = (thread) => gutter + 14 + (columnOf.get(thread) || 0) * laneGap;

function measureTrace() {
  columns = [...new Set(visible.map((row) => row.thread))].sort((one, other) => one - other);
  columnOf = new Map(columns.map((thread, at) => [thread, at]));
  const { width } = sight;
  const line = visible.reduce((most, row) => Math.max(most, row.line ? row.line.length : 0), 0) * GUTTER_CHARACTER + 18;
  gutter = width < 520 ? 0 : Math.max(GUTTER_MIN, Math.min(line, GUTTER_MAX, width / 4));
  rowsBox.style.setProperty("--gutter", `${gutter}px`);
  const last = columns[columns.length - 1];
  const longest = visible.reduce((most, row) => (row.thread === last ? Math.max(most, (row.text.length + (row.within ? row.within.length + 2 : 0)) * 7.6 + row.depth * INDENT + 50) : most), LAST_COLUMN);
  const room = width - gutter - Math.min(longest, (width - gutter) * 0.68);
  laneGap = Math.max(LANE_MIN, Math.min(LANE_MAX, columns.length > 1 ? room / (columns.length - 1) : LANE_MAX));
  rowsBox.classList.toggle("narrow", gutter === 0);
  const heads = $("#heads");
  heads.replaceChildren(...columns.map((thread) => {
    const isTight = laneGap < 90 && columnOf.get(thread) + 1 < columns.length;
    const head = threadSign(thread, isTight ? (laneGap < 40 ? "" : `T${thread}`) : threadName(thread));
    head.style.left = `${laneX(thread) - 6}px`;
    return head;
  }));
  drawLifelines();
  shownWindow = "";
}

/** Draws the lines of the threads behind the rows, each from the first row of its thread to the last. */
function drawLifelines() {
  for (const line of rowsCanvas.querySelectorAll(".lifeline")) line.remove();
  rowsCanvas.prepend(...columns.map((thread) => {
    const [begin, end] = lifetimes[thread];
    const first = visible.findIndex((row) => row.span[0] >= begin);
    const after = visible.findIndex((row) => row.span[0] > end);
    const line = h("i", { class: `lane lifeline ${threadClass(thread)}` });
    line.style.left = `${laneX(thread)}px`;
    line.style.top = `${first * ROW}px`;
    line.style.height = `${((after < 0 ? visible.length : after) - first) * ROW}px`;
    return line;
  }));
}

/** Draws rows that have changed. */
function redrawTrace() {
  measureTrace();
  scrollRows(sight.top);
  searchRows($("#search").value);
  revealRow(false);
  drawTrace();
}

/** Brings the elements in line with the scroll position. */
function drawTrace() {
  const first = Math.max(0, Math.floor(sight.top / ROW) - OVERSCAN);
  const last = Math.min(visible.length, Math.ceil((sight.top + sight.height) / ROW) + OVERSCAN);
  const key = `${first}-${last}-${rowsVersion}-${laneGap}-${matches.size}-${gutter}`;
  if (key !== shownWindow) {
    shownWindow = key;
    for (let at = first; at < last; at++) {
      const slot = at - first;
      if (!pool[slot]) { pool[slot] = h("div", { role: "option", class: "row" }); rowsCanvas.append(pool[slot]); }
      fillRow(pool[slot], at);
    }
    for (let slot = last - first; slot < pool.length; slot++) pool[slot].hidden = true;
  }
  markRows();
}

function fillRow(element, at) {
  const row = visible[at];
  element.hidden = false;
  element.row = at;
  element.id = `row-${at}`;
  element.style.transform = `translateY(${at * ROW}px)`;
  element.className = `row ${row.kind} ${threadClass(row.thread)}${matches.has(at) ? " match" : ""}`;
  element.setAttribute("aria-posinset", at + 1);
  element.setAttribute("aria-setsize", visible.length);
  element.setAttribute("aria-label", labelOf(row));
  const parts = [];
  if (gutter) {
    const line = row.line && !(at > 0 && visible[at - 1].line === row.line) ? row.line : "";
    parts.push(h("span", { class: "line", title: row.line }, line));
  }
  if (row.kind !== "switch") {
    const lane = h("i", { class: "lane runs" });
    lane.style.left = `${laneX(row.thread)}px`;
    parts.push(lane);
  }
  parts.push(row.kind === "switch" ? switchBody(row, at) : rowBody(row));
  element.replaceChildren(...parts.flat());
}

function rowBody(row) {
  const sign = isGroup(row) ? (folded.has(row) ? "▸" : "▾") : isBundle(row) ? (unfolded.has(row) ? "▾" : "▸") : "";
  const body = h("span", { class: "text", title: row.text.length > 40 ? row.text : undefined },
    h("span", { class: "dot", "aria-hidden": "true" }, sign ? "" : shape(row.thread)),
    sign && h("span", { class: "fold", "aria-hidden": "true" }, sign),
    h("span", { class: "words" }, row.within && h("span", { class: "within" }, `${row.within}: `), textParts(row)));
  body.style.left = `${laneX(row.thread) - 5}px`;
  body.style.paddingLeft = `${Math.min(row.depth, 8) * INDENT + 16}px`;
  return body;
}

/** The text of a row, its result set off. */
function textParts(row) {
  const text = row.text;
  const at = text.lastIndexOf(" -> ");
  if (at < 0 || row.kind === "switch" || row.kind === "panic") return [text];
  return [text.slice(0, at), h("span", { class: "arrow" }, " → "), h("b", {}, text.slice(at + 4))];
}

function switchBody(row, at) {
  let before = at - 1;
  while (before >= 0 && visible[before].kind === "switch") before--;
  const from = before >= 0 ? laneX(visible[before].thread) : laneX(row.thread);
  const to = laneX(row.thread);
  const left = Math.min(from, to);
  const line = h("span", { class: `hop ${to < from ? "leftward" : "rightward"}` });
  line.style.left = `${left + 1}px`;
  line.style.width = `${Math.max(Math.abs(to - from) - 1, 0)}px`;
  const text = h("span", { class: "why" }, withCode(row.text));
  text.style.left = `${Math.max(from, to) + 12}px`;
  return [line, text];
}

function labelOf(row) {
  const where = row.line ? `, at ${row.line}` : "";
  const kinds = { call: "call ", operation: "operation ", folded: "folded: ", quiet: "", switch: "" };
  const state = isGroup(row) ? (folded.has(row) ? ", folded" : ", unfolded") : "";
  return `T${row.thread}: ${kinds[row.kind] || ""}${row.within ? `${row.within}, ` : ""}${row.text}${where}${state}`;
}

/** Marks the current row and the rows that are related to it. */
function markRows() {
  const own = rowOfEvent[current];
  const related = relatedEvents(current);
  for (const element of pool) {
    if (element.hidden) continue;
    const isOwn = element.row === own;
    element.classList.toggle("current", isOwn);
    element.setAttribute("aria-selected", isOwn);
    const relation = related.find(([event]) => rowOfEvent[event] === element.row);
    element.classList.toggle("related", !isOwn && relation !== undefined);
  }
  rowsBox.setAttribute("aria-activedescendant", `row-${own}`);
  drawRelations(own, related);
}

/** The events that an event reads from and is read by, each with the name of the relation. */
function relatedEvents(event) {
  const related = [];
  const source = readSource(event);
  if (source && source.event !== null) related.push([source.event, "reads"]);
  for (const reader of (successors().readers.get(event) || []).slice(0, 20)) related.push([reader, "read"]);
  return related;
}

/** Draws arrows from writes to the reads that see them. */
function drawRelations(own, related) {
  if (!relationLayer) {
    relationLayer = s("svg", { class: "relations", "aria-hidden": "true" });
    rowsCanvas.append(relationLayer);
  }
  const top = sight.top - 200;
  const bottom = sight.top + sight.height + 200;
  relationLayer.style.transform = `translateY(${top}px)`;
  relationLayer.setAttribute("height", bottom - top);
  const paths = related.flatMap(([event, kind]) => {
    const [write, read] = kind === "reads" ? [event, current] : [current, event];
    const [fromRow, toRow] = [rowOfEvent[write], rowOfEvent[read]];
    if (fromRow === toRow) return [];
    const y = (row) => Math.min(Math.max(row * ROW + ROW / 2 - top, 0), bottom - top);
    const [x1, x2] = [laneX(events[write].thread) - 7, laneX(events[read].thread) - 7];
    const [y1, y2] = [y(fromRow), y(toRow)];
    const bend = 18 + Math.min(Math.abs(y2 - y1) / 8, 26);
    const d = `M ${x1} ${y1} C ${x1 - bend} ${y1}, ${x2 - bend} ${y2}, ${x2 - 3} ${y2}`;
    const head = `M ${x2} ${y2} l -7 -3.5 v 7 z`;
    return [s("path", { d, class: `rf ${threadClass(events[write].thread)}` }), s("path", { d: head, class: `head ${threadClass(events[write].thread)}` })];
  });
  relationLayer.replaceChildren(...paths);
}

/** Scrolls the current row into sight. */
function revealRow(centre) {
  const y = rowOfEvent[current] * ROW;
  const { height } = sight;
  const isOut = y < sight.top + ROW || y > sight.top + height - 2 * ROW;
  if (centre || isOut) scrollRows(y - height / (centre ? 2 : y < sight.top + ROW ? 4 : 1.4));
}

function scrollRows(top) {
  sight.top = Math.max(0, Math.min(top, visible.length * ROW + 8 - sight.height));
  if (canvasRows !== visible.length) { canvasRows = visible.length; rowsCanvas.style.height = `${visible.length * ROW + 8}px`; rowsBox.style.setProperty("--content", rowsCanvas.style.height); }
  rowsBox.scrollTop = sight.top;
}
let canvasRows = -1;

/** Marks the rows that contain a text, and says how many there are. */
function searchRows(text) {
  const needle = text.trim().toLowerCase();
  matches = new Set();
  if (needle) {
    visible.forEach((row, at) => {
      const number = needle.startsWith("#") && row.span[1] > row.span[0]
        && Number(needle.slice(1)) >= row.span[0] && Number(needle.slice(1)) < row.span[1] && needle.length > 1;
      const all = `t${row.thread} ${row.within || ""} ${row.text} ${row.line || ""}`.toLowerCase();
      if (number || all.includes(needle)) matches.add(at);
    });
  }
  $("#found").textContent = needle ? (matches.size ? plural(matches.size, "row") : "nothing") : "";
  shownWindow = "";
  drawTrace();
}

/** Goes to the next or previous row that was found. */
function goToMatch(step) {
  // A call and its first event are the same event.
  const found = [...matches].filter((at) => eventOfRow(visible[at]) !== current);
  if (found.length === 0) return;
  const own = rowOfEvent[current];
  const next = step > 0 ? found.find((at) => at > own) : found.filter((at) => at < own).pop();
  select(eventOfRow(visible[next === undefined ? (step > 0 ? found[0] : found[found.length - 1]) : next]));
}

/** Goes to another row. */
function stepRow(step) {
  let at = rowOfEvent[current] + step;
  while (visible[at] && (visible[at].kind === "switch" || eventOfRow(visible[at]) === current)) at += step;
  if (visible[at]) select(eventOfRow(visible[at]));
}

function seeRows() {
  [sight.width, sight.height] = [rowsBox.clientWidth, rowsBox.clientHeight];
}

function startTrace() {
  seeRows();
  measureTrace();
  const drawSoon = perFrame(drawTrace);
  rowsBox.addEventListener("scroll", () => {
    const { scrollTop } = rowsBox;
    if (Math.abs(scrollTop - sight.top) > 1) { sight.top = scrollTop; drawSoon(); }
  }, { passive: true });
  rowsCanvas.addEventListener("click", (click) => {
    const element = click.target.closest(".row");
    if (!element) return;
    const row = visible[element.row];
    if (click.target.closest(".fold") && toggleRow(row)) { redrawTrace(); return; }
    select(eventOfRow(row));
    rowsBox.focus({ preventScroll: true });
  });
  rowsCanvas.addEventListener("dblclick", (click) => {
    const element = click.target.closest(".row");
    if (element && toggleRow(visible[element.row])) redrawTrace();
  });
  new ResizeObserver(() => { seeRows(); measureTrace(); scrollRows(sight.top); drawTrace(); }).observe(rowsBox);
}
