import assert from "node:assert/strict";
import { test } from "node:test";
import { Items, ROOT, compareNames } from "./items.js";
import { CELL, layout, switchAt, wayTo } from "./layout.js";

function fabric(leaves, nodesEach) {
  const records = [{ id: 1, kind: "switch", name: "spine", parent: ROOT, tier: 2 }];
  for (let i = 0; i < leaves; i++) {
    const leaf = records.length + 1;
    records.push({ id: leaf, kind: "switch", name: `leaf-${i}`, parent: 1, tier: 1 });
    for (let j = 0; j < nodesEach; j++) {
      records.push({ id: records.length + 1, kind: "node", name: `node-${i}-${j}`, parent: leaf });
    }
  }
  const items = new Items();
  items.reset(records);
  return items;
}

test("numbers in names are numbers", () => {
  assert.deepEqual(["leaf-10", "leaf-2", "leaf-1"].sort(compareNames), ["leaf-1", "leaf-2", "leaf-10"]);
});

test("a new item is hung under the nearest switch that can hold it", () => {
  const items = fabric(2, 2);
  const [leaf] = items.children(1);
  const [node] = items.children(leaf.id);
  assert.deepEqual([1, leaf.id, node.id, undefined].map((id) => items.parentForNew(id, "node")), [1, leaf.id, leaf.id, ROOT]);
  assert.deepEqual([1, leaf.id, node.id, undefined].map((id) => items.parentForNew(id, "switch")), [1, 1, 1, ROOT]);
  items.set({ ...leaf, parent: ROOT });
  assert.equal(items.parentForNew(leaf.id, "switch"), ROOT);
});

test("the GPUs of a switch are those of its nodes, whatever changes", () => {
  const items = fabric(2, 2);
  const [first, second] = items.children(1);
  const [node] = items.children(first.id);
  items.set({ ...node, gpus: 8, used: 3 });
  items.set({ ...items.children(second.id)[0], gpus: 4 });
  assert.deepEqual([1, first.id, node.id].map((id) => items.gpusOf(id)), [{ gpus: 12, used: 3 }, { gpus: 8, used: 3 }, { gpus: 8, used: 3 }]);
  items.set({ ...node, gpus: 8, used: 3, parent: second.id });
  assert.deepEqual([1, first.id, second.id].map((id) => items.gpusOf(id)), [{ gpus: 12, used: 3 }, { gpus: 0, used: 0 }, { gpus: 12, used: 3 }]);
  items.remove(node.id);
  assert.deepEqual(items.gpusOf(1), { gpus: 4, used: 0 });
});

test("a large drawing is folded from the nodes upwards", () => {
  const items = fabric(100, 30);
  items.foldToFit(500);
  assert.equal(items.visible().length, 101);
  items.reveal([items.children(2)[0].id]);
  assert.equal(items.visible().length, 131);
  assert.equal(items.sizeBeneath(1), 3100);
});

test("nothing is unfolded where too much would be drawn", () => {
  const items = fabric(100, 30);
  items.foldToFit(500);
  const nodes = [...items.byId.values()].filter((item) => item.kind === "node").map((item) => item.id);
  assert.equal(items.reveal(nodes, 3000), false);
  assert.equal(items.visible().length, 101);
  assert.equal(items.reveal(nodes.slice(0, 40), 3000), true);
  assert.equal(items.visible().length, 161);
});

test("no two symbols share a place, and the drawing is no line", () => {
  for (const [leaves, nodes] of [[1, 0], [4, 2], [32, 16], [100, 30]]) {
    const items = fabric(leaves, nodes);
    const places = layout(items);
    const taken = new Set();
    for (const id of items.visible()) {
      const { x, y } = places.get(id);
      const cell = `${Math.round(x / (CELL / 2))},${Math.round(y / (CELL / 2))}`;
      assert.ok(!taken.has(cell), `${id} at ${cell} of ${leaves} x ${nodes}`);
      taken.add(cell);
    }
    const { w, h } = places.get(ROOT).block;
    if (leaves > 1) assert.ok(w / h > 0.4 && w / h < 4, `${w} x ${h}`);
  }
});

test("links cross no symbol but those that they join", () => {
  // As large as symbols are drawn.
  const half = (item) => (item.kind === "switch" ? { w: 17, h: 11 } : { w: 11, h: 11 });
  for (const [leaves, nodes] of [[3, 2], [9, 30], [40, 7]]) {
    const items = fabric(leaves, nodes);
    const places = layout(items);
    for (const id of items.visible().filter((other) => items.get(other).parent !== ROOT)) {
      const above = places.get(items.get(id).parent);
      const end = places.get(id);
      const { down, along } = wayTo(end, above);
      const path = [[above.x, above.y], [down, above.y], [down, along], [end.x, along], [end.x, end.y]];
      for (const other of items.visible().filter((one) => one !== id && one !== items.get(id).parent)) {
        const { x, y } = places.get(other);
        const { w, h } = half(items.get(other));
        path.slice(1).forEach(([x1, y1], i) => {
          const [x0, y0] = path[i];
          const apart = Math.max(x0, x1) <= x - w || Math.min(x0, x1) >= x + w || Math.max(y0, y1) <= y - h || Math.min(y0, y1) >= y + h;
          assert.ok(apart, `link of ${id} over ${other} of ${leaves} x ${nodes}`);
        });
      }
    }
  }
});

test("the switch under a point is the innermost one", () => {
  const items = fabric(4, 2);
  const places = layout(items);
  const node = items.children(3 - 1)[0];
  assert.equal(switchAt(items, places, places.get(node.id)), 2);
  assert.equal(switchAt(items, places, places.get(node.id), (id) => id !== 2), 1);
  assert.equal(switchAt(items, places, { x: -5, y: -5 }), ROOT);
});

test("a patch moves, adds and removes", () => {
  const items = fabric(2, 1);
  items.apply({ set: [{ ...items.get(3), parent: 4 }, { id: 9, kind: "node", name: "n", parent: 4 }], gone: [5] });
  assert.deepEqual(items.children(4).map((item) => item.id), [9, 3]);
  assert.equal(items.hasChildren(2), false);
});

test("a layout after edits and folds is that of the same items laid out anew", () => {
  const items = fabric(6, 7);
  layout(items);
  const steps = [
    () => items.set({ id: 90, kind: "node", name: "node-0-7", parent: 2 }),
    () => items.fold(10),
    () => items.set({ id: 91, kind: "node", name: "a-much-longer-name-than-all-others", parent: 10 }),
    () => items.set({ ...items.get(91), parent: 2 }),
    () => items.unfold(10),
    () => items.set({ ...items.get(2), name: "leaf-9" }),
    () => items.apply({ set: [{ id: 92, kind: "switch", name: "s", parent: ROOT, tier: 2 }, { ...items.get(10), parent: 92 }], gone: [91] }),
    () => items.fold(92),
    () => items.apply({ set: [], gone: items.children(2).map((item) => item.id) }),
    () => items.reveal([items.children(10)[0].id]),
  ];
  for (const step of steps) {
    step();
    const places = layout(items);
    const afresh = new Items();
    afresh.folded = new Set(items.folded);
    afresh.reset([...items.byId.values()]);
    const wanted = layout(afresh);
    for (const id of [ROOT, ...items.visible()]) {
      const { x, y, block } = places.get(id);
      assert.deepEqual({ x, y, block }, { x: wanted.get(id).x, y: wanted.get(id).y, block: wanted.get(id).block }, `${id} after ${step}`);
    }
  }
});

test("four equal children stand two by two or in one row, sixteen four by four", () => {
  const rowsOf = (leaves, nodesEach) => {
    const items = fabric(leaves, nodesEach);
    const places = layout(items);
    const rows = new Map();
    for (const { id } of items.children(1)) rows.set(places.get(id).block.y, (rows.get(places.get(id).block.y) ?? 0) + 1);
    return [...rows.values()];
  };
  for (const nodesEach of [2, 3, 4, 8]) {
    for (const leaves of [4, 16]) assert.equal(new Set(rowsOf(leaves, nodesEach)).size, 1, `${leaves} of ${nodesEach}: ${rowsOf(leaves, nodesEach)}`);
  }
});
