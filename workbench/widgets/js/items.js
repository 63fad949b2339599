// The page's copy of a drawing: records by id as Python sends them, children by parent, and what is folded.

export const ROOT = 0;

export class Items {
  constructor() {
    this.byId = new Map();
    this.childIds = new Map([[ROOT, new Set()]]);
    this.folded = new Set();
    this.sizes = null;
  }

  /** Replace everything by the columns of a state message. */
  reset(columns) {
    this.byId.clear();
    this.childIds = new Map([[ROOT, new Set()]]);
    for (const record of columns) this.set(record);
    for (const id of this.folded) if (!this.byId.has(id)) this.folded.delete(id);
  }

  /** Apply a patch: records that changed, and ids that went. */
  apply({ set, gone }) {
    for (const id of gone) this.remove(id);
    for (const record of set) this.set(record);
  }

  set(record) {
    this.remove(record.id);
    this.byId.set(record.id, record);
    if (!this.childIds.has(record.parent)) this.childIds.set(record.parent, new Set());
    this.childIds.get(record.parent).add(record.id);
    this.sizes = null;
  }

  remove(id) {
    const old = this.byId.get(id);
    if (old === undefined) return;
    this.childIds.get(old.parent)?.delete(id);
    this.byId.delete(id);
    this.sizes = null;
  }

  get(id) {
    return this.byId.get(id);
  }

  /** Children in the order in which they are drawn: switches before nodes, then by name, numbers as numbers. */
  children(id) {
    const found = [...(this.childIds.get(id) ?? [])].map((child) => this.byId.get(child));
    return found.sort((a, b) => (a.kind === b.kind ? compareNames(a.name, b.name) : a.kind === "switch" ? -1 : 1));
  }

  hasChildren(id) {
    return (this.childIds.get(id)?.size ?? 0) > 0;
  }

  /** How many items hang under one, at any depth. */
  sizeBeneath(id) {
    if (this.sizes === null) {
      this.sizes = new Map();
      for (const item of this.byId.values()) {
        for (let up = item.parent, steps = 0; steps < 100; steps++) {
          this.sizes.set(up, (this.sizes.get(up) ?? 0) + 1);
          if (up === ROOT) break;
          up = this.byId.get(up)?.parent ?? ROOT;
        }
      }
    }
    return this.sizes.get(id) ?? 0;
  }

  /** Ids that are drawn: everything that is not under a folded switch. Parents before children. */
  visible() {
    const found = [];
    const open = [ROOT];
    while (open.length > 0) {
      const id = open.pop();
      for (const child of this.children(id)) {
        found.push(child.id);
        if (child.kind === "switch" && !this.folded.has(child.id)) open.push(child.id);
      }
    }
    return found;
  }

  /** Is `id` under `above`, or the same? */
  isWithin(id, above) {
    for (let steps = 0; id !== ROOT && id !== undefined && steps < 100; steps++) {
      if (id === above) return true;
      id = this.byId.get(id)?.parent;
    }
    return above === ROOT;
  }

  /**
   * Fold level by level from the nodes upwards until at most `most` items are drawn.
   *
   * A drawing of many thousand items shows its upper levels first; whatever was unfolded by hand stays so.
   */
  foldToFit(most) {
    if (this.byId.size <= most) return;
    const depths = new Map();
    const byDepth = [];
    const open = [[ROOT, 0]];
    while (open.length > 0) {
      const [id, depth] = open.pop();
      for (const child of this.childIds.get(id) ?? []) {
        depths.set(child, depth);
        (byDepth[depth] ??= []).push(child);
        open.push([child, depth + 1]);
      }
    }
    let shown = this.byId.size;
    for (let depth = byDepth.length - 1; depth > 0 && shown > most; depth--) {
      for (const id of byDepth[depth - 1]) if (this.hasChildren(id)) this.folded.add(id);
      shown -= byDepth[depth].length;
    }
  }

  /** Unfold whatever hides these items. */
  reveal(ids) {
    for (const id of ids) {
      for (let up = this.byId.get(id)?.parent; up !== undefined && up !== ROOT; up = this.byId.get(up)?.parent) {
        this.folded.delete(up);
      }
    }
  }
}

/** Names with their numbers compared as numbers: leaf-2 before leaf-10. */
export function compareNames(a, b) {
  return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}

const collator = new Intl.Collator("en", { numeric: true });
