// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mouse, wheel and touch on the timeline. Keys are in shell/keys.ts.

import type { Signal } from "@preact/signals";
import { selectArea, selectGap, selectSpan } from "../actions.ts";
import type { Source } from "../source/source.ts";
import * as state from "../state.ts";
import { gapAt } from "./charts.ts";
import { entryAt, type Hover, type Stage, spanAt } from "./timeline.tsx";

interface Hands {
  source: Source;
  stage: () => Stage;
  hover: Signal<Hover | null>;
  drag: Signal<{ from: number; to: number; top: number; bottom: number } | null>;
  scroller: HTMLElement;
  setMoving: (is: boolean) => void;
  hoverAt: (x: number, y: number) => string[];
}

const STILL_AFTER = 140;
const LEAST_DRAG = 4;

/** Zooms so that the time under the pointer stays there. */
export function zoomAt(source: Source, part: number, factor: number): void {
  const { from, to } = state.stretch.value;
  const at = from + (to - from) * part;
  state.moveTo({ from: at - (at - from) * factor, to: at + (to - at) * factor }, source);
}

export function panBy(source: Source, part: number): void {
  const { from, to } = state.stretch.value;
  const by = (to - from) * part;
  state.moveTo({ from: from + by, to: to + by }, source);
}

export function startHands(canvas: HTMLCanvasElement, hands: Hands): () => void {
  const { source, stage, hover, drag, scroller } = hands;
  let press: { x: number; y: number; from: number; panning: boolean; isStill: boolean } | null = null;
  // Where the mouse or each finger is down.
  const down = new Map<number, { x: number; y: number }>();
  let still = 0;
  const timeAt = (x: number) => {
    const { from, to } = state.stretch.value;
    return from + ((to - from) * x) / stage().width;
  };
  const moved = () => {
    hands.setMoving(true);
    clearTimeout(still);
    still = setTimeout(() => hands.setMoving(false), STILL_AFTER) as unknown as number;
  };

  const onWheel = (event: WheelEvent) => {
    event.preventDefault();
    hover.value = null;
    const unit = event.deltaMode === 1 ? 16 : 1;
    const fits = scroller.scrollHeight <= scroller.clientHeight + 1;
    if (event.ctrlKey || event.metaKey || (fits && !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX))) {
      zoomAt(source, event.offsetX / stage().width, Math.exp(event.deltaY * unit * 0.0022));
      moved();
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      panBy(source, ((event.deltaX || event.deltaY) * unit) / stage().width);
      moved();
    } else {
      scroller.scrollTop += event.deltaY * unit;
    }
  };

  const onDown = (event: PointerEvent) => {
    if (event.button > 1) return;
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    press = { x: event.offsetX, y: event.offsetY, from: timeAt(event.offsetX), isStill: down.size === 1, panning: event.shiftKey || event.button === 1 || event.pointerType === "touch" };
  };

  // Two fingers: the times below them stay below them.
  const pinch = (event: PointerEvent) => {
    const before = down.get(event.pointerId)!;
    const [, other] = [...down].find(([id]) => id !== event.pointerId)!;
    const now = { x: event.offsetX, y: event.offsetY };
    down.set(event.pointerId, now);
    const apart = (a: { x: number; y: number }) => Math.max(Math.hypot(a.x - other.x, a.y - other.y), 10);
    zoomAt(source, other.x / stage().width, apart(before) / apart(now));
    moved();
  };

  const onMove = (event: PointerEvent) => {
    if (down.size === 2 && down.has(event.pointerId)) {
      pinch(event);
      return;
    }
    if (press === null) {
      const lines = hands.hoverAt(event.offsetX, event.offsetY);
      hover.value = lines.length === 0 ? null : { x: event.offsetX, y: event.offsetY };
      canvas.style.cursor = lines.length > 0 ? "pointer" : "default";
      return;
    }
    hover.value = null;
    if (Math.hypot(event.offsetX - press.x, event.offsetY - press.y) > LEAST_DRAG) press.isStill = false;
    if (press.panning && !press.isStill) {
      panBy(source, (press.x - event.offsetX) / stage().width);
      scroller.scrollTop += press.y - event.offsetY;
      press.x = event.offsetX;
      press.y = event.offsetY;
      moved();
    } else if (!press.panning && Math.abs(event.offsetX - press.x) > LEAST_DRAG) {
      drag.value = { from: press.from, to: timeAt(event.offsetX), top: Math.min(press.y, event.offsetY), bottom: Math.max(press.y, event.offsetY) };
    }
  };

  const finishDrag = () => {
    const { from, to, top, bottom } = drag.value!;
    drag.value = null;
    const now = stage();
    const tracks = now.layout.entries.filter((entry) => entry.kind === "track" && entry.y - now.top < bottom && entry.y + entry.height - now.top > top);
    const ids = tracks.map((entry) => (entry.kind === "track" ? entry.track : 0));
    if (ids.length > 0) void selectArea(source, { from: Math.max(0, Math.min(from, to)), to: Math.max(from, to), tracks: ids });
  };

  const onUp = (event: PointerEvent) => {
    const was = press;
    press = null;
    down.delete(event.pointerId);
    if (was === null || (was.panning && !was.isStill)) return;
    if (drag.value !== null) finishDrag();
    else click(event.offsetX, event.offsetY);
  };

  const onCancel = (event: PointerEvent) => {
    press = null;
    drag.value = null;
    down.delete(event.pointerId);
  };

  const click = (x: number, y: number) => {
    const now = stage();
    const entry = entryAt(now, y);
    if (entry?.kind === "curve" && entry.info.kind === "busy") {
      const gap = gapAt(now.curves.get(entry.curve, state.stretch.value, now.width), timeAt(x));
      if (gap !== null) selectGap(source, gap);
      return;
    }
    const found = spanAt(now, x, y);
    if (found === null) {
      state.selected.value = null;
      state.area.value = null;
    } else void selectSpan(source, found.span, false);
  };

  const onDouble = (event: MouseEvent) => {
    const found = spanAt(stage(), event.offsetX, event.offsetY);
    if (found === null) return;
    if (found.count > 1) {
      const { from, to } = state.stretch.value;
      const at = timeAt(event.offsetX);
      state.goTo({ from: at - (to - from) / 40, to: at + (to - from) / 40 }, source);
    } else {
      void source.span(found.span).then((span) => state.goTo(state.around(span.start, span.length), source));
    }
  };

  const onLeave = () => {
    hover.value = null;
  };
  canvas.addEventListener("wheel", onWheel, { passive: false });
  canvas.addEventListener("pointerdown", onDown);
  canvas.addEventListener("pointermove", onMove);
  canvas.addEventListener("pointerup", onUp);
  canvas.addEventListener("pointercancel", onCancel);
  canvas.addEventListener("pointerleave", onLeave);
  canvas.addEventListener("dblclick", onDouble);
  return () => {
    canvas.removeEventListener("wheel", onWheel);
    canvas.removeEventListener("pointerdown", onDown);
    canvas.removeEventListener("pointermove", onMove);
    canvas.removeEventListener("pointerup", onUp);
    canvas.removeEventListener("pointercancel", onCancel);
    canvas.removeEventListener("pointerleave", onLeave);
    canvas.removeEventListener("dblclick", onDouble);
  };
}
