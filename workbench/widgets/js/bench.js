// The arrangement of a workbench: the drawing or the matrix beside the placements, or one part at a time where it is narrow.
import { h } from "./panel.js";

// From this width of the workbench on, placements stand beside the drawing: a window of 1,200 pixels without a side bar.
const WIDE = 1000;

const PARTS = [["drawing", "Topology"], ["matrix", "GPU bandwidth"], ["placements", "Placements"]];

/** Tabs of the parts; `bar`, which stands in the workbench, tells its width. */
export function benchTabs(bar) {
  let chosen = "drawing";
  let wide = false;
  const tabs = new Map(PARTS.map(([name, title]) => [name, h("button", { role: "tab", "data-part": name,
    onclick: () => choose(name), onkeydown: (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      const offered = PARTS.map(([other]) => other).filter((other) => !tabs.get(other).hidden);
      const next = offered[(offered.indexOf(name) + by + offered.length) % offered.length];
      choose(next);
      tabs.get(next).focus();
    } }, title)]));
  const element = h("div", { class: "wb-tabs", role: "tablist", "aria-label": "parts of the workbench" }, ...tabs.values());

  function choose(name) {
    chosen = name;
    arrange();
  }

  function arrange() {
    const bench = bar.closest(".wb-bench");
    if (bench === null) return;
    const shown = wide && chosen === "placements" ? "drawing" : chosen;
    bench.dataset.part = shown;
    bench.dataset.wide = String(wide);
    tabs.get("placements").hidden = wide;
    for (const [name, tab] of tabs) {
      tab.ariaSelected = String(name === shown);
      tab.tabIndex = name === shown ? 0 : -1;
    }
  }

  const resizing = new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width === 0) return;
    wide = contentRect.width >= WIDE;
    arrange();
  });
  resizing.observe(bar);
  return { element, close: () => resizing.disconnect() };
}
