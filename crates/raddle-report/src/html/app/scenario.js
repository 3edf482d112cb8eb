// The scenario panel: the operations of each thread as blocks in the order of time, with an arrow for each context switch.

/** The largest number of blocks; a longer execution is easier to read in the trace. */
const MAX_BLOCKS = 160;

/** Runs of one operation without a context switch, in order. */
function blocksOf() {
  const blocks = [];
  const open = new Map();
  events.forEach((event, number) => {
    const name = actionName(event);
    if (name === "call") open.set(event.thread, { call: event.action.call.call, result: null, part: 0 });
    const operation = open.get(event.thread);
    if (!operation) return;
    const last = blocks[blocks.length - 1];
    if (last && last.operation === operation) { last.last = number; last.events++; }
    else blocks.push({ operation, thread: event.thread, first: number, last: number, events: 1, part: operation.part++ });
    if (name === "return") {
      operation.result = event.action.return.result;
      operation.end = number;
      open.delete(event.thread);
    }
  });
  return blocks;
}

function startScenario() {
  const panel = $("#scenario");
  const { scenario } = failure;
  if (!scenario) { panel.hidden = true; return; }
  const all = blocksOf();
  const blocks = all.length > MAX_BLOCKS ? [] : all;
  const body = panel.querySelector(".body");
  const threads = scenario.parallel.map((_, at) => at + 1);
  const grid = h("div", { class: "swim", vars: { "--columns": threads.length } });
  threads.forEach((thread, at) => {
    const head = h("div", { class: "swim-head" }, threadSign(thread, threadName(thread)));
    head.style.gridColumn = at + 1;
    head.style.gridRow = 1;
    grid.append(head);
  });
  const parallel = blocks.filter((block) => threads.includes(block.thread));
  let before = null;
  parallel.forEach((block, at) => {
    const column = threads.indexOf(block.thread) + 1;
    const { operation } = block;
    const isFirst = block.part === 0;
    const isLast = operation.end === undefined ? block.part === operation.part - 1 : operation.end <= block.last;
    const result = isLast ? (operation.result === null ? "did not return" : operation.result) : null;
    const button = h("button", {
      type: "button", class: `block ${threadClass(block.thread)}${isFirst ? " starts" : ""}${isLast ? " ends" : ""}${isLast && operation.result === null ? " stuck" : ""}`,
      title: `Events ${block.first} to ${block.last}`, on: { click: () => select(block.last) },
    }, h("span", { class: "call" }, isFirst ? operation.call : `⋯ ${operation.call}`),
    isLast ? h("span", { class: "result" }, `→ ${result}`) : h("span", { class: "cut" }, "interrupted"));
    button.style.gridColumn = column;
    button.style.gridRow = at + 2;
    block.element = button;
    if (before !== null && before !== column) {
      const arrow = h("span", { class: `swim-arrow ${before < column ? "right" : "left"}`, "aria-hidden": "true" });
      arrow.style.gridColumn = `${Math.min(before, column)} / ${Math.max(before, column) + 1}`;
      arrow.style.gridRow = at + 2;
      arrow.style.setProperty("--span", Math.abs(before - column) + 1);
      grid.append(arrow);
    }
    before = column;
    grid.append(button);
  });
  if (parallel.length === 0) {
    scenario.parallel.forEach((operations, column) => operations.forEach((operation, at) => {
      const cell = h("div", { class: `block starts ends ${threadClass(column + 1)}` }, h("span", { class: "call" }, operation.call),
        h("span", { class: "result" }, operation.result === undefined ? "→ did not return" : `→ ${operation.result}`));
      cell.style.gridColumn = column + 1;
      cell.style.gridRow = at + 2;
      grid.append(cell);
    }));
  }
  const sequence = (title, operations) => operations && operations.length > 0 && h("p", { class: "sequence" }, h("b", {}, `${title} `),
    operations.map((operation, at) => [at ? "; " : "", h("code", {}, operation.result === undefined ? operation.call : `${operation.call} → ${operation.result}`)]));
  body.append(...[sequence("before", scenario.init), grid, sequence("after", scenario.post)].filter(Boolean));
  if (scenario.code) {
    body.append(h("details", {}, h("summary", {}, "Test this scenario first"), h("pre", { class: "code" }, scenario.code)));
  }
  shownBlocks = parallel;
}

let shownBlocks = [];
let shownBlock = null;

/** Marks the block of the current event. */
function markScenario() {
  const block = shownBlocks.filter((known) => known.first <= current && current <= known.last).pop() || null;
  if (block === shownBlock) return;
  if (shownBlock) shownBlock.element.classList.remove("current");
  shownBlock = block;
  if (!block) return;
  block.element.classList.add("current");
  const box = $("#scenario .body");
  const { offsetTop, offsetHeight } = block.element;
  if (offsetTop < box.scrollTop || offsetTop + offsetHeight > box.scrollTop + box.clientHeight) {
    box.scrollTop = offsetTop - box.clientHeight / 2;
  }
}
