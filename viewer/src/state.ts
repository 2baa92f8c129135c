// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the page shows, as signals, and the same as a text for the address: `t=FROM,LENGTH&view=memory&span=7&q=gemm`.

import { signal } from "@preact/signals";
import type { AreaAnswer, Gap, SearchAnswer, Source, SpanDetails } from "./source/source.ts";
import { foldedAtFirst, ORDERS, type TrackOrder } from "./timeline/layout.ts";

export interface Stretch {
  from: number;
  to: number;
}

export interface Area extends Stretch {
  tracks: number[];
}

export const tab = signal("timeline");
export const stretch = signal<Stretch>({ from: 0, to: 1 });
export const selected = signal<SpanDetails | null>(null);
export const area = signal<Area | null>(null);
export const areaAnswer = signal<AreaAnswer | null>(null);
export const query = signal("");
export const found = signal<SearchAnswer | null>(null);
export const foundError = signal("");
export const searching = signal(false);
export const hit = signal(-1);
export const marks = signal<Stretch[]>([]);
export const pinned = signal<ReadonlySet<string>>(new Set());
export const collapsed = signal<ReadonlySet<string>>(new Set());
export const trackFilter = signal("");
export const trackOrder = signal<TrackOrder>("busiest");
export const theme = signal<"light" | "dark">("light");
export const message = signal("");
export const helpOpen = signal(false);
/** Text that a table view is filtered by, set by links to it. */
export const tableFilter = signal("");
/** The idle stretch that the selected work ended, if one was chosen. */
export const idle = signal<Gap | null>(null);
/** Asks the page for another of several traces, and for a step of it. */
export const wantedTrace = signal<{ of: number; step?: number } | null>(null);
/** Asks the timeline for a table of what is on the screen. */
export const selectShown = signal(0);
/** Asks the timeline to select a span of the next track, of the previous one, or the first. */
export const walkTracks = signal<{ by: number } | null>(null);
/** Of the memory view: "cuda:0"; empty: the one with the highest peak. */
export const memoryDevice = signal("");
/** Of the memory view: the moment shown; null: the peak. */
export const memoryMoment = signal<number | null>(null);
/** How operators are grouped, and whether rows of devices are shown with them. */
export const grouping = signal("name");
export const allRows = signal(false);
/** Whose time the flame graph shows, and the box that fills it. */
export const flameOf = signal("host");
export const flameBox = signal(0);

export interface Sorting {
  /** A column, by its place among all; -1: as the rows come. */
  by: number;
  up: boolean;
}
/** How the table of a view is sorted, where that is not its own order. */
export const sorting = signal<ReadonlyMap<string, Sorting>>(new Map());

let before: Stretch[] = [];
let lastMove = Number.NEGATIVE_INFINITY;
const ONE_MOVE = 600;
let traceShown = 0;
/** What is folded at first; the address has what differs from it. */
let folded: ReadonlySet<string> = new Set();

/** Ends of the trace with a little room, so that its first and last spans can be seen. */
export function wholeOf(source: Source): Stretch {
  const [from, to] = source.cut ?? [0, source.trace.length];
  const room = Math.max((to - from) * 0.01, 1);
  return { from: Math.max(0, from - room) === 0 ? -room : from - room, to: to + room };
}

export function clamped(wanted: Stretch, source: Source): Stretch {
  const whole = wholeOf(source);
  const length = Math.min(Math.max(wanted.to - wanted.from, 20), whole.to - whole.from);
  const from = Math.min(Math.max(wanted.from, whole.from), whole.to - length);
  return { from, to: from + length };
}

/** Shows another stretch, and remembers this one for undo. */
export function goTo(wanted: Stretch, source: Source): void {
  before = [...before.slice(-99), stretch.value];
  stretch.value = clamped(wanted, source);
}

/** Whether all of the trace is shown, from end to end. */
export function isWhole(source: Source): boolean {
  const whole = wholeOf(source);
  return stretch.value.from <= whole.from && stretch.value.to >= whole.to;
}

/** A small move, of which many follow each other: together they are one to undo. */
export function moveTo(wanted: Stretch, source: Source): void {
  const now = performance.now();
  if (now - lastMove > ONE_MOVE) before = [...before.slice(-99), stretch.value];
  lastMove = now;
  stretch.value = clamped(wanted, source);
}

export function undo(): boolean {
  lastMove = Number.NEGATIVE_INFINITY;
  const last = before.pop();
  if (last !== undefined) stretch.value = last;
  return last !== undefined;
}

/** The stretch around a span, so that what is next to it can be seen. */
export function around(start: number, length: number): Stretch {
  const room = Math.max(length * 0.6, 200);
  return { from: start - room, to: start + length + room };
}

export function toggled(set: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const out = new Set(set);
  if (!out.delete(key)) out.add(key);
  return out;
}

/** What one of two sets has and the other does not. */
function differences(one: ReadonlySet<string>, other: ReadonlySet<string>): string[] {
  return [...[...one].filter((key) => !other.has(key)), ...[...other].filter((key) => !one.has(key))];
}

/** What was folded or unfolded by hand. */
export function foldsToggled(): string[] {
  return differences(collapsed.value, folded);
}

/** What the view in front shows of itself. */
function viewParts(): string[] {
  const out: string[] = [];
  const of = (view: string) => tab.value === view;
  if (of("operators") && grouping.value !== "name") out.push(`by=${grouping.value}`);
  if (of("operators") && allRows.value) out.push("all=1");
  if ((of("operators") || of("kernels")) && tableFilter.value !== "") out.push(`rows=${encodeURIComponent(tableFilter.value)}`);
  const sorted = sorting.value.get(tab.value);
  if (sorted !== undefined) out.push(`sort=${sorted.by},${sorted.up ? 1 : 0}`);
  if (of("flame") && flameOf.value !== "host") out.push(`flame=${flameOf.value}`);
  if (of("flame") && flameBox.value > 0) out.push(`box=${flameBox.value}`);
  if (of("memory") && memoryDevice.value !== "") out.push(`device=${memoryDevice.value}`);
  if (of("memory") && memoryMoment.value !== null) out.push(`moment=${Math.round(memoryMoment.value)}`);
  return out;
}

/** Without `withStretch`, of any stretch: it opens with all of the trace. */
export function stateText(withStretch = true): string {
  const { from, to } = stretch.value;
  const parts = withStretch ? [`t=${Math.round(from)},${Math.round(to - from)}`] : [];
  if (tab.value !== "timeline") parts.push(`view=${tab.value}`);
  if (selected.value !== null) parts.push(`span=${selected.value.id}`);
  if (area.value !== null) parts.push(`area=${Math.round(area.value.from)},${Math.round(area.value.to - area.value.from)},${area.value.tracks.join(".")}`);
  parts.push(...viewParts());
  if (query.value !== "") parts.push(`q=${encodeURIComponent(query.value)}`);
  if (pinned.value.size > 0) parts.push(`pin=${[...pinned.value].join(".")}`);
  const folds = foldsToggled();
  if (folds.length > 0) parts.push(`fold=${folds.join(".")}`);
  if (trackFilter.value !== "") parts.push(`tracks=${encodeURIComponent(trackFilter.value)}`);
  if (trackOrder.value !== "busiest") parts.push(`order=${trackOrder.value}`);
  if (marks.value.length > 0) parts.push(`marks=${marks.value.map((mark) => `${Math.round(mark.from)},${Math.round(mark.to - mark.from)}`).join(",")}`);
  if (traceShown > 0) parts.push(`of=${traceShown}`);
  return parts.join("&");
}

/** Which of several traces a text of stateText() is about. */
export function traceNamed(text: string): number {
  const of = Number(new URLSearchParams(text).get("of"));
  return Number.isSafeInteger(of) && of > 0 ? of : 0;
}

export interface Restored {
  span: number;
  area: Area | null;
}

/** Applies a text of stateText(); what makes no sense is left out. */
export function restore(text: string, source: Source): Restored {
  const parameters = new URLSearchParams(text);
  const numbers = (value: string | null) => (value ?? "").split(/[,.]/).filter((part) => part !== "").map(Number).filter(Number.isFinite);
  const [from, length] = numbers(parameters.get("t"));
  traceShown = source.of;
  trackFilter.value = parameters.get("tracks") ?? "";
  trackOrder.value = ORDERS.find((one) => one === parameters.get("order")) ?? "busiest";
  const ends = numbers(parameters.get("marks"));
  marks.value = ends.flatMap((begin, i) => (i % 2 === 0 && ends[i + 1] >= 0 ? [{ from: begin, to: begin + ends[i + 1] }] : []));
  stretch.value = length > 0 ? clamped({ from, to: from + length }, source) : wholeOf(source);
  tab.value = parameters.get("view") ?? "timeline";
  const isCount = (text: string | null) => /^\d{1,16}$/.test(text ?? "");
  memoryDevice.value = parameters.get("device") ?? "";
  memoryMoment.value = isCount(parameters.get("moment")) ? Number(parameters.get("moment")) : null;
  grouping.value = parameters.get("by") ?? "name";
  allRows.value = parameters.get("all") === "1";
  tableFilter.value = parameters.get("rows") ?? "";
  flameOf.value = parameters.get("flame") ?? "host";
  flameBox.value = isCount(parameters.get("box")) ? Number(parameters.get("box")) : 0;
  const [by, up] = numbers(parameters.get("sort"));
  sorting.value = new Map(Number.isInteger(by) ? [[tab.value, { by, up: up === 1 }]] : []);
  query.value = parameters.get("q") ?? "";
  pinned.value = new Set((parameters.get("pin") ?? "").split(".").filter((key) => key !== ""));
  folded = foldedAtFirst(source.trace);
  collapsed.value = new Set(differences(folded, new Set((parameters.get("fold") ?? "").split(".").filter((key) => key !== ""))));
  const [begin, size, ...tracks] = numbers(parameters.get("area"));
  const restored = size > 0 ? { from: begin, to: begin + size, tracks: tracks.filter((track) => track < source.trace.tracks.length) } : null;
  return { span: isCount(parameters.get("span")) ? Number(parameters.get("span")) : -1, area: restored };
}
