// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What stays as it is when a trace is read again because its file grew, or when another rank's is shown: the stretch of
// time, and of the same trace the selection, the area and what is pinned and folded. Tracks and spans have other numbers
// then, so they are remembered by what they are.

import type { Source, TraceInfo } from "../source/source.ts";
import * as state from "../state.ts";
import { levelOf } from "../tiles/cache.ts";

/** How a rank's clock is moved to the job's: those of `sonde job`. */
interface Clock {
  source: string;
  aligned: number;
  offset: number;
  drift: number;
  at: number;
}

interface Carried {
  text: string;
  file: string;
  /** On the job's clock, in ns since 1970; null: all of the trace. */
  from: bigint | null;
  length: number;
  step?: number;
  span: { track: string; at: bigint; name: string; length: number } | null;
  area: { tracks: string[]; from: bigint; length: number } | null;
  moment: bigint | null;
  pinned: string[];
  /** Folded and unfolded by hand. */
  toggled: string[];
}

let carried: Carried | null = null;

async function clocksOf(source: Source): Promise<Clock[]> {
  if (source.traces.length < 2 || !source.trace.views.includes("ranks")) return [];
  return ((await source.view("ranks").catch(() => ({ ranks: [] }))) as { ranks: Clock[] }).ranks;
}

/** What is added to a time of the trace's clock. */
function shiftOf(clocks: Clock[], trace: TraceInfo): bigint {
  const clock = clocks.find((one) => one.source === trace.name);
  if (clock === undefined || clock.aligned !== 1) return 0n;
  return BigInt(Math.round(clock.offset + (clock.drift || 0) * (Number(trace.first) - clock.at)));
}

function trackIdentity(trace: TraceInfo, i: number): string {
  const track = trace.tracks[i];
  const process = trace.processes[track?.process ?? -1];
  return [process?.pid, process?.rank, track?.kind, track?.device, track?.id].join("/");
}

function identity(trace: TraceInfo, key: string): string {
  const i = Number(key.slice(1));
  if (key.startsWith("t")) return `t${trackIdentity(trace, i)}`;
  if (key.startsWith("p")) return `p${trace.processes[i]?.pid}/${trace.processes[i]?.rank}`;
  const curve = trace.curves[i];
  return `c${trace.processes[curve?.process ?? -1]?.pid}/${curve?.kind}/${curve?.name}`;
}

/** Remembers what is shown. `step` asks for a step in place of the stretch. */
export async function carry(source: Source, step?: number): Promise<void> {
  const { trace } = source;
  const base = BigInt(trace.first) + shiftOf(await clocksOf(source), trace);
  const at = (ns: number) => base + BigInt(Math.round(ns));
  const { from, to } = state.stretch.value;
  const span = state.selected.value;
  const area = state.area.value;
  carried = {
    text: state.stateText(),
    file: trace.name,
    from: state.isWhole(source) ? null : at(from),
    length: to - from,
    ...(step === undefined ? {} : { step }),
    span: span === null ? null : { track: trackIdentity(trace, span.track), at: at(span.start), name: span.name, length: span.length },
    area: area === null ? null : { tracks: area.tracks.map((track) => trackIdentity(trace, track)), from: at(area.from), length: area.to - area.from },
    moment: state.memoryMoment.value === null ? null : at(state.memoryMoment.value),
    pinned: [...state.pinned.value].map((key) => identity(trace, key)),
    toggled: state.foldsToggled().map((key) => identity(trace, key)),
  };
}

/** The number of a span, by its track, start and name; -1 if the trace does not have it. */
async function findSpan(source: Source, track: number, start: number, name: string, length: number): Promise<number> {
  const level = levelOf(1, source.trace.length);
  const width = 1024 * 2 ** level;
  const [tile] = await source.tiles({ level, first: Math.floor(start / width), count: 1, tracks: [track] });
  if (tile === undefined) return -1;
  const bucket = 2 ** level;
  const near: number[] = [];
  for (let i = 0; i < tile.n; i++) if (Math.abs((tile.tile * 1024 + tile.begin[i]) * bucket - start) < bucket) near.push(i);
  const details = await Promise.all(near.slice(0, 64).map((i) => source.span(tile.span[i])));
  const same = details.filter((one) => one.name === name && Math.abs(one.start - start) <= 1);
  // An unfinished span has grown since; of several, the one of that length is meant.
  return (same.find((one) => one.length === length) ?? same[0])?.id ?? -1;
}

/** The state of the address in which `source` shows what was remembered; null: nothing was. */
export async function arrive(source: Source): Promise<string | null> {
  const was = carried;
  carried = null;
  if (was === null) return null;
  const { trace } = source;
  const base = BigInt(trace.first) + shiftOf(await clocksOf(source), trace);
  const since = (at: bigint) => Number(at - base);
  const parameters = new URLSearchParams(was.text);
  for (const key of ["t", "span", "area", "pin", "fold", "of", "box", "moment"]) parameters.delete(key);
  if (source.of > 0) parameters.set("of", String(source.of));
  const step = trace.steps.find(([, , number]) => number === was.step);
  if (step !== undefined) {
    parameters.set("t", `${Math.round(step[0])},${Math.round(step[1] - step[0])}`);
    parameters.delete("view");
  } else if (was.from !== null) {
    const from = since(was.from);
    // Without a common clock the same place in the recording is the best guess.
    const overlaps = from < trace.length && from + was.length > 0;
    if (overlaps) parameters.set("t", `${Math.round(from)},${Math.round(was.length)}`);
    else parameters.set("t", new URLSearchParams(was.text).get("t") ?? "");
  }
  if (was.file === trace.name) await arriveAgain(source, was, since, parameters);
  else parameters.delete("marks");
  return parameters.toString();
}

async function arriveAgain(source: Source, was: Carried, since: (at: bigint) => number, parameters: URLSearchParams): Promise<void> {
  const { trace } = source;
  const tracks = new Map(trace.tracks.map((_, i) => [trackIdentity(trace, i), i]));
  const keys = [...trace.tracks.map((_, i) => `t${i}`), ...trace.processes.map((_, i) => `p${i}`), ...trace.curves.map((_, i) => `c${i}`)];
  const known = new Map(keys.map((key) => [identity(trace, key), key]));
  const again = (identities: string[]) => identities.map((one) => known.get(one)).filter((key) => key !== undefined).join(".");
  if (was.pinned.length > 0) parameters.set("pin", again(was.pinned));
  if (was.toggled.length > 0) parameters.set("fold", again(was.toggled));
  if (was.moment !== null) parameters.set("moment", String(Math.max(0, since(was.moment))));
  if (was.area !== null) {
    const numbers = was.area.tracks.map((one) => tracks.get(one)).filter((track) => track !== undefined);
    parameters.set("area", `${Math.round(since(was.area.from))},${Math.round(was.area.length)},${numbers.join(".")}`);
  }
  const track = was.span === null ? undefined : tracks.get(was.span.track);
  if (was.span === null || track === undefined) return;
  const id = await findSpan(source, track, since(was.span.at), was.span.name, was.span.length).catch(() => -1);
  if (id >= 0) parameters.set("span", String(id));
}
