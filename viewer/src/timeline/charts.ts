// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Curves above the tracks, in pieces that are asked for once: memory as a stack, the rest as one area, and the causes of
// idle time below the curve of a device.

import { seriesColour } from "../colours.ts";
import { bytesText, timeText } from "../format.ts";
import type { CurveInfo, Gap, Source } from "../source/source.ts";
import type { Stretch } from "../state.ts";

const PIECE = 512;
const MOST_PIECES = 600;
/** Of pieces that are asked for: a browser has six connections to a server, and spans come first. */
const MOST_AT_ONCE = 2;
export const CAUSES = ["The device waited for the host", "The device's own delay between two pieces of work", "It waited for something else, or its launch is not known"];
export const DOINGS = ["communicated with other ranks", "had waited for the device", "was running operators", "was in the program's own code"];
/** As the Overview colours them (style.css). */
const IDLE = ["--wait0", "--wait1", "--wait2", "--wait3", "--delay", "--other"];
/** Kinds of idle stretches in a few words: of a gap, idleKind() says which. */
export const IDLE_NAMES = ["host communicated", "host had waited for it", "host ran operators", "host ran other code", "its own delay", "something else"];

function idleKind(gap: Gap): number {
  return gap[2] === 0 ? gap[3] : gap[2] + 3;
}

/** For a style: follows the theme by itself. */
export function idleStyle(kind: number): string {
  return `var(${IDLE[kind]})`;
}

function idleColour(kind: number): string {
  return getComputedStyle(document.documentElement).getPropertyValue(IDLE[kind]);
}

/** Why a device idled, as a sentence. */
export function idleText(gap: Gap): string {
  return `Idle for ${timeText(gap[1] - gap[0])}. ${CAUSES[gap[2]]}${gap[2] === 0 ? `, which ${DOINGS[gap[3]]}` : ""}.`;
}

export interface Piece {
  from: number;
  to: number;
  values: Float32Array;
  gaps: Gap[];
}

export class CurveCache {
  private readonly pieces = new Map<string, Piece | null>();
  /** What is to be asked for, the newest last: that is what is looked at. */
  private readonly wanted: [key: string, curve: number, from: number, to: number][] = [];
  private running = 0;
  private started = false;

  constructor(
    private readonly source: Source,
    private readonly changed: () => void,
  ) {}

  /** The pieces that cover the view; those that are missing are asked for. */
  get(curve: number, view: Stretch, width: number): Piece[] {
    const bucket = 2 ** Math.max(0, Math.ceil(Math.log2(((view.to - view.from) / width) * 1.5)));
    const size = bucket * PIECE;
    const out: Piece[] = [];
    const last = Math.min(view.to, this.source.trace.length);
    for (let i = Math.max(0, Math.floor(view.from / size)); i * size <= last; i++) {
      const key = `${curve}:${bucket}:${i}`;
      const piece = this.pieces.get(key);
      if (piece === undefined) this.want(key, curve, i * size, (i + 1) * size);
      if (piece) out.push(piece);
    }
    return out;
  }

  /** Whether pieces of a curve were asked for and have not come. */
  isWaiting(curve: number): boolean {
    for (const [key, piece] of this.pieces) if (piece === null && key.startsWith(`${curve}:`)) return true;
    return false;
  }

  private want(key: string, curve: number, from: number, to: number): void {
    this.pieces.set(key, null);
    const oldest = this.pieces.keys().next().value;
    if (this.pieces.size > MOST_PIECES && oldest !== undefined) this.pieces.delete(oldest);
    this.wanted.push([key, curve, from, to]);
    this.askForMore();
  }

  /** Curves wait until then: the first picture of the spans comes before them. */
  start(): void {
    this.started = true;
    this.askForMore();
  }

  private askForMore(): void {
    while (this.started && this.running < MOST_AT_ONCE) {
      const next = this.wanted.pop();
      if (next === undefined) return;
      // Nobody has looked at it for long.
      if (!this.pieces.has(next[0])) continue;
      this.running++;
      void this.fetch(...next).finally(() => {
        this.running--;
        this.askForMore();
      });
    }
  }

  private async fetch(key: string, curve: number, from: number, to: number): Promise<void> {
    const isBusy = this.source.trace.curves[curve].kind === "busy";
    try {
      const [values, gaps] = await Promise.all([this.source.curve(curve, from, to, PIECE), isBusy ? this.source.gaps(curve, from, to, PIECE) : Promise.resolve([])]);
      this.pieces.set(key, { from, to, values, gaps });
      this.changed();
    } catch {
      this.pieces.delete(key);
    }
  }
}

/** A memory curve's last series is not part of the stack. */
function stackedSeries(info: CurveInfo): number {
  return info.kind === "memory" ? info.series.length - 1 : info.series.length;
}

/** An allocator that reserved more than so many times what was live does not flatten the curve; its line is above the picture then. */
const MOST_RESERVED = 3;

/** What the top of a curve stands for. */
export function largest(info: CurveInfo, pieces: Piece[], view: Stretch): number {
  if (info.kind === "busy") return 100;
  const series = info.series.length;
  const stacked = stackedSeries(info);
  let most = 0;
  let reserved = 0;
  for (const piece of pieces) {
    const per = (piece.to - piece.from) / PIECE;
    for (let i = 0; i < PIECE; i++) {
      const at = piece.from + i * per;
      if (at + per < view.from || at > view.to) continue;
      let sum = 0;
      for (let s = 0; s < stacked; s++) sum += piece.values[i * series + s] || 0;
      most = Math.max(most, sum);
      if (stacked < series) reserved = Math.max(reserved, piece.values[i * series + stacked] || 0);
    }
  }
  return reserved > most && reserved <= most * MOST_RESERVED ? reserved : most;
}

/** What the bottom of a curve stands for: counters may be below 0. */
export function lowest(info: CurveInfo, pieces: Piece[], view: Stretch): number {
  let least = 0;
  for (const piece of info.kind === "counter" ? pieces : []) {
    const per = (piece.to - piece.from) / PIECE;
    for (let i = 0; i < PIECE; i++) {
      const at = piece.from + i * per;
      if (at + per >= view.from && at <= view.to && piece.values[i] < least) least = piece.values[i];
    }
  }
  return least;
}

/** From where to where a curve goes, in words. */
export function rangeText(info: CurveInfo, pieces: Piece[], view: Stretch): string {
  const least = lowest(info, pieces, view);
  const most = valueText(info, largest(info, pieces, view));
  return least < 0 ? `${valueText(info, least)} to ${most}` : most;
}

export function drawCurve(ctx: CanvasRenderingContext2D, info: CurveInfo, pieces: Piece[], view: Stretch, width: number, y: number, height: number, dark: boolean): void {
  const least = lowest(info, pieces, view);
  const most = largest(info, pieces, view) || (least < 0 ? 0 : 1);
  const series = info.series.length;
  const stacked = stackedSeries(info);
  const nsPerPixel = (view.to - view.from) / width;
  const idle = info.kind === "busy" ? IDLE.map((_, i) => idleColour(i)) : [];
  const base = info.kind === "busy" ? y + height - 7 : y + height - 1;
  const room = base - y - 2;
  const scale = room / (most - least);
  const zero = base + least * scale;
  ctx.save();
  ctx.beginPath();
  ctx.rect(0, y, width, height);
  ctx.clip();
  for (const piece of pieces) {
    const per = (piece.to - piece.from) / PIECE;
    for (let i = 0; i < PIECE; i++) {
      const x = (piece.from + i * per - view.from) / nsPerPixel;
      const next = (piece.from + (i + 1) * per - view.from) / nsPerPixel;
      if (next < 0 || x > width) continue;
      let top = zero;
      for (let s = 0; s < stacked; s++) {
        const value = piece.values[i * series + s];
        if (!(value > 0 || value < 0)) continue;
        const size = Math.abs(value) * scale;
        ctx.fillStyle = stacked === 1 ? seriesColour(info.kind === "busy" ? 2 : info.kind === "queue" ? 0 : 6, dark) : seriesColour(s, dark);
        const left = Math.round(x);
        ctx.fillRect(left, value > 0 ? top - size : zero, Math.max(Math.round(next) - left, 1), size);
        if (value > 0) top -= size;
      }
    }
    for (const gap of piece.gaps) {
      const x = (gap[0] - view.from) / nsPerPixel;
      ctx.fillStyle = idle[idleKind(gap)];
      ctx.fillRect(x, base + 1, Math.max((gap[1] - gap[0]) / nsPerPixel - 1, 1), 5);
    }
  }
  if (info.kind === "memory") drawReserved(ctx, info, pieces, view, nsPerPixel, base, room, most, dark);
  ctx.restore();
}

// The allocator's own total as a line, where it is within the picture.
function drawReserved(ctx: CanvasRenderingContext2D, info: CurveInfo, pieces: Piece[], view: Stretch, nsPerPixel: number, base: number, room: number, most: number, dark: boolean): void {
  const series = info.series.length;
  ctx.strokeStyle = dark ? "#d7dde5" : "#39424e";
  ctx.setLineDash([4, 3]);
  ctx.beginPath();
  for (const piece of pieces) {
    const per = (piece.to - piece.from) / PIECE;
    for (let i = 0; i < PIECE; i++) {
      const value = piece.values[i * series + series - 1];
      if (!(value > 0) || value > most) continue;
      const x = (piece.from + i * per - view.from) / nsPerPixel;
      const y = base - (value / most) * room;
      ctx.lineTo(x, y);
    }
  }
  ctx.stroke();
}

export function valueText(info: CurveInfo, value: number): string {
  if (info.unit === "bytes") return bytesText(value);
  if (info.unit === "%") return `${value.toFixed(0)} %`;
  return Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(4);
}

/** The values of each series at a time. */
export function valuesAt(info: CurveInfo, pieces: Piece[], at: number): { name: string; value: number }[] {
  const piece = pieces.find((one) => at >= one.from && at < one.to);
  if (piece === undefined) return [];
  const i = Math.floor(((at - piece.from) / (piece.to - piece.from)) * PIECE);
  const series = info.series.length;
  return info.series.map((name, s) => ({ name, value: piece.values[i * series + s] })).filter(({ value }) => !Number.isNaN(value));
}

export function gapAt(pieces: Piece[], at: number): Gap | null {
  for (const piece of pieces) for (const gap of piece.gaps) if (at >= gap[0] && at < gap[1]) return gap;
  return null;
}
