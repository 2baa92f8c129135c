// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The data of a page in one file: src/view/timeline/page_data.h says how it is laid out.

import type { Gap, Known, Moment, TraceInfo } from "./source.ts";

export interface Header {
  trace: TraceInfo;
  at: string;
  cut?: [number, number];
  kept: number;
  names: string[];
  facts: Known[];
  kinds: string[];
  views: Record<string, unknown>;
  curve_end: number;
  curves: { values: (number | null)[]; gaps?: { gaps: Gap[] } }[];
  moments: (Moment | null)[][];
  columns: Record<string, [number, number]>;
}

/** A column of numbers in groups of seven bits. */
export class NumberReader {
  private at = 0;

  constructor(private readonly bytes: Uint8Array) {}

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  next(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128 || byte === undefined) return value;
      scale *= 128;
    }
  }
}

async function unpacked(text: string): Promise<Uint8Array> {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export interface PageData {
  header: Header;
  column: (name: string) => NumberReader;
  bytes: (name: string) => Uint8Array;
}

export async function readPageData(text: string): Promise<PageData> {
  const all = await unpacked(text);
  const length = new DataView(all.buffer, all.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length))) as Header;
  const bytes = (name: string) => {
    const [at, size] = header.columns[name];
    return all.subarray(4 + length + at, 4 + length + at + size);
  };
  return { header, bytes, column: (name) => new NumberReader(bytes(name)) };
}
