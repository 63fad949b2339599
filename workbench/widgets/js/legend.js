// The strip under the drawing that says what its colours and lines mean; it names only what is drawn.
import { h } from "./panel.js";
import { speedColours, tierColour } from "./palette.js";

// Bandwidths named one by one; of more, the slowest, the middle and the fastest.
const NAMED_SPEEDS = 5;

const swatch = (kind, colour) => h("span", { class: `wb-key wb-key-${kind}`, style: colour ? `--key: ${colour}` : null, "aria-hidden": "true" });

/** Entries of the legend: what, kind of swatch, and colour if the kind leaves it open. */
export function legendEntries(nodes, bandwidths) {
  const tiers = new Set();
  const states = new Map();
  for (const node of nodes) {
    if (node.kind === "switch") tiers.add(node.tier);
    else states.set(node.gpus ? "gpus" : "plain", node.gpus ? "node with GPUs" : "node without GPUs");
    if (node.used) states.set("used", "GPUs in use");
    if (node.folded) states.set("folded", "folded: click to unfold");
    if (node.inside) states.set(`inside-${node.inside}`, `folded, with a ${node.inside} item`);
    if (node.cordoned) states.set("cordoned", "cordoned");
    if (node.failed) states.set("failed", "failed");
    if (node.finding) states.set(node.finding, node.finding === "error" ? "has an error" : "has a warning");
  }
  const speeds = [...speedColours(bandwidths)];
  const named = speeds.length <= NAMED_SPEEDS ? speeds : [0, Math.floor(speeds.length / 2), speeds.length - 1].map((i) => speeds[i]);
  return [
    ...[...tiers].sort((a, b) => a - b).map((tier) => ({ text: `tier ${tier}`, kind: "switch", colour: tierColour(tier) })),
    ...["plain", "gpus", "used", "folded", "inside-cordoned", "inside-failed", "cordoned", "failed", "warning", "error"].filter((kind) => states.has(kind)).map((kind) => ({ text: states.get(kind), kind })),
    ...named.map(([speed, colour]) => ({ text: `${speed} Gbit/s`, kind: "link", colour })),
  ];
}

/** Show a legend in an element; `start`: what the names of nodes begin with and their labels leave out. */
export function showLegend(element, nodes, bandwidths, start = "") {
  element.replaceChildren(...legendEntries(nodes, bandwidths).map(({ text, kind, colour }) => h("span", {}, swatch(kind, colour), text)));
  if (start && nodes.some(({ kind }) => kind === "node")) element.append(h("span", {}, `names of nodes without “${start}”`));
}
