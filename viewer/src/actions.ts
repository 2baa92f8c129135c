// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What links, keys and clicks do.

import type { Gap, Source, SpanDetails } from "./source/source.ts";
import * as state from "./state.ts";

export function showError(error: unknown): void {
  state.message.value = error instanceof Error ? error.message : String(error);
}

let latestSpan = 0;
/** A span may be so much shorter than the stretch that is shown with it. */
const MOST_AROUND = 120;

/** The stretch around a span, with what launched it if that is not far away. */
function withLaunch(span: SpanDetails): state.Stretch {
  const near = state.around(span.start, span.length);
  const launch = span.links.filter((link) => link.how === "launched by" || link.how === "operator").map((link) => link.start);
  const from = Math.min(near.from, ...launch);
  const room = (near.to - from) * 0.04;
  return near.to - from <= Math.max(span.length, 1) * MOST_AROUND ? { from: from - room, to: near.to + room } : near;
}

/** Selects the work that ended an idle stretch, and says why the device idled. */
export function selectGap(source: Source, gap: Gap): void {
  state.idle.value = gap;
  if (gap[4] >= 0) void selectSpan(source, gap[4], false);
}

let idles: { key: string; gaps: Gap[]; at: number } = { key: "", gaps: [], at: 0 };

/** Goes to the longest idle stretch of those shown; then to the next shorter one. */
export async function walkIdle(source: Source): Promise<void> {
  const { from, to } = state.stretch.value;
  const key = `${source.of}:${from}:${to}`;
  if (idles.key !== key) {
    const curves = source.trace.curves.flatMap((curve, i) => (curve.kind === "busy" ? [i] : []));
    const begin = Math.max(0, Math.floor(from));
    const found = await Promise.all(curves.map((curve) => source.gaps(curve, begin, Math.max(begin + 1, Math.ceil(to)), 512))).catch(() => []);
    idles = { key, gaps: found.flat().sort((a, b) => b[1] - b[0] - (a[1] - a[0])), at: -1 };
  }
  if (idles.gaps.length === 0) {
    state.message.value = "No device idles in the stretch that is shown.";
    return;
  }
  idles.at = (idles.at + 1) % idles.gaps.length;
  selectGap(source, idles.gaps[idles.at]);
}

/** Selects a span; `show` also brings it into view. */
export async function selectSpan(source: Source, id: number, show: boolean): Promise<void> {
  const mine = ++latestSpan;
  try {
    const details = await source.span(id);
    if (mine !== latestSpan) return;
    state.selected.value = details;
    state.area.value = null;
    if (!show) return;
    state.tab.value = "timeline";
    const { from, to } = state.stretch.value;
    const length = to - from;
    const isVisible = details.start < to && details.start + details.length > from;
    const isTiny = details.length < length / 400;
    if (!isVisible || isTiny || details.length > length * 4) state.goTo(withLaunch(details), source);
  } catch (error) {
    showError(error);
  }
}

export async function selectArea(source: Source, wanted: state.Area): Promise<void> {
  state.selected.value = null;
  state.area.value = wanted;
  state.areaAnswer.value = null;
  try {
    const answer = await source.area(wanted.from, wanted.to, wanted.tracks);
    if (state.area.value === wanted) state.areaAnswer.value = answer;
  } catch (error) {
    showError(error);
  }
}

export function showStretch(source: Source, from: number, to: number): void {
  state.tab.value = "timeline";
  const room = Math.max((to - from) * 0.15, 100);
  state.goTo({ from: from - room, to: to + room }, source);
}

let latestSearch = 0;

export async function search(source: Source, text: string): Promise<void> {
  const mine = ++latestSearch;
  state.query.value = text;
  state.hit.value = -1;
  state.foundError.value = "";
  state.searching.value = text.trim() !== "";
  if (!state.searching.value) {
    state.found.value = null;
    return;
  }
  try {
    const answer = await source.search(text);
    if (mine === latestSearch) state.found.value = answer;
  } catch (error) {
    if (mine !== latestSearch) return;
    state.found.value = null;
    state.foundError.value = (error as Error).message;
  }
  if (mine === latestSearch) state.searching.value = false;
}

/** Goes to the next or the previous hit. */
export function walk(source: Source, step: number): void {
  const hits = state.found.value?.hits ?? [];
  if (hits.length === 0) return;
  const at = state.hit.value < 0 && step < 0 ? hits.length - 1 : (state.hit.value + step + hits.length) % hits.length;
  state.hit.value = at;
  void selectSpan(source, hits[at].id, true);
}

/** Finds all spans of a name on the timeline. */
export function findOnTimeline(source: Source, name: string): void {
  state.tab.value = "timeline";
  void search(source, /[\s"<>]/.test(name) ? `"${name.replaceAll('"', " ")}"` : name);
}

/** Shows a name in one of the tables. */
export function showInTable(view: string, name: string): void {
  state.tableFilter.value = name;
  state.tab.value = view;
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    state.message.value = "Copied.";
  } catch {
    state.message.value = text;
  }
}
