// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Time by path: equal paths are one box, as wide as their time.

import { useSignal } from "@preact/signals";
import { findOnTimeline } from "../actions.ts";
import { nameColour } from "../colours.ts";
import { countText, narrowName, percentText, shortName, timeText } from "../format.ts";
import { useView, Waiting } from "../shell/fetched.tsx";
import type { Source } from "../source/source.ts";
import * as state from "../state.ts";
import { className, Swatch } from "../timeline/panel.tsx";

interface Graph {
  names: string[];
  /** Of each name; -1: no span has it. Older pages do not have them. */
  classes?: number[];
  /** parent, name, time, own time, count */
  nodes: [number, number, number, number, number][];
}

/** The host's time by thread, that of all threads together, or the device's time. */
type Which = "host" | "together" | "device";

interface Box {
  node: number;
  x: number;
  width: number;
  depth: number;
}

const LEAST_PART = 0.0015;
const LETTER = 6.4;

/** The narrow form of a name where the box is too small for all of it. */
function fitting(name: string, part: number): string {
  const short = shortName(name);
  return short.length * LETTER < part * window.innerWidth ? short : narrowName(name);
}

/** Boxes of a node and all inside it, the longest to the left. */
function boxesOf(graph: Graph, root: number): Box[] {
  const inside: number[][] = graph.nodes.map(() => []);
  graph.nodes.forEach(([parent], i) => {
    if (i > 0) inside[parent].push(i);
  });
  const out: Box[] = [];
  const add = (node: number, x: number, width: number, depth: number) => {
    out.push({ node, x, width, depth });
    const total = graph.nodes[node][2];
    let at = x;
    for (const child of inside[node].sort((a, b) => graph.nodes[b][2] - graph.nodes[a][2])) {
      const part = total > 0 ? (graph.nodes[child][2] / total) * width : 0;
      if (part >= LEAST_PART) add(child, at, part, depth + 1);
      at += part;
    }
  };
  add(root, 0, 1, 0);
  return out;
}

function pathOf(graph: Graph, node: number): number[] {
  const out = [node];
  for (let at = node; at !== 0; ) {
    at = graph.nodes[at][0];
    out.unshift(at);
  }
  return out;
}

export function Flame({ source }: { source: Source }) {
  const { data, error } = useView<Record<Which, Graph>>(source, "flame");
  const focus = useSignal(state.flameBox.peek());
  const words = useSignal("");
  if (data === null) return <Waiting error={error} />;
  const which = (["together", "device"] as const).find((one) => one === state.flameOf.value && data[one].nodes.length > 0) ?? "host";
  const graph = data[which];
  const root = state.flameBox.value < graph.nodes.length ? state.flameBox.value : 0;
  const enlarge = (node: number) => { state.flameBox.value = focus.value = node; };
  if (data.host.nodes.length === 0 && data.device.nodes.length === 0) return <p class="waiting">This trace has no spans of threads.</p>;
  const boxes = graph.nodes.length === 0 ? [] : boxesOf(graph, root);
  const name = (node: number) => graph.names[graph.nodes[node][1]];
  const whole = graph.nodes[0]?.[2] ?? 0;
  const isFound = (node: number) => words.value !== "" && name(node).toLowerCase().includes(words.value.toLowerCase());
  const depth = Math.max(0, ...boxes.map((box) => box.depth)) + 1;
  const classOf = (node: number) => graph.classes?.[graph.nodes[node][1]] ?? -1;
  const shown = [...new Set(boxes.map((box) => classOf(box.node)))].filter((of) => of >= 0).sort((a, b) => a - b);
  const threads = data.host.nodes.filter(([parent], i) => i > 0 && parent === 0).length;
  const show = (next: Which) => {
    state.flameOf.value = next;
    enlarge(0);
  };
  const chosen = graph.nodes[focus.value];
  return (
    <div class="page flame-page">
      <header class="bar">
        <h1>Flame graph</h1>
        <fieldset class="choice">
          <legend class="hidden">Whose time</legend>
          <button type="button" aria-pressed={which === "host"} onClick={() => show("host")}>{threads > 1 ? "Host time by thread" : "Host time"}</button>
          {threads > 1 && <button type="button" aria-pressed={which === "together"} title="Equal paths of all threads are one box" onClick={() => show("together")}>Threads together</button>}
          <button type="button" aria-pressed={which === "device"} disabled={data.device.nodes.length === 0} onClick={() => show("device")}>Device time by who launched it</button>
        </fieldset>
        <input type="search" placeholder="Highlight" aria-label="Highlight names" value={words.value} onInput={(e) => { words.value = e.currentTarget.value; }} />
      </header>
      {chosen !== undefined && (
        <p class="path">
          {pathOf(graph, focus.value).map((node) => <span key={node}><button type="button" class="link" onClick={() => enlarge(node)}>{shortName(name(node))}</button> </span>)}
          <span class="quiet">{timeText(chosen[2])}{focus.value === 0 ? " in all. Click a box to enlarge it." : `, ${percentText(chosen[2], whole)} of all, ${timeText(chosen[3])} of its own${chosen[4] > 0 ? `, ${countText(chosen[4])} ${chosen[4] === 1 ? "time" : "times"}` : ""}.`} </span>
          {focus.value !== 0 && <button type="button" class="link" onClick={() => findOnTimeline(source, name(focus.value))}>on the timeline</button>}
        </p>
      )}
      {shown.length > 1 && <p class="legend">{shown.map((of) => <span key={of}><Swatch of={of} /> {className(of)}</span>)}</p>}
      <div class="flame" style={{ height: `${depth * 20}px` }}>
        {boxes.map((box) => (
          <button
            key={box.node}
            type="button"
            class={`box ${box.width > 0.02 ? "" : "narrow"} ${isFound(box.node) ? "found" : words.value === "" ? "" : "dim"}`}
            style={{ left: `${box.x * 100}%`, width: `${box.width * 100}%`, top: `${box.depth * 20}px`, background: isFound(box.node) ? undefined : nameColour(classOf(box.node), graph.nodes[box.node][1], state.theme.value === "dark") }}
            title={`${name(box.node)}\n${timeText(graph.nodes[box.node][2])}, ${percentText(graph.nodes[box.node][2], whole)}`}
            onFocus={() => { focus.value = box.node; }}
            onClick={() => enlarge(box.node)}
          >
            {box.width > 0.02 ? fitting(name(box.node), box.width) : <span class="hidden">{shortName(name(box.node))}</span>}
          </button>
        ))}
      </div>
    </div>
  );
}
