// The trace panel: a column for each thread. Only the rows in sight exist as elements.

const ROW = 24;
/** The room for lines of the source: as much as the longest needs, within limits. */
const GUTTER_MIN = 90;
const GUTTER_MAX = 210;
const LANE_MIN = 26;
const LANE_MAX = 230;
/** The room that the text of the last column gets at least. */
const LAST_COLUMN = 330;
const OVERSCAN = 6;
const INDENT = 14;
/** The widths of characters, rounded up, for texts and for lines of the source. */
const TEXT_CHARACTER = 7.7;
const LINE_CHARACTER = 7;

const rowsBox = $("#rows");
const rowsCanvas = $("#canvas");
const pool = [];
/** The ground of the current row, and the arrows between rows, which the texts of the rows cover. */
const cursor = h("i", { class: "cursor" });
const relationLayer = s("svg", { class: "relations", "aria-hidden": "true" });
rowsCanvas.append(cursor, relationLayer);
/** The threads that have a column: those with a row that may be seen. */
let columns = [];
let columnOf = new Map();
let laneGap = LANE_MAX;
let gutter = GUTTER_MIN;
/** The scroll position and height, kept here because asking for them costs a layout. */
const sight = { top: 0, height: 600, width: 600 };
let searchVersion = 0;
let matches = new Set();

const laneX = (thread) => gutter + 14 + (columnOf.get(thread) || 0) * laneGap;

function measureTrace() {
  columns = [...new Set(visible.map((row) => row.thread))].sort((one, other) => one - other);
  columnOf = new Map(columns.map((thread, at) => [thread, at]));
  const { width } = sight;
  const line = visible.reduce((most, row) => Math.max(most, row.line ? row.line.length : 0), 0) * LINE_CHARACTER + 18;
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

/** Brings the elements in line with the scroll position. Rows out of sight are made for those who scroll, not while time runs. */
function drawTrace(overscan = OVERSCAN) {
  const first = Math.max(0, Math.floor(sight.top / ROW) - overscan);
  const last = Math.min(visible.length, Math.ceil((sight.top + sight.height) / ROW) + overscan);
  turnPool(first - (pool.length > 0 ? pool[0].row : first));
  const version = `${rowsVersion}-${laneGap}-${searchVersion}-${gutter}-${sight.width}`;
  for (let at = first; at < last; at++) {
    const slot = at - first;
    if (!pool[slot]) { pool[slot] = h("div", { role: "option", class: "row" }); rowsCanvas.append(pool[slot]); }
    if (pool[slot].row !== at || pool[slot].version !== version) { fillRow(pool[slot], at); pool[slot].version = version; }
  }
  if (!isRunning) pool.slice(0, last - first).forEach(nameRow);
  for (let slot = last - first; slot < pool.length; slot++) {
    if (pool[slot].row === -1) continue;
    pool[slot].row = -1;
    pool[slot].hidden = true;
    pool[slot].removeAttribute("id");
  }
  markRows();
}

/** Moves elements from one end to the other where rows stay in sight: these need no change, and the order stays that of the rows. */
function turnPool(rows) {
  if (rows === 0 || Math.abs(rows) >= pool.length) return;
  const moved = rows > 0 ? pool.splice(0, rows) : pool.splice(rows);
  if (rows > 0) { rowsCanvas.append(...moved); pool.push(...moved); } else { pool[0].before(...moved); pool.unshift(...moved); }
}

function fillRow(element, at) {
  const row = visible[at];
  if (element.row === -1) element.hidden = false;
  element.row = at;
  element.style.top = `${at * ROW}px`;
  element.look = `row ${row.kind} ${threadClass(row.thread)}${matches.has(at) ? " match" : ""}`;
  element.className = element.shownLook = element.look;
  element.isNamed = false;
  if (row.kind === "switch") {
    element.parts = null;
    element.replaceChildren(...switchBody(row, at));
    return;
  }
  fillParts(element.parts || makeParts(element), row, gutter && row.line && !(at > 0 && visible[at - 1].line === row.line) ? row.line : "");
}

/** What a screen reader says of a row. Nobody listens while time runs. */
function nameRow(element) {
  if (element.isNamed) return;
  element.isNamed = true;
  element.id = `row-${element.row}`;
  element.setAttribute("aria-posinset", element.row + 1);
  element.setAttribute("aria-setsize", visible.length);
  const row = visible[element.row];
  element.setAttribute("aria-label", labelOf(row));
  if (!element.parts) return;
  element.parts.line.title = row.line || "";
  element.parts.text.title = row.text.length > 40 ? row.text : "";
}

/** The elements of a row that is not a switch. They are few, and they are kept: making them is what a step costs. */
function makeParts(element) {
  const text = () => document.createTextNode("");
  const parts = { line: h("span", { class: "line" }, text()), sign: h("span", { "aria-hidden": "true" }, text()), within: h("span", { class: "within" }, text()), call: text(), result: h("b", {}, text()), look: "" };
  parts.words = h("span", { class: "words" }, parts.within, parts.call, parts.result);
  parts.text = h("span", { class: "text" }, parts.sign, parts.words);
  element.replaceChildren(parts.line, parts.text);
  element.parts = parts;
  return parts;
}

function fillParts(parts, row, line) {
  const fold = isGroup(row) ? (folded.has(row) ? "▸" : "▾") : isBundle(row) ? (unfolded.has(row) ? "▾" : "▸") : "";
  const within = row.within ? `${row.within}: ` : "";
  const [call, result] = textParts(row);
  setText(parts.line.firstChild, line);
  setText(parts.sign.firstChild, fold || shape(row.thread));
  setText(parts.within.firstChild, within);
  setText(parts.call, result ? `${call} → ` : call);
  setText(parts.result.firstChild, result);
  // Clipping costs, so only texts that may need it are clipped.
  const [left, indent] = [laneX(row.thread) - 5, Math.min(row.depth, 8) * INDENT];
  const isLong = (within.length + row.text.length) * TEXT_CHARACTER > sight.width - left - indent - (fold ? 38 : 22);
  const isLongLine = line.length * LINE_CHARACTER > gutter - 16;
  const look = `${fold ? "fold" : "dot"} ${isLong} ${isLongLine} ${left - gutter} ${indent}`;
  if (look !== parts.look) {
    parts.look = look;
    parts.line.className = isLongLine ? "line long" : "line";
    parts.text.className = isLong ? "text long" : "text";
    parts.text.style.marginLeft = `${left - gutter}px`;
    parts.sign.className = fold ? "fold" : "dot";
    parts.sign.style.margin = fold ? `0 4px 0 ${indent + 16}px` : `0 ${indent + 4}px 0 0`;
  }
}

/** The text of a row in two parts, the second its result. */
function textParts(row) {
  const { text } = row;
  const at = text.lastIndexOf(" -> ");
  return at < 0 || row.kind === "panic" ? [text, ""] : [text.slice(0, at), text.slice(at + 4)];
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
  const start = Math.max(from, to) + 12;
  const isLong = row.text.length * TEXT_CHARACTER > sight.width - start - 8;
  const text = h("span", { class: isLong ? "why long" : "why", title: isLong ? row.text : undefined }, withCode(row.text));
  text.style.left = `${start}px`;
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
  const relatedRows = new Set(related.map(([event]) => rowOfEvent[event]));
  for (const element of pool) {
    if (element.row === -1) continue;
    const isOwn = element.row === own;
    const look = `${element.look}${isOwn ? " current" : relatedRows.has(element.row) ? " related" : ""}`;
    if (element.shownLook !== look) element.className = element.shownLook = look;
    if (element.isChosen !== isOwn) { element.isChosen = isOwn; element.setAttribute("aria-selected", isOwn); }
  }
  cursor.style.top = `${own * ROW}px`;
  cursor.className = `cursor ${visible[own] ? threadClass(visible[own].thread) : ""}`;
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
  if (related.length === 0 && !relationLayer.firstChild) return;
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
  searchVersion++;
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
  const drawSoon = perFrame(() => drawTrace());
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
