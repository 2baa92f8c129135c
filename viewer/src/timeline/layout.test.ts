// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TraceInfo, TrackInfo } from "../source/source.ts";
import { makeLayout, type TrackOrder } from "./layout.ts";

const track = (kind: string, name: string, id: number, spans: number): TrackInfo => ({ kind, name, id, spans, rows: 1, process: 0, device: kind === "stream" ? 0 : -1, sort: 0 });

const trace = {
  processes: [{ pid: 1, name: "python3", label: "", rank: -1, clock_error: -1, sort: 0 }],
  tracks: [track("thread", "worker 10", 7, 5), track("thread", "main", 9, 50), track("stream", "", 20, 1), track("thread", "worker 9", 8, 90), track("stream", "", 7, 3)],
  curves: [],
  instants: [],
} as unknown as TraceInfo;

function titles(order: TrackOrder, filter = ""): string[] {
  const { entries } = makeLayout(trace, { pinned: new Set(), collapsed: new Set(), filter, order });
  return entries.filter((entry) => entry.kind === "track").map((entry) => entry.title);
}

test("devices come first, then threads in the order that was chosen", () => {
  assert.deepEqual(titles("busiest"), ["GPU 0 · stream 7", "GPU 0 · stream 20", "worker 9", "main", "worker 10"]);
  assert.deepEqual(titles("name"), ["GPU 0 · stream 7", "GPU 0 · stream 20", "main", "worker 9", "worker 10"]);
  assert.deepEqual(titles("number"), ["GPU 0 · stream 7", "GPU 0 · stream 20", "worker 10", "worker 9", "main"]);
});

test("a filter keeps what has all of its words", () => {
  assert.deepEqual(titles("busiest", "work 10"), ["worker 10"]);
});
