// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who held memory: at the peak, over steps, and what was never freed. The curve itself is on the timeline.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { findOnTimeline, showError, showStretch } from "../actions.ts";
import { seriesColour } from "../colours.ts";
import { bytesText, countText, momentText, percentText } from "../format.ts";
import { Card, useView, Waiting } from "../shell/fetched.tsx";
import { Name } from "../shell/name.tsx";
import { barStyle } from "../shell/table.tsx";
import type { Moment, Share, Source } from "../source/source.ts";
import * as state from "../state.ts";
import { drawCurve, type Piece } from "../timeline/charts.ts";

interface Device {
  device: string;
  process: number;
  peak: Moment;
  steps: { step: number; start: number; end: number; at_end: number; peak: number; growth: number }[];
  steps_in_all?: number;
  leaks_in_all?: number;
  leaks: { name: string; stack: string; category: string; bytes: number; blocks: number; steps: number }[];
  out_of_memory: number;
  events: number;
}

interface Data {
  missing: string[];
  categories: string[];
  devices: Device[];
}

const KEY_STEPS = 100;
const HEIGHT = 170;

function Curve({ source, curve, peak, onPick }: { source: Source; curve: number; peak: number; onPick: (at: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const piece = useSignal<Piece | null>(null);
  const asked = useRef(-1);
  const shown = useSignal(peak);
  shown.value = peak;
  const room = useSignal(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => { room.value = entry.contentRect.width; });
    observer.observe(canvas.current!);
    return () => observer.disconnect();
  }, []);
  useSignalEffect(() => {
    const element = canvas.current!;
    const dark = state.theme.value === "dark";
    const length = Math.max(source.trace.length, 1);
    if (asked.current !== curve) {
      asked.current = curve;
      void source.curve(curve, 0, length, 512).then((values) => { piece.value = { from: 0, to: length, values, gaps: [] }; });
    }
    const ratio = window.devicePixelRatio || 1;
    const width = room.value || element.clientWidth;
    element.width = width * ratio;
    element.height = HEIGHT * ratio;
    const ctx = element.getContext("2d")!;
    ctx.scale(ratio, ratio);
    if (piece.value === null) return;
    drawCurve(ctx, source.trace.curves[curve], [piece.value], { from: 0, to: length }, width, 0, HEIGHT, dark);
    ctx.strokeStyle = ctx.fillStyle = dark ? "#ffffff" : "#14181d";
    const x = Math.round((shown.value / length) * width) + 0.5;
    // Thin enough to see the curve below it.
    ctx.globalAlpha = 0.6;
    ctx.beginPath();
    ctx.moveTo(x, 0);
    ctx.lineTo(x, HEIGHT);
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.beginPath();
    ctx.moveTo(x - 5, 0);
    ctx.lineTo(x + 5, 0);
    ctx.lineTo(x, 7);
    ctx.fill();
  });
  const step = (by: number) => onPick(Math.min(Math.max(shown.value + (by * source.trace.length) / KEY_STEPS, 0), source.trace.length));
  const pick = (event: MouseEvent & { currentTarget: HTMLCanvasElement }) => onPick((event.offsetX / event.currentTarget.clientWidth) * source.trace.length);
  return (
    <canvas
      ref={canvas}
      class="memory-curve"
      tabIndex={0}
      role="slider"
      aria-label="Memory over time, by category: the moment shown below"
      aria-valuemin={0}
      aria-valuemax={source.trace.length}
      aria-valuenow={Math.round(peak)}
      aria-valuetext={momentText(peak, 1000)}
      title="Click, or use the arrow keys, to see what was alive then"
      onClick={pick}
      onKeyDown={(event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        event.preventDefault();
        step(event.key === "ArrowLeft" ? -1 : 1);
      }}
    />
  );
}

const FRAMES = 4;
const MOST_SHARES = 25;

/** Shares of what was alive; `show` writes who held one. */
function Shares({ title, held, shares, whole, show }: { title: string; held: string; shares: Share[]; whole: number; show: (name: string) => ComponentChildren }) {
  if (shares.length === 0) return null;
  return (
    <Card title={title}>
      <table>
        <thead><tr><th scope="col">{held}</th><th scope="col" class="n">Bytes</th><th scope="col" class="n">Share</th><th scope="col" class="n">Blocks</th></tr></thead>
        <tbody>
          {shares.slice(0, MOST_SHARES).map((share) => (
            <tr key={share.name}>
              <td class="wrap">{show(share.name)}</td>
              <td class="n" data-bar="" style={barStyle(share.bytes / Math.max(whole, 1))}>{bytesText(share.bytes)}</td>
              <td class="n">{percentText(share.bytes, whole)}</td>
              <td class="n">{countText(share.blocks)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shares.length > MOST_SHARES && <p class="quiet">and {countText(shares.length - MOST_SHARES)} more</p>}
    </Card>
  );
}

/** A stack, the innermost frame first; the rest of a deep one on demand. */
function Frames({ stack }: { stack: string }) {
  if (stack === "") return <>(no stack was recorded)</>;
  const frames = stack.split(" < ");
  return (
    <>
      {frames.slice(0, FRAMES).join(" ← ")}
      {frames.length > FRAMES && <details><summary>{countText(frames.length - FRAMES)} more frames</summary>{frames.slice(FRAMES).map((frame, i) => <div key={i} class="quiet">{frame}</div>)}</details>}
    </>
  );
}

export function Memory({ source }: { source: Source }) {
  const { data, error } = useView<Data>(source, "memory");
  if (data === null) return <Waiting error={error} />;
  if (data.devices.length === 0) return <p class="waiting">This trace has no allocations. Record with <code>sonde run --memory --shapes</code>, or in Python with <code>profile_memory=True</code>.</p>;
  return <Devices source={source} data={data} />;
}

function Devices({ source, data }: { source: Source; data: Data }) {
  const picked = useSignal<{ device: number; asked: number; moment: Moment } | null>(null);
  const best = data.devices.reduce((most, device, i) => (device.peak.live > data.devices[most].peak.live ? i : most), 0);
  const named = data.devices.findIndex((one) => one.device === state.memoryDevice.value);
  const at = named < 0 ? best : named;
  const device = data.devices[at];
  const curve = source.trace.curves.findIndex((one) => one.kind === "memory" && one.name === `${device.device} memory` && (one.process === device.process || device.process < 0));
  const dark = state.theme.value === "dark";
  const asked = state.memoryMoment.value;
  useEffect(() => {
    if (asked === null) return;
    let current = true;
    source.moment(at, asked).then((moment) => { if (current) picked.value = { device: at, asked, moment }; }, showError);
    return () => { current = false; };
  }, [source, at, asked]);
  const isPeak = asked === null || picked.value?.device !== at;
  const moment = isPeak || picked.value === null ? device.peak : picked.value.moment;
  return (
    <div class="page scroll">
      <header class="bar">
        <h1>Memory</h1>
        {data.devices.length > 1 && (
          <fieldset class="choice">
            <legend class="hidden">Device</legend>
            {data.devices.map((one, i) => <button key={`${one.device}${one.process}`} type="button" aria-pressed={i === at} onClick={() => { state.memoryDevice.value = one.device; }}>{one.device}</button>)}
          </fieldset>
        )}
      </header>
      <p>
        At its peak <b>{bytesText(device.peak.live)}</b> were live on {device.device}, at <button type="button" class="link" onClick={() => showStretch(source, device.peak.at - 1e5, device.peak.at + 1e5)}>{momentText(device.peak.at, 1000)}</button>.
        {device.peak.unseen > 0 && ` ${bytesText(device.peak.unseen)} more had been handed out before recording began.`}
        {device.peak.reserved > 0 && ` The allocator had reserved ${bytesText(device.peak.reserved)}.`}
        {device.out_of_memory > 0 && ` ${countText(device.out_of_memory)} requests failed for lack of memory.`}
      </p>
      {data.missing.map((sentence) => <p key={sentence} class="quiet">Note: {sentence}.</p>)}
      {curve >= 0 && <Curve key={curve} source={source} curve={curve} peak={asked ?? device.peak.at} onPick={(time) => { state.memoryMoment.value = Math.round(time); }} />}
      <p class="legend">
        {data.categories.map((name, i) => moment.by_category[i] > 0 && <span key={name}><i class="swatch" style={{ background: seriesColour(i, dark) }} /> {name.replaceAll("_", " ")} {bytesText(moment.by_category[i])}</span>)}
        {moment.unseen > 0 && <span><i class="swatch" style={{ background: seriesColour(data.categories.length, dark) }} /> held since before recording {bytesText(moment.unseen)}</span>}
        {moment.reserved > 0 && <span><i class="swatch dashed" /> reserved by the allocator {bytesText(moment.reserved)}</span>}
      </p>
      <p>
        {isPeak ? "Below is what was alive at the peak. Click the curve, or use its arrow keys, to see another moment." : <>Below are the <b>{bytesText(moment.live)}</b> that were alive at {momentText(moment.at, 1000)}. </>}
        {!isPeak && <button type="button" class="link" onClick={() => { state.memoryMoment.value = null; }}>Back to the peak</button>}
      </p>
      <div class="cards">
        <Shares title={`Alive at ${isPeak ? "the peak" : momentText(moment.at, 1000)}, by operator`} held="Allocated by" shares={moment.by_op} whole={moment.live} show={(name) => (name.startsWith("(") ? name : <button type="button" class="link" onClick={() => findOnTimeline(source, name)}><Name name={name} /></button>)} />
        {moment.by_module.some((share) => !share.name.startsWith("(")) && <Shares title="By module" held="Allocated for" shares={moment.by_module} whole={moment.live} show={(name) => name.split(".").map((part, i) => <span key={i}>{i > 0 && <>.<wbr /></>}{part}</span>)} />}
        {device.steps.length > 0 && (
          <Card title="Steps" note={(device.steps_in_all ?? 0) > device.steps.length ? `The first ${countText(device.steps.length)} of ${countText(device.steps_in_all ?? 0)}.` : undefined}>
            <table>
              <thead><tr><th scope="col">Step</th><th scope="col" class="n">Peak</th><th scope="col" class="n">At its end</th><th scope="col" class="n">Growth</th></tr></thead>
              <tbody>{device.steps.map((step) => <tr key={step.start}><td><button type="button" class="link" onClick={() => showStretch(source, step.start, step.end)}>{step.step}</button></td><td class="n">{bytesText(step.peak)}</td><td class="n">{bytesText(step.at_end)}</td><td class="n">{bytesText(step.growth)}</td></tr>)}</tbody>
            </table>
          </Card>
        )}
        {device.leaks.length > 0 && (
          <Card title="Never freed" note="Allocated before the last step and still held when it ended. What is allocated in many steps may be a leak.">
            <table>
              <thead><tr><th scope="col">Operator</th><th scope="col">Category</th><th scope="col" class="n">Bytes</th><th scope="col" class="n">Blocks</th><th scope="col" class="n">Steps</th></tr></thead>
              <tbody>{device.leaks.slice(0, MOST_SHARES).map((leak, i) => <tr key={i}><td class="wrap">{leak.name}{leak.stack !== "" && <small class="quiet">{leak.stack}</small>}</td><td>{leak.category.replaceAll("_", " ")}</td><td class="n">{bytesText(leak.bytes)}</td><td class="n">{countText(leak.blocks)}</td><td class="n">{countText(leak.steps)}</td></tr>)}</tbody>
            </table>
            {(device.leaks_in_all ?? device.leaks.length) > MOST_SHARES && <p class="quiet">and {countText((device.leaks_in_all ?? device.leaks.length) - MOST_SHARES)} more</p>}
          </Card>
        )}
      </div>
      {moment.by_stack.some((share) => share.name !== "") && <Shares title="By stack" held="Allocated in" shares={moment.by_stack} whole={moment.live} show={(name) => <Frames stack={name} />} />}
    </div>
  );
}
