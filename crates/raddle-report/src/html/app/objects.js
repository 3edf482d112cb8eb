// The objects at every event. Each object has a list of versions that share what did not change, so that any moment is at hand.

const objects = failure.objects || null;

/** For each object its versions in order: `event` (-1 before the first), `value`, and the `paths` that changed. */
const versions = objects ? objects.list.map(() => []) : [];

if (objects) {
  for (const change of objects.initial || []) addVersion(change, -1);
  events.forEach((event, number) => { for (const change of event.changes || []) addVersion(change, number); });
}

function addVersion(change, event) {
  const known = versions[change.object];
  if (!known) return;
  const last = known[known.length - 1];
  const path = change.path || [];
  const value = path.length === 0 ? change.value : last && replaced(last.value, path, 0, change.value);
  if (!value) return;
  if (last && last.event === event) {
    last.value = value;
    last.paths.push(path);
  } else {
    known.push({ event, value, paths: [path] });
  }
}

/** A copy of a value with another part; nothing if the part does not exist. */
function replaced(value, path, depth, part) {
  if (depth === path.length) return part;
  const [kind] = Object.keys(value);
  const index = path[depth];
  const inside = value[kind];
  const children = childrenOf(value);
  if (!children || !children[index]) return null;
  const child = replaced(children[index], path, depth + 1, part);
  if (!child) return null;
  const put = (list, at, item) => { const copy = list.slice(); copy[at] = item; return copy; };
  switch (kind) {
    case "fields": return { fields: { ...inside, fields: put(inside.fields, index, { ...inside.fields[index], value: child }) } };
    case "list": return { list: { ...inside, items: put(inside.items, index, child) } };
    case "lock": return { lock: { ...inside, value: put(inside.value, index, child) } };
    case "map": {
      const at = index >> 1;
      return { map: { ...inside, entries: put(inside.entries, at, put(inside.entries[at], index & 1, child)) } };
    }
    default: return null;
  }
}

function childrenOf(value) {
  if (value.fields) return value.fields.fields.map((field) => field.value);
  if (value.list) return value.list.items;
  if (value.map) return value.map.entries.flat();
  if (value.lock) return value.lock.value;
  return null;
}

/** The number of the version that an object has after an event; -1 if it does not exist yet. */
function versionAt(object, event) {
  const known = versions[object];
  let low = 0;
  let high = known.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (known[middle].event <= event) low = middle + 1; else high = middle;
  }
  const { since } = objects.list[object];
  return since !== undefined && since > event ? -1 : low - 1;
}

const isFreed = (object, event) => objects.list[object].freed !== undefined && objects.list[object].freed <= event;

/** The object that has a memory location at an event; the newest one if memory is reused. */
function objectAt(address, event) {
  let found = -1;
  for (let object = 0; objects && object < objects.list.length; object++) {
    const { address: start, size, since } = objects.list[object];
    if (address >= start && address < start + Math.max(size, 1) && (since === undefined || since <= event)) found = object;
  }
  return found;
}

/** The name by which people know an object: that of its root, or its own. */
function objectName(object) {
  const root = objects.roots.find((known) => known.object === object);
  return root ? root.name : objects.list[object].name;
}

/** A value in a few characters. */
function brief(value) {
  if (!value) return "?";
  if (value.scalar !== undefined) return value.scalar;
  if (value.unknown !== undefined) return `(${value.unknown})`;
  if (value.pointer) {
    const { object, address, tag } = value.pointer;
    const mark = tag ? ` | ${tag}` : "";
    if (address === 0 && object === undefined) return `null${mark}`;
    return (object !== undefined && objects.list[object] ? `➜ ${objects.list[object].name}` : `0x${address.toString(16)}`) + mark;
  }
  if (value.fields) {
    const { name, fields } = value.fields;
    if (fields.length === 0) return name || "()";
    if (fields.length > 4) return `${name}{…}`;
    const isTuple = fields.every((field, at) => field.name === String(at));
    const parts = fields.map((field) => (isTuple ? brief(field.value) : `${field.name}: ${brief(field.value)}`)).join(", ");
    return isTuple ? `${name}(${parts})` : `${name} { ${parts} }`;
  }
  if (value.list) return `[${value.list.items.slice(0, 6).map(brief).join(", ")}${value.list.length > 6 ? ", …" : ""}]`;
  if (value.map) return `{${value.map.entries.slice(0, 4).map(([key, item]) => `${brief(key)}: ${brief(item)}`).join(", ")}${value.map.length > 4 ? ", …" : ""}}`;
  if (value.lock) return `${value.lock.kind} (${value.lock.state}) ${value.lock.value.map(brief).join("")}`;
  return "?";
}

/** The largest number of lines of an object in the diagram. */
const MAX_LINES = 14;

/** A value as lines: `label`, `text`, `path`, `depth`, and `pointer` where the line leads to another object. */
function linesOf(value) {
  const lines = [];
  const add = (label, part, path, depth) => {
    const line = { label, text: brief(part), path, depth, pointer: part.pointer || null };
    const nested = nestedOf(part);
    if (!nested) { lines.push(line); return; }
    if (depth >= 0) lines.push({ ...line, text: nested.title });
    nested.parts.forEach(([name, child], at) => add(name, child, path.concat(at), depth + 1));
    if (nested.more) lines.push({ label: "", text: `… ${nested.more} more`, path, depth: depth + 1, pointer: null });
  };
  add("", value, [], -1);
  if (lines.length > MAX_LINES) {
    const cut = lines.length - MAX_LINES + 1;
    lines.splice(MAX_LINES - 1, cut, { label: "", text: `… ${cut} more`, path: [], depth: 0, pointer: null });
  }
  return lines.map((line) => ({ ...line, depth: Math.max(line.depth, 0) }));
}

/** The parts of a value that need lines of their own; none if the value fits one line. */
function nestedOf(value) {
  if (value.fields && value.fields.fields.length > 0) {
    const fields = value.fields.fields;
    const isWrapper = fields.length === 1 && fields[0].name === "0" && !nestedOf(fields[0].value) && !fields[0].value.pointer;
    if (isWrapper) return null;
    return { title: value.fields.name, parts: fields.map((field) => [field.name, field.value]), more: 0 };
  }
  if (value.list && value.list.items.length > 0) {
    const { items, length } = value.list;
    return { title: `${length} element${length === 1 ? "" : "s"}`, parts: items.map((item, at) => [`[${at}]`, item]), more: length - items.length };
  }
  if (value.map && value.map.entries.length > 0) {
    const { entries, length } = value.map;
    const parts = entries.flatMap(([key, item]) => [["key", key], ["value", item]]);
    return { title: `${length} entr${length === 1 ? "y" : "ies"}`, parts, more: length - entries.length };
  }
  if (value.lock && value.lock.value.length > 0) {
    return { title: `${value.lock.kind}, ${value.lock.state}`, parts: value.lock.value.map((item) => ["value", item]), more: 0 };
  }
  return null;
}
