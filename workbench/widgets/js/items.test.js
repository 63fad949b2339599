import assert from "node:assert/strict";
import { test } from "node:test";
import { foldToRead, zoomToFit } from "./folding.js";
import { Items, ROOT, compareNames } from "./items.js";
import { FONT, READABLE, commonStart, labelFor, linesOf } from "./labels.js";
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

// The canvas of the editor in half a window of 1366 pixels.
const ROOM = { w: 580, h: 482 };

test("racks fold until labels can be read, and say what they hold", () => {
  for (const [leaves, nodes, folds] of [[3, 4, false], [16, 4, true], [40, 16, true]]) {
    const items = fabric(leaves, nodes);
    items.aspect = ROOM.w / ROOM.h;
    foldToRead(items, ROOM);
    assert.equal(items.folded.size > 0, folds, `${leaves} x ${nodes}`);
    const { block } = layout(items).get(ROOT);
    assert.ok(FONT * zoomToFit(block, ROOM) >= READABLE, `${leaves} x ${nodes}: ${block.w} x ${block.h}`);
    const leaf = items.children(1)[0];
    assert.deepEqual(linesOf(items, leaf), folds ? ["leaf-0", `▸ ${nodes} nodes`] : ["leaf-0"]);
  }
});

test("what was opened last stays open, what was opened before makes way", () => {
  const items = fabric(24, 16);
  items.aspect = ROOM.w / ROOM.h;
  const opened = [];
  foldToRead(items, ROOM, opened);
  const leaves = items.children(1).map(({ id }) => id);
  for (const id of leaves) {
    items.unfold(id);
    opened.push([id]);
    foldToRead(items, ROOM, opened);
    assert.ok(!items.folded.has(id));
    assert.ok(FONT * zoomToFit(layout(items).get(ROOT).block, ROOM) >= READABLE);
  }
  assert.ok(items.folded.has(leaves[0]) && opened.length < leaves.length);
});

test("nothing is unfolded where too much would be drawn", () => {
  const items = fabric(100, 30);
  foldToRead(items, ROOM);
  assert.equal(items.visible().length, 101);
  const nodes = [...items.byId.values()].filter((item) => item.kind === "node").map((item) => item.id);
  assert.deepEqual(items.reveal(nodes, 3000), []);
  assert.equal(items.visible().length, 101);
  assert.equal(items.byItself.size, 100);
  assert.equal(items.reveal(nodes.slice(0, 40), 3000).length, 2);
  assert.equal(items.visible().length, 161);
});

test("labels leave out what nearly all nodes begin with, and lose their middle where they are too long", () => {
  const numbered = Array.from({ length: 10 }, (_, i) => `gpu-a-0${i}`);
  assert.equal(commonStart(numbered, "node"), "gpu-a-");
  assert.equal(commonStart([...numbered.slice(1), "login"], "node"), "gpu-a-");
  assert.equal(commonStart(["a-1", "b-1"], "node"), "");
  assert.equal(commonStart(["rack-00", "rack-01"], "switch"), "");
  assert.equal(commonStart(["dc1-rack-00", "dc1-rack-01"], "switch"), "dc1-");
  const items = fabric(2, 2);
  const [node] = items.children(2);
  assert.equal(labelFor(items, node, 60), "0-0");
  items.set({ ...node, name: "a-very-long-name-of-a-node-017" });
  assert.match(labelFor(items, items.get(node.id), 60), /^a-.*….*017$/);
});

test("a folded switch knows what is broken inside", () => {
  const items = fabric(2, 3);
  const [first, second] = items.children(1);
  items.set({ ...items.children(first.id)[0], failed: true });
  items.set({ ...items.children(second.id)[0], cordoned: true });
  assert.deepEqual(items.holds(1), { nodes: 6, switches: 2, failed: 1, cordoned: 1 });
  assert.deepEqual(items.holds(first.id), { nodes: 3, switches: 0, failed: 1, cordoned: 0 });
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

const placed = (items) => new Map([...layout(items)].map(([id, { x, y }]) => [id, `${x},${y}`]));
const moved = (before, after) => [...after].filter(([id, at]) => before.has(id) && before.get(id) !== at).map(([id]) => id);

test("an edit moves only its item, and undone it is where it was", () => {
  const items = fabric(6, 4);
  const [first, second] = items.children(1).map(({ id }) => id);
  const node = items.children(first)[1];
  const longer = { ...node, name: "a-much-longer-name-than-all-others" };
  for (const [change, wanted] of [
    [() => items.set({ ...node, parent: second }), [node.id]],
    [() => items.set(node), [node.id]],
    [() => items.set(longer), []],
    [() => items.set({ ...items.get(second), name: "another" }), []],
    [() => items.set({ id: 90, kind: "node", name: "new", parent: first }), []],
    [() => items.apply({ set: [], gone: [90, node.id] }), []],
    [() => items.set({ id: 91, kind: "node", name: "node-9-9", parent: first }), []],
  ]) {
    const before = placed(items);
    change();
    assert.deepEqual(moved(before, placed(items)).filter((id) => id !== ROOT), wanted, `after ${change}`);
  }
});

test("what grows pushes its neighbours and keeps their order", () => {
  const items = fabric(6, 4);
  layout(items);
  const rows = () => items.children(1).map(({ id }) => items.places.get(id).block);
  const before = rows().map(({ y }) => rows().filter((other) => other.y < y).length);
  const [first] = items.children(1);
  for (let i = 0; i < 20; i++) items.set({ id: 200 + i, kind: "node", name: `new-${i}`, parent: first.id });
  layout(items);
  assert.deepEqual(rows().map(({ y }) => rows().filter((other) => other.y < y).length), before);
  // No two blocks overlap, and each lies within that of the switch above.
  const all = rows();
  const { block } = items.places.get(1);
  all.forEach((one, i) => {
    assert.ok(one.x >= block.x && one.x + one.w <= block.x + block.w && one.y + one.h <= block.y + block.h);
    for (const other of all.slice(i + 1)) {
      assert.ok(one.x + one.w <= other.x || other.x + other.w <= one.x || one.y + one.h <= other.y || other.y + other.h <= one.y);
    }
  });
});

test("what is folded and unfolded is laid out afresh", () => {
  const items = fabric(6, 7);
  layout(items);
  const steps = [
    () => items.fold(10),
    () => items.set({ id: 91, kind: "node", name: "node-1-8", parent: 10 }),
    () => items.fold(2),
    () => items.unfold(10),
    () => items.reveal([items.children(2)[0].id]),
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
  const rowsOf = (leaves, nodesEach, aspect, folded) => {
    const items = fabric(leaves, nodesEach);
    items.aspect = aspect;
    if (folded) for (const { id } of items.children(1)) items.fold(id);
    const places = layout(items);
    const rows = new Map();
    for (const { id } of items.children(1)) rows.set(places.get(id).block.y, (rows.get(places.get(id).block.y) ?? 0) + 1);
    return [...rows.values()];
  };
  for (const aspect of [0.9, 1.2, 1.7]) {
    for (const nodesEach of [2, 3, 4, 8]) {
      for (const leaves of [4, 16]) {
        for (const folded of [false, true]) {
          const rows = rowsOf(leaves, nodesEach, aspect, folded);
          assert.equal(new Set(rows).size, 1, `${leaves} of ${nodesEach} at ${aspect}${folded ? ", folded" : ""}: ${rows}`);
        }
      }
    }
  }
});

test("what was folded to be read can still be read in a room that is a little smaller", () => {
  for (let leaves = 2; leaves < 40; leaves++) {
    for (const nodesEach of [2, 4, 8]) {
      const items = fabric(leaves, nodesEach);
      foldToRead(items, { w: 600, h: 480 });
      const { block } = layout(items).get(ROOT);
      assert.ok(FONT * zoomToFit(block, { w: 589, h: 469 }) >= READABLE, `${leaves} of ${nodesEach}`);
    }
  }
});

test("after much has come, even what was opened last folds", () => {
  const items = fabric(40, 8);
  const [first] = items.children(1);
  foldToRead(items, { w: 300, h: 300 }, [[first.id]]);
  assert.ok(!items.folded.has(first.id));
  foldToRead(items, { w: 300, h: 300 }, [[first.id]], [], 0);
  assert.ok(items.folded.has(first.id));
});

test("switches that come in twos stand two by two", () => {
  const items = new Items();
  items.aspect = 0.9;
  const leaf = (n) => {
    items.set({ id: 10 * n, kind: "switch", name: `leaf-${n}`, parent: ROOT, tier: 1 });
    for (const i of [1, 2]) items.set({ id: 10 * n + i, kind: "node", name: `node-${n}-${i}`, parent: 10 * n });
  };
  for (const two of [[1, 2], [3, 4]]) {
    two.forEach(leaf);
    layout(items);
  }
  const at = [10, 20, 30, 40].map((id) => items.places.get(id).block);
  assert.deepEqual([new Set(at.map(({ x }) => x)).size, new Set(at.map(({ y }) => y)).size], [2, 2]);
});

test("an edit of most items lays all out afresh, with names by what most begin with now", () => {
  const items = fabric(2, 2);
  const [node] = items.children(items.children(1)[0].id);
  assert.equal(items.startOf("node"), "node-");
  layout(items);
  items.apply({ set: Array.from({ length: 40 }, (_, i) => ({ id: 100 + i, kind: "node", name: `gpu-${i}`, parent: 1 })), gone: [] });
  assert.equal(items.slots.size, 0);
  assert.equal(items.startOf("node"), "gpu-");
  layout(items);
  assert.equal(labelFor(items, node, items.places.get(node.id).block.w), node.name);
});
