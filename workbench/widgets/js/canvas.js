// The drawing: Cytoscape holds only what is visible, at the places that layout.js gives.
import cytoscape from "cytoscape";
import { SYMBOL, WITH_GPUS, drawFarNodesPlainly, drawInOrder, position } from "./far.js";
import { EDGE, zoomToFit } from "./folding.js";
import { ROOT } from "./items.js";
import { FONT, labelFor } from "./labels.js";
import { CELL, layout, switchAt, wayTo } from "./layout.js";
import { h } from "./panel.js";
import { showLegend } from "./legend.js";
import { drawLevels } from "./levels.js";
import { Links } from "./links.js";
import { tierColour } from "./palette.js";

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
      label: "data(label)", color: c.ink, "font-size": FONT, "min-zoomed-font-size": 6, "text-valign": "bottom",
      "text-margin-y": 2, "text-background-color": c.ground, "text-background-opacity": 0.8, "text-wrap": "wrap", width: SYMBOL, height: SYMBOL,
      shape: "round-rectangle", "background-color": c.node, "border-width": 1, "border-color": c.line } },
    { selector: "node[kind = 'switch']", style: {
      width: 34, height: 22, "background-color": "data(colour)", "border-width": 0, "font-size": 12 } },
    { selector: "node[kind = 'switch'][?folded]", style: { "border-width": 3, "border-style": "double", "border-color": c.ink } },
    { selector: "node[inside = 'cordoned']", style: { "border-style": "dashed" } },
    { selector: "node[inside = 'failed']", style: { "border-style": "solid", "border-color": c.bad } },
    { selector: "node[?gpus]", style: { "background-color": WITH_GPUS } },
    { selector: "node[?cordoned]", style: { "background-opacity": 0.2, "border-style": "dashed", "border-width": 2 } },
    { selector: "node[?failed]", style: { shape: "octagon", "border-color": c.bad, "border-width": 3, "border-style": "solid" } },
    { selector: "node[finding = 'warning']", style: { "border-color": c.warn, "border-width": 3, "border-style": "solid" } },
    { selector: "node[finding = 'error']", style: { "border-color": c.bad, "border-width": 4, "border-style": "solid" } },
    { selector: "node:selected", style: { "overlay-color": c.accent, "overlay-opacity": 0.35, "overlay-padding": 4 } },
    { selector: "node.holding", style: { "overlay-color": c.accent, "overlay-opacity": 0.15, "overlay-padding": 4 } },
    { selector: "node.target", style: { "underlay-color": c.accent, "underlay-opacity": 0.4, "underlay-padding": 10 } },
    { selector: "node.refused", style: { "underlay-color": c.bad, "underlay-opacity": 0.45, "underlay-padding": 10 } },
  ];
}

const LARGEST = 1.6;
// After an edit the view changes only where this much larger a picture would fit.
const MUCH = 2;
// A second click within so many milliseconds makes a double click.
const TWICE_MS = 300;

/** Update only the data of an element that changed: each change recomputes its style. */
function set(element, data) {
  const has = element.data();
  for (const name in data) if (has[name] !== data[name]) return element.data(data);
  return element;
}

export class Canvas {
  /**
   * @param handlers select(ids, more), move(id, parent), fold(id): called for actions of the user. `more`: a key was
   *   held that adds to the selection. moved(id): the items that a drag of this one moves. point(id, box): the pointer
   *   is on an item at this place of the window; null: on none. resized(): the room of the drawing has changed.
   */
  constructor(element, root, items, handlers) {
    this.items = items;
    this.root = root;
    this.places = new Map();
    this.findings = new Map();
    // Cytoscape's node of each drawn item, and the values from which its data were made.
    this.nodes = new Map();
    // Ids of the selected drawn items; asking Cytoscape would look at every node.
    this.selected = new Set();
    // All selected items, including those hidden by folded switches.
    this.chosen = [];
    this.madeFrom = new Map();
    // The wheel scrolls the notebook; it zooms the drawing only after a click on it, or with Ctrl.
    // Registered before Cytoscape's own listener, which captures, too.
    element.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !element.contains(document.activeElement)) event.stopImmediatePropagation();
    }, { capture: true });
    this.cy = cytoscape({
      container: element, style: stylesheet(themeColours(root)), layout: { name: "preset" },
      minZoom: 0.02, maxZoom: 4, boxSelectionEnabled: true, selectionType: "single",
    });
    this.links = new Links(this.cy, element);
    this.dropHint = h("div", { class: "wb-drop-hint", hidden: true });
    element.append(this.dropHint);
    const dress = () => {
      this.colours = themeColours(root);
      this.links.dress(this.colours);
      return stylesheet(this.colours);
    };
    dress();
    drawFarNodesPlainly(this.cy, () => this.colours);
    drawLevels(this.cy, () => this.colours);
    drawInOrder(this.cy);
    // The whole drawing stays fitted until the user moves or zooms it; the room for which it was fitted, last.
    this.held = false;
    this.fitted = { w: 0, h: 0 };
    this.cy.on("dragpan scrollzoom pinchzoom", () => (this.held = true));
    this.resizing = new ResizeObserver(() => {
      this.cy.resize();
      handlers.resized();
      this.refit();
    });
    this.resizing.observe(element);
    // Cytoscape remembers where on the page it stands; an output that grows above it moves it without an event.
    let at = "";
    element.addEventListener("pointerdown", () => {
      const { left, top } = element.getBoundingClientRect();
      if (at !== `${left},${top}`) this.cy.resize();
      at = `${left},${top}`;
    }, true);
    // The theme's own style sheet arrives some time after the page says which theme it is.
    const restyle = () => this.cy.destroyed() || this.cy.style(dress());
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
    let more = false;
    // The keys with which Cytoscape adds to a selection.
    for (const kind of ["pointerdown", "pointerup"]) {
      cy.container().addEventListener(kind, (event) => (more = event.shiftKey || event.ctrlKey || event.metaKey), true);
    }
    const tell = () => {
      // One message for a box of many items.
      clearTimeout(waiting);
      waiting = setTimeout(() => handlers.select([...this.selected], more), 0);
    };
    cy.on("select unselect", ({ type, target }) => {
      this.selected[type === "select" ? "add" : "delete"](Number(target.id()));
      if (!quiet) tell();
    });
    // A click that does not change the selection of drawn items may still deselect hidden ones.
    cy.on("tap", () => this.chosen.every((id) => this.nodes.has(id)) || tell());
    // Cytoscape's own double tap does not check that both taps hit the same item. One click unfolds, two fold or unfold.
    let last = { id: "", at: 0 };
    let opening = 0;
    cy.on("tap", "node[kind = 'switch']", ({ target, timeStamp }) => {
      clearTimeout(opening);
      const id = Number(target.id());
      const twice = last.id === id && timeStamp - last.at < TWICE_MS;
      last = twice ? { id: "", at: 0 } : { id, at: timeStamp };
      if (twice) handlers.fold(id);
      else if (!more && this.items.folded.has(id)) opening = setTimeout(() => this.items.folded.has(id) && handlers.fold(id), TWICE_MS);
    });
    cy.on("grab", () => clearTimeout(opening));
    cy.on("drag", "node", ({ target }) => this.mark(this.targetOf(target, handlers.moved(Number(target.id())))));
    cy.on("dragfree", "node", ({ target }) => {
      const dragged = Number(target.id());
      const found = this.targetOf(target, handlers.moved(dragged));
      this.mark(null);
      if (found?.accepts) handlers.move(dragged, found.id);
      else this.draw();
    });
    cy.on("mouseover", "node", ({ target }) => target.grabbed() || handlers.point(Number(target.id()), this.boxOf(Number(target.id()))));
    cy.on("mouseout grab pan zoom", () => handlers.point(null));
  }

  /**
   * The switch on which a dragged item would be dropped, {id, accepts, why}; null where nothing would change: the item
   * has hardly moved, or is where it was.
   */
  targetOf(node, moved) {
    const id = Number(node.id());
    const place = this.places.get(id);
    const now = node.position();
    if (!place || Math.hypot(now.x - place.x, now.y - place.y) < CELL / 3) return null;
    const found = switchAt(this.items, this.places, now);
    const { block } = place;
    const beside = now.x < block.x || now.x > block.x + block.w || now.y < block.y || now.y > block.y + block.h;
    if (moved.some((other) => found !== ROOT && this.items.isWithin(found, other))) {
      // Over its own block a dragged switch is still where it was.
      return beside || found !== id ? { id: found, accepts: false, why: "a switch cannot hang under itself" } : null;
    }
    if (moved.every((other) => this.items.get(other).parent === found)) return null;
    return { id: found, accepts: true, why: found === ROOT ? "to the top" : `under ${this.items.get(found).name}` };
  }

  /** Where a drawn item is on the window. */
  boxOf(id) {
    const node = this.nodes.get(id);
    const { left, top } = this.cy.container().getBoundingClientRect();
    const { x1, x2, y1, y2 } = node.renderedBoundingBox({ includeOverlays: false });
    return new DOMRect(left + x1, top + y1, x2 - x1, y2 - y1);
  }

  /** Position in the drawing of a point of the window, and the switch at this position. */
  switchUnder(clientX, clientY) {
    const box = this.cy.container().getBoundingClientRect();
    if (clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom) return null;
    const pan = this.cy.pan();
    const zoom = this.cy.zoom();
    const point = { x: (clientX - box.left - pan.x) / zoom, y: (clientY - box.top - pan.y) / zoom };
    return switchAt(this.items, this.places, point);
  }

  /** Show what would become of a drop: `found` as of `targetOf`. */
  mark(found) {
    this.cy.$(".target, .refused").removeClass("target refused");
    this.dropHint.hidden = found === null;
    this.root.dataset.drop = found === null ? "" : found.accepts ? "accepted" : "refused";
    if (found === null) return;
    this.dropHint.textContent = found.why;
    if (found.id !== ROOT) this.cy.$id(String(found.id)).addClass(found.accepts ? "target" : "refused");
  }

  /** What would become of a new item that is dropped on a switch, or null for a place outside of the drawing. */
  markNew(id) {
    this.mark(id === null ? null : { id, accepts: true, why: id === ROOT ? "at the top" : `under ${this.items.get(id).name}` });
  }

  isDrawn(id) {
    return this.nodes.has(id);
  }

  /** Mark the folded switches that hide selected items. */
  markHolding(chosen) {
    this.chosen = chosen;
    const holding = new Set();
    for (const id of chosen) {
      let up = id;
      while (up !== undefined && up !== ROOT && !this.nodes.has(up)) up = this.items.get(up)?.parent;
      if (up !== id && this.nodes.has(up)) holding.add(up);
    }
    this.cy.batch(() => {
      this.cy.$(".holding").forEach((node) => holding.has(Number(node.id())) || node.removeClass("holding"));
      for (const id of holding) this.nodes.get(id).addClass("holding");
    });
  }

  /** Select exactly these drawn items, without calling the handlers. */
  choose(ids) {
    const wanted = new Set(ids);
    this.quietly(() => {
      this.cy.batch(() => {
        for (const id of [...this.selected]) if (!wanted.has(id)) this.nodes.get(id)?.unselect();
        for (const id of ids) this.nodes.get(id)?.select();
      });
    });
  }

  dataOf(item) {
    const { items } = this;
    const folded = item.kind === "switch" && items.folded.has(item.id) && items.hasChildren(item.id);
    const tier = item.tier ?? 0;
    const { gpus: of, used } = items.gpusOf(item.id);
    const { failed, cordoned } = folded ? items.holds(item.id) : { failed: 0, cordoned: 0 };
    return {
      id: String(item.id), kind: item.kind, label: this.labelOf(item), inside: failed > 0 ? "failed" : cordoned > 0 ? "cordoned" : "",
      tier, colour: tierColour(tier), folded, gpus: item.gpus ?? 0, used, of,
      cordoned: item.cordoned ?? false, failed: item.failed ?? false, finding: this.findings.get(item.id) ?? "",
    };
  }

  labelOf(item) {
    return labelFor(this.items, item, this.places.get(item.id).block.w);
  }

  /** Mark items with the worst severity of their linter findings: id -> "error" or "warning". */
  setFindings(worst) {
    this.findings = worst;
    this.quietly(() => this.cy.batch(() => {
      for (const [id, node] of this.nodes) set(node, { finding: worst.get(id) ?? "" });
    }));
  }

  /** Update the picture to the items; unchanged elements are not touched. */
  draw() {
    const { cy, items, nodes } = this;
    this.places = layout(items);
    const wanted = new Set(items.visible());
    this.quietly(() => cy.batch(() => {
      for (const [id, node] of nodes) {
        if (wanted.has(id)) continue;
        cy.remove(node);
        nodes.delete(id);
        this.selected.delete(id);
        this.madeFrom.delete(id);
      }
      const added = [];
      for (const id of wanted) {
        const { x, y } = this.places.get(id);
        const node = nodes.get(id);
        if (node === undefined) added.push({ group: "nodes", data: this.dataOf(items.get(id)), position: { x, y } });
        else {
          if (this.isNew(id)) set(node, this.dataOf(items.get(id)));
          const now = position(node);
          if (now.x !== x || now.y !== y) node.position({ x, y });
        }
      }
      cy.add(added).forEach((node) => {
        nodes.set(Number(node.id()), node);
        this.isNew(Number(node.id()));
      });
    }));
    this.links.set(this.fans(wanted));
    this.markHolding(this.chosen);
  }

  /** Whether an item changed since its node was last updated; stores the present values for the next call. */
  isNew(id) {
    const item = this.items.get(id);
    const inside = this.items.folded.has(id) ? this.items.holds(id) : null;
    const label = this.labelOf(item);
    const { gpus, used } = this.items.gpusOf(id);
    const was = this.madeFrom.get(id);
    if (was?.item === item && was.inside === inside && was.label === label && was.gpus === gpus && was.used === used) return false;
    this.madeFrom.set(id, { item, inside, label, gpus, used });
    return true;
  }

  /** The links to drawn items, grouped by the switch above them. */
  fans(drawn) {
    const fans = new Map();
    for (const id of drawn) {
      const { parent, link_failed: cut = false, link_gbit_s: gbits = 0 } = this.items.get(id);
      if (parent === ROOT) continue;
      const above = this.places.get(parent);
      const place = this.places.get(id);
      if (!fans.has(parent)) fans.set(parent, { from: this.nodes.get(parent), place: above, to: [] });
      fans.get(parent).to.push({ node: this.nodes.get(id), place, way: wayTo(place, above), cut, gbits });
    }
    return [...fans.values()];
  }

  /** Show in an element what the colours and lines of the drawing mean. */
  explain(element) {
    const bandwidths = this.links.fans.flatMap(({ to }) => to.map(({ gbits }) => gbits));
    showLegend(element, [...this.nodes.values()].map((node) => node.data()), bandwidths, this.items.startOf("node"));
  }

  get size() {
    return this.nodes.size;
  }

  /** Size of the smallest letters in pixels. */
  get labelSize() {
    return FONT * this.cy.zoom();
  }

  /** The drawing as values: name, data and place of every node, and every link. */
  shown() {
    const nodes = [...this.nodes.values()].map((node) => ({ ...node.data(), name: this.items.get(Number(node.id())).name, ...node.position() }));
    const links = this.links.fans.flatMap(({ from, to }) => to.map(({ node, cut, gbits }) => ({ from: from.id(), to: node.id(), cut, gbits })));
    return { nodes, links };
  }

  /** Draw everything anew. */
  drawAfresh() {
    this.cy.remove(this.cy.nodes());
    this.nodes.clear();
    this.selected.clear();
    this.madeFrom.clear();
    this.items.blocks.clear();
    this.items.places.clear();
    this.draw();
  }

  /** Room for the drawing in pixels. */
  get room() {
    return { w: this.cy.width(), h: this.cy.height() };
  }

  /** Zoom to some items, or to everything; only everything stays fitted from then on. */
  fit(ids = []) {
    this.cy.resize();
    this.held = ids.length > 0;
    if (ids.length > 0) {
      const chosen = this.cy.collection(ids.map((id) => this.nodes.get(id)).filter((node) => node !== undefined));
      if (chosen.empty()) return;
      this.cy.fit(chosen, 20);
      if (this.cy.zoom() <= LARGEST) return;
      this.cy.zoom(LARGEST);
      this.cy.center(chosen);
      return;
    }
    const block = this.places.get(ROOT)?.block;
    if (this.nodes.size === 0 || this.room.w === 0) return;
    const zoom = Math.min(zoomToFit(block, this.room), LARGEST);
    // The block of the whole drawing also bounds its links.
    this.cy.viewport({ zoom, pan: { x: (this.room.w - zoom * block.w) / 2, y: (this.room.h - zoom * block.h) / 2 } });
    this.fitted = this.room;
  }

  /** Fit everything again if it left the view, could be much larger, or its room changed, unless the user chose a view. */
  refit() {
    const { w, h: height } = this.room;
    if (this.held || w === 0 || this.nodes.size === 0) return;
    const { block } = this.places.get(ROOT);
    const [zoom, { x, y }] = [this.cy.zoom(), this.cy.pan()];
    const inside = x >= 0 && y >= 0 && x + zoom * block.w <= w && y + zoom * block.h <= height;
    const same = this.fitted.w === w && this.fitted.h === height;
    if (!inside || !same || Math.min(zoomToFit(block, this.room), LARGEST) > MUCH * zoom) this.fit();
  }

  destroy() {
    this.resizing.disconnect();
    this.theme.disconnect();
    this.cy.destroy();
  }
}
