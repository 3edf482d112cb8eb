// Stands in for `cargo raddle` in the end-to-end test, so that the extension is tested where neither Rust nor a debugger is: answers
// the same arguments, with the documented example as the failure of every test whose name is not that of a passing one.
"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");

const EXAMPLE = path.join(__dirname, "../../../crates/raddle-report/tests/example.json");
const [name, ...args] = process.argv.slice(2);

const commands = { test, show, replay, debug };
if (!commands[name]) throw new Error(`the stand-in knows no command \`${name}\``);
commands[name]();

function test() {
  const names = [args.find((arg, at) => !arg.startsWith("-") && !args[at - 1]?.startsWith("-")), ...args.slice(args.indexOf("--exact") + 1)];
  process.stderr.write(`   Compiling ${args[1]}\n`);
  console.log(`\nrunning ${names.length} tests`);
  const failed = names.filter((test) => test !== "one_thread_counts");
  for (const test of names) console.log(`test ${test} ... ${failed.includes(test) ? "FAILED" : "ok"}`);
  if (failed.length === 0) return;
  console.log("\nfailures:\n");
  for (const test of failed) {
    console.log(`---- ${test} stdout ----\nthe report of ${test}\n`);
    write(test);
  }
  console.log("\nfailures:");
  process.exitCode = 1;
}

function write(test) {
  const failures = path.join(process.cwd(), "..", "target", "raddle", "failures");
  const failure = JSON.parse(fs.readFileSync(EXAMPLE, "utf8"));
  failure.test = test;
  failure.build.cargo_args = ["--manifest-path", path.join(process.cwd(), "Cargo.toml")];
  fs.mkdirSync(failures, { recursive: true });
  fs.writeFileSync(path.join(failures, `${test}.json`), JSON.stringify(failure));
}

function replay() {
  console.log(`replayed ${path.basename(args[0])}`);
}

function show() {
  if (args.includes("mermaid")) return console.log("sequenceDiagram\n  T0->>T1: spawn");
  const out = args[args.indexOf("-o") + 1];
  const { test, trace } = JSON.parse(fs.readFileSync(args[0], "utf8"));
  const script = `
    const editor = acquireVsCodeApi();
    const slider = document.querySelector("#slider");
    const mark = (event) => { slider.value = event; document.querySelector("#now").textContent = "#" + event; };
    const goTo = (event) => {
      mark(event);
      const message = { type: "raddle.goto", event: Number(event) };
      if (window.parent !== window) window.parent.postMessage(message, "*");
      editor.postMessage(message);
    };
    slider.oninput = () => goTo(slider.value);
    document.onkeydown = (key) => { if (key.key === "ArrowRight") { key.preventDefault(); goTo(Number(slider.value) + 1); } };
    addEventListener("message", ({ data }) => { if (data?.type === "raddle.goto") mark(data.event); });
    mark(slider.max);`;
  const style = "body { font: 14px sans-serif; }";
  const hash = (text) => `'sha256-${crypto.createHash("sha256").update(text).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}`;
  fs.writeFileSync(out, `<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="${policy}"><style>${style}</style></head>
    <body><h1 id="test">${test}</h1><p id="now"></p><input id="slider" type="range" max="${trace.events.length - 1}"><script>${script}</script></body></html>`);
}

/** A debug adapter that knows only where events are. */
function debug() {
  const { parseFailure, parsePlaces } = require("../src/failure");
  const text = fs.readFileSync(args[0], "utf8");
  const failure = JSON.parse(text);
  const places = parsePlaces(text);
  const { manifest } = parseFailure(text);
  const last = places.length - 1;
  let current = 0;
  let sequence = 1;
  const send = (message) => {
    const text = JSON.stringify({ seq: sequence++, ...message });
    process.stdout.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  const stop = (event, reason) => {
    current = Math.max(0, Math.min(last, event));
    send({ type: "event", event: "stopped", body: { reason, threadId: 1, allThreadsStopped: true } });
    send({ type: "event", event: "raddle/position", body: { event: current } });
  };
  const frames = () => {
    const place = places[current];
    const source = place && { name: path.basename(place.file), path: path.resolve(path.dirname(manifest), place.file) };
    return [{ id: 1, name: `event ${current}`, line: place?.line ?? 0, column: 1, source }];
  };
  const requests = {
    initialize: () => ({ body: { supportsStepBack: true, supportsConfigurationDoneRequest: true }, then: () => send({ type: "event", event: "initialized" }) }),
    configurationDone: () => ({ then: () => stop(4, "entry") }),
    setBreakpoints: ({ breakpoints = [] }) => ({ body: { breakpoints: breakpoints.map(() => ({ verified: true })) } }),
    threads: () => ({ body: { threads: [{ id: 1, name: `T${failure.trace.events[current].thread}` }] } }),
    stackTrace: () => ({ body: { stackFrames: frames(), totalFrames: 1 } }),
    scopes: () => ({ body: { scopes: [] } }),
    next: () => ({ then: () => stop(current + 1, "step") }),
    stepIn: () => ({ then: () => stop(current + 1, "step") }),
    stepBack: () => ({ then: () => stop(current - 1, "step") }),
    continue: () => ({ then: () => stop(last, "breakpoint") }),
    reverseContinue: () => ({ then: () => stop(0, "entry") }),
    "raddle/gotoEvent": ({ event }) => ({ then: () => stop(event, "goto") }),
    disconnect: () => ({ then: () => process.exit(0) }),
  };
  let input = Buffer.alloc(0);
  process.stdin.on("data", (piece) => {
    input = Buffer.concat([input, piece]);
    for (let header; (header = /Content-Length: (\d+)\r\n\r\n/.exec(input.toString("latin1"))); ) {
      const from = header.index + header[0].length;
      const to = from + Number(header[1]);
      if (input.length < to) return;
      const request = JSON.parse(input.subarray(from, to).toString("utf8"));
      input = input.subarray(to);
      const { body, then } = requests[request.command]?.(request.arguments ?? {}) ?? {};
      send({ type: "response", request_seq: request.seq, command: request.command, success: true, body });
      then?.();
    }
  });
}
