// The lines between items and the switches above them, on a canvas of their own under Cytoscape's.
//
// A drawing is a forest of straight lines that nobody can select: as elements of Cytoscape they would double what is
// styled, measured and drawn with every frame.

import { position } from "./far.js";

// Letters of a bandwidth are drawn from this height on, in pixels.
const READABLE = 9;
const FONT = 8;

export class Links {
  constructor(cy, element) {
    this.cy = cy;
    this.canvas = document.createElement("canvas");
    this.canvas.className = "wb-links";
    element.prepend(this.canvas);
    this.fans = [];
    cy.on("render", () => this.paint());
  }

  /** Lines from each switch to what hangs under it: a list of {from, to: [{node, cut, gbits}]}, nodes of Cytoscape. */
  set(fans) {
    this.fans = fans;
  }

  /** Colours of lines, of broken ones and of text. */
  dress({ edge, bad, ink }) {
    this.colours = { edge, bad, ink };
  }

  paint() {
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
    const broken = [];
    const named = [];
    pen.globalAlpha = 0.85;
    pen.lineWidth = 1;
    pen.strokeStyle = this.colours.edge;
    for (const { from, to } of this.fans) {
      const start = position(from);
      pen.beginPath();
      for (const link of to) {
        const end = position(link.node);
        if (link.cut) broken.push([start, end]);
        else {
          pen.moveTo(start.x, start.y);
          pen.lineTo(end.x, end.y);
        }
        if (link.gbits) named.push([(start.x + end.x) / 2, (start.y + end.y) / 2, link.gbits]);
      }
      pen.stroke();
    }
    pen.globalAlpha = 0.5;
    pen.lineWidth = 2;
    pen.strokeStyle = this.colours.bad;
    pen.setLineDash([6, 3]);
    pen.beginPath();
    for (const [start, end] of broken) {
      pen.moveTo(start.x, start.y);
      pen.lineTo(end.x, end.y);
    }
    pen.stroke();
    pen.setLineDash([]);
    pen.globalAlpha = 1;
    if (FONT * zoom < READABLE) return;
    pen.fillStyle = this.colours.ink;
    pen.font = `${FONT}px Helvetica Neue, Helvetica, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    // As it stands on the cable: brothers are too close for "400 Gbit/s" on each link.
    for (const [middle, at, gbits] of named) pen.fillText(`${gbits}G`, middle, at);
  }
}
