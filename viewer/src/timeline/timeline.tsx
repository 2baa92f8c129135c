// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The timeline: names of tracks on the left, what happened on the right, on one axis of time.

import { untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { selectArea, selectSpan, showError } from "../actions.ts";
import { CLASSES, makePalette, seriesColour } from "../colours.ts";
import { countedText, momentText, shortName, timeText } from "../format.ts";
import { parseQuery } from "../source/query.ts";
import type { CurveInfo, Source } from "../source/source.ts";
import * as state from "../state.ts";
import { levelOf, rangeOf, TileCache } from "../tiles/cache.ts";
import { CurveCache, drawCurve, gapAt, idleText, rangeText, valuesAt, valueText } from "./charts.ts";
import { startHands } from "./hands.ts";
import { type Entry, type Layout, makeLayout, ORDERS, standIn, type TrackOrder } from "./layout.ts";
import { NameStore } from "./names.ts";
import { drawInstants, drawLinks, drawMarks, drawSteps, drawStepsOfProcesses, instantAt, rectOf } from "./overlay.ts";
import { type Matches, Painter, type TrackPaint } from "./painter.ts";
import { Ruler } from "./ruler.tsx";

export interface Hover {
  x: number;
  y: number;
}

export interface Stage {
  source: Source;
  layout: Layout;
  width: number;
  height: number;
  top: number;
  tiles: TileCache;
  curves: CurveCache;
  names: NameStore;
}

/** What is at a point of the stage. */
export function spanAt(stage: Stage, x: number, y: number): { span: number; count: number; name: number; length: number } | null {
  const entry = entryAt(stage, y);
  if (entry?.kind !== "track") return null;
  const row = Math.floor((y + stage.top - entry.y) / entry.lane);
  const { from, to } = state.stretch.value;
  const nsPerPixel = (to - from) / stage.width;
  const tiles = stage.tiles.best(entry.track, levelOf(nsPerPixel, stage.source.trace.length), Math.max(from, 0), to);
  if (tiles === null) return null;
  const at = from + x * nsPerPixel;
  let best: { span: number; count: number; name: number; length: number } | null = null;
  let distance = 3 * nsPerPixel;
  for (const tile of tiles) {
    const bucket = 2 ** tile.level;
    const base = tile.tile * 1024 * bucket;
    for (let i = 0; i < tile.n; i++) {
      if ((tile.look[i] & 0xffff) !== row) continue;
      const begin = base + tile.begin[i] * bucket;
      const end = base + tile.end[i] * bucket;
      const away = at < begin ? begin - at : at > end ? at - end : 0;
      if (away > distance || (away === distance && best !== null)) continue;
      distance = away;
      best = { span: tile.span[i], count: tile.count[i], name: tile.name[i], length: end - begin };
    }
  }
  return best;
}

export function entryAt(stage: Stage, y: number): Entry | undefined {
  const at = y + stage.top;
  return stage.layout.entries.find((entry) => at >= entry.y && at < entry.y + entry.height);
}

export function Timeline({ source }: { source: Source }) {
  const wrapper = useRef<HTMLDivElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const hover = useSignal<Hover | null>(null);
  const drag = useSignal<{ from: number; to: number; top: number; bottom: number } | null>(null);
  // Not known until it is laid out; nothing is asked for before.
  const size = useSignal({ width: 0, height: 0 });
  const top = useSignal(0);
  const moving = useRef(false);
  const shownAsked = useRef(state.selectShown.peek());
  const redraw = useSignal(0);
  const layout = useComputed(() => makeLayout(source.trace, { pinned: state.pinned.value, collapsed: state.collapsed.value, filter: state.trackFilter.value, order: state.trackOrder.value }));

  const parts = useMemo(() => {
    // Effects wait for the next frame, once for all that changed until then.
    const changed = () => {
      redraw.value++;
    };
    const names = new NameStore(source, changed);
    return { names, tiles: new TileCache(source, changed, showError), curves: new CurveCache(source, changed), painter: new Painter((id) => names.get(id)) };
  }, [source]);

  const stage = (): Stage => ({ source, layout: layout.value, width: size.value.width, height: size.value.height, top: top.value, ...parts });

  useEffect(() => {
    const element = wrapper.current!;
    const observer = new ResizeObserver(() => {
      const gutter = Number.parseInt(getComputedStyle(element).getPropertyValue("--gutter"), 10);
      size.value = { width: Math.max(100, element.clientWidth - gutter - 12), height: element.clientHeight };
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useSignalEffect(() => {
    redraw.value;
    if (size.value.width === 0) return;
    const began = performance.now();
    draw(canvas.current!, stage(), parts.painter, moving.current, drag.value);
    // For tests and measurements.
    const { dataset } = document.body;
    Object.assign(dataset, { drawn: parts.painter.rects, labels: parts.painter.labels, pending: parts.tiles.pending, frames: ++frames, took: performance.now() - began });
    if (canvas.current!.dataset.sharp === "true") dataset.sharpAt ??= String(performance.now());
  });

  useSignalEffect(() => {
    if (state.selectShown.value === shownAsked.current) return;
    shownAsked.current = state.selectShown.value;
    const now = untracked(stage);
    const { from, to } = state.stretch.peek();
    const tracks = visibleTracks(now).map((entry) => entry.track);
    if (tracks.length > 0) void selectArea(source, { from: Math.max(0, from), to: Math.min(to, source.trace.length + 1), tracks });
  });

  useSignalEffect(() => {
    const asked = state.walkTracks.value;
    if (asked === null) return;
    state.walkTracks.value = null;
    const id = untracked(() => spanOfTrack(stage(), asked.by));
    if (id >= 0) void selectSpan(source, id, false);
  });

  // A selected span is scrolled into view.
  useSignalEffect(() => {
    const span = state.selected.value;
    const place = span === null ? undefined : layout.value.place.get(span.track);
    if (span === null || place === undefined || scroller.current === null) return;
    const at = (one: { track: number; row: number }) => {
      const entry = layout.value.place.get(one.track);
      return entry === undefined ? [] : [entry.y + one.row * entry.lane];
    };
    const { scrollTop, clientHeight } = scroller.current;
    const isIn = (y: number) => y >= scrollTop + 10 && y <= scrollTop + clientHeight - 40;
    const [y] = at(span);
    // With what launched it, or what it launched, if both fit.
    const partner = span.links.find((link) => link.how === "operator") ?? span.links.find((link) => link.how === "launched by" || link.how === "launches");
    const both = [y, ...(partner === undefined ? [] : at(partner))];
    const [first, last] = [Math.min(...both), Math.max(...both)];
    if (last - first <= clientHeight - 80) {
      if (!isIn(first) || !isIn(last)) scroller.current.scrollTop = Math.max(0, (first + last + place.lane - clientHeight) / 2);
    } else if (!isIn(y)) scroller.current.scrollTop = Math.max(0, y - clientHeight / 3);
  });

  // Again when names or tiles arrive.
  const tip = useComputed(() => {
    redraw.value;
    return hover.value === null ? [] : describe(stage(), hover.value.x, hover.value.y);
  });

  useEffect(() => startHands(canvas.current!, { source, stage, hover, drag, scroller: scroller.current!, setMoving: (is) => { moving.current = is; redraw.value++; }, hoverAt: (x, y) => describe(stage(), x, y) }), [source]);

  return (
    <section class="timeline" aria-label="Timeline">
      <Choose />
      <Ruler source={source} tiles={parts.tiles} layout={layout} redraw={redraw} size={size} />
      <div class="tracks" ref={wrapper}>
        <div class="scroller" ref={scroller} onScroll={(e) => { top.value = e.currentTarget.scrollTop; }}>
          <div class="content" style={{ height: `${layout.value.height}px` }}>
            {layout.value.entries.filter((entry) => entry.y + entry.height > top.value - 300 && entry.y < top.value + size.value.height + 300).map((entry) => <Head key={entry.key} entry={entry} />)}
          </div>
        </div>
        {layout.value.entries.length === 0 && <p class="waiting nothing">{state.trackFilter.value !== "" ? "No track has such a name." : "This trace has no spans. The Ledger may say why."}</p>}
        <canvas ref={canvas} tabIndex={0} role="img" aria-label="Spans over time. Keys move, comma and full stop walk along a row, the details are below." style={{ width: `${size.value.width}px`, height: `${size.value.height}px` }} />
        {hover.value !== null && tip.value.length > 0 && (
          <div class="tip" role="tooltip" style={{ left: `${Math.min(hover.value.x + 14, size.value.width - 150)}px`, top: `${Math.min(hover.value.y + 16, size.value.height - 30 - tip.value.length * 16)}px` }}>
            {tip.value.map((line, i) => <div key={line} class={i === 0 ? "first" : ""}>{line}</div>)}
          </div>
        )}
      </div>
    </section>
  );
}

let frames = 0;

type TrackEntry = Entry & { kind: "track" };

function visibleTracks(stage: Stage): TrackEntry[] {
  return stage.layout.entries.filter((entry): entry is TrackEntry => entry.kind === "track" && entry.y + entry.height > stage.top && entry.y < stage.top + stage.height);
}

/** A span in the middle of the next or previous track that has one on the screen; by 0: of the first track that can be seen. */
function spanOfTrack(stage: Stage, by: number): number {
  const { from, to } = state.stretch.value;
  const level = levelOf((to - from) / stage.width, stage.source.trace.length);
  const all = stage.layout.entries.filter((entry): entry is TrackEntry => entry.kind === "track");
  const selected = state.selected.value;
  let at = selected === null || by === 0 ? -1 : all.findIndex((entry) => entry.track === selected.track);
  if (at < 0) at = all.indexOf(visibleTracks(stage)[0]) - (by || 1);
  const middle = selected === null ? (from + to) / 2 : Math.min(Math.max(selected.start + selected.length / 2, from), to);
  for (let i = at + (by || 1); i >= 0 && i < all.length; i += by || 1) {
    const tiles = stage.tiles.best(all[i].track, level, Math.max(from, 0), Math.min(to, stage.source.trace.length)) ?? [];
    let best = -1;
    let distance = Number.POSITIVE_INFINITY;
    for (const tile of tiles) {
      const bucket = 2 ** tile.level;
      for (let k = 0; k < tile.n; k++) {
        const begin = (tile.tile * 1024 + tile.begin[k]) * bucket;
        const end = (tile.tile * 1024 + tile.end[k]) * bucket;
        if ((tile.look[k] & 0xffff) !== 0 || end < from || begin > to) continue;
        const away = Math.max(begin - middle, middle - end, 0);
        if (away < distance) {
          distance = away;
          best = tile.span[k];
        }
      }
    }
    if (best >= 0) return best;
  }
  return -1;
}

function Head({ entry }: { entry: Entry }) {
  const folded = state.collapsed.value.has(entry.key);
  const fold = () => { state.collapsed.value = state.toggled(state.collapsed.value, entry.key); };
  const pin = () => { state.pinned.value = state.toggled(state.pinned.value, entry.key); };
  return (
    <div class={`head ${entry.kind}`} style={{ top: `${entry.y}px`, height: `${entry.height}px` }}>
      <button type="button" class="fold" aria-expanded={!folded} title={folded ? "Unfold" : "Fold"} aria-label={`${folded ? "Unfold" : "Fold"} ${entry.title}`} onClick={fold}>{folded ? "▸" : "▾"}</button>
      <span class="title" title={entry.title}>{entry.title}</span>
      {entry.kind === "curve" && entry.info.kind === "memory" && !folded && <Series info={entry.info} />}
      {entry.kind !== "process" && <button type="button" class={`pin ${entry.pinned ? "on" : ""}`} aria-pressed={entry.pinned} title={entry.pinned ? "Unpin" : "Pin to the top"} aria-label={`Pin ${entry.title}`} onClick={pin}>⚲</button>}
    </div>
  );
}

const ORDER_NAMES: Record<TrackOrder, string> = { busiest: "threads: busiest first", name: "threads: by name", number: "threads: by number" };

/** Which tracks are shown, and in which order: above their names. */
function Choose() {
  return (
    <div class="choose">
      <input type="search" placeholder="Filter tracks" aria-label="Filter tracks by name" value={state.trackFilter.value} onInput={(e) => { state.trackFilter.value = e.currentTarget.value; }} />
      <select aria-label="Order of threads" title="Order of threads" value={state.trackOrder.value} onChange={(e) => { state.trackOrder.value = e.currentTarget.value as TrackOrder; }}>
        {ORDERS.map((order) => <option key={order} value={order}>{ORDER_NAMES[order]}</option>)}
      </select>
    </div>
  );
}

/** Which colour is which, below the name of a memory curve. */
function Series({ info }: { info: CurveInfo }) {
  const dark = state.theme.value === "dark";
  const last = info.series.length - 1;
  return (
    <ul class="series" aria-hidden="true">
      {info.series.map((name, i) => <li key={name}><i class={`swatch ${i === last ? "dashed" : ""}`} style={i === last ? {} : { background: seriesColour(i, dark) }} />{name.replaceAll("_", " ")}</li>)}
    </ul>
  );
}

/** What a search did not find is drawn pale, as far as tiles tell: names, classes and lengths. */
function matcher(names: NameStore): Matches | null {
  if (state.found.value === null) return null;
  const query = parseQuery(state.query.value);
  const kinds = query.kinds.filter((kind) => CLASSES.includes(kind));
  const isTimed = query.least > 0 || query.most < Number.POSITIVE_INFINITY;
  if (query.names.length === 0 && kinds.length === 0 && !isTimed) return null;
  const known = new Map<number, boolean>();
  const isNamed = (id: number) => {
    let is = known.get(id);
    if (is === undefined) {
      const name = names.get(id);
      is = name === undefined || query.names.every((word) => name.toLowerCase().includes(word));
      if (name !== undefined) known.set(id, is);
    }
    return is;
  };
  return (name, length, of) => (length < 0 || (length >= query.least && length <= query.most)) && kinds.every((kind) => kind === CLASSES[of & 127]) && isNamed(name);
}

function draw(canvas: HTMLCanvasElement, stage: Stage, painter: Painter, moving: boolean, drag: { from: number; to: number; top: number; bottom: number } | null): void {
  const { width, height, layout, top, source } = stage;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const ctx = canvas.getContext("2d", { alpha: false })!;
  const dark = state.theme.value === "dark";
  const palette = makePalette2(dark);
  const view = state.stretch.value;
  const nsPerPixel = (view.to - view.from) / width;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = dark ? "#15181d" : "#ffffff";
  ctx.fillRect(0, 0, width, height);
  drawSteps(ctx, stage, view, dark);

  const visible = layout.entries.filter((entry) => entry.y + entry.height > top && entry.y < top + height);
  const tracks = visible.filter((entry) => entry.kind === "track");
  const level = levelOf(nsPerPixel, source.trace.length);
  const range = rangeOf(level, view.from, Math.min(view.to, source.trace.length));
  const folded = visible.flatMap((entry) => (entry.kind === "process" && entry.folded ? [{ entry, ...standIn(source.trace, entry.process) }] : []));
  stage.tiles.want([...tracks.map((entry) => entry.track), ...folded.flatMap(({ curve, track }) => (curve < 0 && track >= 0 ? [track] : []))], range);
  const paints: TrackPaint[] = [];
  const waiting: number[] = [];
  let sharp = true;
  for (const entry of tracks) {
    const tiles = stage.tiles.best(entry.track, level, Math.max(view.from, 0), Math.min(view.to, source.trace.length));
    if (tiles === null || tiles[0].level !== level) sharp = false;
    if (tiles === null) {
      waiting.push(entry.y - top + entry.lane / 2);
      continue;
    }
    stage.tiles.touch(tiles);
    paints.push({ tiles, y: entry.y - top, lane: entry.lane, rows: entry.rows });
  }
  for (const entry of visible) {
    const y = entry.y - top;
    ctx.fillStyle = dark ? "#262b33" : "#e6e9ee";
    if (entry.kind === "process") {
      ctx.fillStyle = dark ? "#1d2128" : "#f1f3f6";
      ctx.fillRect(0, y, width, entry.height);
    } else ctx.fillRect(0, y + entry.height - 1, width, 1);
  }
  drawStepsOfProcesses(ctx, stage, view, dark);
  for (const { entry, curve, track } of folded) {
    const y = entry.y - top;
    const tiles = curve < 0 && track >= 0 ? stage.tiles.best(track, level, Math.max(view.from, 0), Math.min(view.to, source.trace.length)) : null;
    if (curve >= 0) drawCurve(ctx, source.trace.curves[curve], stage.curves.get(curve, view, width), view, width, y + 12, 14, dark);
    else if (tiles !== null) paints.push({ tiles, y: y + 14, lane: 4, rows: Math.min(3, source.trace.tracks[track].rows) });
  }
  for (const entry of visible) {
    if (entry.kind !== "curve") continue;
    const pieces = stage.curves.get(entry.curve, view, width);
    drawCurve(ctx, entry.info, pieces, view, width, entry.y - top + 2, entry.height - (entry.folded ? 4 : 8), dark);
    if (pieces.length === 0 && stage.curves.isWaiting(entry.curve)) waiting.push(entry.y - top + entry.height / 2);
    else if (!entry.folded) {
      writeValue(ctx, rangeText(entry.info, pieces, view), width - 4, entry.y - top + 3, dark);
    }
  }
  painter.paint(ctx, paints, view, width, height, moving ? Math.min(1, ratio) : ratio, palette, matcher(stage.names));
  for (const y of waiting) writeWaiting(ctx, y, dark);
  drawInstants(ctx, stage, view, dark);
  drawMarks(ctx, stage, view, dark, drag);
  drawLinks(ctx, stage, view, dark);
  canvas.dataset.sharp = String(sharp);
  if (sharp || stage.tiles.pending === 0) stage.curves.start();
  if (sharp) prefetch(stage, tracks.map((entry) => entry.track), level, range.first, range.last);
}

/** The largest value of a curve, readable over whatever is drawn below it. */
function writeValue(ctx: CanvasRenderingContext2D, text: string, right: number, y: number, dark: boolean): void {
  ctx.font = '10px system-ui, "DejaVu Sans", sans-serif';
  ctx.textBaseline = "top";
  ctx.textAlign = "right";
  const width = ctx.measureText(text).width;
  ctx.fillStyle = dark ? "rgb(21 24 29 / 80%)" : "rgb(255 255 255 / 82%)";
  ctx.fillRect(right - width - 3, y - 2, width + 6, 14);
  ctx.fillStyle = dark ? "#c3cbd5" : "#3d4651";
  ctx.fillText(text, right, y);
}

/** In place of what was asked for and has not come. */
function writeWaiting(ctx: CanvasRenderingContext2D, y: number, dark: boolean): void {
  ctx.font = '11px system-ui, "DejaVu Sans", sans-serif';
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = dark ? "#a4aebb" : "#55606c";
  ctx.fillText("loading…", 8, y);
}

// Neighbours to both sides, and the level above.
function prefetch(stage: Stage, tracks: number[], level: number, first: number, last: number): void {
  if (stage.tiles.pending > 0) return;
  const end = Math.floor(stage.source.trace.length / (1024 * 2 ** level));
  stage.tiles.want(tracks, { level, first: Math.max(0, first - 1), last: Math.min(end, last + 1) });
}

let palettes: [ReturnType<typeof makePalette>, ReturnType<typeof makePalette>] | null = null;
function makePalette2(dark: boolean) {
  palettes ??= [makePalette(false), makePalette(true)];
  return palettes[dark ? 1 : 0];
}

function describe(stage: Stage, x: number, y: number): string[] {
  const { from, to } = state.stretch.value;
  const nsPerPixel = (to - from) / stage.width;
  const at = from + x * nsPerPixel;
  const entry = entryAt(stage, y);
  if (entry?.kind === "curve") {
    const pieces = stage.curves.get(entry.curve, state.stretch.value, stage.width);
    const values = valuesAt(entry.info, pieces, at).filter(({ value }) => value !== 0);
    const lines = [`${entry.title} at ${momentText(at, nsPerPixel)}`, ...values.map(({ name, value }) => `${name.replaceAll("_", " ")}: ${valueText(entry.info, value)}`)];
    const gap = entry.info.kind === "busy" ? gapAt(pieces, at) : null;
    if (values.length === 0 && gap === null) lines.push(valueText(entry.info, 0));
    if (gap !== null) lines.push(idleText(gap), "Click to see the work that ended it.");
    return lines;
  }
  const instant = entry?.kind === "track" && y + stage.top - entry.y < 9 ? instantAt(stage, state.stretch.value, entry.track, at) : null;
  if (instant !== null) return [instant.name, `at ${momentText(instant.at, 1)}`];
  const found = spanAt(stage, x, y);
  if (found === null) return [];
  const name = stage.names.get(found.name) ?? "…";
  const short = shortName(name);
  if (found.count > 1) return [countedText(found.count, "span"), `longest: ${short}`, "Zoom in to tell them apart."];
  return [short, timeText(found.length), ...(short === name ? [] : [name.slice(0, 160)])];
}

export { rectOf, selectArea, selectSpan };
