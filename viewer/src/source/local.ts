// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data from the page's own file: the spans as columns, and the same answers as `sonde view` gives, computed here.

import { CLASSES, UNFINISHED } from "../colours.ts";
import { LanePyramid, RectList } from "../tiles/pyramid.ts";
import { type PageData, readPageData } from "./columns.ts";
import { parseQuery } from "./query.ts";
import { type AreaAnswer, type AreaRow, type Gap, type Known, type Link, type Moment, type Place, type SearchAnswer, type Source, type SpanDetails, TILE_BUCKETS, type Tile, type TileRequest, type TraceInfo } from "./source.ts";

const NONE = 0xffffffff;
const MOST_HITS = 5000;
const MOST_LINKS = 64;

interface Track {
  first: number;
  spans: number;
  lanes: Uint32Array[];
  pyramids: LanePyramid[];
}

export class LocalSource implements Source {
  readonly trace: TraceInfo;
  readonly cut: [number, number] | null;
  readonly at: string;
  readonly canExport = false;
  readonly traces: string[] = [];
  readonly files: string[] = [];
  readonly against: string[] = [];
  readonly of = 0;
  readonly opened = null;
  private readonly start: Float64Array;
  private readonly length: Float64Array;
  private readonly name: Uint32Array;
  private readonly look: Uint8Array;
  private readonly row: Uint16Array;
  private readonly facts: Uint32Array;
  private readonly launch: Uint32Array;
  private readonly parent: Uint32Array;
  private readonly trackOf: Uint32Array;
  /** The row of each span in the whole trace; empty if nothing was cut. */
  private readonly original: Uint32Array;
  private readonly tracks: Track[] = [];
  private readonly flows: [number, number, number][] = [];
  private readonly changes = new Map<number, Float64Array>();
  private launches: Map<number, number[]> | null = null;
  private readonly bytes = new Map<number, number>();

  static async open(text: string): Promise<LocalSource> {
    return new LocalSource(await readPageData(text));
  }

  private constructor(private readonly data: PageData) {
    const { header } = data;
    const n = header.kept;
    this.trace = header.trace;
    this.cut = header.cut ?? null;
    this.at = header.at;
    this.start = new Float64Array(n);
    this.length = new Float64Array(n);
    this.name = new Uint32Array(n);
    this.look = data.bytes("look");
    this.row = new Uint16Array(n);
    this.facts = new Uint32Array(n);
    this.launch = new Uint32Array(n).fill(NONE);
    this.parent = new Uint32Array(n).fill(NONE);
    this.trackOf = new Uint32Array(n);
    this.original = new Uint32Array(this.cut === null ? 0 : n);
    this.readSpans();
    for (const flows = data.column("flows"); !flows.done; ) this.flows.push([flows.next(), flows.next(), flows.next()]);
    for (const copies = data.column("copies"); !copies.done; ) this.bytes.set(copies.next(), copies.next());
  }

  private readSpans(): void {
    const column = this.data.column;
    const [start, length, name, row, facts, launch, spans] = ["start", "length", "name", "row", "facts", "launch", "spans"].map(column);
    let i = 0;
    let original = 0;
    this.trace.tracks.forEach((info, track) => {
      const first = i;
      let at = 0;
      for (; i < first + info.spans; i++) {
        at += start.next();
        this.start[i] = at;
        this.length[i] = length.next();
        this.name[i] = name.next();
        this.row[i] = row.next();
        this.facts[i] = facts.next();
        this.trackOf[i] = track;
        const of = this.look[i] & 127;
        if (of >= 4 && of <= 7) this.launch[i] = launch.next() - 1;
        if (this.cut !== null) this.original[i] = original += spans.next();
      }
      this.tracks.push(this.makeTrack(first, info.spans, info.rows, info.kind === "thread"));
    });
  }

  /** Spans of each row, and of each span the one around it: only spans of threads nest. */
  private makeTrack(first: number, spans: number, rows: number, nests: boolean): Track {
    const counts = new Uint32Array(rows);
    for (let i = first; i < first + spans; i++) counts[this.row[i]]++;
    const lanes = Array.from(counts, (count) => new Uint32Array(count));
    const next = new Uint32Array(rows);
    for (let i = first; i < first + spans; i++) {
      const row = this.row[i];
      for (let above = nests ? row - 1 : -1; above >= 0; above--) {
        const last = next[above] > 0 ? lanes[above][next[above] - 1] : NONE;
        if (last === NONE || this.endOf(last) < this.endOf(i)) continue;
        this.parent[i] = last;
        break;
      }
      lanes[row][next[row]++] = i;
    }
    const times = { start: this.start, length: this.length };
    return { first, spans, lanes, pyramids: lanes.map((lane) => new LanePyramid(lane, times)) };
  }

  private endOf(span: number): number {
    return this.start[span] + this.length[span];
  }

  async tiles(request: TileRequest): Promise<Tile[]> {
    const out: Tile[] = [];
    const bucket = 2 ** request.level;
    for (const track of request.tracks)
      for (let tile = request.first; tile < request.first + request.count; tile++) {
        const rects = new RectList();
        const from = tile * TILE_BUCKETS * bucket;
        if (from <= this.trace.length) this.tracks[track].pyramids.forEach((pyramid, row) => {
          pyramid.addRects(request.level, from, from + TILE_BUCKETS * bucket, row, rects);
        });
        const n = rects.n;
        const name = new Uint32Array(n);
        const look = rects.look.slice(0, n);
        for (let i = 0; i < n; i++) {
          name[i] = this.name[rects.span[i]];
          look[i] = (look[i] | (this.look[rects.span[i]] << 24)) >>> 0;
        }
        out.push({ track, level: request.level, tile, n, begin: rects.begin.slice(0, n), end: rects.end.slice(0, n), span: rects.span.slice(0, n), name, count: rects.count.slice(0, n), look });
      }
    return out;
  }

  async names(ids: number[]): Promise<string[]> {
    return ids.map((id) => this.data.header.names[id] ?? "");
  }

  /** Views speak of spans by their rows in the whole trace. */
  private localId(id: number): number {
    if (this.cut === null) return id < this.start.length ? id : NONE;
    let low = 0;
    for (let high = this.original.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if (this.original[middle] < id) low = middle + 1;
      else high = middle;
    }
    return this.original[low] === id ? low : NONE;
  }

  private publicId(span: number): number {
    return span === NONE || span < 0 ? -1 : this.cut === null ? span : this.original[span];
  }

  private place(span: number): Place {
    return { id: this.publicId(span), name: this.data.header.names[this.name[span]], track: this.trackOf[span], row: this.row[span], start: this.start[span], length: this.length[span] };
  }

  private knownOf(span: number): Known {
    return this.facts[span] === 0 ? {} : this.data.header.facts[this.facts[span] - 1];
  }

  async span(id: number): Promise<SpanDetails> {
    const span = this.localId(id);
    if (span === NONE) throw new Error("This span is not in the stretch of time that the page has.");
    const lane = this.tracks[this.trackOf[span]].lanes[this.row[span]];
    const at = lane.indexOf(span);
    const isDevice = (this.look[span] & 127) >= 4 && (this.look[span] & 127) <= 7;
    const launched = isDevice ? [] : this.launchedBelow(span);
    let child = span + 1;
    if (child >= this.start.length || this.parent[child] !== span) child = NONE;
    return {
      ...this.place(span),
      kind: CLASSES[this.look[span] & 127],
      class: this.look[span] & 127,
      flags: this.look[span] >= UNFINISHED ? 1 : 0,
      self: this.selfOf(span),
      known: this.knownOf(span),
      numbers: {},
      previous: at > 0 ? this.publicId(lane[at - 1]) : -1,
      next: at + 1 < lane.length ? this.publicId(lane[at + 1]) : -1,
      child: this.publicId(child),
      links: this.linksOf(span, launched),
      ...(isDevice ? {} : { launched: launched.length, device: launched.reduce((sum, work) => sum + this.length[work], 0) }),
    };
  }

  private selfOf(span: number): number {
    let self = this.length[span];
    const end = this.endOf(span);
    const last = this.tracks[this.trackOf[span]].first + this.tracks[this.trackOf[span]].spans;
    for (let i = span + 1; i < last && this.start[i] < end; i++) if (this.parent[i] === span) self -= Math.min(this.endOf(i), end) - this.start[i];
    return self;
  }

  private launchedBelow(span: number): number[] {
    if (this.launches === null) {
      this.launches = new Map();
      for (let i = 0; i < this.launch.length; i++) {
        if (this.launch[i] === NONE) continue;
        const list = this.launches.get(this.launch[i]);
        if (list === undefined) this.launches.set(this.launch[i], [i]);
        else list.push(i);
      }
    }
    const out: number[] = [];
    const end = this.endOf(span);
    const last = this.tracks[this.trackOf[span]].first + this.tracks[this.trackOf[span]].spans;
    for (let i = span; i < last && (i === span || this.start[i] < end); i++) out.push(...(this.launches.get(i) ?? []));
    return out.filter((work) => (this.look[work] & 127) !== 7);
  }

  private linksOf(span: number, launched: number[]): Link[] {
    const out: Link[] = [];
    const add = (how: string, other: number) => {
      if (other !== NONE && other !== span) out.push({ how, ...this.place(other) });
    };
    add("parent", this.parent[span]);
    const launch = this.launch[span];
    add("launched by", launch);
    if (launch !== NONE) {
      let at = this.parent[launch];
      while (at !== NONE && (this.look[at] & 127) !== 0) at = this.parent[at];
      add("operator", at);
    }
    for (const [from, to, kind] of this.flows) {
      if (from === span) add(kind === 2 ? "backward" : "leads to", to);
      if (to === span) add(kind === 2 ? "forward" : "follows", from);
    }
    for (const work of launched.slice(0, MOST_LINKS)) add("launches", work);
    return out;
  }

  async area(from: number, to: number, tracks: number[]): Promise<AreaAnswer> {
    const rows = new Map<number, AreaRow>();
    const rowOf = (span: number) => {
      let row = rows.get(this.name[span]);
      if (row === undefined) {
        row = { name: this.data.header.names[this.name[span]], class: this.look[span] & 127, count: 0, total: 0, self: 0, device: 0, bytes: 0 };
        rows.set(this.name[span], row);
      }
      return row;
    };
    const isInside = (span: number) => this.start[span] < to && (this.endOf(span) > from || this.start[span] >= from);
    const chosen = new Set(tracks);
    for (const track of chosen) {
      const { first, spans } = this.tracks[track];
      for (let i = first; i < first + spans && this.start[i] < to; i++) {
        if (!isInside(i)) continue;
        const length = Math.max(0, Math.min(this.endOf(i), to) - Math.max(this.start[i], from));
        const row = rowOf(i);
        row.count++;
        row.total += length;
        row.self += length;
        if (this.start[i] >= from) row.bytes += this.bytes.get(i) ?? 0;
        const parent = this.parent[i];
        if (parent !== NONE && isInside(parent)) rowOf(parent).self -= length;
      }
    }
    for (let i = 0; i < this.launch.length; i++)
      for (let at = this.launch[i]; at !== NONE; at = this.parent[at]) if (chosen.has(this.trackOf[at]) && this.start[at] >= from && this.start[at] < to) rowOf(at).device += this.length[i];
    const sorted = [...rows.values()].filter((row) => row.count > 0).sort((a, b) => b.self - a.self);
    return { from_device: true, names: sorted.length, rows: sorted.slice(0, 2000) };
  }

  async search(text: string): Promise<SearchAnswer> {
    const query = parseQuery(text);
    const unknown = query.kinds.find((kind) => !CLASSES.includes(kind));
    if (unknown !== undefined) throw new Error(`'${unknown}' is no kind: write operator, annotation, function, call, kernel, copy or wait`);
    const names = this.data.header.names.map((name) => query.names.every((word) => name.toLowerCase().includes(word)));
    const facts = [{}, ...this.data.header.facts].map((known) => query.arguments.every((word) => JSON.stringify(known).toLowerCase().includes(word)));
    const found: number[] = [];
    let total = 0;
    for (let i = 0; i < this.start.length; i++) {
      if (!names[this.name[i]] || !facts[this.facts[i]] || this.length[i] < query.least || this.length[i] > query.most) continue;
      if (!query.kinds.every((kind) => CLASSES[this.look[i] & 127] === kind)) continue;
      found.push(i);
      total += this.length[i];
    }
    const count = found.length;
    found.sort((a, b) => this.start[a] - this.start[b] || a - b);
    return { count, total, hits: found.slice(0, MOST_HITS).map((i) => ({ ...this.place(i), class: this.look[i] & 127 })) };
  }

  /** Spans of the curve's device that keep it busy. */
  private workOf(id: number): number[] {
    const { process, device } = this.trace.curves[id];
    const out: number[] = [];
    this.trace.tracks.forEach((info, track) => {
      if (info.kind !== "stream" || info.process !== process || info.device !== device) return;
      const { first, spans } = this.tracks[track];
      for (let i = first; i < first + spans; i++) if ((this.look[i] & 127) >= 4 && (this.look[i] & 127) <= 6) out.push(i);
    });
    return out;
  }

  /** When the value of a curve changes, and to what: exact, for those that follow from spans. */
  private changesOf(id: number): Float64Array {
    let known = this.changes.get(id);
    if (known === undefined) {
      const isQueue = this.trace.curves[id].kind === "queue";
      const steps: [number, number][] = [];
      for (const span of this.workOf(id)) {
        if (isQueue && this.launch[span] === NONE) continue;
        steps.push([isQueue ? Math.min(this.start[this.launch[span]], this.endOf(span)) : this.start[span], 1], [this.endOf(span), -1]);
      }
      steps.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
      known = new Float64Array(steps.length * 2);
      let depth = 0;
      steps.forEach(([at, by], i) => {
        depth += by;
        known![2 * i] = at;
        known![2 * i + 1] = isQueue ? depth : Math.min(depth, 1);
      });
      this.changes.set(id, known);
    }
    return known;
  }

  /** Of each part, the time in which something ran in percent, or the most that waited. */
  private spanCurve(id: number, from: number, to: number, n: number): Float32Array {
    const isQueue = this.trace.curves[id].kind === "queue";
    const changes = this.changesOf(id);
    const out = new Float32Array(n);
    const per = (to - from) / n;
    for (let i = 0; i < changes.length; i += 2) {
      const begin = Math.max(changes[i], from);
      const end = Math.min(i + 2 < changes.length ? changes[i + 2] : to, to);
      const value = changes[i + 1];
      if (value === 0 || end <= begin) continue;
      const last = Math.min(n - 1, Math.floor((end - from) / per));
      for (let part = Math.floor((begin - from) / per); part <= last; part++) {
        if (isQueue) out[part] = Math.max(out[part], value);
        else out[part] = Math.min(100, out[part] + (100 * (Math.min(end, from + (part + 1) * per) - Math.max(begin, from + part * per))) / per);
      }
    }
    return out;
  }

  async curve(id: number, from: number, to: number, n: number): Promise<Float32Array> {
    const { kind } = this.trace.curves[id];
    if (this.cut === null && (kind === "busy" || kind === "queue")) return this.spanCurve(id, from, to, n);
    const { values } = this.data.header.curves[id];
    const series = this.trace.curves[id].series.length;
    const moments = values.length / series;
    const per = this.data.header.curve_end / moments;
    const out = new Float32Array(n * series).fill(Number.NaN);
    for (let i = 0; i < n; i++) {
      const first = Math.floor((from + ((to - from) * i) / n) / per);
      const last = Math.max(first, Math.ceil((from + ((to - from) * (i + 1)) / n) / per) - 1);
      let most = -1;
      for (let moment = first; moment <= last && moment < moments; moment++) {
        const part = values.slice(moment * series, (moment + 1) * series);
        if (part.some((value) => value === null)) continue;
        const sum = Math.abs(part.reduce<number>((a, b) => a + (b ?? 0), 0));
        if (sum <= most) continue;
        most = sum;
        part.forEach((value, k) => {
          out[i * series + k] = value ?? Number.NaN;
        });
      }
    }
    return out;
  }

  async gaps(id: number, from: number, to: number, n: number): Promise<Gap[]> {
    const least = (to - from) / n;
    return (this.data.header.curves[id].gaps?.gaps ?? []).filter((gap) => gap[1] - gap[0] > least && gap[1] > from && gap[0] < to);
  }

  async moment(device: number, at: number): Promise<Moment> {
    const known = (this.data.header.moments[device] ?? []).filter((moment) => moment !== null);
    const found = known.filter((moment) => moment.at <= at).pop() ?? known[0];
    if (found === undefined) throw new Error("This page has no moments of that device.");
    return found;
  }

  async view(name: string): Promise<unknown> {
    const found = this.data.header.views[name];
    if (found === undefined) throw new Error("This page was written without that view.");
    return found;
  }

  async perfetto(): Promise<ArrayBuffer> {
    throw new Error("Run `sonde export TRACE -o FILE.pftrace` for Perfetto.");
  }

  async version(): Promise<null> {
    return null;
  }
}
