// The player: a slider over the lanes of the threads.

const slider = $("#slider");
const lanesBox = $("#lanes");
const lanesCanvas = lanesBox.querySelector("canvas");
/** The threads that have events. */
const laneThreads = failure.threads.map((_, thread) => thread).filter((thread) => lifetimes[thread][0] < COUNT);
const colour = (thread) => getComputedStyle(document.documentElement).getPropertyValue(`--t${thread % COLOURS}`);
let playing = null;
const PLAY_MS = 420;
/** The inset of the ends of the slider's track: half of its thumb. */
const THUMB = 7;

function startTimeline() {
  for (const name of ["first", "back", "play", "forth", "last"]) $(`#${name}`).replaceChildren(icon(name));
  slider.max = Math.max(COUNT - 1, 0);
  slider.addEventListener("input", () => select(Number(slider.value)));
  $("#first").addEventListener("click", () => select(0));
  $("#last").addEventListener("click", () => select(COUNT - 1));
  $("#back").addEventListener("click", () => select(current - 1));
  $("#forth").addEventListener("click", () => select(current + 1));
  $("#play").addEventListener("click", togglePlay);
  const marks = $("#marks");
  const at = (event) => `calc(${THUMB}px + (100% - ${2 * THUMB}px) * ${COUNT > 1 ? event / (COUNT - 1) : 0})`;
  const mark = (event, kind, text) => {
    const element = h("span", { class: `mark ${kind}`, title: text });
    element.style.left = at(event);
    marks.append(element);
  };
  if (failure.point_of_no_return) mark(failure.point_of_no_return.event, "no-return", "the point of no return");
  if (failure.nearest_pass) mark(Math.min(failure.nearest_pass.common, COUNT - 1), "parting", "the nearest passing execution parts here");
  new ResizeObserver(perFrame(drawLanes)).observe(lanesBox);
}

/** Draws a bar for each run of a thread. */
function drawLanes() {
  const { width, height } = lanesBox.getBoundingClientRect();
  if (width === 0 || COUNT === 0) return;
  const ratio = devicePixelRatio || 1;
  lanesCanvas.width = width * ratio;
  lanesCanvas.height = height * ratio;
  const paint = lanesCanvas.getContext("2d");
  paint.scale(ratio, ratio);
  const lane = Math.min(9, (height - 8) / Math.max(laneThreads.length, 1));
  const top = (height - lane * laneThreads.length) / 2;
  const x = (event) => THUMB + (width - 2 * THUMB) * (COUNT > 1 ? event / (COUNT - 1) : 0);
  const colours = laneThreads.map((thread) => colour(thread));
  const faint = getComputedStyle(document.body).getPropertyValue("--line");
  laneThreads.forEach((thread, at) => {
    paint.fillStyle = faint;
    const [begin, end] = lifetimes[thread];
    paint.fillRect(x(begin), top + at * lane + lane / 2 - 0.5, Math.max(x(Math.min(end, COUNT - 1)) - x(begin), 1), 1);
  });
  for (let from = 0; from < COUNT;) {
    let to = from;
    while (to + 1 < COUNT && events[to + 1].thread === events[from].thread) to++;
    const at = laneThreads.indexOf(events[from].thread);
    if (at >= 0) {
      paint.fillStyle = colours[at];
      const left = from === 0 ? x(0) : (x(from - 1) + x(from)) / 2;
      const right = to + 1 === COUNT ? x(to) : (x(to) + x(to + 1)) / 2;
      paint.fillRect(left, top + at * lane + 1, Math.max(right - left - (right - left > 5 ? 1 : 0), 0.7), lane - 2);
    }
    from = to + 1;
  }
}

function togglePlay() {
  if (playing) { stopPlay(); return; }
  if (rowOfEvent[current] >= visible.length - 1 || current === COUNT - 1) select(0);
  $("#play").replaceChildren(icon("pause"));
  $("#play").setAttribute("aria-label", "Pause");
  const pause = Math.max(16, Math.min(PLAY_MS, 60000 / Math.max(visible.length, 1)));
  playing = setInterval(() => {
    const before = current;
    stepRow(1);
    if (current === before) stopPlay();
  }, pause);
}

function stopPlay() {
  clearInterval(playing);
  playing = null;
  $("#play").replaceChildren(icon("play"));
  $("#play").setAttribute("aria-label", "Play");
}

function markTimeline() {
  if (Number(slider.value) !== current) slider.value = current;
  slider.setAttribute("aria-valuetext", `Event ${current} of ${COUNT - 1}: T${events[current].thread} ${view.texts[current]}`);
  $("#position").textContent = `${current} / ${COUNT - 1}`;
}
