// The source panel: the lines of code around the current event, with the place of every thread.

const sourceFiles = new Map(view.sources.files.map((file) => [file.name, new Map(file.lines)]));
const shortNames = new Map();
const sourceView = { file: null, element: null, lines: new Map(), marks: [], top: 0, height: 300 };

for (const [at, frame] of failure.trace.frames.entries()) {
  if (frame.file && !shortNames.has(frame.file)) {
    const spot = view.spots.find((known) => known && known.frame === at);
    shortNames.set(frame.file, spot ? spot.line.replace(/:\d+$/, "") : frame.file.split("/").pop());
  }
}

/** Heights of lines, as in the style sheet: asking for them costs a layout. */
const SRC_LINE = 20;
const SRC_GAP = 16;

/** For each thread, the frame of its last event with a known line up to an event. */
const placesByThread = lazily(() => byThread().map((list) => list.filter((number) => spotOf(events[number].at))));

function framesAt(event) {
  return failure.threads.map((_, thread) => {
    const list = placesByThread()[thread];
    let low = 0;
    let high = list.length;
    while (low < high) { const middle = (low + high) >> 1; if (list[middle] <= event) low = middle + 1; else high = middle; }
    if (low === 0 || event < lifetimes[thread][0]) return null;
    const number = list[low - 1];
    return { thread, event: number, frame: failure.trace.frames[spotOf(events[number].at).frame], line: spotOf(events[number].at).line };
  });
}

const isAlive = (thread, event) => event >= lifetimes[thread][0] && event <= lifetimes[thread][1];

/** Scrolls to the line of the current event if its file is open. */
function revealSource(places) {
  const own = places[events[current].thread];
  if (own && own.frame.file === sourceView.file) scrollToLine(own.frame.line);
}

/** Shows the line of the current event and marks those of other threads. */
function drawSource(places = framesAt(current)) {
  const body = $("#source .body");
  const own = places[events[current].thread];
  if (own && own.frame.file !== sourceView.file && sourceFiles.has(own.frame.file)) { openFile(own.frame.file); revealSource(places); }
  else if (!sourceView.file) {
    body.replaceChildren(h("p", { class: "empty" }, sourceFiles.size ? "The current event has no line of code." : "The source text was not found when this page was written."));
  }
  markLines(places);
}

/** The places of the threads, that of the current event first. */
function drawChips() {
  const places = framesAt(current);
  const own = places[events[current].thread];
  // The file is said once, so that the places of more threads have room.
  const short = (place) => (own && place !== own && place.frame.file === own.frame.file ? `line ${place.frame.line}` : place.line);
  const ownFirst = (one, other) => (other.thread === events[current].thread) - (one.thread === events[current].thread);
  const chips = places.filter((place) => place && (isAlive(place.thread, current) || place.thread === events[current].thread)).sort(ownFirst).map((place) => h("button", {
    type: "button", class: `chip ${threadClass(place.thread)}${place.thread === events[current].thread ? " on" : ""}`, title: `${threadName(place.thread)} is at ${place.line}`,
    on: { click: () => showLine(place.frame.file, place.frame.line) },
  }, `${shape(place.thread)} `, short(place)));
  $("#files").replaceChildren(...chips);
}

function showLine(file, line) {
  if (!file || !sourceFiles.has(file)) return;
  openFile(file);
  markLines(framesAt(current));
  scrollToLine(line, true);
}

function openFile(file) {
  if (sourceView.file === file) return;
  sourceView.file = file;
  sourceView.lines = new Map();
  sourceView.marks = [];
  const rows = [];
  let before = 0;
  let top = 4;
  const state = { comment: false };
  for (const [number, text] of sourceFiles.get(file)) {
    if (before && number > before + 1) { rows.push(h("div", { class: "gap" }, "⋮")); state.comment = false; top += SRC_GAP; }
    before = number;
    const marks = h("span", { class: "marks" });
    const row = h("div", { class: "src" }, marks, h("span", { class: "no" }, String(number)), h("code", {}, ...highlight(text, state)));
    sourceView.lines.set(number, { row, marks, top });
    top += SRC_LINE;
    rows.push(row);
  }
  $("#source .body").replaceChildren(h("div", { class: "file-name" }, file), h("div", { class: "src-lines" }, rows));
}

function markLines(places) {
  for (const { row, marks } of sourceView.marks) { row.className = "src"; marks.replaceChildren(); }
  sourceView.marks = [];
  for (const place of places) {
    if (!place || place.frame.file !== sourceView.file) continue;
    const line = sourceView.lines.get(place.frame.line);
    if (!line) continue;
    const isOwn = place.thread === events[current].thread;
    if (!isOwn && !isAlive(place.thread, current)) continue;
    if (isOwn) line.row.className = `src here ${threadClass(place.thread)}`;
    line.marks.append(threadSign(place.thread, ""));
    sourceView.marks.push(line);
  }
  for (const { marks } of sourceView.marks) {
    // A single thread has room for its name.
    if (marks.children.length === 1 && marks.children[0].children.length === 1) marks.children[0].append(` T${markedThread(places, marks)}`);
  }
}

const markedThread = (places, marks) => places.find((place) => place && place.frame.file === sourceView.file && sourceView.lines.get(place.frame.line)?.marks === marks
  && (isAlive(place.thread, current) || place.thread === events[current].thread)).thread;

function scrollToLine(number, flash) {
  const line = sourceView.lines.get(number);
  if (!line) return;
  const { top, height } = sourceView;
  if (line.top < top + 30 || line.top > top + height - 50) {
    sourceView.top = Math.max(0, line.top - height / 2);
    $("#source .body").scrollTop = sourceView.top;
  }
  if (flash) { line.row.classList.remove("flash"); void line.row.offsetWidth; line.row.classList.add("flash"); }
}

function startSource() {
  const box = $("#source .body");
  box.addEventListener("scroll", () => { sourceView.top = box.scrollTop; }, { passive: true });
  sourceView.height = box.clientHeight;
  new ResizeObserver(() => { sourceView.height = box.clientHeight; const places = framesAt(current); drawSource(places); revealSource(places); }).observe(box);
}

const KEYWORDS = /^(?:as|async|await|break|const|continue|crate|dyn|else|enum|extern|fn|for|if|impl|in|let|loop|match|mod|move|mut|pub|ref|return|self|Self|static|struct|super|trait|type|unsafe|use|where|while|true|false)$/;
const TOKEN = /(\/\/.*$|\/\*|b?r?#*"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)'|'[a-z_]\w*|\b\d[\w.]*|[A-Za-z_]\w*!?|\s+|.)/g;

/** A line of Rust as elements. */
function highlight(text, state) {
  const parts = [];
  const add = (kind, token) => parts.push(kind ? h("span", { class: kind }, token) : token);
  let rest = text;
  if (state.comment) {
    const end = rest.indexOf("*/");
    if (end < 0) { add("com", rest); return parts; }
    add("com", rest.slice(0, end + 2));
    rest = rest.slice(end + 2);
    state.comment = false;
  }
  const tokens = rest.match(TOKEN) || [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === "/*") {
      const tail = tokens.slice(at).join("");
      const end = tail.indexOf("*/");
      add("com", end < 0 ? tail : tail.slice(0, end + 2));
      if (end < 0) { state.comment = true; return parts; }
      parts.push(...highlight(tail.slice(end + 2), state));
      return parts;
    }
    const kind = token.startsWith("//") ? "com" : /^b?r?#*"/.test(token) || /^'.*'$/.test(token) ? "str" : /^\d/.test(token) ? "num"
      : KEYWORDS.test(token) ? "kw" : /^[A-Z]/.test(token) ? "ty" : /^[a-z_]\w*!$/.test(token) ? "mac" : tokens[at + 1] === "(" && /^[a-z_]/.test(token) ? "fun" : /^'/.test(token) ? "life" : "";
    add(kind, token);
  }
  return parts;
}
