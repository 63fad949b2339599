// The drawing: Cytoscape holds only what is visible, at the places that layout.js gives.
import cytoscape from "cytoscape";
import { ROOT } from "./items.js";
import { CELL, labelWidth, layout, switchAt } from "./layout.js";

// Tiers from the lowest up; told apart with the common kinds of colour blindness.
const TIERS = ["#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#d55e00"];

/** Colours of the page's own theme, which Cytoscape cannot read from CSS by itself. */
function themeColours(root) {
  const style = getComputedStyle(root);
  const read = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  return {
    ink: read("--wb-ink", "#222"),
    line: read("--wb-line", "#bbb"),
    edge: read("--wb-ink-2", "#777"),
    ground: read("--wb-ground", "#fff"),
    node: read("--wb-ground-2", "#eee"),
    accent: read("--wb-accent", "#1976d2"),
    bad: read("--wb-bad", "#c62828"),
    warn: read("--wb-warn", "#b26a00"),
  };
}

function stylesheet(c) {
  return [
    { selector: "node", style: {
      label: "data(label)", color: c.ink, "font-size": 11, "min-zoomed-font-size": 6, "text-valign": "bottom",
      "text-margin-y": 2, "text-max-width": "data(room)",
      "text-background-color": c.ground, "text-background-opacity": 0.8, "text-wrap": "ellipsis", width: 22, height: 22,
      shape: "round-rectangle", "background-color": c.node, "border-width": 1, "border-color": c.line } },
    { selector: "node[kind = 'switch']", style: {
      width: 34, height: 22, "background-color": "data(colour)", "border-width": 0, "font-size": 12 } },
    { selector: "node[kind = 'switch'][?folded]", style: { "border-width": 3, "border-style": "double", "border-color": c.ink } },
    { selector: "node[?gpus]", style: { "background-color": "#82a881" } },
    { selector: "node[?cordoned]", style: { "background-opacity": 0.2, "border-style": "dashed", "border-width": 2 } },
    { selector: "node[?failed]", style: { shape: "octagon", "border-color": c.bad, "border-width": 3, "border-style": "solid" } },
    { selector: "node[finding = 'warning']", style: { "border-color": c.warn, "border-width": 3, "border-style": "solid" } },
    { selector: "node[finding = 'error']", style: { "border-color": c.bad, "border-width": 4, "border-style": "solid" } },
    { selector: "node:selected", style: { "overlay-color": c.accent, "overlay-opacity": 0.35, "overlay-padding": 4 } },
    { selector: "node.target", style: { "underlay-color": c.accent, "underlay-opacity": 0.4, "underlay-padding": 10 } },
    { selector: "edge", style: { width: 1, "line-color": c.edge, "line-opacity": 0.45, "curve-style": "haystack", "haystack-radius": 0 } },
    { selector: "edge[?cut]", style: { width: 2, "line-color": c.bad, "line-style": "dashed" } },
    { selector: "edge[?gbits]", style: { label: "data(gbits)", color: c.ink, "font-size": 8, "min-zoomed-font-size": 9,
      "text-background-color": c.ground, "text-background-opacity": 0.8 } },
  ];
}

/** Give an element what differs from what it has: each change of data costs a new style. */
function set(element, data) {
  const has = element.data();
  for (const name in data) if (has[name] !== data[name]) return element.data(data);
  return element;
}

export class Canvas {
  /**
   * @param handlers select(ids), move(ids, parent), fold(id), drop(kind, parent): called upon what a person does.
   */
  constructor(element, root, items, handlers) {
    this.items = items;
    this.root = root;
    this.places = new Map();
    this.findings = new Map();
    this.cy = cytoscape({
      container: element, style: stylesheet(themeColours(root)), layout: { name: "preset" },
      minZoom: 0.02, maxZoom: 4, boxSelectionEnabled: true, selectionType: "single",
    });
    this.resizing = new ResizeObserver(() => this.cy.resize());
    this.resizing.observe(element);
    // Cytoscape remembers where on the page it stands; an output that grows above it moves it without an event.
    let at = "";
    element.addEventListener("pointerdown", () => {
      const { left, top } = element.getBoundingClientRect();
      if (at !== `${left},${top}`) this.cy.resize();
      at = `${left},${top}`;
    }, true);
    // The theme's own style sheet arrives some time after the page says which theme it is.
    const restyle = () => this.cy.destroyed() || this.cy.style(stylesheet(themeColours(root)));
    this.theme = new MutationObserver(() => [0, 200, 1000].forEach((wait) => setTimeout(restyle, wait)));
    setTimeout(restyle, 500);
    this.theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light"] });
    this.listen(handlers);
  }

  listen(handlers) {
    const { cy } = this;
    let quiet = false;
    this.quietly = (f) => {
      quiet = true;
      f();
      quiet = false;
    };
    let waiting = 0;
    cy.on("select unselect", () => {
      if (quiet) return;
      // One message for a box of many items.
      clearTimeout(waiting);
      waiting = setTimeout(() => handlers.select(this.selection()), 0);
    });
    // Cytoscape's own double tap does not ask whether both were on the same item.
    let last = { id: "", at: 0 };
    cy.on("tap", "node[kind = 'switch']", ({ target, timeStamp }) => {
      const twice = last.id === target.id() && timeStamp - last.at < 400;
      last = twice ? { id: "", at: 0 } : { id: target.id(), at: timeStamp };
      if (twice) handlers.fold(Number(target.id()));
    });
    cy.on("drag", "node", (event) => this.mark(this.targetOf(event.target)));
    cy.on("dragfree", "node", (event) => {
      const parent = this.targetOf(event.target);
      this.mark(null);
      const dragged = Number(event.target.id());
      const ids = event.target.selected() ? this.selection() : [dragged];
      if (parent !== null && parent !== this.items.get(dragged).parent) handlers.move(ids, parent);
      else this.draw();
    });
  }

  /** The switch that a dragged item would hang under; null where it has hardly been moved. */
  targetOf(node) {
    const id = Number(node.id());
    const place = this.places.get(id);
    const now = node.position();
    if (!place || Math.hypot(now.x - place.x, now.y - place.y) < CELL / 3) return null;
    return switchAt(this.items, this.places, now, (other) => !this.items.isWithin(other, id));
  }

  /** Where on the drawing a point of the window is, and the switch under it. */
  switchUnder(clientX, clientY) {
    const box = this.cy.container().getBoundingClientRect();
    if (clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom) return null;
    const pan = this.cy.pan();
    const zoom = this.cy.zoom();
    const point = { x: (clientX - box.left - pan.x) / zoom, y: (clientY - box.top - pan.y) / zoom };
    return switchAt(this.items, this.places, point);
  }

  mark(id) {
    this.cy.$(".target").removeClass("target");
    if (id !== null && id !== ROOT) this.cy.$id(String(id)).addClass("target");
  }

  selection() {
    return this.cy.$("node:selected").map((node) => Number(node.id()));
  }

  /** Select exactly these of the drawn items, without telling anybody. */
  choose(ids) {
    this.quietly(() => {
      this.cy.batch(() => {
        this.cy.$(":selected").unselect();
        for (const id of ids) this.cy.$id(String(id)).select();
      });
    });
  }

  dataOf(item) {
    const folded = item.kind === "switch" && this.items.folded.has(item.id) && this.items.hasChildren(item.id);
    const tier = item.tier ?? 0;
    return {
      id: String(item.id), kind: item.kind, label: this.items.label(item), room: labelWidth(this.items, item),
      colour: TIERS[Math.max(tier - 1, 0) % TIERS.length], folded, gpus: item.gpus ?? 0,
      cordoned: item.cordoned ?? false, failed: item.failed ?? false, finding: this.findings.get(item.id) ?? "",
    };
  }

  /** Mark items with the worst that the linter says of them: id -> "error" or "warning". */
  setFindings(worst) {
    this.findings = worst;
    this.quietly(() => this.cy.batch(() => {
      this.cy.nodes().forEach((node) => set(node, { finding: worst.get(Number(node.id())) ?? "" }));
    }));
  }

  /** Bring the picture up to the items: only what differs is touched. */
  draw() {
    const { cy, items } = this;
    this.places = layout(items);
    const wanted = new Set(items.visible());
    this.quietly(() => cy.batch(() => {
      cy.nodes().forEach((node) => {
        if (!wanted.has(Number(node.id()))) cy.remove(node);
      });
      const added = [];
      const edges = [];
      for (const id of wanted) {
        const item = items.get(id);
        const { x, y } = this.places.get(id);
        const node = cy.$id(String(id));
        const data = this.dataOf(item);
        if (node.empty()) added.push({ group: "nodes", data, position: { x, y } });
        else {
          set(node, data);
          const now = node.position();
          if (now.x !== x || now.y !== y) node.position({ x, y });
        }
        const edge = cy.$id(`e${id}`);
        const link = {
          id: `e${id}`, source: String(item.parent), target: String(id), cut: item.link_failed ?? false,
          // As it stands on the cable: brothers are too close for "400 Gbit/s" on each link.
          gbits: item.link_gbit_s ? `${item.link_gbit_s}G` : "",
        };
        if (edge.nonempty() && edge.data("source") !== link.source) cy.remove(edge);
        if (item.parent === ROOT) continue;
        if (edge.nonempty() && edge.inside()) set(edge, link);
        else edges.push({ group: "edges", data: link, selectable: false });
      }
      cy.add(added);
      cy.add(edges);
    }));
  }

  fit(ids = []) {
    const chosen = ids.length > 0 ? this.cy.collection(ids.map((id) => this.cy.$id(String(id))).filter((n) => n.nonempty())) : this.cy.elements();
    if (chosen.empty()) return;
    this.cy.resize();
    this.cy.fit(chosen, 20);
    if (this.cy.zoom() > 1.6) {
      this.cy.zoom(1.6);
      this.cy.center(chosen);
    }
  }

  destroy() {
    this.resizing.disconnect();
    this.theme.disconnect();
    this.cy.destroy();
  }
}
