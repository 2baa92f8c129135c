// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws tracks: one row of pixels for each lane, stretched to its height, then labels. A hundred thousand rectangles take
// a few milliseconds this way, also without a GPU.

import { type Palette, paletteIndex } from "../colours.ts";
import { narrowName, shortName } from "../format.ts";
import { TILE_BUCKETS, type Tile } from "../source/source.ts";
import type { Stretch } from "../state.ts";
import { LANE } from "./layout.ts";

const LEAST_LABEL = 26;
const MOST_LABELS = 700;
/** In pixels: what is narrower is drawn in stronger colours. */
const NARROW = 4;
const FONT = '11px system-ui, "DejaVu Sans", sans-serif';

interface Line {
  y: number;
  height: number;
}

interface Label {
  x: number;
  width: number;
  y: number;
  name: number;
  dim: boolean;
}

/** Whether a search found a span of this name, length (-1: several spans) and class. */
export type Matches = (name: number, length: number, of: number) => boolean;

export interface TrackPaint {
  tiles: Tile[];
  y: number;
  lane: number;
  rows: number;
}

/** A track may have tens of thousands of rows; few of them fit on the screen. */
function visibleRows(track: TrackPaint, height: number): [number, number] {
  return [Math.max(0, Math.floor(-track.y / track.lane)), Math.min(track.rows - 1, Math.floor((height - track.y) / track.lane))];
}

export class Painter {
  rects = 0;
  labels = 0;
  private scan = new OffscreenCanvas(1, 1);
  private image: ImageData | null = null;
  private pixels = new Uint32Array(0);
  private readonly widths = new Map<string, number>();

  constructor(private readonly names: (id: number) => string | undefined) {}

  /** `matches` dims spans that a search did not find. */
  paint(ctx: CanvasRenderingContext2D, tracks: TrackPaint[], view: Stretch, width: number, height: number, ratio: number, palette: Palette, matches: Matches | null): void {
    const lines: Line[] = [];
    const starts = tracks.map((track) => {
      const [firstRow, lastRow] = visibleRows(track, height);
      const first = lines.length - firstRow;
      for (let row = firstRow; row <= lastRow; row++) lines.push({ y: track.y + row * track.lane, height: track.lane > 4 ? track.lane - 2 : track.lane });
      return first;
    });
    const columns = Math.round(width * ratio);
    this.prepare(columns, lines.length);
    const found: Label[] = [];
    this.rects = 0;
    tracks.forEach((track, i) => {
      this.scanTrack(track, starts[i], view, columns, ratio, height, palette, matches, found);
    });
    this.flush(ctx, lines, columns, width, height);
    this.write(ctx, found, palette.dark);
  }

  private prepare(columns: number, lines: number): void {
    if (columns > this.scan.width || lines > this.scan.height) {
      this.scan = new OffscreenCanvas(Math.max(columns, this.scan.width), Math.max(lines, this.scan.height, 64));
      this.image = null;
    }
    if (this.image === null) {
      this.image = new ImageData(this.scan.width, this.scan.height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    } else {
      this.pixels.fill(0, 0, this.scan.width * lines);
    }
  }

  private scanTrack(track: TrackPaint, first: number, view: Stretch, columns: number, ratio: number, height: number, palette: Palette, matches: Matches | null, found: Label[]): void {
    const nsPerPixel = (view.to - view.from) / columns;
    const stride = this.scan.width;
    const [firstRow, lastRow] = visibleRows(track, height);
    for (const tile of track.tiles) {
      const bucket = 2 ** tile.level;
      const scale = bucket / nsPerPixel;
      const offset = (tile.tile * TILE_BUCKETS * bucket - view.from) / nsPerPixel;
      const { begin, end, look, name, count } = tile;
      for (let i = 0; i < tile.n; i++) {
        const row = look[i] & 0xffff;
        if (row < firstRow || row > lastRow) continue;
        let a = offset + begin[i] * scale;
        let b = offset + end[i] * scale;
        if (b < 0 || a >= columns) continue;
        const dim = matches !== null && !matches(name[i], count[i] > 1 ? -1 : (end[i] - begin[i]) * bucket, look[i] >>> 24);
        const colour = (b - a < NARROW * ratio ? palette.narrow : palette.table)[paletteIndex(look[i] >>> 24, name[i], dim ? 0 : (look[i] >>> 16) & 255)];
        a = a < 0 ? 0 : a | 0;
        b = b > columns ? columns : b | 0;
        // Neighbours of some width are told apart by a gap.
        if (b - a > 3) b--;
        if (b <= a) b = a + 1;
        const at = (first + row) * stride;
        if (b - a < 16) for (let x = a; x < b; x++) this.pixels[at + x] = colour;
        else this.pixels.fill(colour, at + a, at + b);
        this.rects++;
        if (track.lane >= LANE && count[i] === 1 && (begin[i] >= 0 || tile === track.tiles[0]) && (b - a) / ratio >= LEAST_LABEL) found.push({ x: a / ratio, width: (b - a) / ratio, y: track.y + row * track.lane, name: name[i], dim });
      }
    }
  }

  private flush(ctx: CanvasRenderingContext2D, lines: Line[], columns: number, width: number, height: number): void {
    if (this.image === null || lines.length === 0) return;
    const scan = this.scan.getContext("2d")!;
    scan.putImageData(this.image, 0, 0, 0, 0, columns, lines.length);
    ctx.imageSmoothingEnabled = false;
    lines.forEach((line, i) => {
      if (line.y + line.height < 0 || line.y > height) return;
      ctx.drawImage(this.scan, 0, i, columns, 1, 0, line.y, width, line.height);
    });
  }

  private write(ctx: CanvasRenderingContext2D, found: Label[], dark: boolean): void {
    if (found.length > MOST_LABELS) {
      found.sort((a, b) => b.width - a.width);
      found.length = MOST_LABELS;
    }
    ctx.font = FONT;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const label of found) {
      const name = this.names(label.name);
      if (name === undefined) continue;
      const text = this.fitted(ctx, shortName(name), narrowName(name), label.width - 7);
      ctx.fillStyle = dark && label.dim ? "#c3cbd5" : "#12161b";
      if (text !== "") ctx.fillText(text, label.x + 4, label.y + (LANE - 2) / 2 + 0.5);
    }
    this.labels = found.length;
  }

  /** The name, or if there is no room for it, as much of its narrow form as fits. */
  private fitted(ctx: CanvasRenderingContext2D, name: string, narrow: string, room: number): string {
    if (this.widthOf(ctx, name) <= room) return name;
    const width = this.widthOf(ctx, narrow);
    if (width <= room) return narrow;
    // Letters differ in width: the first guess may not fit.
    for (let kept = Math.floor((narrow.length * room) / width); kept >= 2; kept--) {
      const text = `${narrow.slice(0, kept)}…`;
      if (this.widthOf(ctx, text) <= room) return text;
    }
    return "";
  }

  private widthOf(ctx: CanvasRenderingContext2D, text: string): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 20_000) this.widths.clear();
      width = ctx.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }
}
