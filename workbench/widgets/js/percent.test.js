import assert from "node:assert/strict";
import { test } from "node:test";
import { percent } from "./percent.js";

test("only what is as good as the best has 100 %", () => {
  assert.deepEqual([0, 0.496, 0.9981, 1].map(percent), ["0 %", "50 %", "99 %", "100 %"]);
});
