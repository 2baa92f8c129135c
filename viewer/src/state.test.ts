// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Source, TraceInfo } from "./source/source.ts";
import * as state from "./state.ts";

const trace = { processes: [], tracks: [{}, {}, {}], curves: [], steps: [], instants: [], windows: [], length: 1_000_000 } as unknown as TraceInfo;
const source = { trace, cut: null, of: 0 } as unknown as Source;

test("what the address says is what is shown, and the same address again", () => {
  const addresses = [
    "t=1000,5000",
    "t=1000,5000&span=7&q=gemm%20dur%20%3E%201ms&pin=t1&fold=t2.c0&tracks=python%202&order=name&marks=5,10,70,20",
    "t=1000,5000&area=10,20,0.2",
    "t=1000,5000&view=operators&by=shape&all=1&rows=aten%3A%3Amm&sort=4,1",
    "t=1000,5000&view=kernels&rows=a%26b&sort=-1,0",
    "t=1000,5000&view=flame&flame=device&box=12",
    "t=1000,5000&view=memory&device=cuda:0&moment=123456",
  ];
  for (const address of addresses) {
    const restored = state.restore(address, source);
    state.selected.value = restored.span >= 0 ? ({ id: restored.span } as typeof state.selected.value) : null;
    state.area.value = restored.area;
    assert.equal(state.stateText(), address);
  }
});

test("an address that makes no sense shows the whole trace", () => {
  for (const address of ["t=nonsense&area=1&marks=x", "t=5,-1&span=&moment=-3&box=1e9&sort=a", "%%%", "t=,&&&=", "area=9,9,77"]) {
    state.restore(address, source);
    state.selected.value = null;
    state.area.value = null;
    assert.deepEqual(state.stretch.value, state.wholeOf(source), address);
    assert.equal(state.stateText(false), "", address);
  }
});

test("moving is undone step by step, and a drag of many moves at once", () => {
  state.restore("t=1000,5000", source);
  state.goTo({ from: 2000, to: 3000 }, source);
  for (let i = 0; i < 10; i++) state.moveTo({ from: 2000 + i, to: 3000 + i }, source);
  assert.deepEqual(state.stretch.value, { from: 2009, to: 3009 });
  assert.ok(state.undo());
  assert.deepEqual(state.stretch.value, { from: 2000, to: 3000 });
  assert.ok(state.undo());
  assert.deepEqual(state.stretch.value, { from: 1000, to: 6000 });
});
