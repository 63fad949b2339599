// Help page of the editor: its keys and gestures, shown on `?`.
import { h } from "./panel.js";

const ROWS = [
  ["Draw", [
    ["S, N", "a switch, a node under the selected switch; or drag the buttons onto the drawing"],
    ["Add", "a whole tree at once: “4 spines × 8 leaves × 16 nodes × 8 GPUs, H100”, or leaves alone with 0 spines; under the selected switch if its tier leaves room"],
    ["G", "put a switch above what is selected, and select it"],
    ["drag", "hang an item, or all that are selected, under another switch"],
    ["F2", "rename, several by prefix and number; other fields stand in the form at the right"],
    ["C, X", "cordon a node; mark what is selected as failed; again to take it back"],
    ["Delete", "delete what is selected, with everything under it"],
    ["Ctrl+C, Ctrl+X, Ctrl+V", "copy, cut, paste under the selected switch; if something was copied outside the drawing afterwards, its text is read as a file"],
    ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"],
  ]],
  ["Select and look", [
    ["wheel", "zoom, once the drawing was clicked (with Ctrl at once); drag an empty place to move the picture, click it to select nothing"],
    ["arrows", "parent, first child, neighbours; Shift+click adds to the selection, Shift+drag draws a box"],
    ["/ or Ctrl+F", "search: part of a name, a regular expression, or label:key=value"],
    ["Ctrl+A, Escape", "select everything, also in folded switches; nothing"],
    ["F", "zoom to the selection, or to everything"],
    ["click", "unfold a switch with a double border: “▸ 16 nodes” says what it holds; Shift+click selects it only"],
    ["Enter or double click", "fold or unfold a switch; others fold by themselves where labels could not be read"],
    ["U", "unfold the next level under the selection"],
  ]],
  ["Files", [
    ["Import …", "any format: HyperNodes, Slurm, GraphML, ibnetdiscover …; or drop a file, or paste its text onto the drawing"],
    ["YAML", "the HyperNodes as text; both sides may be edited, comments stay"],
    ["Export", "in the format beside it"],
  ]],
];

/** The help page as an overlay; a click, Escape or `?` closes it. */
export function helpOverlay(root) {
  const close = h("button", { title: "Escape", onclick: hide }, "Close");
  const overlay = h("div", { class: "wb-help", role: "dialog", "aria-label": "help", hidden: true },
    h("div", { class: "wb-bar" }, h("strong", {}, "Keys and gestures"), close,
      h("span", { class: "wb-quiet" }, "keys work while the drawing has the focus")),
    h("div", { class: "wb-columns" }, ...ROWS.map(([title, rows]) => h("div", {}, h("h4", {}, title),
      h("dl", {}, ...rows.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)]))))));
  let back = null;
  function hide() {
    overlay.hidden = true;
    back?.focus();
  }
  overlay.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" && event.key !== "?") return;
    event.preventDefault();
    hide();
  });
  root.append(overlay);
  return {
    toggle(from) {
      if (!overlay.hidden) return hide();
      back = from;
      overlay.hidden = false;
      return close.focus();
    },
  };
}
