// The rows of the trace: those of the narrative, events that it leaves out, and which of them are visible.

/** Every row in order. `quiet` rows are events that the narrative leaves out. */
const allRows = makeRows();
/** Rows that are folded, or unfolded into their events, by the reader. */
const folded = new Set();
const unfolded = new Set();
let everyEvent = false;
let visible = [];
/** The visible row of each event. */
let rowOfEvent = new Int32Array(COUNT);
let rowsVersion = 0;

function makeRows() {
  const covered = new Uint8Array(COUNT);
  for (const row of view.rows) covered.fill(1, row.span[0], row.span[1]);
  const rows = [];
  let next = 0;
  const depths = new Map();
  const flush = (until) => {
    for (; next < until; next++) {
      if (covered[next]) continue;
      const { thread } = events[next];
      rows.push({ kind: "quiet", thread, depth: depths.get(thread) || 0, text: view.texts[next], line: lineOf(next), span: [next, next + 1] });
    }
  };
  for (const row of view.rows) {
    flush(Math.min(row.span[0], COUNT));
    rows.push(row);
    if (row.kind !== "switch") depths.set(row.thread, row.depth + (row.kind === "call" || row.kind === "operation" ? 1 : 0));
  }
  flush(COUNT);
  return rows;
}

const isGroup = (row) => row.kind === "call" || row.kind === "operation";
const isBundle = (row) => row.span[1] - row.span[0] > 1;

function updateRows() {
  visible = [];
  const hiddenBelow = new Map();
  for (const row of allRows) {
    if (row.kind === "quiet" && !everyEvent) continue;
    if (row.kind !== "switch") {
      const limit = hiddenBelow.get(row.thread);
      if (limit !== undefined && row.depth > limit) continue;
      hiddenBelow.delete(row.thread);
    }
    visible.push(row);
    if (isGroup(row) && folded.has(row)) hiddenBelow.set(row.thread, row.depth);
    if (isBundle(row) && (unfolded.has(row) || (everyEvent && row.kind === "folded"))) {
      for (let event = row.span[0]; event < row.span[1]; event++) {
        const { thread } = events[event];
        visible.push({ kind: "quiet", thread, depth: row.depth + 1, text: view.texts[event], line: lineOf(event), span: [event, event + 1] });
      }
    }
  }
  rowOfEvent = new Int32Array(COUNT).fill(-1);
  visible.forEach((row, at) => { for (let event = row.span[0]; event < row.span[1]; event++) rowOfEvent[event] = at; });
  // Events without a row belong to the row before them.
  const firstOf = visible.map((row) => row.span[0]);
  let at = 0;
  for (let event = 0; event < COUNT; event++) {
    while (at + 1 < visible.length && firstOf[at + 1] <= event) at++;
    if (rowOfEvent[event] < 0) rowOfEvent[event] = Math.min(at, Math.max(visible.length - 1, 0));
  }
  rowsVersion++;
}

/** The event that a row stands for. */
function eventOfRow(row) {
  if (row.span[0] >= COUNT) return COUNT - 1;
  return row.kind === "switch" || isGroup(row) || row.span[1] <= row.span[0] ? row.span[0] : row.span[1] - 1;
}

/** Folds a call, or unfolds a row for several events; says whether there was something to do. */
function toggleRow(row) {
  const set = isGroup(row) ? folded : isBundle(row) ? unfolded : null;
  if (!set) return false;
  if (!set.delete(row)) set.add(row);
  updateRows();
  return true;
}

updateRows();
