// The why panel: what went wrong, and how it could.

function startWhy() {
  const parts = [headline(), reasons(), obstruction(), faultSteps(), waits(), ...view.walks.map(walkPart), lostWrites(), changedBack(), unavoidable(), drawing(), interruptions(), weakNote(), replay()];
  $("#why .body").replaceChildren(...parts.flat().filter(Boolean));
}

function headline() {
  // The header of the page has the first line.
  const parts = failure.message.includes("\n") ? [h("pre", { class: "message" }, failure.message)] : [];
  if (view.scene) {
    const [thread, line] = view.scene;
    parts.push(h("p", { class: "scene" }, "in ", threadSign(thread, threadName(thread)), " at ", h("code", {}, line)));
  }
  if (failure.certainty && failure.certainty.limit) {
    parts.push(h("p", { class: "caution" }, h("b", {}, "Not proven: "), `${failure.certainty.limit.reason}.`));
  }
  return parts;
}

/** The longest explainable order and the ways to go on, or any other reason, line by line. */
function reasons() {
  const lines = failure.reasons || [];
  if (lines.length === 0) return null;
  const items = [];
  for (const line of lines) {
    const text = line.trimStart();
    const order = text.match(/^(the order that explains most): (.*)$/);
    if (order) {
      const steps = splitOperations(order[2]).map((step, at) => [at ? h("span", { class: "then", "aria-hidden": "true" }, "→") : "", h("span", { class: "step" }, ...withThreads(step))]);
      items.push(h("p", {}, `${order[1]}:`), h("p", { class: "steps" }, steps));
    } else if (line.length > text.length) {
      const wrong = text.match(/^(.*): ((?:should|must|cannot|but) .*)$/);
      const item = wrong ? [h("span", { class: "step" }, ...withThreads(wrong[1])), " ", h("b", { class: "bad" }, `✗ ${wrong[2]}`)] : withThreads(text);
      items.push(h("p", { class: "way" }, ...item));
    } else {
      items.push(h("p", {}, ...withThreads(text)));
    }
  }
  return part("Why the results are wrong", items);
}

/** The last events of threads before they spin until another thread changes something. */
const spins = () => events.flatMap((event, number) => (number > 0 && event.switch === "spinning" ? [number - 1] : []));

/** Where an operation that should end by itself waits for another thread. */
function obstruction() {
  if (failure.kind !== "not-obstruction-free" || spins().length === 0) return null;
  const items = spins().slice(-12).map((number) => h("li", {}, threadSign(events[number].thread), " spins at ", eventLink(number, h("code", {}, view.texts[number])),
    h("span", { class: "note" }, ` ${lineOf(number)}`)));
  return part("Where an operation waits for another thread", [h("p", {}, "An obstruction-free operation ends if it runs alone from any moment on. Here one goes round in a loop until another thread goes on:"), h("ul", { class: "plain" }, items)]);
}

/** Operations that are separated by commas: each begins with its thread. */
const splitOperations = (text) => text.split(/, (?=T\d+ )/);

/** The steps towards a memory error or data race, with their call stacks. */
function faultSteps() {
  const { fault } = failure;
  if (!fault) return null;
  // Of a race, the two accesses come first.
  const rank = (step) => (failure.kind === "data-race" && (step.did === "allocate" || step.did === "free") ? 1 : 0);
  const steps = fault.steps.map((step, at) => [step, at]).sort(([one], [other]) => rank(one) - rank(other)).slice(0, 12);
  const cards = steps.map(([step, at]) => {
    const frames = stackFrames(step.at).filter((frame) => !failure.trace.frames[frame].internal);
    return h("div", { class: `card ${threadClass(step.thread)}` },
      h("p", {}, threadSign(step.thread, threadName(step.thread)), " ", h("b", {}, view.fault_steps[at])),
      frames.length > 0 && codeLine(frames[0]),
      h("ol", { class: "stack" }, frames.slice(0, 8).map((frame) => h("li", {}, frameLink(frame)))));
  });
  const more = fault.steps.length - cards.length;
  const title = failure.kind === "data-race" ? "Two accesses that nothing orders" : "How it came about";
  const place = fault.place && h("p", { class: "note" }, "at ", h("code", {}, placeName(fault.place)));
  return part(title, [place, h("div", { class: "cards" }, cards), more > 0 && h("p", { class: "note" }, `and ${more} more`)]);
}

/** The text of a frame's line, if it is known. */
function codeLine(frame) {
  const { file, line } = failure.trace.frames[frame];
  const text = file && sourceFiles.has(file) ? sourceFiles.get(file).get(line) : undefined;
  return text === undefined ? null : h("pre", { class: "code one" }, ...highlight(text.trim(), { comment: false }));
}

function frameLink(frame) {
  const { file, line } = failure.trace.frames[frame];
  const name = view.functions[frame];
  if (!file) return h("span", {}, name);
  const short = `${shortNames.get(file) || file}:${line}`;
  const isKnown = sourceFiles.has(file);
  return h("span", {}, h("span", { class: "fun" }, name), " ",
    isKnown ? h("button", { type: "button", class: "link quiet", on: { click: () => { showTab("source"); showLine(file, line); } } }, short) : h("span", { class: "note" }, short));
}

/** The states of unfinished threads, and the cycle of those that wait for each other. */
function waits() {
  const stuck = view.threads.map((thread, number) => ({ ...thread, number })).filter((thread) => thread.state);
  if (stuck.length === 0 || failure.fault || failure.kind === "panic") return null;
  const list = h("ul", { class: "plain" }, stuck.map((thread) => h("li", {}, threadSign(thread.number, thread.name), " ", ...withThreads(thread.state),
    thread.position && h("span", { class: "note" }, ` ${thread.position}`))));
  return part(view.wait_cycle.length ? "A cycle of threads that wait for each other" : "Where the threads are", [view.wait_cycle.length ? waitCycle() : null, list]);
}

/** The wait-for cycle as a ring of threads and locks. */
function waitCycle() {
  const stations = view.wait_cycle.flatMap(([thread, lock]) => (lock ? [{ thread }, { lock }] : [{ thread }]));
  const count = stations.length;
  const [rx, ry] = [150, count > 4 ? 105 : 78];
  const [width, height] = [2 * rx + 190, 2 * ry + 64];
  const at = (number) => {
    const angle = (2 * Math.PI * number) / count - Math.PI;
    return [width / 2 + rx * Math.cos(angle), height / 2 + ry * Math.sin(angle)];
  };
  const arrows = stations.map((station, number) => {
    const [x1, y1] = at(number);
    const [x2, y2] = at((number + 1) % count);
    const [dx, dy] = [x2 - x1, y2 - y1];
    const length = Math.hypot(dx, dy) || 1;
    // From the edge of one sign to the edge of the next, with a bend to the outside.
    const inset = (w, ht) => Math.min(w / Math.abs(dx || 0.01), ht / Math.abs(dy || 0.01)) * length + 6;
    const [a, b] = [inset(halfWidth(station), 17), inset(halfWidth(stations[(number + 1) % count]), 17)];
    const [ux, uy] = [dx / length, dy / length];
    const [sx, sy, ex, ey] = [x1 + ux * a, y1 + uy * a, x2 - ux * b, y2 - uy * b];
    const [mx, my] = [(sx + ex) / 2, (sy + ey) / 2];
    const label = station.lock ? "held by" : "waits for";
    const head = `M ${ex} ${ey} L ${ex - ux * 9 + uy * 4.5} ${ey - uy * 9 - ux * 4.5} L ${ex - ux * 9 - uy * 4.5} ${ey - uy * 9 + ux * 4.5} z`;
    const kind = station.lock ? "held" : "waits";
    // Beside the arrow, on the outer side of the ring.
    const side = uy * (mx - width / 2) - ux * (my - height / 2) < 0 ? -1 : 1;
    const [lx, ly] = [mx + side * uy * 36, my - side * ux * 15 + 4];
    return [s("path", { class: `wait ${kind}`, d: `M ${sx} ${sy} L ${ex - ux * 7} ${ey - uy * 7}` }), s("path", { class: `wait head ${kind}`, d: head }),
      s("text", { class: "wait-label", x: lx, y: ly, "text-anchor": "middle" }, label)];
  });
  const signs = stations.map((station, number) => {
    const [x, y] = at(number);
    const half = halfWidth(station);
    if (station.lock !== undefined) {
      return s("g", { class: "lock" }, s("rect", { x: x - half, y: y - 16, width: 2 * half, height: 32, rx: 4 }), s("text", { x, y: y + 4, "text-anchor": "middle" }, lockName(station.lock)));
    }
    return s("g", { class: `waiter ${threadClass(station.thread)}` }, s("rect", { x: x - half, y: y - 16, width: 2 * half, height: 32, rx: 16 }),
      s("text", { x, y: y + 4, "text-anchor": "middle" }, `${shape(station.thread)} ${threadName(station.thread)}`));
  });
  const words = view.wait_cycle.map(([thread, lock]) => `T${thread} waits for ${lock ? lockName(lock) : "the end of the next"}`).join(", ");
  return s("svg", { class: "cycle", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, arrows.flat(), signs);
}

const lockName = (lock) => lock.replace(/`/g, "");
const halfWidth = (station) => Math.max(34, ((station.lock !== undefined ? lockName(station.lock) : `${shape(0)} ${threadName(station.thread)}`).length * 7 + 22) / 2);

function unavoidable() {
  const point = failure.point_of_no_return;
  if (!point) return null;
  const how = point.exhaustive ? "every execution fails: all" : "every execution that was tried fails:";
  return part("The point of no return", [h("p", {}, "From ", eventLink(point.event), " on, ", `${how} ${plural(point.executions, "execution")}. `,
    h("span", { class: `thread ${threadClass(events[point.event].thread)}` }, `${shape(events[point.event].thread)} T${events[point.event].thread}`), " ", h("code", {}, view.texts[point.event]))]);
}

/** Stores that overwrite what another thread wrote since the storing thread has looked: the usual way to lose an update. */
function lostWrites() {
  const items = [];
  for (const list of byPlace().values()) {
    const looked = new Map();
    const writes = [];
    for (const number of list) {
      const { thread } = events[number];
      const { read, written } = accesses[number];
      const name = actionName(events[number]);
      const seen = looked.get(thread);
      if (name === "store" && seen !== undefined && spotOf(events[number].at)) {
        const isNews = (write) => write > seen && events[write].thread !== thread && accesses[write].written !== accesses[seen].read;
        const other = writes.filter(isNews).pop();
        if (other !== undefined) items.push([seen, other, number]);
      }
      if (written !== null) writes.push(number);
      if (written !== null) looked.delete(thread);
      else if (read !== null) looked.set(thread, number);
    }
  }
  if (items.length === 0) return null;
  const code = (event) => [threadSign(events[event].thread), " ", eventLink(event, h("code", {}, view.texts[event])), h("span", { class: "note" }, ` ${lineOf(event)}`)];
  return part("Overwritten unseen", items.slice(0, 3).map(([seen, other, own]) => h("ol", { class: "walk" },
    h("li", {}, code(seen)), h("li", {}, h("span", { class: "relation" }, "↳ then another thread writes"), code(other)),
    h("li", {}, h("span", { class: "relation bad" }, "↳ and is overwritten by what follows from the old value"), code(own)))));
}

/** Compare-exchanges that succeed although others have changed the location since the thread has read it. */
function changedBack() {
  const items = [];
  for (const list of byPlace().values()) {
    const looked = new Map();
    list.forEach((number, at) => {
      const { thread } = events[number];
      const { read, written } = accesses[number];
      const seen = looked.get(thread);
      if (seen !== undefined && written !== null && view.texts[number].includes("compare_exchange") && accesses[list[seen]].read === read) {
        const others = list.slice(seen + 1, at).filter((other) => accesses[other].written !== null && events[other].thread !== thread);
        if (others.length > 0) items.push([list[seen], others, number]);
      }
      if (read !== null) looked.set(thread, at);
    });
  }
  if (items.length === 0) return null;
  const code = (event) => [threadSign(events[event].thread), " ", eventLink(event, h("code", {}, view.texts[event])), h("span", { class: "note" }, ` ${lineOf(event)}`)];
  return part("Changed and changed back unseen (ABA)", items.slice(0, 3).map(([seen, others, own]) => h("ol", { class: "walk" }, h("li", {}, code(seen)),
    others.slice(-6).map((other, at) => h("li", {}, at === 0 && h("span", { class: "relation" }, "↳ then others write"), code(other))),
    h("li", {}, h("span", { class: "relation bad" }, "↳ and the old value is there again, so that this succeeds"), code(own)))));
}

/** The places at which threads were preempted. */
function interruptions() {
  const at = [];
  events.forEach((event, number) => { if (number > 0 && event.switch === "preempted" && !["spawn", "begin"].includes(actionName(events[number - 1]))) at.push(number); });
  if (at.length === 0) return null;
  const items = at.slice(-12).map((number) => h("li", {}, threadSign(events[number - 1].thread), " after ", eventLink(number - 1, h("code", {}, view.texts[number - 1])),
    h("span", { class: "note" }, ` ${lineOf(number - 1)}`), ", and ", threadSign(events[number].thread), " went on"));
  return part("Where threads were interrupted", [at.length > 12 && h("p", { class: "note" }, `The last 12 of ${at.length}:`), h("ul", { class: "plain" }, items)]);
}

/** A cycle or path of reads and writes, the missing synchronisation, and the repair. */
function walkPart(walk) {
  const steps = walk.steps.map((step, at) => h("li", {},
    at > 0 && h("span", { class: `relation${/not (seen|synchronise)|does not/.test(step.relation) ? " bad" : ""}` }, `↳ ${step.relation}`),
    h("span", { class: "walk-step" }, threadSign(step.thread), " ", eventLink(step.event, h("code", {}, step.text)), step.line && h("span", { class: "note" }, ` ${step.line}`))));
  return part("Why it could happen", [h("p", {}, ...withThreads(walk.opening)), steps.length > 0 && h("ol", { class: "walk" }, steps),
    walk.notes.map((note) => h("p", {}, note)), walk.repairs && h("p", { class: "repair" }, h("span", { "aria-hidden": "true" }, "✓ "), walk.repairs)]);
}

/** The execution graph. Rust has drawn it; the style sheet gives it the colours of the page. */
function drawing() {
  if (!view.drawing) return null;
  const parsed = new DOMParser().parseFromString(view.drawing, "image/svg+xml").documentElement;
  if (parsed.nodeName !== "svg") return null;
  const image = document.importNode(parsed, true);
  const [width, height] = [parsed.getAttribute("width"), parsed.getAttribute("height")];
  if (!image.hasAttribute("viewBox") && width && height) image.setAttribute("viewBox", `0 0 ${parseFloat(width)} ${parseFloat(height)}`);
  image.setAttribute("class", "graph");
  image.setAttribute("role", "img");
  image.setAttribute("aria-label", "The execution graph");
  return h("details", { open: view.drawing.length < 20000 }, h("summary", {}, "Execution graph"), h("div", { class: "scroll" }, image));
}

function weakNote() {
  return view.is_interleaving && h("p", { class: "note" }, "Weak memory has no part in this: every read sees the newest write.");
}

function replay() {
  const found = failure.found_by;
  const text = `strategy ${found.strategy}${found.memory ? `, memory ${found.memory}` : ""}, seed ${found.seed}, execution ${found.execution.toLocaleString("en")}`;
  const items = [h("p", { class: "note" }, `Found by ${text}.`)];
  if (view.replay) {
    const button = h("button", { type: "button", on: { click: async () => {
      try { await navigator.clipboard.writeText(view.replay); button.textContent = "copied"; } catch { getSelection().selectAllChildren(code); }
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    } } }, "copy");
    const code = h("code", {}, view.replay);
    items.unshift(h("p", { class: "command" }, code, " ", button));
  }
  return part("Replay", items);
}

const part = (title, items) => h("section", { class: "part" }, h("h3", {}, title), ...items.flat().filter(Boolean));
