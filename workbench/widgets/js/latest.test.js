import assert from "node:assert/strict";
import { test } from "node:test";
import { entryAt, latest, moved } from "./latest.js";

test("of what comes while one is under way only the last is sent", async () => {
  const sent = [];
  const release = [];
  const offer = latest((value) => {
    sent.push(value);
    return new Promise((resolve) => release.push(resolve));
  });
  const all = offer(1);
  offer(2);
  offer(3);
  assert.deepEqual(sent, [1]);
  release[0]();
  await new Promise(setImmediate);
  assert.deepEqual(sent, [1, 3]);
  release[1]();
  await all;
  offer(4);
  assert.deepEqual(sent, [1, 3, 4]);
});

test("after a failure the next one is sent", async () => {
  const sent = [];
  const offer = latest(async (value) => {
    sent.push(value);
    if (value === 1) throw new Error("no");
  });
  await assert.rejects(offer(1));
  await offer(2);
  assert.deepEqual(sent, [1, 2]);
});

test("the entry under a point", () => {
  const box = { left: 10, top: 20, width: 80, height: 80 };
  assert.deepEqual(entryAt(box, 10, 20, 8), { row: 0, column: 0 });
  assert.deepEqual(entryAt(box, 89, 35, 8), { row: 1, column: 7 });
  assert.equal(entryAt(box, 95, 35, 8), null);
  assert.equal(entryAt(box, 5, 35, 8), null);
});

test("arrows move inside the grid only", () => {
  assert.equal(moved("ArrowRight", 3, 8, 4), 4);
  assert.equal(moved("ArrowDown", 3, 8, 4), 7);
  assert.equal(moved("ArrowDown", 5, 8, 4), 5);
  assert.equal(moved("ArrowUp", 1, 8, 4), 1);
  assert.equal(moved("End", 1, 8, 4), 7);
  assert.equal(moved("Home", 5, 8, 4), 0);
  assert.equal(moved("x", 1, 8, 4), -1);
});
