// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which tracks and curves there are to see, in which order, and where.

import { NO_NAME } from "../format.ts";
import type { CurveInfo, TraceInfo, TrackInfo } from "../source/source.ts";

export const LANE = 17;
export const HEAD = 26;
const CURVE = 46;
const STACK = 84;
const FOLDED = 16;
const GAP = 6;
const FOLDED_GAP = 3;
/** Of a job with more ranks, only the lines of processes are shown at first. */
const MOST_RANKS_OPEN = 16;

export type Entry =
  | { kind: "process"; key: string; y: number; height: number; title: string; process: number; folded: boolean }
  | { kind: "track"; key: string; y: number; height: number; title: string; track: number; rows: number; lane: number; pinned: boolean; folded: boolean }
  | { kind: "curve"; key: string; y: number; height: number; title: string; curve: number; info: CurveInfo; pinned: boolean; folded: boolean };

export interface Layout {
  entries: Entry[];
  height: number;
  place: Map<number, Entry & { kind: "track" }>;
  /** Where the tracks of each process are, with its title. */
  regions: Map<number, { top: number; bottom: number }>;
}

export function processTitle(trace: TraceInfo, index: number): string {
  const process = trace.processes[index];
  if (process === undefined) return "Without a process";
  const rank = process.rank >= 0 ? `Rank ${process.rank} · ` : "";
  if (process.pid < 0) return `${rank}${process.name || "Process not named by the trace"}`;
  return `${rank}${process.name || "process"} ${process.pid}`;
}

export function trackTitle(info: TrackInfo): string {
  const name = (info.name ?? "").trim();
  if (info.kind === undefined) return "Spans without a track";
  if (info.kind === "stream") {
    const stream = name === "" ? `stream ${info.id}` : name;
    return (info.device ?? -1) >= 0 ? `GPU ${info.device} · ${stream}` : stream;
  }
  return name === "" ? `${info.kind} ${info.id}` : name;
}

/** What is folded until somebody unfolds it: the host's memory beside that of devices, and the tracks of several ranks. */
export function foldedAtFirst(trace: TraceInfo): ReadonlySet<string> {
  const out = new Set<string>();
  const ranks = new Set(trace.processes.map((process) => process.rank).filter((rank) => rank >= 0)).size;
  const ofHost = (curve: CurveInfo) => curve.kind === "memory" && curve.name.startsWith("cpu");
  const ofDevices = trace.curves.some((curve) => curve.kind === "memory" && !ofHost(curve));
  trace.curves.forEach((curve, i) => {
    if (ranks > 1 || (ofDevices && ofHost(curve))) out.add(`c${i}`);
  });
  for (let i = 0; ranks > 1 && i < trace.tracks.length; i++) out.add(`t${i}`);
  for (let i = 0; ranks > MOST_RANKS_OPEN && i < trace.processes.length; i++) out.add(`p${i}`);
  return out;
}

/** What stands for a folded process in its line: how busy its first device was, or else its busiest thread. */
export function standIn(trace: TraceInfo, process: number): { curve: number; track: number } {
  const curve = trace.curves.findIndex((one) => one.kind === "busy" && one.process === process);
  let track = -1;
  trace.tracks.forEach((one, i) => {
    if (one.kind === "thread" && one.process === process && one.spans > (track < 0 ? 0 : trace.tracks[track].spans)) track = i;
  });
  return { curve, track };
}

/** Titles of tracks; those of several tracks of a process say their numbers. */
function trackTitles(trace: TraceInfo): string[] {
  const titles = trace.tracks.map(trackTitle);
  const counts = new Map<string, number>();
  const key = (i: number) => `${trace.tracks[i].process} ${titles[i]}`;
  titles.forEach((_, i) => {
    counts.set(key(i), (counts.get(key(i)) ?? 0) + 1);
  });
  return titles.map((title, i) => ((counts.get(key(i)) ?? 0) > 1 && trace.tracks[i].id !== undefined ? `${title} (${trace.tracks[i].id})` : title));
}

/** How the tracks of a process can be ordered. */
export const ORDERS = ["busiest", "name", "number"] as const;
export type TrackOrder = (typeof ORDERS)[number];

// Devices first: what they do is what one looks for. Then threads. Their streams have their numbers' order unless another was chosen.
function compareTracks(a: TrackInfo, b: TrackInfo, order: TrackOrder): number {
  const rank = (t: TrackInfo) => (t.kind === "stream" || t.kind === "device" ? 0 : t.kind === "thread" ? 1 : 2);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  const byNumber = (a.device ?? 0) - (b.device ?? 0) || (a.id ?? 0) - (b.id ?? 0);
  if (order === "name") return trackTitle(a).localeCompare(trackTitle(b), "en", { numeric: true }) || byNumber;
  return order === "number" || rank(a) === 0 ? byNumber : b.spans - a.spans;
}

export interface LayoutOptions {
  pinned: ReadonlySet<string>;
  collapsed: ReadonlySet<string>;
  filter: string;
  order: TrackOrder;
}

export function makeLayout(trace: TraceInfo, options: LayoutOptions): Layout {
  const entries: Entry[] = [];
  const place = new Map<number, Entry & { kind: "track" }>();
  const regions: Layout["regions"] = new Map();
  let y = 0;
  const titles = trackTitles(trace);
  const marked = new Set(trace.instants.map((instant) => instant.track));
  const words = options.filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
  let inProcess = "";
  const matches = (title: string) => words.every((word) => title.toLowerCase().includes(word) || inProcess.includes(word));

  const addTrack = (track: number, pinned: boolean) => {
    const info = trace.tracks[track];
    const key = `t${track}`;
    const title = titles[track];
    if ((info.spans === 0 && !marked.has(track)) || (!pinned && !matches(title))) return;
    const folded = options.collapsed.has(key);
    const lane = folded ? Math.max(1, Math.floor(FOLDED / Math.max(info.rows, 1))) : LANE;
    const height = folded ? FOLDED + FOLDED_GAP : Math.max(info.rows, 1) * lane + GAP;
    const entry: Entry = { kind: "track", key, y, height, title, track, rows: info.rows, lane, pinned, folded };
    entries.push(entry);
    place.set(track, entry);
    y += entry.height;
  };
  const addCurve = (curve: number, pinned: boolean) => {
    const info = trace.curves[curve];
    const key = `c${curve}`;
    if (!pinned && !matches(info.name)) return;
    const folded = options.collapsed.has(key);
    const height = folded ? FOLDED + FOLDED_GAP : (info.kind === "memory" ? STACK : CURVE) + GAP;
    entries.push({ kind: "curve", key, y, height, title: info.name.trim() || NO_NAME, curve, info, pinned, folded });
    y += height;
  };

  trace.curves.forEach((_, i) => {
    if (options.pinned.has(`c${i}`)) addCurve(i, true);
  });
  trace.tracks.forEach((_, i) => {
    if (options.pinned.has(`t${i}`)) addTrack(i, true);
  });
  const processes = [...new Set([...trace.tracks.filter((t, i) => t.spans > 0 || marked.has(i)), ...trace.curves].map((of) => of.process ?? -1))];
  const rankOf = (process: number) => trace.processes[process]?.rank ?? -1;
  processes.sort((a, b) => rankOf(a) - rankOf(b) || (a < 0 ? 1 : b < 0 ? -1 : a - b));
  for (const process of processes) {
    const start = entries.length;
    const top = y;
    inProcess = processTitle(trace, process).toLowerCase();
    const isFolded = options.collapsed.has(`p${process}`);
    entries.push({ kind: "process", key: `p${process}`, y, height: HEAD, title: processTitle(trace, process), process, folded: isFolded });
    y += HEAD;
    if (!isFolded) {
      // The host's memory last: that of devices is what runs out.
      const curves = trace.curves.map((curve, i) => ({ curve, i })).filter(({ curve, i }) => curve.process === process && !options.pinned.has(`c${i}`));
      const isHost = (curve: CurveInfo) => (curve.kind === "memory" && curve.name.startsWith("cpu") ? 1 : curve.kind === "counter" ? 2 : 0);
      curves.sort((a, b) => isHost(a.curve) - isHost(b.curve));
      for (const { i } of curves) addCurve(i, false);
      const tracks = trace.tracks.map((info, i) => ({ info, i })).filter(({ info, i }) => (info.process ?? -1) === process && !options.pinned.has(`t${i}`));
      tracks.sort((a, b) => compareTracks(a.info, b.info, options.order));
      for (const { i } of tracks) addTrack(i, false);
    }
    if (entries.length === start + 1 && !isFolded) {
      entries.pop();
      y -= HEAD;
    }
    regions.set(process, { top, bottom: y });
  }
  return { entries, height: y + 12, place, regions };
}
