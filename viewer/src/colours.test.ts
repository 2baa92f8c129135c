// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether colours that stand for something are told apart, also by those who lack one kind of cones.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CLASSES, classColour, nameColour, seriesColour } from "./colours.ts";

type Triple = [number, number, number];

// What is left of red, green and blue (Machado, Oliveira and Fernandes, 2009).
const EYES: Record<string, Triple[]> = {
  "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

/** Red, green and blue of `rgb(…)` or `hsl(…)`, from 0 to 1. */
function parsed(colour: string): Triple {
  const [a, b, c] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  if (colour.startsWith("rgb")) return [a / 255, b / 255, c / 255];
  const k = (n: number) => (n + a / 30) % 12;
  const part = (n: number) => c / 100 - (b / 100) * Math.min(c / 100, 1 - c / 100) * Math.max(-1, Math.min(k(n) - 3, 9 - k(n), 1));
  return [part(0), part(8), part(4)];
}

/** As these eyes see it, in CIELAB. */
function seen(colour: string, eyes: Triple[]): Triple {
  const linear = parsed(colour).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const [r, g, b] = eyes.map((row) => Math.min(1, Math.max(0, row[0] * linear[0] + row[1] * linear[1] + row[2] * linear[2])));
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [x, y, z] = [f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505), f(0.2126 * r + 0.7152 * g + 0.0722 * b), f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function areToldApart(colours: [string, string][], least: number): void {
  for (const [name, eyes] of Object.entries(EYES)) {
    const all = colours.map(([what, colour]) => [what, seen(colour, eyes)] as const);
    all.forEach(([what, at], i) => {
      for (const [other, from] of all.slice(i + 1)) {
        const distance = Math.hypot(at[0] - from[0], at[1] - from[1], at[2] - from[2]);
        assert.ok(distance >= least, `${what} and ${other} are ${distance.toFixed(1)} apart with ${name}`);
      }
    });
  }
}

test("classes of spans are told apart", () => {
  const common = CLASSES.filter((name) => !["work", "measurement", "record", "foreign"].includes(name));
  for (const dark of [false, true]) areToldApart(common.map((name) => [name, classColour(CLASSES.indexOf(name), dark)]), 9);
});

test("names can be read on every colour of a span", () => {
  const light = (colour: string) => parsed(colour).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ink = light("rgb(18 22 27)");
  for (const dark of [false, true])
    CLASSES.forEach((what, of) => {
      for (let name = 0; name < 20; name++) {
        const contrast = (light(nameColour(of, name, dark)) + 0.05) / (ink + 0.05);
        assert.ok(contrast >= 4.5, `${what} has a contrast of ${contrast.toFixed(2)}`);
      }
    });
});

test("categories of memory are told apart", () => {
  for (const dark of [false, true]) areToldApart(Array.from({ length: 9 }, (_, i) => [`series ${i}`, seriesColour(i, dark)]), 18);
});

test("causes of idle time are told apart", () => {
  const themes = [...readFileSync("src/style.css", "utf8").matchAll(/--(busy|wait\d|delay|other): (hsl\([^)]*\))/g)].map(([, name, colour]): [string, string] => [name, colour]);
  assert.equal(themes.length, 14);
  areToldApart(themes.slice(0, 7), 22);
  areToldApart(themes.slice(7), 22);
});
