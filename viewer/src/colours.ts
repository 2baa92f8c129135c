// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One colour for each class of spans, told apart also by those who do not see all hues; the name
// chooses among a few shades, so that the same name has the same colour everywhere.

export const CLASSES = ["operator", "annotation", "function", "call", "kernel", "copy", "work", "wait", "measurement", "overhead", "record", "foreign"];
export const UNFINISHED = 128;
const SHADES = 5;
const LEVELS = 16;

// Hue, saturation and lightness of each class, the last as a difference from what the theme has. The differences keep classes
// apart for those who do not see all hues; colours.test.ts says by how much.
const HUES: [number, number, number][] = [
  [208, 70, -12], // operator: blue
  [252, 25, -6], // annotation: grey violet
  [52, 50, 4], // function: sand
  [317, 46, 6], // call: pale purple
  [152, 55, 5], // kernel: green
  [42, 88, -11], // copy: orange
  [152, 55, 5], // work
  [14, 77, -8], // wait: vermilion
  [200, 18, -12], // measurement
  [0, 0, -2], // overhead
  [210, 14, -12], // record
  [190, 24, 0], // foreign
];

export interface Palette {
  dark: boolean;
  /** ABGR of a class, a shade and how much of it is covered: paletteIndex(). */
  table: Uint32Array;
  /** The same for what is too narrow for a label, where pale colours would be lost. */
  narrow: Uint32Array;
}

function rgbOf(h: number, s: number, l: number): [number, number, number] {
  const a = (s / 100) * Math.min(l / 100, 1 - l / 100);
  const part = (n: number) => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

/** `more`: of the lightness. */
function shadeOf(of: number, shade: number, dark: boolean, more = 0): [number, number, number] {
  const [h, s, l] = HUES[of] ?? HUES[11];
  return rgbOf(h + (shade - 2) * 3, s, (dark ? 68 : 76) + l + (shade - 2) * 2 + more);
}

function makeTable(dark: boolean, more: number): Uint32Array {
  const background: [number, number, number] = dark ? [21, 24, 29] : [255, 255, 255];
  const table = new Uint32Array(HUES.length * SHADES * LEVELS);
  for (let of = 0; of < HUES.length; of++)
    for (let shade = 0; shade < SHADES; shade++)
      for (let level = 0; level < LEVELS; level++) {
        const part = 0.3 + (0.7 * level) / (LEVELS - 1);
        const [r, g, b] = shadeOf(of, shade, dark, more).map((c, i) => Math.round(background[i] + (c - background[i]) * part));
        table[(of * SHADES + shade) * LEVELS + level] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
      }
  return table;
}

export function makePalette(dark: boolean): Palette {
  return { dark, table: makeTable(dark, 0), narrow: makeTable(dark, dark ? 6 : -14) };
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

/** Of a name among those of its class; a class below 0 is none. */
export function nameColour(of: number, name: number, dark: boolean): string {
  const [r, g, b] = shadeOf(of < 0 ? CLASSES.indexOf("measurement") : of, shadeOfName(name), dark);
  return `rgb(${r} ${g} ${b})`;
}

/** Of the series of a chart. */
export function seriesColour(index: number, dark: boolean): string {
  const hues: [number, number, number][] = [
    [213, 72, 53], [40, 81, 50], [152, 58, 56], [48, 82, 73], [19, 62, 47], [310, 42, 47], [274, 38, 73], [198, 20, 84], [218, 0, 47], [0, 0, 50],
  ];
  const [h, s, l] = hues[index % hues.length];
  return `hsl(${h} ${s}% ${dark ? l + 2 : l}%)`;
}
