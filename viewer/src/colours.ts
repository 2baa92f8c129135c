// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One hue for each class of spans, told apart also by those who do not see all colours (after Okabe and Ito); the name
// chooses among a few shades, so that the same name has the same colour everywhere.

export const CLASSES = ["operator", "annotation", "function", "call", "kernel", "copy", "work", "wait", "measurement", "overhead", "record", "foreign"];
export const UNFINISHED = 128;
const SHADES = 5;
const LEVELS = 16;

// Hue and saturation of each class.
const HUES: [number, number][] = [
  [204, 62], // operator: sky blue
  [262, 26], // annotation: grey violet
  [48, 46], // function: sand
  [322, 38], // call: purple
  [162, 48], // kernel: green
  [37, 82], // copy: orange
  [162, 48], // work
  [18, 72], // wait: vermilion
  [210, 10], // measurement
  [0, 0], // overhead
  [210, 10], // record
  [190, 24], // foreign
];

export interface Palette {
  dark: boolean;
  background: [number, number, number];
  /** ABGR of a class, a shade and how much of it is covered: `at(look, name)`. */
  table: Uint32Array;
}

function rgbOf(h: number, s: number, l: number): [number, number, number] {
  const a = (s / 100) * Math.min(l / 100, 1 - l / 100);
  const part = (n: number) => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

function shadeOf(of: number, shade: number, dark: boolean): [number, number, number] {
  const [h, s] = HUES[of] ?? HUES[11];
  return rgbOf(h + (shade - 2) * 3, s, (dark ? 58 : 70) + shade * 3);
}

export function makePalette(dark: boolean): Palette {
  const background: [number, number, number] = dark ? [21, 24, 29] : [255, 255, 255];
  const table = new Uint32Array(HUES.length * SHADES * LEVELS);
  for (let of = 0; of < HUES.length; of++)
    for (let shade = 0; shade < SHADES; shade++)
      for (let level = 0; level < LEVELS; level++) {
        const part = 0.3 + (0.7 * level) / (LEVELS - 1);
        const [r, g, b] = shadeOf(of, shade, dark).map((c, i) => Math.round(background[i] + (c - background[i]) * part));
        table[(of * SHADES + shade) * LEVELS + level] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
      }
  return { dark, background, table };
}

/** Spreads numbers of names over the shades. */
export function shadeOfName(name: number): number {
  return ((Math.imul(name, 0x9e3779b1) >>> 16) & 0xffff) % SHADES;
}

/** Where a colour stands in the table: `cover` is of 255. */
export function paletteIndex(of: number, name: number, cover: number): number {
  const unfinished = of >= UNFINISHED;
  const level = unfinished ? 5 : (cover * (LEVELS - 1) + 127) >> 8;
  return ((of & 127) * SHADES + shadeOfName(name)) * LEVELS + Math.min(level, LEVELS - 1);
}

export function classColour(of: number, dark: boolean): string {
  const [r, g, b] = shadeOf(of & 127, 2, dark);
  return `rgb(${r} ${g} ${b})`;
}

/** Of the series of a chart. */
export function seriesColour(index: number, dark: boolean): string {
  const hues: [number, number, number][] = [
    [204, 60, 56], [37, 85, 56], [162, 50, 45], [48, 70, 62], [18, 70, 56], [322, 38, 60], [262, 28, 60], [210, 8, 62], [210, 8, 46], [0, 0, 50],
  ];
  const [h, s, l] = hues[index % hues.length];
  return `hsl(${h} ${s}% ${dark ? l : l + 4}%)`;
}
