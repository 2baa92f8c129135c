// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a time axis has its ticks.

/** 1, 2 or 5 times a power of ten. */
export function tickStep(length: number, most: number): number {
  const least = length / Math.max(most, 1);
  const scale = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  const step = [1, 2, 5, 10].find((factor) => factor * scale >= least) ?? 10;
  return Math.max(1, step * scale);
}

export function ticks(from: number, to: number, most: number): { step: number; at: number[] } {
  const step = tickStep(to - from, most);
  const at: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) at.push(Math.round(t / step) * step + 0);
  return { step, at };
}
