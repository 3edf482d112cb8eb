// The state panel: the objects at the current event as a graph. Places are those of the union of all states, so nodes stay put.

const LINE = 18;
const HEAD = 22;
const CHAR = 6.7;
const NODE_MIN = 92;
const NODE_MAX = 210;

const diagram = { nodes: [], box: null, world: null, edges: null, scale: 1, x: 0, y: 0, isText: false, bounds: null, touched: -1, size: null };

function startDiagram() {
  if (!objects || objects.list.length === 0) return;
  const nodes = objects.list.map((object, number) => ({ number, object, ...sizeOf(object, number), shown: null, look: null, arrowKey: "", x: 0, y: 0 }));
  const seen = new Set();
  const edges = [];
  versions.forEach((list, from) => list.forEach((version) => eachPointer(version.value, ({ object: to }) => {
    const key = `${from}-${to}`;
    if (to === undefined || !nodes[to] || seen.has(key)) return;
    seen.add(key);
    edges.push([from, to]);
  })));
  layOut(nodes, edges, [...new Set(objects.roots.map((root) => root.object))].filter((object) => nodes[object]));
  const left = Math.min(...nodes.map((node) => node.x));
  const top = Math.min(...nodes.map((node) => node.y)) - 18;
  nodes.forEach((node) => { node.x -= left; node.y -= top; });
  diagram.bounds = [Math.max(...nodes.map((node) => node.x + node.width)), Math.max(...nodes.map((node) => node.y + node.height))];
  diagram.nodes = nodes;
  diagram.edges = s("g", {});
  const boxes = s("g", {});
  for (const node of nodes) {
    node.element = s("g", { class: "node", transform: `translate(${node.x} ${node.y})` });
    node.arrows = s("g", {});
    boxes.append(node.element);
    diagram.edges.append(node.arrows);
  }
  // The view moves by a transform of the whole drawing: that of a group inside would lay out every text again.
  diagram.world = s("svg", { class: "world", width: diagram.bounds[0], height: diagram.bounds[1] }, boxes, diagram.edges);
  diagram.box = h("div", { class: "diagram", role: "img", "aria-label": "The objects at the current event", tabindex: 0 }, diagram.world);
  diagram.text = h("div", { class: "state-text", hidden: true });
  $("#state .body").append(diagram.box, diagram.text);
  controlDiagram();
}

/** The largest size that an object has at any event. */
function sizeOf(object, number) {
  const root = objects.roots.find((known) => known.object === number);
  let wide = object.name.length + 4;
  let lines = 1;
  const list = versions[number];
  const step = Math.ceil(list.length / 500) || 1;
  for (let at = 0; at < list.length; at++) {
    if (at % step && at + 1 < list.length) continue;
    const shown = linesOf(list[at].value);
    lines = Math.max(lines, shown.length);
    for (const line of shown) wide = Math.max(wide, 2 * line.depth + line.label.length + line.text.length + 3);
  }
  return { root: root ? root.name : null, width: Math.min(NODE_MAX, Math.max(NODE_MIN, wide * CHAR + 16)), height: HEAD + lines * LINE + 6 };
}

function eachPointer(value, visit) {
  if (value.pointer) visit(value.pointer);
  else for (const child of childrenOf(value) || []) eachPointer(child, visit);
}

/** Draws the state after the current event. */
function drawState() {
  // A panel behind another one is drawn when it comes to the front.
  if (!diagram.box || !isInSight("state")) return;
  const { place } = accesses[current];
  diagram.touched = place ? objectAt(place.address, current) : -1;
  const changed = [...new Set((events[current].changes || []).map((change) => change.object))].filter((object) => diagram.nodes[object]);
  $("#state-note").textContent = changed.length ? `${plural(changed.length, "object")} changed` : "no change";
  const follow = changed.length ? changed[0] : diagram.touched;
  if (follow >= 0) reveal(diagram.nodes[follow]);
  drawNodes();
  if (diagram.isText) drawStateText();
}

/** The distance around the panel within which nodes are drawn, so that arrows from outside are there; they can wait while time runs. */
const OUTSIDE = 260;

/** Brings the nodes in sight in line with the current event. The others have no elements: the browser would paint them all the same. */
function drawNodes() {
  const [width, height] = diagram.size || [1200, 800];
  const outside = isRunning ? 0 : OUTSIDE;
  const [left, top] = [(-diagram.x - outside) / diagram.scale, (-diagram.y - outside) / diagram.scale];
  const [right, bottom] = [(width - diagram.x + outside) / diagram.scale, (height - diagram.y + outside) / diagram.scale];
  for (const node of diagram.nodes) {
    const inSight = node.x < right && node.x + node.width > left && node.y < bottom && node.y + node.height > top;
    if (!inSight) {
      if (node.shown !== null) clearNode(node);
      continue;
    }
    const version = versionAt(node.number, current);
    const freed = isFreed(node.number, current);
    const isNew = version >= 0 && versions[node.number][version].event === current;
    const isTouched = node.number === diagram.touched;
    const key = `${version}|${freed}|${isNew}|${isTouched && events[current].thread}|${version >= 0 && danglingKey(node.number, version)}`;
    if (node.shown === key) continue;
    node.shown = key;
    drawNode(node, version, { freed, isNew, isTouched });
  }
}
const redrawNodes = perFrame(drawNodes);

/** Pointers to freed objects look different without a change of their own. */
function danglingKey(number, version) {
  let key = "";
  eachPointer(versions[number][version].value, ({ object }) => { if (object !== undefined && isFreed(object, current)) key += `${object},`; });
  return key;
}

function clearNode(node) {
  node.shown = null;
  node.look = null;
  node.arrowKey = "";
  node.element.replaceChildren();
  node.arrows.replaceChildren();
}

/** Draws a node. Elements stay as long as the node has the same lines; a step changes few of their texts. */
function drawNode(node, version, { freed, isNew, isTouched }) {
  const { element, object } = node;
  element.setAttribute("class", `node${version < 0 ? " absent" : ""}${freed ? " freed" : ""}${isNew ? " changed" : ""}`);
  if (version < 0) { clearNode(node); node.shown = "absent"; return; }
  const { value, paths } = versions[node.number][version];
  const old = isNew && version > 0 ? versions[node.number][version - 1].value : null;
  const lines = linesOf(value);
  const look = lines.map((line) => `${line.label} ${line.depth}`).join("|");
  if (node.look !== look) { node.look = look; makeNode(node, lines); }
  markNode(node, { freed, isTouched, height: HEAD + lines.length * LINE + 6 });
  const arrows = [];
  let arrowKey = "";
  lines.forEach((line, at) => {
    const changed = isNew && paths.some((path) => path.every((step, depth) => line.path[depth] === step) && path.length <= line.path.length);
    const before = changed && old ? partAt(old, line.path) : null;
    const was = before && brief(before) !== line.text ? `, was ${brief(before)}` : "";
    fillLine(node.lines[at], object, line, changed, was);
    const { pointer } = line;
    if (!pointer || pointer.object === undefined || !diagram.nodes[pointer.object]) return;
    arrowKey += `${at} ${pointer.object} ${pointer.tag} ${pointer.dangling || isFreed(pointer.object, current)} ${changed}|`;
    arrows.push([HEAD + at * LINE + LINE / 2 + 1, pointer, changed]);
  });
  if (node.arrowKey === arrowKey) return;
  node.arrowKey = arrowKey;
  node.arrows.replaceChildren(...arrows.flatMap(([y, pointer, changed]) => arrowTo(node, y, pointer, changed)));
}

/** Makes the elements of a node, and those of its lines without their values. */
function makeNode(node, lines) {
  const { element, object } = node;
  const parts = [
    s("rect", { class: "box", width: node.width, height: HEAD + lines.length * LINE + 6, rx: 7 }),
    s("path", { class: "cap", d: `M 0 ${HEAD} V 7 a 7 7 0 0 1 7 -7 H ${node.width - 7} a 7 7 0 0 1 7 7 V ${HEAD} z` }),
    s("text", { class: "name", x: 9, y: 15 }, object.name),
  ];
  if (object.of === undefined) parts.push(s("title", {}, `${object.type}, ${object.size} bytes at 0x${object.address.toString(16)}`));
  if (node.root) parts.push(s("text", { class: "root", x: 2, y: -8 }, `${node.root} ▾`));
  node.lines = lines.map((line, at) => {
    const y = HEAD + at * LINE;
    const made = { line, value: document.createTextNode(""), title: document.createTextNode(""), look: "line", said: "" };
    const ask = () => askHistory(node.number, made.line.path);
    made.group = s("g", { class: "line", tabindex: 0, role: "button", on: { click: ask, keydown: onEnter(ask) } },
      s("rect", { class: "hit", x: 3, y: y + 1.5, width: node.width - 6, height: LINE - 1, rx: 4 }),
      s("text", { x: 9 + line.depth * 10, y: y + 13.5 },
        line.label ? s("tspan", { class: "label" }, `${line.label}: `) : "", s("tspan", { class: "value" }, made.value)),
      s("title", {}, made.title));
    made.room = Math.floor((node.width - 18 - line.depth * 10) / CHAR) - (line.label ? line.label.length + 2 : 0);
    return made;
  });
  node.marks = [];
  node.markKey = "";
  element.replaceChildren(...parts, ...node.lines.map((line) => line.group));
}

/** Brings a line of a node up to date. */
function fillLine(made, object, line, changed, was) {
  made.line = line;
  const said = `${line.text}${was}`;
  if (made.said !== said) {
    made.said = said;
    setText(made.value, line.text.length > made.room ? `${line.text.slice(0, Math.max(made.room - 1, 1))}…` : line.text);
    setText(made.title, `${line.label ? `${line.label}: ` : ""}${said}`);
    made.group.setAttribute("aria-label", `${object.name} ${line.label}: ${line.text}. Ask for its history.`);
  }
  const look = changed ? "line new" : "line";
  if (made.look !== look) { made.look = look; made.group.setAttribute("class", look); }
}

/** Marks a node that is freed, or that the current event accesses. */
function markNode(node, { freed, isTouched, height }) {
  const thread = events[current].thread;
  const key = `${freed} ${isTouched && thread} ${height}`;
  if (node.markKey === key) return;
  node.markKey = key;
  for (const mark of node.marks) mark.remove();
  node.marks = [];
  if (freed) node.marks.push(s("text", { class: "gone", x: node.width - 8, y: 15, "text-anchor": "end" }, "freed"));
  if (isTouched) node.marks.push(s("text", { class: `toucher ${threadClass(thread)}`, x: node.width - (freed ? 48 : 8), y: 15, "text-anchor": "end" }, `${shape(thread)} T${thread}`));
  node.element.append(...node.marks);
  if (isTouched) {
    const frame = s("rect", { class: `touch ${threadClass(thread)}`, x: -4, y: -4, width: node.width + 8, height: height + 8, rx: 10 });
    node.marks.push(frame);
    node.element.prepend(frame);
  }
}

function partAt(value, path) {
  let part = value;
  for (const step of path) { const children = part && childrenOf(part); part = children ? children[step] : null; }
  return part;
}

/** An arrow from a line of a node to the head of another one. */
function arrowTo(node, y, pointer, changed) {
  const target = diagram.nodes[pointer.object];
  const isDangling = pointer.dangling || isFreed(pointer.object, current);
  const [x1, y1] = [node.x + node.width - 5, node.y + y];
  const kind = `pointer${isDangling ? " dangling" : ""}${changed ? " new" : ""}`;
  let [x2, y2, d, head] = [target.x, target.y + HEAD / 2, "", ""];
  if (target === node) {
    d = `M ${x1} ${y1} c 34 0, 34 ${node.y + HEAD / 2 - y1}, 5 ${node.y + HEAD / 2 - y1}`;
    head = `M ${x1 + 4} ${node.y + HEAD / 2} l 8 -4 v 8 z`;
  } else if (x2 >= node.x + node.width) {
    const bend = Math.max(24, Math.min((x2 - x1) * 0.45, 90));
    const detour = detourOf(x1 + 12, x2 - 12, y1, y2);
    d = detour === null ? `M ${x1} ${y1} C ${x1 + bend} ${y1}, ${x2 - bend} ${y2}, ${x2 - 7} ${y2}`
      : `M ${x1} ${y1} C ${x1 + 26} ${y1}, ${x1 + 14} ${detour}, ${x1 + 54} ${detour} L ${x2 - 54} ${detour} C ${x2 - 14} ${detour}, ${x2 - 26} ${y2}, ${x2 - 7} ${y2}`;
    head = `M ${x2 - 1} ${y2} l -8 -4 v 8 z`;
  } else {
    // Backwards: around the right side, into the top of the target.
    const side = Math.abs(target.x - node.x) < 4;
    [x2, y2] = side ? [target.x + target.width + 1, target.y + HEAD / 2] : [target.x + target.width / 2, target.y - 1];
    d = side ? `M ${x1} ${y1} C ${x1 + 46} ${y1}, ${x2 + 46} ${y2}, ${x2 + 7} ${y2}`
      : `M ${x1} ${y1} C ${x1 + 40} ${y1}, ${x1 + 20} ${Math.min(node.y, target.y) - 34}, ${(x1 + x2) / 2} ${Math.min(node.y, target.y) - 30} S ${x2} ${y2 - 34}, ${x2} ${y2 - 7}`;
    head = side ? `M ${x2} ${y2} l 8 -4 v 8 z` : `M ${x2} ${y2} l -4 -8 h 8 z`;
  }
  const tag = pointer.tag ? [s("text", { class: "tag", x: x1 + 8, y: y1 - 4 }, `tag ${pointer.tag}`)] : [];
  return [s("path", { class: kind, d }), s("path", { class: `${kind} head`, d: head }), s("circle", { class: kind, cx: x1, cy: y1, r: 2.5 }), ...tag];
}

/** The height at which an arrow passes the nodes between its ends; none if there are no nodes in its way. */
function detourOf(left, right, y1, y2) {
  const [high, low] = [Math.min(y1, y2) - 4, Math.max(y1, y2) + 4];
  const between = diagram.nodes.filter((node) => node.x < right && node.x + node.width > left && node.y < low && node.y + node.height > high);
  if (between.length === 0) return null;
  const [above, below] = [Math.min(...between.map((node) => node.y)) - 24, Math.max(...between.map((node) => node.y + node.height)) + 14];
  return y1 - above < below - y1 ? above : below;
}

const onEnter = (run) => (key) => { if (key.key === "Enter" || key.key === " ") { key.preventDefault(); key.stopPropagation(); run(); } };

function applyView() {
  placeWorld();
  redrawNodes();
}

function placeWorld() {
  diagram.world.style.transform = `translate(${diagram.x}px, ${diagram.y}px) scale(${diagram.scale})`;
}

function fitDiagram() {
  if (!diagram.size || diagram.size[0] === 0) return;
  const [width, height] = diagram.size;
  const [w, hgt] = diagram.bounds;
  diagram.scale = Math.max(0.75, Math.min(1.25, (width - 36) / w, (height - 30) / hgt));
  diagram.x = w * diagram.scale < width ? (width - w * diagram.scale) / 2 : 18;
  diagram.y = hgt * diagram.scale < height ? (height - hgt * diagram.scale) / 2 : 15;
  applyView();
}

/** Moves the view so that a node is in sight. The nodes are drawn by the caller. */
function reveal(node) {
  if (!diagram.size) return;
  const [width, height] = diagram.size;
  const [left, top] = [diagram.x + node.x * diagram.scale, diagram.y + node.y * diagram.scale];
  const [right, bottom] = [left + node.width * diagram.scale, top + Math.min(node.height * diagram.scale, height - 20)];
  let [dx, dy] = [0, 0];
  if (left < 6) dx = 40 - left; else if (right > width - 6) dx = width - 40 - right;
  if (top < 6) dy = 30 - top; else if (bottom > height - 6) dy = height - 20 - bottom;
  if (dx || dy) { diagram.x += dx; diagram.y += dy; placeWorld(); }
}

function zoom(factor, cx, cy) {
  const scale = Math.max(0.25, Math.min(3, diagram.scale * factor));
  const [width, height] = diagram.size || [0, 0];
  const [x, y] = [cx === undefined ? width / 2 : cx, cy === undefined ? height / 2 : cy];
  diagram.x = x - (x - diagram.x) * (scale / diagram.scale);
  diagram.y = y - (y - diagram.y) * (scale / diagram.scale);
  diagram.scale = scale;
  applyView();
}

function controlDiagram() {
  const { box } = diagram;
  let drag = null;
  box.addEventListener("pointerdown", (down) => { if (!down.target.closest(".line")) { drag = [down.clientX - diagram.x, down.clientY - diagram.y]; box.setPointerCapture(down.pointerId); } });
  box.addEventListener("pointermove", (move) => { if (drag) { diagram.x = move.clientX - drag[0]; diagram.y = move.clientY - drag[1]; applyView(); } });
  box.addEventListener("pointerup", () => { drag = null; });
  box.addEventListener("wheel", (wheel) => {
    if (!wheel.ctrlKey && !wheel.metaKey) return;
    wheel.preventDefault();
    const place = box.getBoundingClientRect();
    zoom(Math.exp(-wheel.deltaY / 300), wheel.clientX - place.left, wheel.clientY - place.top);
  }, { passive: false });
  $("#zoom-in").addEventListener("click", () => zoom(1.25));
  $("#zoom-out").addEventListener("click", () => zoom(0.8));
  $("#zoom-fit").addEventListener("click", fitDiagram);
  $("#state-text").addEventListener("click", () => {
    diagram.isText = !diagram.isText;
    $("#state-text").setAttribute("aria-pressed", diagram.isText);
    box.toggleAttribute("hidden", diagram.isText);
    diagram.text.hidden = !diagram.isText;
    if (diagram.isText) drawStateText();
  });
  new ResizeObserver(perFrame(() => {
    const { width, height } = box.getBoundingClientRect();
    diagram.size = [width, height];
    fitDiagram();
    drawState();
  })).observe(box);
}

/** The state as a list, for those who cannot see the drawing. */
function drawStateText() {
  const items = diagram.nodes.filter((node) => versionAt(node.number, current) >= 0).map((node) => {
    const { value } = versions[node.number][versionAt(node.number, current)];
    const name = `${node.root ? `${node.root}: ` : ""}${node.object.name}${isFreed(node.number, current) ? " (freed)" : ""}`;
    return h("li", {}, h("b", {}, name), h("ul", {}, linesOf(value).map((line) => h("li", {}, line.label ? `${line.label}: ${line.text}` : line.text))));
  });
  diagram.text.replaceChildren(h("ul", {}, items));
}
