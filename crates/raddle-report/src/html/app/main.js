// The current event, keys, tabs, themes and the world outside of the page.

let current = 0;
/** The event at which the failure shows. */
let failedAt = 0;

/** Goes to an event. A quiet choice is not told to others. */
function select(event, { quiet } = {}) {
  const next = Math.max(0, Math.min(COUNT - 1, event));
  if (next === current) return;
  current = next;
  draw();
  if (!quiet) tellOthers();
  rememberEvent();
}

const draw = perFrame(() => {
  // Scrolling lays the page out, so it comes first, while the page is as the last frame left it.
  revealRow(false);
  const places = framesAt(current);
  revealSource(places);
  drawTrace(isRunning ? 0 : OVERSCAN);
  markScenario();
  drawState();
  drawSource(places);
  drawNow();
  markTimeline();
  isRunning = true;
  clearTimeout(waiting);
  waiting = setTimeout(drawRest, REST_MS);
});

/** The time without a change after which the parts are drawn that nobody looks at while time runs. */
const REST_MS = 60;
let waiting = 0;
/** Whether the current event has changed within this time. */
let isRunning = false;
function drawRest() {
  isRunning = false;
  drawTrace();
  if (diagram.box && isInSight("state")) drawNodes();
  drawLinks();
  drawChips();
  drawQuestions();
}

/** The current event in words. */
function drawNow() {
  const event = events[current];
  const line = lineOf(current);
  const badge = current === failedAt ? h("span", { class: "badge small" }, view.class) : null;
  $("#now").replaceChildren(...[h("span", { class: "number" }, `#${current}`), " ", threadSign(event.thread, threadName(event.thread)), " ", h("code", {}, view.texts[current]),
    line && h("span", { class: "note" }, ` ${line}`), badge && " ", badge].filter(Boolean));
}

/** The relations of the current event, and questions about it. */
function drawLinks() {
  const event = events[current];
  const { place, read, written } = accesses[current];
  const links = [];
  const relation = (words, list) => {
    if (list.length === 0) return;
    links.push(h("span", { class: "rel" }, `${words} `, list.slice(0, 6).flatMap((other, at) => (at ? [" ", eventLink(other)] : [eventLink(other)])), list.length > 6 ? " …" : ""));
  };
  const source = readSource(current);
  if (source && source.event !== null) relation("reads from", [source.event]);
  else if (source && source.exact) links.push(h("span", { class: "rel" }, `reads ${source.words}`));
  relation("read by", successors().readers.get(current) || []);
  const over = sourceEvent(event.overwrites);
  if (over !== null) relation("overwrites", [over]);
  relation("overwritten by", successors().overwriters.get(current) || []);
  relation("synchronises with", event.synchronises_with || []);
  const here = current;
  const ask = (text, title, run) => links.push(h("button", { type: "button", class: "ask", title, on: { click: run } }, text));
  if (read !== null) ask("where from?", "Where did this value come from?", () => askOrigin(here));
  if (place) ask("who wrote?", `Who wrote ${placeName(place)}?`, () => askWriters(here));
  if (written !== null) ask("who missed?", "Who should have seen this write and did not?", () => askMissed(here));
  ask("what before?", "What must have happened before?", () => askBefore(here));
  $("#links").replaceChildren(...links);
}

/** Tells the page around this one, or the editor, which event was chosen. */
function tellOthers() {
  const message = { type: "raddle.goto", event: current };
  if (window.parent && window.parent !== window) window.parent.postMessage(message, "*");
  if (editor) editor.postMessage(message);
}
const editor = typeof acquireVsCodeApi === "function" ? acquireVsCodeApi() : null;

let remembering = 0;
function rememberEvent() {
  clearTimeout(remembering);
  remembering = setTimeout(() => { try { history.replaceState(null, "", `#event=${current}`); } catch { /* some viewers have no history */ } }, 250);
}

function eventOfFragment() {
  const found = /^#event=(\d+)$/.exec(location.hash);
  return found && Number(found[1]) < COUNT ? Number(found[1]) : null;
}

/** The event at which the failure shows: the panic, the last spin of an operation that must not wait, or else the last one of the trace panel. */
function failingEvent() {
  const spin = failure.kind === "not-obstruction-free" ? spins().pop() : undefined;
  if (spin !== undefined) return spin;
  const shown = visible.filter((row) => row.span[1] > row.span[0]);
  const tells = (row) => !["begin", "end", "join"].includes(actionName(events[eventOfRow(row)]));
  const last = shown.filter((row) => row.kind === "panic").pop() || shown.filter(tells).pop() || shown[shown.length - 1];
  return last ? eventOfRow(last) : COUNT - 1;
}

/** The tabs of each dock. On wide and on small screens all panels are in sight, and the style sheet hides the tabs. */
function startTabs() {
  for (const dock of document.querySelectorAll(".dock")) {
    const list = dock.querySelector(".tabs");
    const panels = [...dock.querySelectorAll(":scope > .panel")].filter((panel) => !panel.hidden);
    for (const panel of panels) {
      list.append(h("button", { type: "button", role: "tab", id: `tab-${panel.id}`, "aria-controls": panel.id, on: {
        click: () => showTab(panel.id),
        keydown: (key) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[key.key];
          if (!step) return;
          key.preventDefault();
          key.stopPropagation();
          const next = panels[(panels.indexOf(panel) + step + panels.length) % panels.length];
          showTab(next.id);
          $(`#tab-${next.id}`).focus();
        },
      } }, panel.querySelector("h2").textContent));
    }
    if (panels.length > 0) showTab(panels[0].id);
  }
}

/** Whether a panel has a place on the screen: not if another tab is in front of it. */
const isInSight = (id) => !$(`#${id}`).classList.contains("off") || areAllInSight.matches;
const areAllInSight = matchMedia("(min-width: 1400px), (max-width: 900px), print");

function showTab(id) {
  const panel = $(`#${id}`);
  for (const other of panel.parentElement.querySelectorAll(":scope > .panel")) other.classList.toggle("off", other !== panel);
  for (const tab of panel.parentElement.querySelectorAll("[role=tab]")) {
    const isOwn = tab.id === `tab-${id}`;
    tab.setAttribute("aria-selected", isOwn);
    tab.tabIndex = isOwn ? 0 : -1;
  }
}

const KEYS = [
  ["↓ ↑ or j k", "next, previous row"],
  ["→ ←", "next, previous event"],
  ["n p", "next, previous event of the same thread"],
  ["w", "the write that this event reads from, or the previous write of the location"],
  ["Home End", "first, last event"],
  ["space", "play, pause"],
  ["Enter", "fold or unfold the row"],
  ["/", "search; Enter and Shift+Enter go through the results"],
  ["a", "every event, or only those that concern others"],
  ["o b", "where a value came from; what happened before"],
  ["t", "light or dark"],
  ["?", "this help"],
];

function startKeys() {
  document.addEventListener("keydown", (key) => {
    if (!(key.target instanceof Element)) return;
    const isTyping = key.target.matches("input[type=search]");
    if (isTyping) {
      if (key.key === "Enter") { key.preventDefault(); goToMatch(key.shiftKey ? -1 : 1); }
      if (key.key === "Escape") { key.target.value = ""; searchRows(""); rowsBox.focus(); }
      return;
    }
    if (key.ctrlKey || key.metaKey || key.altKey || $("#keys").open) return;
    const isSlider = key.target === slider;
    const isButton = key.target.matches("button, summary, [role=button]");
    const run = {
      ArrowDown: () => stepRow(1), j: () => stepRow(1), ArrowUp: () => stepRow(-1), k: () => stepRow(-1),
      ArrowRight: () => select(current + 1), ArrowLeft: () => select(current - 1),
      Home: () => select(0), End: () => select(COUNT - 1), " ": togglePlay,
      n: () => stepThread(1), p: () => stepThread(-1), w: goToWrite,
      Enter: () => { if (toggleRow(visible[rowOfEvent[current]])) redrawTrace(); },
      "/": () => $("#search").focus(), a: toggleEvery, t: switchTheme, "?": showKeys,
      o: () => { if (accesses[current].read !== null) askOrigin(current); }, b: () => askBefore(current),
      PageDown: () => pageRows(1), PageUp: () => pageRows(-1),
    }[key.key];
    if (!run) return;
    if (isButton && (key.key === "Enter" || key.key === " ")) return;
    if (isSlider && /^(Arrow|Home|End|Page)/.test(key.key)) return;
    if (key.target.closest("#source .body, #why .body, #ask .body") && /^(ArrowUp|ArrowDown|Page|Home|End| )/.test(key.key)) return;
    key.preventDefault();
    run();
  });
}

function pageRows(step) {
  const rows = Math.max(1, Math.floor(sight.height / ROW) - 2);
  const at = Math.max(0, Math.min(visible.length - 1, rowOfEvent[current] + step * rows));
  select(eventOfRow(visible[at]));
}

function stepThread(step) {
  const own = byThread()[events[current].thread];
  const next = own[own.indexOf(current) + step];
  if (next !== undefined) select(next);
}

function goToWrite() {
  const source = readSource(current);
  if (source && source.event !== null) { select(source.event); return; }
  const { place } = accesses[current];
  if (!place) return;
  const before = (byPlace().get(place.address) || []).filter((number) => number < current && accesses[number].written !== null).pop();
  if (before !== undefined) select(before);
}

function toggleEvery() {
  everyEvent = !everyEvent;
  $("#every").setAttribute("aria-pressed", everyEvent);
  updateRows();
  measureTrace();
  scrollRows(sight.top);
  searchRows($("#search").value);
  revealRow(true);
  drawTrace();
}

function showKeys() {
  const close = () => $("#keys").close();
  $("#keys").replaceChildren(h("h2", { id: "keys-title" }, "Keys"), h("dl", {}, KEYS.flatMap(([keys, what]) => [h("dt", {}, keys), h("dd", {}, what)])),
    h("p", {}, "Each thread has a colour and a shape: ", columns.map((thread) => [threadSign(thread, threadName(thread)), "  "]).flat()),
    h("p", { class: "note" }, "An arrow on the left of the trace leads from a write to the read that sees it. In the state, yellow lines have just changed, dashed boxes are freed. On the time line, a red ▼ is the point of no return, a green ◆ the event at which the nearest passing execution parts."),
    h("button", { type: "button", autofocus: true, on: { click: close } }, "Close"));
  $("#keys").showModal();
}

function switchTheme() {
  const isDark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  try { localStorage.setItem("raddle-theme", document.documentElement.dataset.theme); } catch { /* pages from disk may have no storage */ }
  drawLanes();
}

function startTheme() {
  let known = null;
  try { known = localStorage.getItem("raddle-theme"); } catch { /* pages from disk may have no storage */ }
  if (known === "dark" || known === "light") document.documentElement.dataset.theme = known;
  $("#theme").addEventListener("click", switchTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawLanes);
}

/** Prints the whole trace: rows out of sight do not exist otherwise. */
function startPrint() {
  const MAX_PRINTED = 1500;
  let list = null;
  addEventListener("beforeprint", () => {
    const printed = visible.slice(-MAX_PRINTED);
    const longest = printed.reduce((most, row) => Math.max(most, row.line ? row.line.length : 0), 0);
    list = h("ol", { class: "print-rows", vars: { "--longest": longest } }, printed.map((row) => {
      const text = h("span", {}, row.within ? `${row.within}: ` : "", row.kind === "switch" ? withCode(row.text) : row.text);
      text.style.marginLeft = `${row.depth * 14}px`;
      return h("li", { class: `${row.kind}${eventOfRow(row) === current && row.kind !== "switch" ? " current" : ""}` }, h("span", { class: "line" }, row.line || ""), row.kind === "switch" ? h("span", { class: "thread" }, "⇄") : threadSign(row.thread), text);
    }));
    $("#trace").append(list);
    for (const details of document.querySelectorAll("details")) details.open = true;
    if (diagram.box) fitDiagram();
  });
  addEventListener("afterprint", () => { if (list) list.remove(); });
}

function start() {
  $("#class").textContent = `✗ ${view.class}`;
  $("#test").textContent = failure.test;
  $("#message").replaceChildren(...withCode(failure.message.split("\n")[0]));
  $("#app").hidden = false;
  startTheme();
  if (!objects || objects.list.length === 0) $("#state").remove();
  startPass();
  if (COUNT === 0) {
    document.body.classList.add("no-trace");
    startScenario();
    startWhy();
    for (const selector of ["#trace", "#state", "#dock-b", "footer"]) if ($(selector)) $(selector).hidden = true;
    startTabs();
    return;
  }
  startScenario();
  startTabs();
  startTrace();
  startDiagram();
  startSource();
  startWhy();
  startTimeline();
  startKeys();
  startPrint();
  $("#search").addEventListener("input", () => searchRows($("#search").value));
  $("#every").addEventListener("click", toggleEvery);
  $("#help").addEventListener("click", showKeys);
  addEventListener("hashchange", () => { const event = eventOfFragment(); if (event !== null) select(event); });
  addEventListener("message", (message) => {
    const { data } = message;
    if (data && data.type === "raddle.goto" && Number.isInteger(data.event)) select(data.event, { quiet: true });
  });
  const given = eventOfFragment();
  failedAt = failingEvent();
  current = given === null ? failedAt : given;
  revealRow(true);
  draw();
}

start();
