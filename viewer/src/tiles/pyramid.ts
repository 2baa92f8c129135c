// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lane at every zoom, as src/view/timeline/pyramid.h draws and explains it: the same cells and rectangles, bit by bit.
// Numbers are exact: times are whole and below 2^53, places are floats of a difference times a power of two.

import { MOST_LEVEL } from "../source/source.ts";

const SPANS_PER_CELL = 16;
const TOP_CELLS = 64;
const FEW_SPANS = 64;
const BUCKET_BITS = 31;

export interface Times {
  start: Float64Array;
  length: Float64Array;
}

interface Cells {
  n: number;
  bucket: Float64Array;
  first: Uint32Array;
  longest: Uint32Array;
  busy: Float32Array;
}

/** Collects the columns of tiles. */
export class RectList {
  n = 0;
  begin = new Float32Array(256);
  end = new Float32Array(256);
  span = new Uint32Array(256);
  count = new Uint32Array(256);
  look = new Uint32Array(256);

  add(begin: number, end: number, span: number, count: number, row: number, cover: number): void {
    if (this.n === this.begin.length) this.grow();
    const i = this.n++;
    this.begin[i] = begin;
    this.end[i] = end;
    this.span[i] = span;
    this.count[i] = count;
    this.look[i] = row | (cover << 16);
  }

  private grow(): void {
    const size = this.n * 2;
    const larger = <T extends Float32Array | Uint32Array>(old: T, made: T): T => {
      made.set(old);
      return made;
    };
    this.begin = larger(this.begin, new Float32Array(size));
    this.end = larger(this.end, new Float32Array(size));
    this.span = larger(this.span, new Uint32Array(size));
    this.count = larger(this.count, new Uint32Array(size));
    this.look = larger(this.look, new Uint32Array(size));
  }
}

/** How many bits the number has. */
function bitsOf(value: number): number {
  const high = Math.floor(value / 2 ** 32);
  return high > 0 ? 64 - Math.clz32(high) : 32 - Math.clz32(value);
}

function baseLevel(lane: Uint32Array, times: Times): number {
  const count = new Float64Array(64);
  const sum = new Float64Array(64);
  for (let i = 1; i < lane.length; i++) {
    const gap = times.start[lane[i]] - times.start[lane[i - 1]];
    const bits = bitsOf(gap);
    count[bits]++;
    sum[bits] += gap;
  }
  const least = Math.max(0, bitsOf(times.start[lane[lane.length - 1]]) - BUCKET_BITS);
  let short = 0;
  let longer = 0;
  for (const of of count) longer += of;
  for (let level = 0; level < MOST_LEVEL; level++) {
    short += sum[level];
    longer -= count[level];
    if (level >= least && longer + short / 2 ** level <= lane.length / SPANS_PER_CELL) return level;
  }
  return MOST_LEVEL;
}

class CellMaker {
  private readonly out: Cells;
  private longest = 0;
  private wasAlone = true;

  constructor(
    most: number,
    private readonly width: number,
    private readonly times: Times,
  ) {
    this.out = { n: 0, bucket: new Float64Array(most), first: new Uint32Array(most), longest: new Uint32Array(most), busy: new Float32Array(most) };
  }

  add(bucket: number, first: number, longest: number, busy: number): void {
    const out = this.out;
    const length = this.times.length[longest];
    const alone = length >= this.width;
    const last = out.n - 1;
    if (alone || this.wasAlone || out.bucket[last] !== bucket) {
      out.bucket[out.n] = bucket;
      out.first[out.n] = first;
      out.longest[out.n] = longest;
      out.busy[out.n++] = busy;
      this.longest = length;
    } else {
      out.busy[last] += busy;
      if (length > this.longest) {
        this.longest = length;
        out.longest[last] = longest;
      }
    }
    this.wasAlone = alone;
  }

  take(): Cells {
    const { n, bucket, first, longest, busy } = this.out;
    return { n, bucket: bucket.slice(0, n), first: first.slice(0, n), longest: longest.slice(0, n), busy: busy.slice(0, n) };
  }
}

function coverOf(busy: number, length: number): number {
  const f = Math.fround;
  const part = length > 0 ? f(f(f(busy) * f(255)) / f(length)) : 255;
  return Math.floor(Math.min(255, Math.max(1, part)));
}

export class LanePyramid {
  private base = 0;
  private readonly levels: Cells[] = [];

  constructor(
    private readonly lane: Uint32Array,
    private readonly times: Times,
  ) {
    if (lane.length < FEW_SPANS) return;
    this.base = baseLevel(lane, times);
    const width = 2 ** this.base;
    const base = new CellMaker(lane.length, width, times);
    for (let i = 0; i < lane.length; i++) base.add(Math.floor(times.start[lane[i]] / width), i, lane[i], Math.fround(times.length[lane[i]]));
    this.levels.push(base.take());
    for (let fine = this.levels[0]; fine.n > TOP_CELLS; fine = this.levels[this.levels.length - 1]) {
      const level = this.base + this.levels.length;
      if (level > MOST_LEVEL) break;
      const up = new CellMaker(fine.n, 2 ** level, times);
      for (let i = 0; i < fine.n; i++) up.add(Math.floor(fine.bucket[i] / 2), fine.first[i], fine.longest[i], fine.busy[i]);
      this.levels.push(up.take());
    }
  }

  addRects(level: number, from: number, to: number, row: number, out: RectList): void {
    if (this.levels.length === 0 || level < this.base) this.addSpans(level, from, to, row, out);
    else this.addCells(level, from, to, row, out);
  }

  private addSpans(level: number, from: number, to: number, row: number, out: RectList): void {
    const { lane, times } = this;
    const bucket = 2 ** level;
    const place = (at: number) => Math.fround(Math.fround(at - from) / bucket);
    const endOf = (i: number) => times.start[lane[i]] + times.length[lane[i]];
    let i = 0;
    for (let high = lane.length; i < high; ) {
      const middle = (i + high) >>> 1;
      if (times.start[lane[middle]] < from) i = middle + 1;
      else high = middle;
    }
    if (i > 0 && endOf(i - 1) > from) i--;
    while (i < lane.length) {
      const begin = times.start[lane[i]];
      if (begin >= to) break;
      let end = endOf(i);
      let span = lane[i];
      let count = 1;
      let longest = end - begin;
      let busy = Math.fround(longest);
      const edge = (Math.floor(begin / bucket) + 1) * bucket;
      i++;
      for (; longest < bucket && i < lane.length; i++) {
        const length = times.length[lane[i]];
        if (times.start[lane[i]] >= edge || length >= bucket) break;
        end = endOf(i);
        busy = Math.fround(busy + Math.fround(length));
        count++;
        if (length > longest) {
          longest = length;
          span = lane[i];
        }
      }
      out.add(place(begin), place(end), span, count, row, count > 1 ? coverOf(busy, end - begin) : 255);
    }
  }

  private addCells(level: number, from: number, to: number, row: number, out: RectList): void {
    const { times } = this;
    const up = Math.min(level - this.base, this.levels.length - 1);
    const cells = this.levels[up];
    const width = 2 ** (this.base + up);
    const bucket = 2 ** level;
    const place = (at: number) => Math.fround(Math.fround(at - from) / bucket);
    const countOf = (i: number) => (i + 1 === cells.n ? this.lane.length : cells.first[i + 1]) - cells.first[i];
    const endOf = (span: number) => times.start[span] + times.length[span];
    const wanted = Math.floor(from / width);
    let i = 0;
    for (let high = cells.n; i < high; ) {
      const middle = (i + high) >>> 1;
      if (cells.bucket[middle] < wanted) i = middle + 1;
      else high = middle;
    }
    if (i > 0 && countOf(i - 1) === 1 && endOf(cells.longest[i - 1]) > from) i--;
    for (; i < cells.n; i++) {
      const begin = cells.bucket[i] * width;
      if (begin >= to) break;
      const span = cells.longest[i];
      const count = countOf(i);
      if (count === 1 && cells.busy[i] >= width) out.add(place(times.start[span]), place(endOf(span)), span, 1, row, 255);
      else if (count === 1) out.add(place(begin), place(begin) + cells.busy[i] / bucket, span, 1, row, 255);
      else out.add(place(begin), place(begin + width), span, count, row, coverOf(cells.busy[i], width));
    }
  }
}
