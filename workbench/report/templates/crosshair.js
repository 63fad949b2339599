// One crosshair across all charts of an element whose axis is time: a line at one instant in each, and the values there.
// In a report the text of this file is the page's script; in the widgets it is bundled.

const SVG = "http://www.w3.org/2000/svg";
// How far an arrow key moves, as a part of the axis.
const STEP = 1 / 100;

function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** Axis of a chart: left end and width in its own units, first and last second, seconds of the unit, and its symbol. */
function axisOf(chart) {
  const [left, width, low, high, seconds, symbol, top, bottom] = chart.dataset.time.split(" ").map((part) => (isNaN(part) ? part : Number(part)));
  return { left, width, low, high, seconds, symbol, top, bottom };
}

/** Seconds at a place of the window; null beside the axis. */
function secondsAt(chart, { clientX, clientY }) {
  const { left, width, low, high, top, bottom } = axisOf(chart);
  const place = new DOMPoint(clientX, clientY).matrixTransform(chart.getScreenCTM().inverse());
  if (place.x < left - 1 || place.x > left + width + 1 || place.y < top || place.y > bottom) return null;
  return low + (Math.min(Math.max(place.x - left, 0), width) / width) * (high - low);
}

/** Text of each line of a chart at the point nearest to x. */
function valuesAt(chart, x) {
  return [...chart.querySelectorAll(".tw-line")].map((line) => {
    let best = null;
    let least = Infinity;
    for (const point of line.querySelectorAll("circle")) {
      const far = Math.abs(Number(point.getAttribute("cx")) - x);
      if (far < least) [best, least] = [point, far];
    }
    return best === null ? "" : best.textContent.replace(/ at [^ ]*$/, "");
  }).filter(Boolean);
}

/** Of more values than fit into a line those that are not 0. */
const brief = (values) => (values.length > 2 ? values.filter((text) => !text.endsWith(": 0")) : values);

/**
 * Link the charts of an element; `chosen(chart, seconds)` is called on a click, and on Enter, where the crosshair stands.
 *
 * Charts that are drawn later are linked, too. Arrow keys move the crosshair of the chart that has the focus. Returns a
 * function that shows the crosshair again after charts were drawn anew.
 */
export function linkCharts(root, chosen = () => {}) {
  let shown = null;
  const charts = () => [...root.querySelectorAll("svg[data-time]")];

  function show(seconds) {
    shown = seconds;
    for (const chart of charts()) {
      chart.querySelector(".tw-crosshair")?.remove();
      const { left, width, low, high, seconds: unit, symbol, top, bottom } = axisOf(chart);
      if (seconds === null || seconds < low || seconds > high || high <= low) continue;
      const x = left + ((seconds - low) / (high - low)) * width;
      const cross = make("g", { class: "tw-crosshair", "pointer-events": "none" });
      cross.append(make("line", { x1: x, x2: x, y1: top, y2: bottom, stroke: "currentColor", "stroke-opacity": 0.8, "stroke-dasharray": "3 2" }));
      const values = valuesAt(chart, x);
      // Where there are no lines, as in a Gantt chart, there is no room above, either.
      const text = make("text", { ...(values.length ? { x: left, y: top - 5 } : { x: x + 4, y: bottom + 9 }), "font-size": 11, "font-weight": 600 });
      text.textContent = [`${Number((seconds / unit).toPrecision(4))} ${symbol}`, ...brief(values)].join(" · ");
      cross.append(text);
      chart.append(cross);
      chart.setAttribute("aria-valuetext", text.textContent);
    }
  }

  const chartOf = (event) => event.target.closest?.("svg[data-time]");
  root.addEventListener("pointermove", (event) => {
    const chart = chartOf(event);
    const seconds = chart ? secondsAt(chart, event) : null;
    if (seconds !== null || shown !== null) show(seconds);
  });
  root.addEventListener("pointerleave", () => show(null));
  root.addEventListener("click", (event) => {
    const chart = chartOf(event);
    const seconds = chart ? secondsAt(chart, event) : null;
    if (seconds !== null) chosen(chart, seconds, event);
  });
  root.addEventListener("keydown", (event) => {
    const chart = event.target.matches?.("svg[data-time]") ? event.target : null;
    if (chart === null) return;
    const { low, high } = axisOf(chart);
    const now = shown ?? low;
    const step = (high - low) * STEP;
    const to = { ArrowLeft: now - step, ArrowRight: now + step, Home: low, End: high }[event.key];
    if (to !== undefined) show(Math.min(Math.max(to, low), high));
    else if (event.key === "Enter" || event.key === " ") chosen(chart, now, event);
    else return;
    event.preventDefault();
  });

  /** Let the charts take the focus, and show the crosshair where it stood. */
  function again() {
    for (const chart of charts()) {
      chart.setAttribute("tabindex", "0");
      chart.setAttribute("aria-roledescription", "chart; arrow keys move the crosshair");
    }
    show(shown);
  }
  again();
  return again;
}
