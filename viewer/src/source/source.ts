// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the page gets its data: from `sonde view`, or from the file that it is in. All times are nanoseconds since the
// start of the trace.

export interface ProcessInfo {
  pid: number;
  name: string;
  label: string;
  rank: number;
  clock_error: number;
  sort: number;
}

export interface TrackInfo {
  rows: number;
  spans: number;
  kind?: string;
  name?: string;
  id?: number;
  process?: number;
  device?: number;
  sort?: number;
}

export interface CurveInfo {
  kind: "memory" | "busy" | "queue" | "counter";
  name: string;
  unit: string;
  process: number;
  device: number;
  series: string[];
}

export interface TraceInfo {
  sonde: string;
  name: string;
  first: string;
  length: number;
  spans: number;
  /** Names of the views besides the timeline that there is data for. */
  views: string[];
  processes: ProcessInfo[];
  tracks: TrackInfo[];
  curves: CurveInfo[];
  /** begin, end, number, span, process */
  steps: [number, number, number, number, number][];
  /** begin, end, process */
  windows: [number, number, number][];
  /** Which classes of spans there are, by their numbers in colours.ts. */
  classes?: number[];
  /** The first of them, if there are very many. */
  instants: { at: number; track: number; name: string }[];
  instants_in_all: number;
}

export const TILE_BUCKETS = 1024;
export const MOST_LEVEL = 52;

/** One track over 1,024 buckets of 2^level ns. Columns have `n` values. */
export interface Tile {
  track: number;
  level: number;
  tile: number;
  n: number;
  begin: Float32Array;
  end: Float32Array;
  span: Uint32Array;
  name: Uint32Array;
  count: Uint32Array;
  /** row | cover << 16 | class << 24 */
  look: Uint32Array;
}

export interface Place {
  id: number;
  name: string;
  track: number;
  row: number;
  start: number;
  length: number;
}

export interface Link extends Place {
  how: string;
}

export interface Known {
  facts?: [string, string][];
  /** place, type, sizes, strides, value */
  inputs?: [string, string, string, string, string][];
  stack?: string[];
}

export interface SpanDetails extends Place {
  kind: string;
  class: number;
  flags: number;
  self: number;
  known: Known;
  numbers: Record<string, number>;
  previous: number;
  next: number;
  child: number;
  links: Link[];
  launched?: number;
  device?: number;
}

export interface AreaRow {
  name: string;
  class: number;
  count: number;
  total: number;
  self: number;
  device: number;
  bytes: number;
}

export interface AreaAnswer {
  from_device: boolean;
  names: number;
  rows: AreaRow[];
}

export interface Hit {
  id: number;
  name: string;
  track: number;
  start: number;
  length: number;
  class: number;
}

export interface SearchAnswer {
  count: number;
  total: number;
  hits: Hit[];
}

export interface Share {
  name: string;
  bytes: number;
  blocks: number;
}

/** What was alive in memory at a time. */
export interface Moment {
  at: number;
  live: number;
  unseen: number;
  reserved: number;
  by_category: number[];
  by_op: Share[];
  by_module: Share[];
  by_stack: Share[];
}

/** begin, end, cause, what the host did, the work after it, the wait */
export type Gap = [number, number, number, number, number, number];

export interface TileRequest {
  level: number;
  first: number;
  count: number;
  tracks: number[];
}

export interface Source {
  readonly trace: TraceInfo;
  /** The stretch that was cut out of a larger trace, if the page has only that. */
  readonly cut: [number, number] | null;
  /** What the page is asked to show first. */
  readonly at: string;
  /** The traces that can be shown, if they are several, and which of them this is. All ranks together may be one. */
  readonly traces: string[];
  readonly of: number;
  /** Those that are files, for commands. */
  readonly files: string[];
  /** Those of the old version that they are compared with. */
  readonly against: string[];
  tiles(request: TileRequest): Promise<Tile[]>;
  names(ids: number[]): Promise<string[]>;
  span(id: number): Promise<SpanDetails>;
  area(from: number, to: number, tracks: number[]): Promise<AreaAnswer>;
  search(query: string): Promise<SearchAnswer>;
  curve(id: number, from: number, to: number, n: number): Promise<Float32Array>;
  gaps(id: number, from: number, to: number, n: number): Promise<Gap[]>;
  /** Of a device of the memory view; a page in one file knows some moments only, and gives the last before. */
  moment(device: number, at: number): Promise<Moment>;
  /** A view beside the timeline; views/ knows what is in it. */
  view(name: string): Promise<unknown>;
  /** Whether perfetto() works: it takes a server. */
  readonly canExport: boolean;
  /** The trace, or a stretch of it, in Perfetto's format. */
  perfetto(part: { from: number; to: number } | null): Promise<ArrayBuffer>;
  /** The version that this is of. */
  readonly opened: number | null;
  /** Changes when the trace has; null where it cannot. */
  version(): Promise<number | null>;
}
