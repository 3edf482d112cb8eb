// The embedded failure and the view model, and what each event did to memory.

const failure = JSON.parse($("#failure-data").textContent);
const view = JSON.parse($("#view-data").textContent);
const events = failure.trace.events;
const COUNT = events.length;

/** The name of an action, and its fields. */
const actionName = (event) => (typeof event.action === "string" ? event.action : Object.keys(event.action)[0]);
const actionFields = (event) => (typeof event.action === "string" ? {} : event.action[actionName(event)]);

const placeNames = new Map(view.places);

/** The location that an event accesses, the value that it read and the one that it wrote: `null` where there is none. */
function access(event) {
  const name = actionName(event);
  const fields = actionFields(event);
  const place = fields.place || null;
  switch (name) {
    case "load": return { place, read: fields.value, written: null };
    case "store": return { place, read: null, written: fields.value };
    case "rmw": return { place, read: fields.read, written: fields.written };
    case "cas": return { place, read: fields.read, written: fields.read === fields.expected ? fields.new : null };
    case "write": return { place, read: null, written: fields.value === undefined ? "?" : fields.value };
    case "access": {
      const writes = fields.kind === "write" || fields.kind === "atomic-write";
      return { place, read: writes ? null : "?", written: writes ? "?" : null };
    }
    default: return { place, read: null, written: null };
  }
}

const accesses = events.map(access);
const placeName = (place) => placeNames.get(place.address) || `0x${place.address.toString(16)}`;

/** The line of an event as people write it, and its frame. */
const spotOf = (at) => (at === undefined || at === null ? null : view.spots[at]);
const lineOf = (event) => { const spot = spotOf(events[event].at); return spot ? spot.line : ""; };

/** The frames of a stack, innermost first. */
function stackFrames(at) {
  const frames = [];
  let next = at;
  while (next !== undefined && next !== null && failure.trace.stacks[next]) {
    const node = failure.trace.stacks[next];
    frames.push(node.frame);
    next = node.caller === undefined || node.caller >= next ? null : node.caller;
  }
  return frames;
}

/** The first and the last event of each thread. */
const lifetimes = failure.threads.map(() => [COUNT, -1]);
events.forEach((event, number) => {
  const life = lifetimes[event.thread];
  if (!life) return;
  life[0] = Math.min(life[0], number);
  life[1] = number;
});
failure.threads.forEach((thread, number) => {
  // A thread that waits at the end lives until then.
  if (thread.end !== "finished" && thread.end !== "panicked" && lifetimes[number][1] >= 0) lifetimes[number][1] = COUNT;
});

const threadName = (thread) => (view.threads[thread] ? view.threads[thread].name : `T${thread}`);
