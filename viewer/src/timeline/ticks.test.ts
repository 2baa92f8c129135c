// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import assert from "node:assert/strict";
import { test } from "node:test";
import { ticks } from "./ticks.ts";

test("ticks are round and not too many", () => {
  const { step, at } = ticks(-13, 1_000_000, 8);
  assert.equal(step, 200_000);
  assert.deepEqual(at, [0, 200_000, 400_000, 600_000, 800_000, 1_000_000].map((t) => t + 0));
});

test("a nanosecond is never divided", () => {
  assert.equal(ticks(0, 3, 10).step, 1);
});
