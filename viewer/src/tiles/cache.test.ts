// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Source } from "../source/source.ts";
import { TileCache } from "./cache.ts";

test("a server that does not answer is asked once for each picture, not again and again", async () => {
  let asked = 0;
  const errors: string[] = [];
  const tiles = () => {
    asked++;
    return Promise.reject(new Error("gone"));
  };
  const draw = () => cache.want([0, 1], { level: 4, first: 0, last: 1 });
  const cache: TileCache = new TileCache({ tiles } as unknown as Source, draw, (error) => errors.push(error.message));
  draw();
  await new Promise((done) => setTimeout(done, 5));
  assert.equal(asked, 1);
  assert.deepEqual(errors, ["gone"]);
  assert.equal(cache.pending, 0);
  draw();
  await new Promise((done) => setTimeout(done, 5));
  assert.equal(asked, 2);
});
