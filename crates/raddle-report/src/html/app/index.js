// Relations between events, computed when first asked for: readers, modification order, happens-before.

const lazily = (make) => { let made; return () => (made === undefined ? (made = make()) : made); };

/** The events of each thread, in program order. */
const byThread = lazily(() => {
  const lists = failure.threads.map(() => []);
  events.forEach((event, number) => { if (lists[event.thread]) lists[event.thread].push(number); });
  return lists;
});

/** The accesses of each location by its address, in the order of the trace. A plain write may cover several locations. */
const byPlace = lazily(() => {
  const found = new Map(accesses.filter(({ place }) => place).map(({ place }) => [place.address, []]));
  const addresses = [...found.keys()].sort((one, other) => one - other);
  accesses.forEach(({ place }, number) => {
    if (!place) return;
    const length = actionName(events[number]) === "write" ? Math.max(actionFields(events[number]).length, 1) : 1;
    for (let at = from(addresses, place.address); at < addresses.length && addresses[at] < place.address + length; at++) {
      found.get(addresses[at]).push(number);
    }
  });
  return found;
});

/** The index of the first address that is not less, by bisection. */
function from(addresses, least) {
  let [low, high] = [0, addresses.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (addresses[middle] < least) low = middle + 1; else high = middle;
  }
  return low;
}

const sourceEvent = (write) => (write && typeof write === "object" ? write.event : null);

/** The events that read from each event, and those that overwrite it. */
const successors = lazily(() => {
  const readers = new Map();
  const overwriters = new Map();
  const add = (map, from, to) => { if (!map.has(from)) map.set(from, []); map.get(from).push(to); };
  events.forEach((event, number) => {
    const read = readSource(number);
    if (read !== null && read.event !== null) add(readers, read.event, number);
    const over = sourceEvent(event.overwrites);
    if (over !== null) add(overwriters, over, number);
  });
  return { readers, overwriters };
});

/**
 * The write that an event read from: `event` (or null), and `exact`. Where the edge is not recorded, the last write of the same
 * value to the location before the event.
 */
function readSource(number) {
  const { place, read } = accesses[number];
  if (!place || read === null) return null;
  const edge = events[number].reads_from;
  if (edge === "initial") return { event: null, words: "the initial value", exact: true };
  const recorded = sourceEvent(edge);
  if (recorded !== null) return { event: recorded, words: "", exact: true };
  const near = byPlace().get(place.address) || [];
  for (let at = near.indexOf(number) - 1; at >= 0; at--) {
    const { written } = accesses[near[at]];
    if (written === null) continue;
    const isPlain = actionName(events[near[at]]) === "write";
    if (written === read || read === "?" || (isPlain && written === "?")) return { event: near[at], words: "", exact: false };
    break;
  }
  return { event: null, words: edge === "unseen" ? "a write that is not recorded" : "no recorded write", exact: false };
}

/** For each event, the number of events of each thread that happen before it or are it. */
const clocks = lazily(() => {
  const last = failure.threads.map(() => new Int32Array(failure.threads.length));
  const position = new Int32Array(COUNT);
  const seen = new Int32Array(failure.threads.length);
  return events.map((event, number) => {
    const clock = last[event.thread].slice();
    for (const before of view.synchronises[number] || []) {
      const other = before < number ? clocksSoFar[before] : null;
      if (other) for (let thread = 0; thread < clock.length; thread++) clock[thread] = Math.max(clock[thread], other[thread]);
    }
    position[number] = ++seen[event.thread];
    clock[event.thread] = position[number];
    last[event.thread] = clock;
    clocksSoFar[number] = clock;
    return clock;
  });
});
const clocksSoFar = [];

/** Whether an event happens before another one. */
function happensBefore(first, second) {
  if (first === second) return false;
  const all = clocks();
  const thread = events[first].thread;
  return all[second][thread] >= all[first][thread];
}

/** The writes to a location in modification order, as far as edges tell; otherwise in the order of the trace. */
function modificationOrder(address) {
  const writes = (byPlace().get(address) || []).filter((number) => accesses[number].written !== null);
  const rank = new Map();
  const rankOf = (number) => {
    if (rank.has(number)) return rank.get(number);
    rank.set(number, 0);
    const before = sourceEvent(events[number].overwrites);
    const own = before === null ? 0 : rankOf(before) + 1;
    rank.set(number, own);
    return own;
  };
  // Along the trace, so that a long chain needs no deep recursion.
  for (const number of writes) rankOf(number);
  const isRecorded = writes.every((number) => events[number].overwrites !== undefined);
  return isRecorded ? writes.slice().sort((one, other) => rank.get(one) - rank.get(other) || one - other) : writes;
}

/** The reads that could have seen a write but saw an older one. */
function missedBy(write) {
  const { place, written } = accesses[write];
  if (!place || written === null) return [];
  const order = modificationOrder(place.address);
  const position = new Map(order.map((number, at) => [number, at]));
  const own = position.get(write);
  return (byPlace().get(place.address) || []).filter((number) => {
    if (number <= write || accesses[number].read === null) return false;
    const source = readSource(number);
    if (!source || !source.exact) return false;
    return source.event === null || position.get(source.event) < own;
  });
}
