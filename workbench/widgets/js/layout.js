// Packed blocks: every switch heads a block that holds its children's blocks in rows.
//
// A tidy tree of a data centre is a line of one pixel's height; blocks in rows stay legible at any size.
//
// An arrangement is kept: a block that was laid out gives each child a slot, and an edit moves only what its item pushes.
import { ROOT } from "./items.js";
import { labelWidth, linesOf } from "./labels.js";

export const CELL = 48;
// Height of a second line of a label.
const LINE = 14;
const HEAD = 58;
const PAD = 12;
// Distance below a row's upper edge at which links run along it: above its symbols, below the labels of the row before.
const ALONG = 5;
// Row widths to try, relative to the ideal one, which whole items seldom fill.
const WIDER = [1, 1.1, 1.25, 1.5];
// Up to so many items, every width at which a first row ends is tried, between these shares of the ideal one.
const FEW = 400;
// Proportions that are taken if any arrangement has one, and how much empty places count beside the proportion: of any number
// of items, and of a square number, which fills a square.
const SANE = [0.6, 3];
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
  sizeOf(items);
  place(items, ROOT, 0, 0);
  return items.places;
}

/** Size {w, h} of the whole drawing as it is folded now. */
export function sizeOf(items) {
  measure(items, ROOT);
  return items.blocks.get(ROOT);
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
  const { blocks, slots } = items;
  if (blocks.get(id)?.offsets.length > 0) return;
  const children = drawnChildren(items, id);
  if (children.length === 0) {
    blocks.set(id, { w: CELL, h: CELL, offsets: [] });
    return;
  }
  for (const child of children) measure(items, child.id);
  const before = slots.get(id);
  // Siblings without drawn children are placed in columns as wide as their longest label was when they were laid out.
  const single = children.filter((child) => blocks.get(child.id).offsets.length === 0);
  const column = before?.column || single.reduce((most, child) => Math.max(most, labelWidth(items, child)), 0);
  for (const child of single) Object.assign(blocks.get(child.id), { w: column, h: CELL + LINE * (linesOf(items, child).length - 1) });
  const sizes = children.map((child) => blocks.get(child.id));
  const head = id === ROOT ? 0 : HEAD;
  const even = children.every((child) => child.kind === "node");
  const now = before ? keep(before, children, sizes, even) : arrange(children, sizes, head, items.aspect, even);
  if (now === null) {
    slots.delete(id);
    measure(items, id);
    return;
  }
  slots.set(id, { ...now, column });
  const offsets = children.map((child) => now.at.get(child.id));
  blocks.set(id, { w: Math.max(now.w, CELL) + 2 * PAD, h: head + now.h + PAD, middle: PAD + now.middle, offsets });
}

/** Slots of children that are laid out afresh: {at: slot {x, y, w, h} of each, w, h: of all of them, middle: of the rows}. */
function arrange(children, sizes, head, aspect, even) {
  const rows = pack(sizes, head, aspect);
  const at = new Map(children.map((child, i) => [child.id, { ...rows.offsets[i], w: sizes[i].w, h: sizes[i].h }]));
  const last = rows.offsets.at(-1).x + sizes.at(-1).w;
  // Nodes keep a place for one more, unless the last row has one.
  const spare = even && rows.w - last < sizes[0].w ? sizes[0].w : 0;
  return { at, w: rows.w + spare, h: rows.h, middle: Math.max(rows.w, CELL) / 2 };
}

/**
 * Slots of children in an earlier arrangement: who was there stays, and who comes takes a free slot, a place at the end of
 * a row, or a row of its own. Whoever has grown pushes what is right of it and the rows beneath.
 *
 * @returns As `arrange`; null where all are better laid out afresh: equal items have no place left, or half of several are new.
 */
function keep(before, children, sizes, even) {
  const at = new Map([...before.at].map(([id, slot]) => [id, { ...slot }]));
  const here = new Set(children.map((child) => child.id));
  const come = [];
  children.forEach((child, i) => (at.has(child.id) ? push(at, at.get(child.id), sizes[i]) : come.push(i)));
  if (2 * come.length > children.length || (come.length > 1 && 2 * come.length === children.length)) return null;
  const right = () => [...at.values()].reduce((most, slot) => Math.max(most, slot.x + slot.w), before.w);
  const low = () => [...at.values()].reduce((most, slot) => Math.max(most, slot.y + slot.h), 0);
  for (const i of come) {
    const { w, h } = sizes[i];
    const left = [...at].find(([id, slot]) => !here.has(id) && slot.w >= w && slot.h >= h);
    if (left !== undefined) {
      at.delete(left[0]);
      at.set(children[i].id, left[1]);
      continue;
    }
    const ends = new Map();
    for (const slot of at.values()) {
      const row = ends.get(slot.y) ?? { x: 0, y: slot.y, h: 0 };
      ends.set(slot.y, { x: Math.max(row.x, slot.x + slot.w), y: slot.y, h: Math.max(row.h, slot.h) });
    }
    const rows = [...ends.values()].sort((a, b) => a.y - b.y);
    const row = rows.find((one, n) => one.x + w <= before.w + 1 && (h <= one.h || n === rows.length - 1));
    if (row === undefined && even) return null;
    at.set(children[i].id, { x: row?.x ?? 0, y: row?.y ?? low(), w, h });
  }
  return { at, w: right(), h: Math.max(low(), before.h), middle: before.middle };
}

/** Give a slot at least a size; the slots right of it in its row, and the rows beneath, make way. */
function push(at, slot, { w, h }) {
  const others = [...at.values()];
  const wider = w - slot.w;
  if (wider > 0) {
    for (const other of others) if (other.y === slot.y && other.x > slot.x) other.x += wider;
    slot.w = w;
  }
  const bottom = others.reduce((most, other) => (other.y === slot.y ? Math.max(most, other.h) : most), 0);
  if (h > bottom) for (const other of others) if (other.y > slot.y) other.y += h - bottom;
  slot.h = Math.max(slot.h, h);
}

/**
 * Rows from left to right whose block, with its head, comes close to the wanted proportion and has few empty places: four
 * equal items stand two by two, not as three and one.
 */
function pack(sizes, head, aspect) {
  const area = sizes.reduce((sum, size) => sum + size.w * size.h, 0);
  const widest = sizes.reduce((most, size) => Math.max(most, size.w), 0);
  const weight = Number.isInteger(Math.sqrt(sizes.length)) ? EMPTY_SQUARE : EMPTY;
  const off = ({ w, h }) => {
    const ratio = (w + 2 * PAD) / (head + h + PAD);
    return (ratio < SANE[0] || ratio > SANE[1] ? UNWANTED : 0) + Math.abs(Math.log(ratio / aspect)) + weight * (1 - area / (w * h));
  };
  const ideal = Math.sqrt(area * aspect);
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
    offsets.push({ x, y });
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
  if (was?.of === of && was.block.x === left && was.block.y === top && was.block.w === of.w && was.block.h === of.h) return;
  const { w, h, offsets, middle = w / 2 } = of;
  const head = offsets.length > 0 ? HEAD : CELL;
  places.set(id, { x: left + middle, y: top + head / 2, block: { x: left, y: top, w, h }, of });
  drawnChildren(items, id).forEach((child, i) => {
    const { x, y } = offsets[i];
    place(items, child.id, left + PAD + x, top + (id === ROOT ? 0 : HEAD) + y);
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
