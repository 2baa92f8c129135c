// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is drawn over and under the tracks: steps, marks, the selection and its arrows.

import type { Place, Source } from "../source/source.ts";
import * as state from "../state.ts";
import { HEAD } from "./layout.ts";
import type { Stage } from "./timeline.tsx";

/** Whether several processes have steps: then each shows its own, and the axis none. */
export function hasStepsOfSeveral(source: Source): boolean {
  const { steps } = source.trace;
  return steps.some(([, , , , process]) => process !== steps[0][4]);
}

/** Steps as bands, and what was recorded as the paper between. */
export function drawSteps(ctx: CanvasRenderingContext2D, stage: Stage, view: state.Stretch, dark: boolean): void {
  const nsPerPixel = (view.to - view.from) / stage.width;
  const several = hasStepsOfSeveral(stage.source);
  const before = new Map<number, number>();
  ctx.fillStyle = dark ? "#1a1e25" : "#f7f8fa";
  for (const [begin, end, , , process] of stage.source.trace.steps) {
    const i = before.get(process) ?? 0;
    before.set(process, i + 1);
    if (end < view.from || begin > view.to || i % 2 === 1) continue;
    const { top, bottom } = (several ? stage.layout.regions.get(process) : undefined) ?? { top: stage.top, bottom: stage.top + stage.height };
    ctx.fillRect((begin - view.from) / nsPerPixel, top - stage.top, (end - begin) / nsPerPixel, bottom - top);
  }
}

/** One step on an axis of steps. */
export function drawStep(ctx: CanvasRenderingContext2D, left: number, right: number, y: number, number: number, dark: boolean): void {
  if (right - left < 3) return;
  ctx.fillStyle = dark ? "#2b3440" : "#e3e9f1";
  ctx.fillRect(left, y, right - left - 1, 12);
  ctx.fillStyle = dark ? "#cfd7e2" : "#2f3a47";
  if (right - left > 44) ctx.fillText(number >= 0 ? `step ${number}` : "step", left + 4, y + 6.5);
}

/** Steps in the line of their process, if several processes have some. */
export function drawStepsOfProcesses(ctx: CanvasRenderingContext2D, stage: Stage, view: state.Stretch, dark: boolean): void {
  if (!hasStepsOfSeveral(stage.source)) return;
  const nsPerPixel = (view.to - view.from) / stage.width;
  ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const [begin, end, number, , process] of stage.source.trace.steps) {
    const y = (stage.layout.regions.get(process)?.top ?? Number.POSITIVE_INFINITY) - stage.top;
    if (end < view.from || begin > view.to || y < -HEAD || y > stage.height) continue;
    // Folded, the line has more below the steps.
    const below = state.collapsed.value.has(`p${process}`) ? 1 : 7;
    drawStep(ctx, Math.max(0, (begin - view.from) / nsPerPixel), Math.min(stage.width, (end - view.from) / nsPerPixel), y + below, number, dark);
  }
}

/** Instants as small marks at the top of their track, and where recording began and ended as dashed lines. */
export function drawInstants(ctx: CanvasRenderingContext2D, stage: Stage, view: state.Stretch, dark: boolean): void {
  const nsPerPixel = (view.to - view.from) / stage.width;
  const x = (at: number) => (at - view.from) / nsPerPixel;
  ctx.fillStyle = dark ? "#ffb59e" : "#b02a0f";
  for (const instant of stage.source.trace.instants) {
    if (instant.at < view.from || instant.at > view.to) continue;
    const entry = stage.layout.place.get(instant.track);
    if (entry === undefined) continue;
    const y = entry.y - stage.top;
    ctx.beginPath();
    ctx.moveTo(x(instant.at) - 4, y - 1);
    ctx.lineTo(x(instant.at) + 4, y - 1);
    ctx.lineTo(x(instant.at), y + 7);
    ctx.fill();
  }
  ctx.strokeStyle = dark ? "#5b6675" : "#a9b2bd";
  ctx.lineWidth = 1;
  ctx.setLineDash([3, 4]);
  const { windows } = stage.source.trace;
  const several = windows.some(([, , process]) => process !== windows[0][2]);
  for (const [begin, end, process] of windows)
    for (const at of [begin, end]) {
      if (at < view.from || at > view.to) continue;
      const { top, bottom } = (several ? stage.layout.regions.get(process) : undefined) ?? { top: stage.top, bottom: stage.top + stage.height };
      ctx.beginPath();
      ctx.moveTo(Math.round(x(at)) + 0.5, top - stage.top);
      ctx.lineTo(Math.round(x(at)) + 0.5, bottom - stage.top);
      ctx.stroke();
    }
  ctx.setLineDash([]);
}

export function instantAt(stage: Stage, view: state.Stretch, track: number, at: number): { at: number; name: string } | null {
  const near = (5 * (view.to - view.from)) / stage.width;
  return stage.source.trace.instants.find((instant) => instant.track === track && Math.abs(instant.at - at) < near) ?? null;
}

export function rectOf(stage: Stage, place: Place, view: state.Stretch): { x: number; y: number; width: number; height: number } | null {
  const entry = stage.layout.place.get(place.track);
  if (entry === undefined) return null;
  const nsPerPixel = (view.to - view.from) / stage.width;
  return { x: (place.start - view.from) / nsPerPixel, y: entry.y - stage.top + place.row * entry.lane, width: Math.max(place.length / nsPerPixel, 2), height: Math.max(entry.lane - 2, 2) };
}

export function drawMarks(ctx: CanvasRenderingContext2D, stage: Stage, view: state.Stretch, dark: boolean, drag: { from: number; to: number; top: number; bottom: number } | null): void {
  const nsPerPixel = (view.to - view.from) / stage.width;
  const x = (at: number) => (at - view.from) / nsPerPixel;
  ctx.lineWidth = 1;
  for (const mark of state.marks.value) {
    ctx.strokeStyle = ctx.fillStyle = dark ? "#f0c674" : "#9a5b00";
    for (const at of [mark.from, mark.to]) {
      ctx.beginPath();
      ctx.moveTo(Math.round(x(at)) + 0.5, 0);
      ctx.lineTo(Math.round(x(at)) + 0.5, stage.height);
      ctx.stroke();
    }
  }
  const idle = state.idle.value;
  if (idle !== null && idle[4] === state.selected.value?.id) {
    ctx.fillStyle = dark ? "rgb(240 198 116 / 14%)" : "rgb(222 140 40 / 16%)";
    ctx.fillRect(x(idle[0]), 0, Math.max(x(idle[1]) - x(idle[0]), 1), stage.height);
  }
  const area = state.area.value;
  const fill = dark ? "rgb(120 170 255 / 16%)" : "rgb(20 90 200 / 10%)";
  const stroke = dark ? "#8ab4ff" : "#1658b5";
  if (area !== null) {
    for (const track of area.tracks) {
      const entry = stage.layout.place.get(track);
      if (entry === undefined) continue;
      ctx.fillStyle = fill;
      ctx.fillRect(x(area.from), entry.y - stage.top, x(area.to) - x(area.from), entry.height);
    }
    ctx.strokeStyle = stroke;
    for (const at of [area.from, area.to]) {
      ctx.beginPath();
      ctx.moveTo(Math.round(x(at)) + 0.5, 0);
      ctx.lineTo(Math.round(x(at)) + 0.5, stage.height);
      ctx.stroke();
    }
  }
  if (drag !== null) {
    ctx.fillStyle = fill;
    ctx.strokeStyle = stroke;
    const left = x(Math.min(drag.from, drag.to));
    const right = x(Math.max(drag.from, drag.to));
    ctx.fillRect(left, drag.top, right - left, drag.bottom - drag.top);
    ctx.strokeRect(left + 0.5, drag.top + 0.5, right - left, drag.bottom - drag.top);
  }
}

/** The selected span, and arrows to what it is linked to. */
export function drawLinks(ctx: CanvasRenderingContext2D, stage: Stage, view: state.Stretch, dark: boolean): void {
  const span = state.selected.value;
  if (span === null) return;
  const own = rectOf(stage, span, view);
  if (own === null) return;
  ctx.lineWidth = 1.4;
  for (const link of span.links) {
    if (link.how === "parent") continue;
    const other = rectOf(stage, link, view);
    if (other === null) continue;
    const backwards = link.how === "launched by" || link.how === "operator" || link.how === "forward" || link.how === "follows";
    const [a, b] = backwards ? [other, own] : [own, other];
    // What is far to the side is pointed to from within the picture, so that arrows do not run along names.
    const within = (at: number) => Math.min(Math.max(at, -40), stage.width + 40);
    const below = b.y >= a.y;
    drawArrow(ctx, within(a.x + Math.min(a.width, 40) / 2), below ? a.y + a.height : a.y, within(b.x), b.y + b.height / 2, dark ? "#ffd479" : "#8a4b00");
  }
  ctx.strokeStyle = dark ? "#ffffff" : "#0b0d10";
  ctx.lineWidth = 2;
  ctx.strokeRect(Math.max(own.x, -4) + 0.5, own.y - 0.5, Math.min(own.width, stage.width + 8), own.height + 1);
}

function drawArrow(ctx: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number, colour: string): void {
  ctx.strokeStyle = ctx.fillStyle = colour;
  const bend = Math.max(12, Math.min(80, Math.abs(x1 - x0) / 2));
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 1, y1);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x1 - 6, y1 - 3.5);
  ctx.lineTo(x1 - 6, y1 + 3.5);
  ctx.fill();
}
