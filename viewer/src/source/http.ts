// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Data from `sonde view`, by requests to the server that the page came from.

import type { AreaAnswer, Gap, Moment, SearchAnswer, Source, SpanDetails, Tile, TileRequest, TraceInfo } from "./source.ts";

const TOKEN = "sonde-token";

/** Takes the token out of the address, and keeps it while the tab is open. */
export function takeToken(): string {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const given = parameters.get("token");
  if (given !== null) {
    sessionStorage.setItem(TOKEN, given);
    parameters.delete("token");
    history.replaceState(null, "", location.pathname + (parameters.size > 0 ? `#${parameters}` : ""));
  }
  return given ?? sessionStorage.getItem(TOKEN) ?? "";
}

/** The columns of tiles. Each tile has memory of its own, so that dropping it frees it. */
export function parseTiles(buffer: ArrayBuffer): Tile[] {
  const words = new Uint32Array(buffer);
  const out: Tile[] = [];
  for (let at = 0; at < words.length; ) {
    const [track, level, tile, n] = words.subarray(at, at + 4);
    const end = at + 4 + 6 * n;
    const own = n === 0 ? EMPTY : buffer.slice((at + 4) * 4, end * 4);
    const column = (i: number) => new Uint32Array(own, i * n * 4, n);
    const floats = (i: number) => new Float32Array(own, i * n * 4, n);
    out.push({ track, level, tile, n, begin: floats(0), end: floats(1), span: column(2), name: column(3), count: column(4), look: column(5) });
    at = end;
  }
  return out;
}
const EMPTY = new ArrayBuffer(0);

export class HttpSource implements Source {
  readonly cut = null;
  readonly at = "";
  readonly canExport = true;

  private constructor(
    readonly trace: TraceInfo,
    private readonly token: string,
    readonly traces: string[],
    readonly files: string[],
    readonly against: string[],
    readonly of: number,
    readonly opened: number,
  ) {}

  /** `of` is which of the traces is meant, if `sonde view` shows several. */
  static async open(token: string, of: number): Promise<HttpSource> {
    // Before the trace, so that what is added in between counts as new.
    const version = await HttpSource.fetch(token, HttpSource.path("version", of));
    const opened = ((await version.json()) as { version: number }).version;
    const [trace, files] = await Promise.all([HttpSource.fetch(token, HttpSource.path("trace", of)), HttpSource.fetch(token, "files")]);
    const known = (await files.json()) as { traces: string[]; files: string[]; against: string[] };
    return new HttpSource((await trace.json()) as TraceInfo, token, known.traces, known.files, known.against, of, opened);
  }

  private static path(path: string, of: number): string {
    return of === 0 ? path : `${path}${path.includes("?") ? "&" : "?"}of=${of}`;
  }

  private ask(path: string, body?: Uint32Array<ArrayBuffer>): Promise<Response> {
    return HttpSource.fetch(this.token, HttpSource.path(path, this.of), body);
  }

  private static async fetch(token: string, path: string, body?: Uint32Array<ArrayBuffer>): Promise<Response> {
    const init: RequestInit = { headers: { "X-Sonde-Token": token }, method: body === undefined ? "GET" : "POST" };
    if (body !== undefined) init.body = body;
    const response = await fetch(`api/${path}`, init).catch(() => {
      throw new Error("The server does not answer. Is `sonde view` still running?");
    });
    if (response.status === 403) throw new Error("This page has lost its token. Open the address that `sonde view` prints.");
    if (!response.ok) {
      const answer = (await response.json().catch(() => null)) as { error?: string } | null;
      throw new Error(answer?.error ?? `the server answered ${response.status}`);
    }
    return response;
  }

  private async json<T>(path: string, body?: Uint32Array<ArrayBuffer>): Promise<T> {
    return (await (await this.ask(path, body)).json()) as T;
  }

  async tiles(request: TileRequest): Promise<Tile[]> {
    const { level, first, count, tracks } = request;
    const response = await this.ask("tiles", Uint32Array.from([level, first, count, tracks.length, ...tracks]));
    return parseTiles(await response.arrayBuffer());
  }

  async names(ids: number[]): Promise<string[]> {
    return (await this.json<{ names: string[] }>("names", Uint32Array.from(ids))).names;
  }

  span(id: number): Promise<SpanDetails> {
    return this.json(`span?id=${id}`);
  }

  area(from: number, to: number, tracks: number[]): Promise<AreaAnswer> {
    return this.json(`area?from=${Math.max(0, Math.floor(from))}&to=${Math.ceil(to)}`, Uint32Array.from(tracks));
  }

  search(query: string): Promise<SearchAnswer> {
    return this.json(`search?q=${encodeURIComponent(query)}`);
  }

  async curve(id: number, from: number, to: number, n: number): Promise<Float32Array> {
    const response = await this.ask(`curve?id=${id}&from=${from}&to=${to}&n=${n}`);
    return new Float32Array(await response.arrayBuffer());
  }

  async gaps(id: number, from: number, to: number, n: number): Promise<Gap[]> {
    return (await this.json<{ gaps: Gap[] }>(`gaps?id=${id}&from=${from}&to=${to}&n=${n}`)).gaps;
  }

  moment(device: number, at: number): Promise<Moment> {
    return this.json(`moment?device=${device}&at=${Math.max(0, Math.round(at))}`);
  }

  view(name: string): Promise<unknown> {
    return this.json(`view?name=${encodeURIComponent(name)}`);
  }

  perfetto(part: { from: number; to: number } | null): Promise<ArrayBuffer> {
    const path = part === null ? "perfetto" : `perfetto?from=${Math.max(0, Math.floor(part.from))}&to=${Math.ceil(part.to)}`;
    return this.ask(path).then((response) => response.arrayBuffer());
  }

  async version(): Promise<number | null> {
    return (await this.json<{ version: number }>("version")).version;
  }
}
