// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseQuery } from "./query.ts";

test("words, kinds, arguments and lengths are told apart", () => {
  const query = parseQuery('gemm kind:kernel arg:64 dur > 1ms dur<=2s "two words"');
  assert.deepEqual(query.names, ["gemm", "two words"]);
  assert.deepEqual(query.kinds, ["kernel"]);
  assert.deepEqual(query.arguments, ["64"]);
  assert.equal(query.least, 1_000_001);
  assert.equal(query.most, 2_000_000_000);
});

test("a length without a number is an error that says what to write", () => {
  assert.throws(() => parseQuery("dur > soon"), /length of time/);
  assert.throws(() => parseQuery("dur >"), /1ms/);
});

test("brackets within names are part of the name", () => {
  assert.deepEqual(parseQuery("kernel<4>").names, ["kernel<4>"]);
});
