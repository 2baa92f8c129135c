// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CurveInfo, Source } from "../source/source.ts";
import { CurveCache, largest, lowest, type Piece, rangeText } from "./charts.ts";

const memory = { kind: "memory", name: "cuda:0 memory", unit: "bytes", process: 0, device: 0, series: ["parameter", "activation", "reserved"] } as CurveInfo;

/** The same values all the time. */
function pieceOf(...values: number[]): Piece {
  return { from: 0, to: 512, values: Float32Array.from({ length: 512 * values.length }, (_, i) => values[i % values.length]), gaps: [] };
}

test("what the allocator reserved is on the axis of memory", () => {
  assert.equal(largest(memory, [pieceOf(30, 20, 100)], { from: 0, to: 512 }), 100);
});

test("an allocator that reserved far more does not flatten the curve", () => {
  assert.equal(largest(memory, [pieceOf(30, 20, 4000)], { from: 0, to: 512 }), 50);
});

test("a counter below zero is on its axis", () => {
  const counter = { ...memory, kind: "counter", unit: "", series: ["value"] } as CurveInfo;
  const view = { from: 0, to: 512 };
  const pieces = [{ ...pieceOf(-3), to: 256 }, { ...pieceOf(8), from: 256 }];
  assert.equal(lowest(counter, pieces, view), -3);
  assert.equal(rangeText(counter, pieces, view), "-3 to 8");
  assert.equal(rangeText(counter, [pieceOf(8)], view), "8");
});

test("few pieces of curves are asked for at once, the newest first", async () => {
  const asked: number[] = [];
  const answers: (() => void)[] = [];
  const ask = (_: number, from: number) => {
    asked.push(from);
    return new Promise<Float32Array>((done) => answers.push(() => done(new Float32Array(512))));
  };
  const trace = { length: 1 << 20, curves: [memory] };
  const curves = new CurveCache({ trace, curve: ask } as unknown as Source, () => {});
  const rest = () => new Promise((done) => setTimeout(done, 0));
  for (const from of [0, 4096, 8192, 12288]) curves.get(0, { from, to: from + 2048 }, 2048);
  assert.equal(asked.length, 0);
  curves.start();
  await rest();
  assert.equal(asked.length, 2);
  assert.equal(Math.max(...asked), asked[0]);
  while (answers.length > 0) {
    answers.shift()?.();
    await rest();
  }
  assert.equal(new Set(asked).size, asked.length);
  assert.ok(asked.includes(0));
});
