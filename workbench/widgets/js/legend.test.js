import assert from "node:assert/strict";
import test from "node:test";
import { legendEntries } from "./legend.js";
import { heat, tierColour } from "./palette.js";

const texts = (entries) => entries.map(({ text }) => text);

test("only what is drawn is explained, tiers from the smallest", () => {
  const nodes = [{ kind: "switch", tier: 3 }, { kind: "switch", tier: 1 }, { kind: "node", gpus: 8 }];
  assert.deepEqual(texts(legendEntries(nodes, [])), ["tier 1", "tier 3", "node with GPUs"]);
  assert.equal(legendEntries(nodes, [])[0].colour, tierColour(1));
  assert.deepEqual(legendEntries([], []), []);
});

test("states and findings are named once each", () => {
  const nodes = [{ kind: "node", gpus: 0, cordoned: true, finding: "warning" }, { kind: "node", gpus: 0, failed: true, finding: "warning" }];
  assert.deepEqual(texts(legendEntries(nodes, [])), ["node without GPUs", "cordoned", "failed", "has a warning"]);
});

test("GPUs in use are explained where there are any", () => {
  const nodes = [{ kind: "switch", tier: 1, used: 3, of: 16 }, { kind: "node", gpus: 8, used: 3, of: 8 }];
  assert.deepEqual(texts(legendEntries(nodes, [])), ["tier 1", "node with GPUs", "GPUs in use"]);
});

test("bandwidths have ordered colours; of many, three are named", () => {
  const few = legendEntries([], [100, 400, 0, 400]);
  assert.deepEqual(few.map(({ text, colour }) => [text, colour]), [["100 Gbit/s", heat(0)], ["400 Gbit/s", heat(1)]]);
  assert.deepEqual(texts(legendEntries([], [1, 2, 3, 4, 5, 6, 7])), ["1 Gbit/s", "4 Gbit/s", "7 Gbit/s"]);
});
