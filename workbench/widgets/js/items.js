// The page's copy of a drawing: records by id as Python sends them, children by parent, and the folded switches.

import { commonStart } from "./labels.js";

export const ROOT = 0;

export class Items {
  constructor() {
    this.byId = new Map();
    this.childIds = new Map([[ROOT, new Set()]]);
    this.folded = new Set();
    // Those of the folded switches that nobody folded by hand.
    this.byItself = new Set();
    this.sorted = new Map();
    this.sizes = new Map();
    this.sums = new Map();
    this.held = new Map();
    this.starts = new Map();
    // Results of layout.js: the block of each item, its position, and the slots of its children, which outlast edits.
    this.blocks = new Map();
    this.places = new Map();
    this.slots = new Map();
    // Wanted width over height of every block: that of the usual panel.
    this.aspect = 1.7;
    this.switches = 0;
  }

  /** Replace everything by the columns of a state message. */
  reset(columns) {
    this.byId.clear();
    this.childIds = new Map([[ROOT, new Set()]]);
    this.sorted.clear();
    this.sizes.clear();
    this.sums.clear();
    this.held.clear();
    this.starts.clear();
    this.tidy();
    this.switches = 0;
    for (const record of columns) this.set(record);
    for (const set of [this.folded, this.byItself]) for (const id of set) if (!this.byId.has(id)) set.delete(id);
  }

  /** Let everything be laid out afresh. */
  tidy() {
    for (const map of [this.blocks, this.places, this.slots]) map.clear();
  }

  /** Apply a patch: changed records, and ids of removed items. After one of most items all is laid out and named afresh. */
  apply({ set, gone }) {
    for (const id of gone) this.remove(id);
    for (const record of set) this.set(record);
    if (2 * set.length <= this.byId.size) return;
    this.starts.clear();
    this.tidy();
  }

  set(record) {
    this.remove(record.id);
    this.byId.set(record.id, record);
    if (record.kind === "switch") this.switches += 1;
    if (!this.childIds.has(record.parent)) this.childIds.set(record.parent, new Set());
    this.childIds.get(record.parent).add(record.id);
    this.forget(record.parent);
  }

  remove(id) {
    const old = this.byId.get(id);
    if (old === undefined) return;
    this.childIds.get(old.parent)?.delete(id);
    this.byId.delete(id);
    this.blocks.delete(id);
    this.places.delete(id);
    if (old.kind === "switch") this.switches -= 1;
    this.forget(old.parent);
  }

  /** Forget values derived from the children of an item, for the item and its ancestors. */
  forget(parent) {
    this.sorted.delete(parent);
    for (let up = parent, steps = 0; up !== undefined && up !== ROOT && steps < 100; steps++) {
      this.sizes.delete(up);
      this.sums.delete(up);
      this.held.delete(up);
      this.blocks.delete(up);
      up = this.byId.get(up)?.parent;
    }
    this.blocks.delete(ROOT);
  }

  fold(id) {
    this.folded.add(id);
    this.byItself.delete(id);
    this.rearrange(id);
  }

  /** Fold an item that nobody asked to fold: it may unfold by itself, too. */
  foldByItself(id) {
    if (this.folded.has(id)) return;
    this.fold(id);
    this.byItself.add(id);
  }

  /** Unfold an item; returns whether it was folded. */
  unfold(id) {
    this.rearrange(id);
    this.byItself.delete(id);
    return this.folded.delete(id);
  }

  /** Unfold all that folded by itself. */
  unfoldAll() {
    for (const id of [...this.byItself]) this.unfold(id);
  }

  /** Let the children of an item, and of those above it, be laid out afresh. */
  rearrange(id) {
    this.forget(id);
    for (const up of [id, ...this.above(id), ROOT]) this.slots.delete(up);
  }

  /** Ids of the switches above an item, the nearest first. */
  above(id) {
    const found = [];
    for (let up = this.byId.get(id)?.parent; up !== undefined && up !== ROOT && found.length < 100; up = this.byId.get(up)?.parent) found.push(up);
    return found;
  }

  get(id) {
    return this.byId.get(id);
  }

  /** Children in the order in which they are drawn: switches before nodes, then by name, numbers as numbers. */
  children(id) {
    let found = this.sorted.get(id);
    if (found === undefined) {
      found = [...(this.childIds.get(id) ?? [])].map((child) => this.byId.get(child));
      found.sort((a, b) => (a.kind === b.kind ? compareNames(a.name, b.name) : a.kind === "switch" ? -1 : 1));
      this.sorted.set(id, found);
    }
    return found;
  }

  /**
   * The parent of a new switch or node when an item is selected: the item, or else the nearest switch above that can
   * hold it. A new switch is not placed under a switch of tier 1, but beside it; one with `tiers - 1` tiers of its own
   * beneath it only under a switch of a tier above `tiers`.
   */
  parentForNew(id, kind, tiers = 1) {
    const holds = (item) => item.kind === "switch" && (kind === "node" || item.tier > tiers);
    let found = this.byId.get(id);
    while (found !== undefined && !holds(found)) found = this.byId.get(found.parent);
    return found?.id ?? ROOT;
  }

  hasChildren(id) {
    return (this.childIds.get(id)?.size ?? 0) > 0;
  }

  /** What nearly all names of a kind begin with; found again only when the drawing has become another one. */
  startOf(kind) {
    const had = this.starts.get(kind);
    if (had !== undefined && this.byId.size <= 2 * had.size && had.size <= 2 * this.byId.size) return had.start;
    const names = [...this.byId.values()].filter((item) => item.kind === kind).map((item) => item.name);
    this.starts.set(kind, { start: commonStart(names, kind), size: this.byId.size });
    return this.starts.get(kind).start;
  }

  /** What a switch holds at any depth: {nodes, switches, failed, cordoned}, numbers of items. */
  holds(id) {
    let sum = this.held.get(id);
    if (sum !== undefined) return sum;
    sum = { nodes: 0, switches: 0, failed: 0, cordoned: 0 };
    for (const child of this.childIds.get(id) ?? []) {
      const { kind, failed = false, link_failed: cut = false, cordoned = false } = this.byId.get(child);
      const own = { nodes: Number(kind === "node"), switches: Number(kind === "switch"), failed: Number(failed || cut), cordoned: Number(cordoned) };
      const beneath = kind === "switch" ? this.holds(child) : {};
      for (const what in sum) sum[what] += own[what] + (beneath[what] ?? 0);
    }
    this.held.set(id, sum);
    return sum;
  }

  /** Number of items under an item, at any depth. */
  sizeBeneath(id) {
    let size = this.sizes.get(id);
    if (size === undefined) {
      size = 0;
      for (const child of this.childIds.get(id) ?? []) size += 1 + this.sizeBeneath(child);
      this.sizes.set(id, size);
    }
    return size;
  }

  /** GPUs of an item, or of all nodes under it, and how many of them are in use: {gpus, used}. */
  gpusOf(id) {
    const item = this.byId.get(id);
    if (item.kind === "node") return { gpus: item.gpus ?? 0, used: item.used ?? 0 };
    let sum = this.sums.get(id);
    if (sum === undefined) {
      sum = { gpus: 0, used: 0 };
      for (const child of this.childIds.get(id) ?? []) {
        const { gpus, used } = this.gpusOf(child);
        sum.gpus += gpus;
        sum.used += used;
      }
      this.sums.set(id, sum);
    }
    return sum;
  }

  /** Folded switches at or under some items, those of the uppermost level that has any. */
  nextFolded(ids) {
    let level = ids;
    while (level.length > 0) {
      const folded = level.filter((id) => this.folded.has(id));
      if (folded.length > 0) return folded;
      level = level.flatMap((id) => this.children(id).filter((child) => child.kind === "switch").map((child) => child.id));
    }
    return [];
  }

  /** Ids that are drawn under an item: everything that is not under a folded switch. Parents before children. */
  visible(under = ROOT) {
    const found = [];
    if (this.folded.has(under)) return found;
    const open = [under];
    while (open.length > 0) {
      const id = open.pop();
      for (const child of this.children(id)) {
        found.push(child.id);
        if (child.kind === "switch" && !this.folded.has(child.id)) open.push(child.id);
      }
    }
    return found;
  }

  /** Whether `id` is `above` or under it. */
  isWithin(id, above) {
    for (let steps = 0; id !== ROOT && id !== undefined && steps < 100; steps++) {
      if (id === above) return true;
      id = this.byId.get(id)?.parent;
    }
    return above === ROOT;
  }

  /** Unfold the switches that hide these items, unless more than `most` items would be drawn; returns those unfolded. */
  reveal(ids, most = Infinity) {
    const hiding = new Set(ids.flatMap((id) => this.above(id)).filter((id) => this.folded.has(id)));
    const by = new Map([...hiding].map((id) => [id, this.byItself.has(id)]));
    for (const id of hiding) this.unfold(id);
    if (hiding.size === 0 || this.visible().length <= most) return [...hiding];
    for (const [id, itself] of by) itself ? this.foldByItself(id) : this.fold(id);
    return [];
  }
}

/** Compare names, their numbers as numbers: leaf-2 before leaf-10. */
export function compareNames(a, b) {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

const collator = new Intl.Collator("en", { numeric: true });
