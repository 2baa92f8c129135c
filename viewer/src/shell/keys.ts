// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys. WASD and arrows move as long as they are held; the rest act once.

import { search, selectSpan, walk, walkIdle } from "../actions.ts";
import { CLASSES } from "../colours.ts";
import type { Source, SpanDetails } from "../source/source.ts";
import * as state from "../state.ts";
import { panBy, zoomAt } from "../timeline/hands.ts";
import { viewsOf } from "../views/views.tsx";

export const KEYS: [string[], string][] = [
  [["W", "S"], "zoom in, zoom out"],
  [["A", "D", "←", "→"], "move left, right"],
  [["↑", "↓"], "scroll"],
  [["wheel"], "scroll"],
  [["drag"], "select an area"],
  [["Ctrl+wheel", "pinch"], "zoom"],
  [["Shift+drag"], "move"],
  [["double click"], "zoom to a span"],
  [["f"], "fit the selection, or all"],
  [["0"], "show all"],
  [[",", "."], "previous, next span of the row; the first one shown"],
  [["j", "k"], "the next, previous track"],
  [["[", "]"], "the span around it, the first inside"],
  [["g"], "follow the first link: kernel to its launch, operator to its kernel"],
  [["o"], "to the operator that launched it"],
  [["i"], "the longest idle stretch shown; again: the next shorter one"],
  [["x"], "table of all that is shown"],
  [["m"], "mark the selection; again: remove it"],
  [["u"], "undo moving"],
  [["/"], "search"],
  [["Enter", "Shift+Enter"], "next, previous hit"],
  [["1 … 9"], "views"],
  [["<", ">"], "previous, next trace, if there are several"],
  [["t"], "light or dark"],
  [["Esc"], "close, clear"],
  [["?"], "these keys"],
];

const ZOOM = 2.6;
const PAN = 0.9;

function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  return target.tagName === "INPUT" || target.tagName === "TEXTAREA" || target.tagName === "SELECT";
}

function fit(source: Source): void {
  const { selected, area } = state;
  if (selected.value !== null) state.goTo(state.around(selected.value.start, selected.value.length), source);
  else if (area.value !== null) state.goTo(area.value, source);
  else state.goTo(state.wholeOf(source), source);
}

function mark(): void {
  const { selected, area, marks } = state;
  const wanted = selected.value !== null ? { from: selected.value.start, to: selected.value.start + selected.value.length } : area.value;
  if (wanted === null) return;
  const same = marks.value.filter((one) => one.from !== wanted.from || one.to !== wanted.to);
  marks.value = same.length < marks.value.length ? same : [...marks.value, { from: wanted.from, to: wanted.to }];
}

function step(source: Source, id: number): void {
  if (id >= 0) void selectSpan(source, id, true);
}

/** The operator that launched it; of a launch, what is around it. */
function operatorOf(span: SpanDetails): number {
  const isCall = CLASSES[span.class] === "call";
  return span.links.find((link) => link.how === "operator" || (isCall && link.how === "parent"))?.id ?? -1;
}

/** To the other side of a launch, or else to whatever it is linked to. */
function firstLink(span: SpanDetails): number {
  const found = span.links.find((link) => link.how === "launched by" || link.how === "launches") ?? span.links.find((link) => link.how !== "parent");
  return found?.id ?? -1;
}

function close(source: Source): void {
  if (state.helpOpen.value) state.helpOpen.value = false;
  else if (state.selected.value !== null) state.selected.value = null;
  else if (state.area.value !== null) state.area.value = null;
  else if (state.query.value !== "") void search(source, "");
  else state.marks.value = [];
}

function nextTrace(source: Source, by: number): void {
  const count = source.traces.length;
  if (count > 1) state.wantedTrace.value = { of: (source.of + by + count) % count };
}

function act(source: Source, event: KeyboardEvent): boolean {
  const span = state.selected.value;
  const view = viewsOf(source)[Number(event.key) - 1];
  if (/^[1-9]$/.test(event.key) && view !== undefined) state.tab.value = view.name;
  else if (event.key === "?") state.helpOpen.value = !state.helpOpen.value;
  else if (event.key === "/") document.getElementById("search")?.focus();
  else if (event.key === "t") state.theme.value = state.theme.value === "dark" ? "light" : "dark";
  else if (event.key === "Escape") close(source);
  else if (event.key === "<" || event.key === ">") nextTrace(source, event.key === ">" ? 1 : -1);
  else if (state.tab.value !== "timeline") return false;
  else if (event.key === "f") fit(source);
  else if (event.key === "0") state.goTo(state.wholeOf(source), source);
  else if (event.key === "m") mark();
  else if (event.key === "u" || event.key === "Backspace") state.undo();
  else if (event.key === "Enter" && (event.target as HTMLElement).tagName !== "BUTTON") walk(source, event.shiftKey ? -1 : 1);
  else if (event.key === "x") state.selectShown.value++;
  else if (event.key === "i") void walkIdle(source);
  else if (event.key === "o" && span !== null) step(source, operatorOf(span));
  else if (event.key === "j" || event.key === "k") state.walkTracks.value = { by: event.key === "j" ? 1 : -1 };
  else if ((event.key === "." || event.key === ",") && span === null) state.walkTracks.value = { by: 0 };
  else if (event.key === "." && span !== null) step(source, span.next);
  else if (event.key === "," && span !== null) step(source, span.previous);
  else if (event.key === "]" && span !== null) step(source, span.child);
  else if (event.key === "[" && span !== null) step(source, span.links.find((link) => link.how === "parent")?.id ?? -1);
  else if (event.key === "g" && span !== null) step(source, firstLink(span));
  else return false;
  return true;
}

/** Starts listening; returns what stops it. */
export function startKeys(source: Source): () => void {
  const held = new Set<string>();
  let last = 0;
  let running = false;
  const frame = (now: number) => {
    const seconds = Math.min(0.05, (now - last) / 1000);
    last = now;
    const has = (...keys: string[]) => keys.some((key) => held.has(key));
    if (has("w")) zoomAt(source, 0.5, Math.exp(-ZOOM * seconds));
    if (has("s")) zoomAt(source, 0.5, Math.exp(ZOOM * seconds));
    if (has("a", "ArrowLeft")) panBy(source, -PAN * seconds);
    if (has("d", "ArrowRight")) panBy(source, PAN * seconds);
    const scroller = document.querySelector(".scroller");
    if (scroller !== null && has("ArrowUp", "ArrowDown")) scroller.scrollTop += (held.has("ArrowUp") ? -900 : 900) * seconds;
    running = held.size > 0;
    if (running) requestAnimationFrame(frame);
  };
  const moves = new Set(["w", "a", "s", "d", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]);
  const onDown = (event: KeyboardEvent) => {
    if (isTyping(event)) {
      if (event.key === "Escape") (event.target as HTMLElement).blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 && event.key !== "?" ? event.key.toLowerCase() : event.key;
    if (state.tab.value === "timeline" && moves.has(key)) {
      event.preventDefault();
      held.add(key);
      if (!running) {
        running = true;
        last = performance.now();
        requestAnimationFrame(frame);
      }
    } else if (act(source, event)) event.preventDefault();
  };
  const onUp = (event: KeyboardEvent) => {
    held.delete(event.key.length === 1 ? event.key.toLowerCase() : event.key);
  };
  const onBlur = () => held.clear();
  window.addEventListener("keydown", onDown);
  window.addEventListener("keyup", onUp);
  window.addEventListener("blur", onBlur);
  return () => {
    window.removeEventListener("keydown", onDown);
    window.removeEventListener("keyup", onUp);
    window.removeEventListener("blur", onBlur);
  };
}
