// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A flame graph of differences: where the time went before and goes now.

import { shortName, timeText } from "../format.ts";

/** A time by its path, from the outside in. */
export interface Part {
  path: string[];
  before: number;
  now: number;
  /** Whether the difference may be chance. */
  isNoise: boolean;
}

interface Node {
  name: string;
  before: number;
  now: number;
  /** What has changed inside, noise left out. */
  more: number;
  /** What is gone has a box too: the longer of both times, or what is inside. */
  width: number;
  inside: Map<string, Node>;
}

interface Box {
  node: Node;
  key: string;
  x: number;
  width: number;
  depth: number;
}

const ROW = 20;
const LEAST_PART = 0.0015;
const LEAST_WITH_NAME = 0.03;

function treeOf(name: string, parts: Part[]): Node {
  const made = (of: string): Node => ({ name: of, before: 0, now: 0, more: 0, width: 0, inside: new Map() });
  const root = made(name);
  for (const part of parts) {
    let at = root;
    for (const step of ["", ...part.path]) {
      if (step !== "") {
        const next = at.inside.get(step) ?? made(step);
        at.inside.set(step, next);
        at = next;
      }
      at.before += part.before;
      at.now += part.now;
      at.more += part.isNoise ? 0 : part.now - part.before;
    }
  }
  measure(root);
  return root;
}

function measure(node: Node): number {
  let inside = 0;
  for (const child of node.inside.values()) inside += measure(child);
  node.width = Math.max(node.before, node.now, inside);
  return node.width;
}

function boxesOf(root: Node): Box[] {
  const out: Box[] = [];
  const add = (node: Node, key: string, x: number, depth: number) => {
    const width = root.width > 0 ? node.width / root.width : 0;
    if (width < LEAST_PART) return;
    out.push({ node, key, x, width, depth });
    let at = x;
    for (const child of [...node.inside.values()].sort((a, b) => b.width - a.width)) {
      add(child, `${key}/${child.name}`, at, depth + 1);
      at += child.width / root.width;
    }
  };
  add(root, "", 0, 0);
  return out;
}

/** Red took longer, blue took less; the more, the stronger. */
function colourOf(node: Node): string {
  const part = Math.min(1, Math.abs(node.more) / Math.max(node.before, node.now, 1));
  if (part < 0.005) return "hsl(40 12% 86%)";
  return `hsl(${node.more > 0 ? 8 : 212} ${Math.round(50 + 40 * part)}% ${Math.round(88 - 20 * part)}%)`;
}

function sentence(node: Node): string {
  const delta = node.now - node.before;
  const change = `${delta < 0 ? "-" : "+"}${timeText(Math.abs(delta))}`;
  return `${node.name}\n${timeText(node.before)} before, ${timeText(node.now)} now, ${change}`;
}

export function Differences({ name, parts }: { name: string; parts: Part[] }) {
  const boxes = boxesOf(treeOf(name, parts));
  if (boxes.length < 2) return null;
  const depth = Math.max(...boxes.map((box) => box.depth)) + 1;
  return (
    <>
      <p class="quiet">A box is as wide as its mean time before or now, whichever is longer. Red took longer, blue took less, grey is the same or within the noise.</p>
      <div class="flame" role="img" aria-label={`${name}: how its parts have changed, as in the table below`} style={{ height: `${depth * ROW}px` }}>
        {boxes.map((box) => (
          <span
            key={box.key}
            class={`box ${box.width > LEAST_WITH_NAME ? "" : "narrow"}`}
            style={{ left: `${box.x * 100}%`, width: `${box.width * 100}%`, top: `${box.depth * ROW}px`, background: colourOf(box.node) }}
            title={sentence(box.node)}
          >
            {box.width > LEAST_WITH_NAME ? shortName(box.node.name) : ""}
          </span>
        ))}
      </div>
    </>
  );
}
