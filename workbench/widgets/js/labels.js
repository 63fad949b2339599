// What stands under the symbols of a drawing: names without what nearly all of their kind begin with, cut to their places.

// Width of a letter, and of the space for a label at least and at most.
const LETTER = 6.1;
const NARROWEST = 38;
const SWITCH = 48;
const WIDEST = 130;
// Size of the letters of the smallest label, in the drawing's own units, and in pixels where one can still read it.
export const FONT = 11;
export const READABLE = 9;
// So many names of a kind begin alike where that beginning is left out: one that is renamed does not change the others.
const NEARLY_ALL = 0.8;

/** Where a name of this kind may be cut: before its numbers, but a switch keeps its last word, as rack-07. */
const cuts = (name, kind) => [...name.matchAll(kind === "node" ? /(?<=[^0-9])(?=[0-9])|(?<=[-_.:/])(?=.)/g : /(?<=[-_.:/])(?=\p{L})/gu)].map((found) => found.index);

/** The longest beginning that nearly all of several names of one kind share; empty if there is none. */
export function commonStart(names, kind) {
  if (names.length < 2) return "";
  const having = new Map();
  for (const name of names) for (const at of cuts(name, kind)) having.set(name.slice(0, at), (having.get(name.slice(0, at)) ?? 0) + 1);
  return [...having].reduce((best, [start, n]) => (n >= NEARLY_ALL * names.length && start.length > best.length ? start : best), "");
}

/** A name without what nearly all of its kind begin with. */
export function shortName(items, item) {
  const start = items.startOf(item.kind);
  return item.name.length > start.length && item.name.startsWith(start) ? item.name.slice(start.length) : item.name;
}

const counted = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : what === "switch" ? "es" : "s"}`;

/** The lines of an item's label: its short name, and what a folded switch holds. */
export function linesOf(items, item) {
  if (!items.folded.has(item.id) || !items.hasChildren(item.id)) return [shortName(items, item)];
  const { nodes, switches } = items.holds(item.id);
  return [shortName(items, item), `▸ ${nodes > 0 ? counted(nodes, "node") : counted(switches, "switch")}`];
}

/** Width of the space that an item's label asks for. */
export function labelWidth(items, item) {
  const longest = Math.max(...linesOf(items, item).map((line) => line.length));
  return Math.min(Math.max(longest * LETTER + 8, item.kind === "node" ? NARROWEST : SWITCH), WIDEST);
}

/** The label of an item for a space of this width: what does not fit is left out of the middle, as names differ at the end. */
export function labelFor(items, item, width) {
  const room = Math.max(Math.floor((width - 4) / LETTER), 4);
  const cut = (line) => {
    const head = Math.floor(room / 3);
    return line.length <= room ? line : `${line.slice(0, head)}…${line.slice(head + 1 - room)}`;
  };
  return linesOf(items, item).map(cut).join("\n");
}
