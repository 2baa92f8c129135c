// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import assert from "node:assert/strict";
import { test } from "node:test";
import { LanePyramid, RectList } from "./pyramid.ts";

/** A lane of bursts with pauses of hours between them. */
function bursts(n: number): { lane: Uint32Array; times: { start: Float64Array; length: Float64Array } } {
  const times = { start: new Float64Array(n), length: new Float64Array(n) };
  let at = 0;
  let seed = 7;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  for (let i = 0; i < n; i++) {
    at += i % 400 === 0 ? 3.6e12 : Math.floor(random() * 900);
    times.start[i] = at;
    times.length[i] = Math.floor(random() * (i % 50 === 0 ? 90_000 : 700));
    at += times.length[i];
  }
  return { lane: Uint32Array.from({ length: n }, (_, i) => i), times };
}

test("counts at every level add up to the spans", () => {
  const { lane, times } = bursts(5000);
  const pyramid = new LanePyramid(lane, times);
  const last = times.start[4999] + times.length[4999];
  for (let level = 0; level <= 46; level++) {
    const rects = new RectList();
    const width = 2 ** level;
    pyramid.addRects(level, 0, (Math.floor(last / width) + 1) * width, 0, rects);
    let count = 0;
    for (let i = 0; i < rects.n; i++) count += rects.count[i];
    assert.equal(count, 5000, `level ${level}`);
  }
});

test("a span of at least one bucket is drawn as itself", () => {
  const { lane, times } = bursts(5000);
  const pyramid = new LanePyramid(lane, times);
  for (const level of [4, 8, 12, 16]) {
    const rects = new RectList();
    pyramid.addRects(level, 0, 2 ** 50, 0, rects);
    let alone = 0;
    for (let i = 0; i < rects.n; i++) if (rects.count[i] === 1 && times.length[rects.span[i]] >= 2 ** level) alone++;
    assert.equal(alone, times.length.filter((length) => length >= 2 ** level).length);
  }
});
