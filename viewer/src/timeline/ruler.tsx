// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The axis of time, with the whole trace above it: drag on either to see that stretch.

import { type ReadonlySignal, type Signal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { momentText } from "../format.ts";
import type { Source } from "../source/source.ts";
import * as state from "../state.ts";
import { levelOf, rangeOf, type TileCache } from "../tiles/cache.ts";
import type { Layout } from "./layout.ts";
import { drawStep, hasStepsOfSeveral } from "./overlay.ts";
import { ticks } from "./ticks.ts";

const MAP = 22;
const AXIS = 30;
const MOST_MAPPED = 12;

interface Props {
  source: Source;
  tiles: TileCache;
  layout: ReadonlySignal<Layout>;
  redraw: Signal<number>;
  size: ReadonlySignal<{ width: number; height: number }>;
}

export function Ruler({ source, tiles, layout, redraw, size }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const press = useRef<{ at: number; x: number; onMap: boolean } | null>(null);
  useSignalEffect(() => {
    redraw.value;
    if (size.value.width > 0) draw(canvas.current!, source, tiles, layout.value);
  });
  const timeAt = (event: PointerEvent & { currentTarget: HTMLCanvasElement }, onMap: boolean) => {
    const view = onMap ? state.wholeOf(source) : state.stretch.value;
    return view.from + ((view.to - view.from) * event.offsetX) / event.currentTarget.clientWidth;
  };
  return (
    <canvas
      class="ruler"
      ref={canvas}
      role="img"
      aria-label="The axis of time, with the whole trace above it"
      onPointerDown={(event) => {
        const onMap = event.offsetY < MAP;
        event.currentTarget.setPointerCapture(event.pointerId);
        press.current = { at: timeAt(event, onMap), x: event.offsetX, onMap };
      }}
      onPointerUp={(event) => {
        const was = press.current;
        press.current = null;
        if (was === null) return;
        const at = timeAt(event, was.onMap);
        const { from, to } = state.stretch.value;
        if (Math.abs(event.offsetX - was.x) > 4) state.goTo({ from: Math.min(at, was.at), to: Math.max(at, was.at) }, source);
        else if (was.onMap) state.goTo({ from: at - (to - from) / 2, to: at + (to - from) / 2 }, source);
      }}
    />
  );
}

function draw(canvas: HTMLCanvasElement, source: Source, tiles: TileCache, layout: Layout): void {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round((MAP + AXIS) * ratio);
  const ctx = canvas.getContext("2d")!;
  ctx.scale(ratio, ratio);
  const dark = state.theme.value === "dark";
  drawMap(ctx, source, tiles, layout, width, dark);
  drawAxis(ctx, source, width, dark);
}

// The whole trace: where something ran, and where we are.
function drawMap(ctx: CanvasRenderingContext2D, source: Source, tiles: TileCache, layout: Layout, width: number, dark: boolean): void {
  const whole = state.wholeOf(source);
  const nsPerPixel = (whole.to - whole.from) / width;
  const level = levelOf(nsPerPixel * 2, source.trace.length);
  const shown = layout.entries.flatMap((entry) => (entry.kind === "track" ? [entry.track] : []));
  const tracks = (shown.length > 0 ? shown : source.trace.tracks.flatMap((track, i) => (track.spans > 0 ? [i] : []))).slice(0, MOST_MAPPED);
  tiles.want(tracks, rangeOf(level, 0, source.trace.length));
  const heat = new Float32Array(width);
  let filled = 0;
  for (const track of tracks) {
    const found = tiles.best(track, level, 0, source.trace.length);
    if (found === null) continue;
    filled++;
    for (const tile of found) {
      const bucket = 2 ** tile.level;
      for (let i = 0; i < tile.n; i++) {
        if ((tile.look[i] & 0xffff) > 1) continue;
        const base = tile.tile * 1024 * bucket;
        const a = Math.max(0, Math.floor((base + tile.begin[i] * bucket - whole.from) / nsPerPixel));
        const b = Math.min(width - 1, Math.floor((base + tile.end[i] * bucket - whole.from) / nsPerPixel));
        const part = ((tile.look[i] >>> 16) & 255) / 255;
        for (let x = a; x <= b; x++) heat[x] += part;
      }
    }
  }
  const most = Math.max(1, filled * 2);
  ctx.fillStyle = dark ? "#5d7f9f" : "#9dbdd8";
  for (let x = 0; x < width; x++) {
    const size = Math.min(1, heat[x] / most) * (MAP - 5);
    if (size > 0) ctx.fillRect(x, MAP - 2 - Math.max(size, 1), 1, Math.max(size, 1));
  }
  const { from, to } = state.stretch.value;
  const a = (from - whole.from) / nsPerPixel;
  const b = Math.max((to - whole.from) / nsPerPixel, a + 2);
  ctx.fillStyle = dark ? "rgb(0 0 0 / 45%)" : "rgb(110 120 135 / 22%)";
  ctx.fillRect(0, 0, a, MAP);
  ctx.fillRect(b, 0, width - b, MAP);
  ctx.strokeStyle = dark ? "#8ab4ff" : "#1658b5";
  ctx.strokeRect(a + 0.5, 0.5, Math.max(1, b - a - 1), MAP - 1);
}

function drawAxis(ctx: CanvasRenderingContext2D, source: Source, width: number, dark: boolean): void {
  const { from, to } = state.stretch.value;
  const nsPerPixel = (to - from) / width;
  const x = (at: number) => (at - from) / nsPerPixel;
  ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const { step, at } = ticks(Math.max(0, from), Math.min(to, source.trace.length * 1.02), width / 110);
  for (const time of at) {
    ctx.fillStyle = dark ? "#39414d" : "#d3d8df";
    ctx.fillRect(Math.round(x(time)), MAP + 15, 1, AXIS - 15);
    ctx.fillStyle = dark ? "#aab4c2" : "#4c5561";
    const text = momentText(time, step);
    if (x(time) + 4 + ctx.measureText(text).width <= width) ctx.fillText(text, Math.round(x(time)) + 4, MAP + 22);
  }
  if (hasStepsOfSeveral(source)) return;
  for (const [begin, end, number] of source.trace.steps)
    if (end >= from && begin <= to) drawStep(ctx, Math.max(0, x(begin)), Math.min(width, x(end)), MAP + 2, number, dark);
}
