// Packed blocks: every switch heads a block that holds its children's blocks in rows.
//
// A tidy tree of a data centre is a line of one pixel's height; blocks in rows stay legible at any size.
import { ROOT } from "./items.js";

export const CELL = 48;
// Width of a letter of a label, and where a label is cut off with an ellipsis.
const LETTER = 6.6;
const WIDEST = 130;
const HEAD = 58;
const PAD = 12;
// Distance below a row's upper edge at which links run along it: above its symbols, below the labels of the row before.
const ALONG = 5;
// Desired width over height of a block, that of the usual panel.
const ASPECT = 1.7;
// Row widths to try, relative to the ideal one, which whole items seldom fill.
const WIDER = [1, 1.1, 1.25, 1.5];
// Up to so many items, every width at which a first row ends is tried, between these shares of the ideal one.
const FEW = 400;
// Proportions that are taken if any arrangement has one, and how much empty places count beside the proportion: of any number
// of items, and of a square number, which fills a square.
const SANE = [0.8, 3];
const UNWANTED = 100;
const EMPTY = 3;
const EMPTY_SQUARE = 6;
const NARROWEST = 0.5;
const WIDEST_ROW = 2;

/**
 * Compute the positions of all drawn items; only items that an edit affected are measured and placed again.
 *
 * @returns Map from id to {x, y, block}: the middle of the item's own symbol, and its block {x, y, w, h} from the upper
 *   left corner, for finding the switch under the pointer. `ROOT` has the block of the whole drawing.
 */
export function layout(items) {
  measure(items, ROOT);
  place(items, ROOT, 0, 0);
  return items.places;
}

/**
 * Route of the link to an item that crosses no neighbour: down to the item's row, then along the row. The way down
 * starts at the switch for the first row, and follows the left edge of the switch's block for lower rows.
 *
 * @returns {down, along}: x at which the link runs down, y at which it runs sideways.
 */
export function wayTo(place, above) {
  const { x, y } = above.block;
  return { down: place.block.y > y + HEAD ? x + PAD / 2 : above.x, along: place.block.y + ALONG };
}

function drawnChildren(items, id) {
  return id !== ROOT && items.folded.has(id) ? [] : items.children(id);
}

function measure(items, id) {
  const { blocks } = items;
  if (blocks.get(id)?.offsets.length > 0) return;
  const children = drawnChildren(items, id);
  if (children.length === 0) {
    blocks.set(id, { w: CELL, h: CELL, offsets: [] });
    return;
  }
  for (const child of children) measure(items, child.id);
  // Siblings without drawn children are placed in columns as wide as their longest label.
  const single = children.map((child) => blocks.get(child.id)).map((block, i) => (block.offsets.length === 0 ? i : -1));
  const column = single.reduce((most, i) => (i < 0 ? most : Math.max(most, labelWidth(items, children[i]))), 0);
  for (const i of single) if (i >= 0) blocks.get(children[i].id).w = column;
  const sizes = children.map((child) => blocks.get(child.id));
  const head = id === ROOT ? 0 : HEAD;
  const rows = pack(sizes, head);
  blocks.set(id, { w: Math.max(rows.w, CELL) + 2 * PAD, h: head + rows.h + PAD, offsets: rows.offsets });
}

/** Width of the space for an item's label beneath its symbol. */
export function labelWidth(items, item) {
  return Math.min(Math.max(items.label(item).length * LETTER + 8, CELL), WIDEST);
}

/**
 * Rows from left to right whose block, with its head, comes close to the wanted proportion and has few empty places: four
 * equal items stand two by two, not as three and one.
 */
function pack(sizes, head) {
  const area = sizes.reduce((sum, size) => sum + size.w * size.h, 0);
  const widest = sizes.reduce((most, size) => Math.max(most, size.w), 0);
  const weight = Number.isInteger(Math.sqrt(sizes.length)) ? EMPTY_SQUARE : EMPTY;
  const off = ({ w, h }) => {
    const ratio = (w + 2 * PAD) / (head + h + PAD);
    return (ratio < SANE[0] || ratio > SANE[1] ? UNWANTED : 0) + Math.abs(Math.log(ratio / ASPECT)) + weight * (1 - area / (w * h));
  };
  const ideal = Math.sqrt(area * ASPECT);
  const widths = new Set(WIDER.map((factor) => Math.max(widest, factor * ideal)));
  let end = 0;
  for (const { w } of sizes.length > FEW ? [] : sizes) {
    end += w;
    if (end >= NARROWEST * ideal && end <= WIDEST_ROW * ideal) widths.add(Math.max(widest, end));
  }
  const tried = [...widths].map((width) => fill(sizes, width));
  return tried.reduce((best, rows) => (off(rows) < off(best) ? rows : best));
}

/** Fill rows up to a width. */
function fill(sizes, limit) {
  const offsets = [];
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  let w = 0;
  for (const size of sizes) {
    if (x > 0 && x + size.w > limit + 1) {
      x = 0;
      y += rowHeight;
      rowHeight = 0;
    }
    offsets.push([x, y]);
    x += size.w;
    rowHeight = Math.max(rowHeight, size.h);
    w = Math.max(w, x);
  }
  return { w, h: y + rowHeight, offsets };
}

function place(items, id, left, top) {
  const { blocks, places } = items;
  const of = blocks.get(id);
  const was = places.get(id);
  if (was?.of === of && was.block.x === left && was.block.y === top && was.block.w === of.w) return;
  const { w, h, offsets } = of;
  const head = id === ROOT ? 0 : offsets.length > 0 ? HEAD : CELL;
  places.set(id, { x: left + w / 2, y: top + head / 2, block: { x: left, y: top, w, h }, of });
  drawnChildren(items, id).forEach((child, i) => {
    const [dx, dy] = offsets[i];
    place(items, child.id, left + PAD + dx, top + (id === ROOT ? 0 : HEAD) + dy);
  });
}

/** The innermost drawn switch whose block contains a point and that `allowed` accepts; ROOT if there is none. */
export function switchAt(items, places, point, allowed = () => true) {
  let found = ROOT;
  for (;;) {
    const inner = drawnChildren(items, found).find((child) => {
      if (child.kind !== "switch" || !allowed(child.id)) return false;
      const { x, y, w, h } = places.get(child.id).block;
      return point.x >= x && point.x <= x + w && point.y >= y && point.y <= y + h;
    });
    if (inner === undefined) return found;
    found = inner.id;
  }
}
