// The lines between items and the switches above them, drawn on a separate canvas under Cytoscape's.
//
// A drawing is a forest of lines that nobody can select: as elements of Cytoscape they would double what is
// styled, measured and drawn with every frame.

import { SYMBOL, position } from "./far.js";
import { speedColours } from "./palette.js";

// Smallest height of the letters of a bandwidth, in pixels.
const READABLE = 9;
const FONT = 8;
// Half the width of the cross over a broken link.
const CROSS = 4;

/** Whether a node of Cytoscape is where the layout put it and is not being dragged. */
const settled = (at, place) => at.x === place.x && at.y === place.y;

/** Point where a line to a symbol's middle meets its edge: a faded (cordoned) symbol would show a line beneath it. */
function edgeOf(to, from) {
  const [dx, dy] = [from.x - to.x, from.y - to.y];
  const part = Math.min(1, SYMBOL / 2 / Math.max(Math.abs(dx), Math.abs(dy), 1));
  return { x: to.x + part * dx, y: to.y + part * dy };
}

/** Draw lines between pairs of consecutive points. */
function strokeLines(pen, points) {
  for (let i = 0; i < points.length; i += 2) {
    pen.moveTo(points[i].x, points[i].y);
    pen.lineTo(points[i + 1].x, points[i + 1].y);
  }
  pen.stroke();
}

/** Draw a cross over a broken link, just before the item's symbol. */
function cross(pen, from, to) {
  const [x, y] = from.x === to.x ? [from.x, from.y + CROSS] : [(from.x + to.x) / 2, (from.y + to.y) / 2];
  pen.moveTo(x - CROSS, y - CROSS);
  pen.lineTo(x + CROSS, y + CROSS);
  pen.moveTo(x + CROSS, y - CROSS);
  pen.lineTo(x - CROSS, y + CROSS);
}

export class Links {
  constructor(cy, element) {
    this.cy = cy;
    this.canvas = document.createElement("canvas");
    this.canvas.className = "wb-links";
    element.prepend(this.canvas);
    this.fans = [];
    this.speeds = new Map();
    cy.on("render", () => this.paint());
  }

  /**
   * Set the lines from each switch to its children: a list of {from, place, to: [{node, place, way, cut, gbits}]},
   * nodes of Cytoscape, with their places and ways as layout.js gives them.
   */
  set(fans) {
    this.fans = fans;
    this.speeds = speedColours(fans.flatMap(({ to }) => to.map(({ gbits }) => gbits)));
    // Cytoscape draws no frame where only a link changed.
    this.stale = true;
    requestAnimationFrame(() => this.stale && !this.cy.destroyed() && this.paint());
  }

  /** Set the colours of lines, of broken lines and of text. */
  dress({ edge, bad, ink }) {
    this.colours = { edge, bad, ink };
  }

  /** Where the links are in the canvas, in pixels: {left, top, right, bottom}. */
  box() {
    const points = this.fans.flatMap(({ place, to }) => to.flatMap(({ place: end, way }) => [place, end, { x: way.down, y: way.along }]));
    const [zoom, pan] = [this.cy.zoom(), this.cy.pan()];
    const [xs, ys] = ["x", "y"].map((axis) => points.map((point) => pan[axis] + zoom * point[axis]));
    return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
  }

  paint() {
    this.stale = false;
    const { canvas, cy } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(cy.width() * ratio), Math.round(cy.height() * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const pen = canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, width, height);
    const zoom = cy.zoom();
    const { x, y } = cy.pan();
    pen.setTransform(zoom * ratio, 0, 0, zoom * ratio, x * ratio, y * ratio);
    const whole = [];
    const broken = [];
    // Lines of a known bandwidth, by its colour.
    const fast = new Map();
    const named = [];
    pen.globalAlpha = 0.85;
    pen.lineWidth = 1;
    pen.strokeStyle = this.colours.edge;
    for (const { from, place, to } of this.fans) {
      const start = position(from);
      const still = settled(start, place);
      let row = null;
      const endRow = () => {
        if (row === null) return;
        pen.moveTo(start.x, start.y);
        pen.lineTo(row.down, start.y);
        pen.lineTo(row.down, row.along);
        pen.moveTo(row.left, row.along);
        pen.lineTo(row.right, row.along);
      };
      pen.beginPath();
      for (const { node, place: of, way, cut, gbits } of to) {
        const end = position(node);
        // A dragged item gets a straight line.
        const straight = !still || !settled(end, of);
        const last = straight ? start : { x: end.x, y: way.along };
        const lines = cut ? broken : whole;
        const points = [last, edgeOf(end, last)];
        lines.push(...points);
        if (gbits && !cut) {
          const colour = this.speeds.get(gbits);
          if (!fast.has(colour)) fast.set(colour, []);
          fast.get(colour).push(...points);
        }
        if (gbits) named.push(straight ? [(start.x + end.x) / 2, (start.y + end.y) / 2, gbits] : [end.x, way.along, gbits]);
        if (straight) continue;
        if (row?.along !== way.along) {
          endRow();
          row = { ...way, left: way.down, right: way.down };
        }
        row.left = Math.min(row.left, end.x);
        row.right = Math.max(row.right, end.x);
      }
      endRow();
      strokeLines(pen, whole.splice(0));
    }
    pen.globalAlpha = 1;
    for (const [colour, points] of fast) {
      // An edge around the line: the ends of the scale are near the ground of one theme or the other.
      for (const [style, width] of [[this.colours.edge, 4], [colour, 2.5]]) {
        pen.strokeStyle = style;
        pen.lineWidth = width;
        pen.beginPath();
        strokeLines(pen, points);
      }
    }
    pen.globalAlpha = 0.9;
    pen.lineWidth = 2;
    pen.strokeStyle = this.colours.bad;
    pen.beginPath();
    for (let i = 0; i < broken.length; i += 2) cross(pen, broken[i], broken[i + 1]);
    strokeLines(pen, broken);
    pen.globalAlpha = 1;
    if (FONT * zoom < READABLE) return;
    pen.fillStyle = this.colours.ink;
    pen.font = `${FONT}px Helvetica Neue, Helvetica, sans-serif`;
    pen.textBaseline = "top";
    // Beside the end of the link, without the unit: siblings are too close for "400 Gbit/s" on each link.
    for (const [right, down, gbits] of named) pen.fillText(`${gbits}G`, right + 2, down + 1);
  }
}
