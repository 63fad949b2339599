// The question about nodes without GPUs, over the drawing: where jobs ask for GPUs, no node would take one.
import { h } from "./panel.js";

/** `set(ids, gpus)` is called with the answer. */
export function gpuQuestion(set) {
  let ids = [];
  const what = h("span", {});
  const gpus = h("input", { type: "number", min: 1, value: 8, class: "wb-small", "aria-label": "GPUs to set" });
  const element = h("div", { class: "wb-question wb-bar", role: "group", "aria-label": "nodes without GPUs", hidden: true },
    what, h("button", { onclick: () => set(ids, Number(gpus.value)) }, "Set"), gpus, "GPUs each",
    h("button", { onclick: () => ask([]) }, "Leave them"));

  /** Ask about these nodes; about none: take the question away. */
  function ask(about) {
    ids = about;
    element.hidden = ids.length === 0;
    what.textContent = ids.length === 1 ? "Jobs ask for GPUs, and 1 node has none." : `Jobs ask for GPUs, and ${ids.length} nodes have none.`;
  }

  return {
    element,
    ask,
    /** Ask no longer about nodes that have changed. */
    keep: (still) => ask(ids.filter(still)),
  };
}
