// Switches that fold by themselves, so that the labels of a whole drawing can be read.
import { ROOT } from "./items.js";
import { FONT, READABLE } from "./labels.js";
import { sizeOf } from "./layout.js";

// Pixels around a fitted drawing.
export const EDGE = 12;
// A room that changed by fewer pixels is the same: a scroll bar or a legend with one more entry moves nothing. The labels of a
// folded drawing can still be read in a room smaller by as much.
export const NEARLY_SAME = 12;
// Taken for the room of a drawing that is not on the screen yet.
const USUAL = { w: 600, h: 480 };

/** Zoom at which a block {w, h} fills a room {w, h} in pixels. */
export const zoomToFit = (block, room) => Math.min((room.w - 2 * EDGE) / block.w, (room.h - 2 * EDGE) / block.h);

/** Switches that have children, by the levels beneath them; lowest first. */
function levelsOf(items) {
  const levels = [];
  const height = ({ id, kind }) => {
    if (kind === "node" || !items.hasChildren(id)) return 0;
    const own = 1 + items.children(id).reduce((most, child) => Math.max(most, height(child)), 0);
    (levels[own] ??= []).push(id);
    return own;
  };
  items.children(ROOT).forEach(height);
  return levels.filter((level) => level !== undefined);
}

/**
 * Fold switches, a level after the other from the lowest, until the labels of the whole drawing can be read in a room
 * {w, h} of pixels.
 *
 * A level of one switch stays open. What was opened by hand folds later than its neighbours, and the latest never, unless
 * `most` is 0: `opened` holds groups of switches in the order in which they were opened; groups that fold are taken out.
 * Switches in `edited` stay.
 */
export function foldToRead(items, room, opened = [], edited = [], most = 1) {
  const { w, h } = room.w > 0 && room.h > 0 ? room : USUAL;
  const space = { w: w - NEARLY_SAME, h: h - NEARLY_SAME };
  const fits = () => FONT * zoomToFit(sizeOf(items), space) >= READABLE;
  if (fits()) return;
  for (const level of levelsOf(items)) {
    if (level.length > 1) {
      const kept = new Set([...opened.flat(), ...edited].flatMap((id) => [id, ...items.above(id)]));
      for (const id of level) if (!kept.has(id)) items.foldByItself(id);
    }
    while (!fits() && opened.length > most) opened.shift().forEach((id) => items.foldByItself(id));
    if (fits()) return;
  }
}
