import assert from "node:assert/strict";
import test from "node:test";
import { heat, speedColours, tierColour } from "./palette.js";

test("tiers have colours of their own, which repeat from the seventh on", () => {
  const colours = [1, 2, 3, 4, 5, 6].map(tierColour);
  assert.equal(new Set(colours).size, 6);
  assert.equal(tierColour(7), colours[0]);
  assert.equal(tierColour(undefined), colours[0]);
});

test("bandwidths are coloured by factors, slowest first; unknown ones not at all", () => {
  assert.deepEqual([...speedColours([400, 100, 0, 200, 400])], [[100, heat(0)], [200, heat(0.5)], [400, heat(1)]]);
  assert.deepEqual([...speedColours([400])], [[400, heat(1)]]);
  assert.equal(speedColours([0]).size, 0);
});

test("the scale runs from dark to light", () => {
  assert.equal(heat(-1), heat(0));
  assert.equal(heat(2), heat(1));
  const sum = (colour) => [1, 3, 5].reduce((all, c) => all + parseInt(colour.slice(c, c + 2), 16), 0);
  assert.ok(sum(heat(0)) < sum(heat(0.5)) && sum(heat(0.5)) < sum(heat(1)));
});
