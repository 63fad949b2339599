// The question about nodes without GPUs, shown over the drawing if jobs request GPUs and no node has any.
import { h } from "./panel.js";

/** Make the question; `set(ids, gpus)` is called with the answer. */
export function gpuQuestion(set) {
  let ids = [];
  const what = h("span", {});
  const gpus = h("input", { type: "number", min: 1, value: 8, class: "wb-small", "aria-label": "GPUs to set" });
  const element = h("div", { class: "wb-question wb-bar", role: "group", "aria-label": "nodes without GPUs", hidden: true },
    what, h("button", { onclick: () => set(ids, Number(gpus.value)) }, "Set"), gpus, "GPUs each",
    h("button", { onclick: () => ask([]) }, "Leave them"));

  /** Ask about these nodes; an empty list removes the question. */
  function ask(about) {
    ids = about;
    element.hidden = ids.length === 0;
    what.textContent = ids.length === 1 ? "Jobs ask for GPUs, and 1 node has none." : `Jobs ask for GPUs, and ${ids.length} nodes have none.`;
  }

  return {
    element,
    ask,
    /** Remove changed nodes from the question. */
    keep: (still) => ask(ids.filter(still)),
  };
}
