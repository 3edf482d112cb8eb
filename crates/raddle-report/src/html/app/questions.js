// The questions panel. Answers come from the relations between events alone.

const MAX_ANSWERS = 60;

/** Shows an answer. `items` are elements of a list. */
function answer(question, items, after) {
  const shown = items.slice(0, MAX_ANSWERS);
  const more = items.length - shown.length;
  $("#ask .body").replaceChildren(h("h3", {}, question), h("ol", { class: "answers" }, shown),
    ...(more > 0 ? [h("p", { class: "note" }, `and ${more} more`)] : []), ...(after ? [after] : []), h("hr"), suggestions());
  showTab("ask");
  $("#ask .body").scrollTop = 0;
}

/** An event as an item of an answer. */
function answerItem(event, words, isKey) {
  const line = lineOf(event);
  return h("li", { class: isKey ? "key" : "" }, threadSign(events[event].thread), " ", eventLink(event, h("code", {}, view.texts[event])),
    line && h("span", { class: "note" }, ` ${line}`), words && h("span", { class: "words" }, ` ${words}`), h("span", { class: "number" }, ` #${event}`));
}

const sentence = (text) => h("li", { class: "sentence" }, text);

/** The questions about the current event. */
function suggestions() {
  const { place, read, written } = accesses[current];
  const name = place ? placeName(place) : "";
  const ask = (text, run) => h("button", { type: "button", class: "ask", on: { click: run } }, text);
  const here = current;
  const list = [];
  if (read !== null) list.push(ask("Where did this value come from?", () => askOrigin(here)));
  if (place) list.push(ask(`Who wrote ${name}?`, () => askWriters(here)), ask(`Who read ${name}?`, () => askReaders(here)));
  if (written !== null) list.push(ask("Who missed this write?", () => askMissed(here)));
  list.push(ask("What must have happened before?", () => askBefore(here)));
  return h("div", { class: "suggestions" }, h("p", { class: "note" }, `About event #${here}:`), list);
}

/** The chain of reads and writes back to the origin of a value. */
function askOrigin(event) {
  const items = [answerItem(event, "this value", true)];
  const seen = new Set([event]);
  let at = event;
  for (;;) {
    const source = readSource(at);
    if (!source) break;
    if (source.event === null) { items.push(sentence(`It is ${source.words}.`)); break; }
    const write = source.event;
    items.push(answerItem(write, source.exact ? "wrote it" : "was the last recorded write"));
    if (seen.has(write)) break;
    seen.add(write);
    const next = accesses[write].read !== null ? write : sameValueBefore(write);
    if (next === null) {
      const last = lastReadBefore(write);
      if (last === null) items.push(sentence(`T${events[write].thread} made the value here.`));
      else {
        items.push(sentence(`T${events[write].thread} made the value here; the last that it had read:`), answerItem(last, ""));
        if (accesses[last].place.address === accesses[write].place.address && !seen.has(last)) { seen.add(last); at = last; continue; }
      }
      break;
    }
    if (next !== write) { items.push(answerItem(next, "had read the same value before")); seen.add(next); }
    at = next;
  }
  answer(`Where did the value of #${event} come from?`, items);
}

/** The thread's last read of the value that a write stores. */
function sameValueBefore(write) {
  const value = accesses[write].written;
  const own = byThread()[events[write].thread];
  for (let at = own.indexOf(write) - 1; at >= 0; at--) {
    if (actionName(events[own[at]]) === "call") return null;
    // Small numbers are equal by chance.
    if (accesses[own[at]].read === value && value !== "?" && value.length > 3) return own[at];
  }
  return null;
}

function lastReadBefore(write) {
  const own = byThread()[events[write].thread];
  for (let at = own.indexOf(write) - 1; at >= 0; at--) {
    if (actionName(events[own[at]]) === "call") return null;
    if (accesses[own[at]].read !== null) return own[at];
  }
  return null;
}

function askWriters(event) {
  const { place } = accesses[event];
  const writes = modificationOrder(place.address);
  const items = writes.map((write) => answerItem(write, write === event ? "this event" : "", write === event));
  if (items.length === 0) items.push(sentence("No recorded event writes it: it keeps its initial value."));
  answer(`Who wrote ${placeName(place)}? In modification order:`, items);
}

function askReaders(event) {
  const { place } = accesses[event];
  const reads = (byPlace().get(place.address) || []).filter((number) => accesses[number].read !== null);
  const items = reads.map((read) => {
    const source = readSource(read);
    const from = source && source.event !== null ? `read from #${source.event}` : source ? `read ${source.words}` : "";
    return answerItem(read, from, read === event);
  });
  if (items.length === 0) items.push(sentence("No recorded event reads it."));
  answer(`Who read ${placeName(place)}?`, items);
}

function askMissed(event) {
  const missed = missedBy(event);
  const items = missed.map((read) => answerItem(read, happensBefore(event, read) ? "although the write happens before it" : "no synchronisation makes it see the write"));
  if (items.length === 0) items.push(sentence("Nobody: every later read of the location saw this write or a newer one."));
  answer(`Who should have seen #${event} and did not?`, items);
}

/** The last event of each thread that happens before an event, and the first ones that nothing orders. */
function askBefore(event) {
  const clock = clocks()[event];
  const items = [];
  failure.threads.forEach((_, thread) => {
    const own = byThread()[thread];
    if (thread === events[event].thread || own.length === 0) return;
    if (clock[thread] === 0) { items.push(h("li", { class: "sentence" }, threadSign(thread, threadName(thread)), ": nothing")); return; }
    const last = own[Math.min(clock[thread], own.length) - 1];
    items.push(answerItem(last, `and everything that T${thread} did before it (${plural(clock[thread], "event")})`));
  });
  const own = byThread()[events[event].thread];
  const position = own.indexOf(event);
  if (position > 0) items.unshift(answerItem(own[position - 1], `and everything else that T${events[event].thread} did before`));
  const direct = (events[event].synchronises_with || []).map((before) => eventLink(before));
  const note = direct.length > 0 ? h("p", { class: "note" }, "It synchronises directly with ", direct.flatMap((link, at) => (at ? [", ", link] : [link])), ".") : null;
  if (items.length === 0) items.push(sentence("Nothing: it is the first event."));
  answer(`What must have happened before #${event}?`, items, note);
}

/** The values that a part of an object had. */
function askHistory(object, path) {
  const list = versions[object];
  const names = [objectName(object)];
  let part = list[Math.max(versionAt(object, current), 0)].value;
  for (const step of path) {
    const nested = nestedOf(part);
    const label = nested && nested.parts[step] ? nested.parts[step][0] : String(step);
    names.push(label.startsWith("[") ? label : `.${label}`);
    part = (childrenOf(part) || [])[step];
    if (!part) break;
  }
  const items = [];
  let before = null;
  list.forEach((version) => {
    const value = partAt(version.value, path);
    const text = value ? brief(value) : null;
    if (text === before || text === null) return;
    before = text;
    items.push(version.event < 0 ? h("li", {}, h("code", { class: "value" }, text), h("span", { class: "words" }, " before the first event"))
      : h("li", { class: version.event === current ? "key" : "" }, h("code", { class: "value" }, text), " ", threadSign(events[version.event].thread), " ",
        eventLink(version.event, h("code", {}, view.texts[version.event])), h("span", { class: "number" }, ` #${version.event}`)));
  });
  if (objects.list[object].freed !== undefined) items.push(answerItem(objects.list[object].freed, "freed it"));
  answer(`The history of ${names.join("")}`, items);
}

let askedFor = -1;

/** Offers questions about the current event as long as none was asked. */
function drawQuestions() {
  const body = $("#ask .body");
  const old = body.querySelector(".suggestions");
  if (askedFor === current && old) return;
  askedFor = current;
  if (old) old.replaceWith(suggestions());
  else body.replaceChildren(h("p", { class: "empty" }, "Click a value in the state, or ask about the current event."), suggestions());
}
