// Elements and small helpers. Text is always set as text.

const $ = (selector) => document.querySelector(selector);

/** An HTML element. Attributes: `on` has listeners, `vars` custom properties; others as in HTML. */
function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

/** An SVG element. */
function s(tag, attributes, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
    else if (name === "vars") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Sets the text of a node only if it differs, because the browser lays out and paints again what is set. */
const setText = (node, text) => { if (node.data !== text) node.data = text; };

/** The shapes of threads, so that colour is never the only sign. */
const SHAPES = ["●", "■", "▲", "◆", "★", "⬟", "✚", "▼"];
const COLOURS = 8;

const threadClass = (thread) => `t${thread % COLOURS}`;
const shape = (thread) => SHAPES[thread % SHAPES.length];

/** The sign of a thread: shape and short name in its colour. */
function threadSign(thread, text) {
  return h("span", { class: `thread ${threadClass(thread)}` },
    h("span", { class: "shape", "aria-hidden": "true" }, shape(thread)), text === undefined ? ` T${thread}` : text && ` ${text}`);
}

/** A text in which `T1` and the like are signs of threads, and what stands between backticks is code. */
function withThreads(text) {
  return withCode(text).flatMap((piece) => (typeof piece !== "string" ? piece : piece.split(/\b(T\d+)\b/).map((part) => {
    const thread = /^T\d+$/.test(part) ? Number(part.slice(1)) : -1;
    return thread >= 0 && thread < failure.threads.length ? threadSign(thread) : part;
  })));
}

/** A text in which what stands between backticks is code. */
const withCode = (text) => text.split(/`([^`]+)`/).map((part, at) => (at % 2 ? h("code", {}, part) : part));

/** A button that goes to an event. */
function eventLink(event, text, extra) {
  const own = failure.trace.events[event];
  const label = text === undefined ? `#${event}` : text;
  return h("button", {
    type: "button", class: `link ${own ? threadClass(own.thread) : ""} ${extra || ""}`, "data-event": event,
    title: own ? `Event ${event}: T${own.thread} ${view.texts[event]}` : undefined,
    on: { click: () => select(event) },
  }, label);
}

/** The signs of the player, drawn: fonts do not all have them. */
const ICONS = { play: "M4 2 L13 8 L4 14 Z", pause: "M4 2 h3 v12 h-3 z M9 2 h3 v12 h-3 z", back: "M11 2 L4 8 L11 14 Z", forth: "M5 2 L12 8 L5 14 Z", first: "M3 2 h2 v12 h-2 z M13 2 L6 8 L13 14 Z", last: "M11 2 h2 v12 h-2 z M3 2 L10 8 L3 14 Z" };
const icon = (name) => s("svg", { viewBox: "0 0 16 16", width: 13, height: 13, "aria-hidden": "true", class: "icon" }, s("path", { d: ICONS[name] }));

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** Runs a function at most once a frame. */
function perFrame(run) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; run(); });
  };
}
