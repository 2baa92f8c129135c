// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles that the page has, the least used of which go first when they take too much memory.

import { MOST_LEVEL, type Source, TILE_BUCKETS, type Tile } from "../source/source.ts";

const MOST_BYTES = 160 * 2 ** 20;
const RECT_BYTES = 24;
const TILE_OVERHEAD = 1200;
const MOST_TRACKS_PER_REQUEST = 256;

const keyOf = (track: number, level: number, tile: number) => (track * 53 + level) * 2 ** 32 + tile;

export interface TileRange {
  level: number;
  first: number;
  last: number;
}

export function rangeOf(level: number, from: number, to: number): TileRange {
  const width = TILE_BUCKETS * 2 ** level;
  return { level, first: Math.max(0, Math.floor(from / width)), last: Math.max(0, Math.floor(to / width)) };
}

/** The level whose buckets are at most as wide as a pixel, and whose tiles 32 bits can number. */
export function levelOf(nsPerPixel: number, length: number): number {
  const least = Math.max(0, Math.ceil(Math.log2(Math.max(length, 1) / TILE_BUCKETS)) - 31);
  return Math.min(MOST_LEVEL, Math.max(least, Math.floor(Math.log2(nsPerPixel))));
}

export class TileCache {
  private readonly tiles = new Map<number, Tile>();
  private readonly asked = new Set<number>();
  private bytes = 0;

  constructor(
    private readonly source: Source,
    private readonly changed: () => void,
    private readonly failed: (error: Error) => void,
  ) {}

  get size(): number {
    return this.tiles.size;
  }

  get pending(): number {
    return this.asked.size;
  }

  /** The tiles of the range, or null if one of them is missing. */
  get(track: number, range: TileRange): Tile[] | null {
    const out: Tile[] = [];
    for (let tile = range.first; tile <= range.last; tile++) {
      const found = this.tiles.get(keyOf(track, range.level, tile));
      if (found === undefined) return null;
      out.push(found);
    }
    return out;
  }

  /** The tiles of the finest level, from this one up, that the page has for the stretch. */
  best(track: number, level: number, from: number, to: number): Tile[] | null {
    for (let at = level; at <= Math.min(level + 24, MOST_LEVEL); at++) {
      const found = this.get(track, rangeOf(at, from, to));
      if (found !== null) return found;
    }
    return null;
  }

  /** Asks for what is missing of these tracks, in few requests. */
  want(tracks: number[], range: TileRange): void {
    const missing = tracks.filter((track) => {
      for (let tile = range.first; tile <= range.last; tile++) {
        const key = keyOf(track, range.level, tile);
        if (!this.tiles.has(key) && !this.asked.has(key)) return true;
      }
      return false;
    });
    for (let i = 0; i < missing.length; i += MOST_TRACKS_PER_REQUEST) void this.fetch(missing.slice(i, i + MOST_TRACKS_PER_REQUEST), range);
  }

  private async fetch(tracks: number[], { level, first, last }: TileRange): Promise<void> {
    const keys: number[] = [];
    for (const track of tracks) for (let tile = first; tile <= last; tile++) keys.push(keyOf(track, level, tile));
    for (const key of keys) this.asked.add(key);
    try {
      for (const tile of await this.source.tiles({ level, first, count: last - first + 1, tracks })) this.put(tile);
    } catch (error) {
      for (const key of keys) this.asked.delete(key);
      // Asked for again when somebody moves, not at once: that would never end.
      this.failed(error as Error);
      return;
    }
    for (const key of keys) this.asked.delete(key);
    this.changed();
  }

  private put(tile: Tile): void {
    const key = keyOf(tile.track, tile.level, tile.tile);
    if (this.tiles.has(key)) return;
    this.tiles.set(key, tile);
    this.bytes += tile.n * RECT_BYTES + TILE_OVERHEAD;
    for (const [oldest, old] of this.tiles) {
      if (this.bytes <= MOST_BYTES || oldest === key) break;
      this.tiles.delete(oldest);
      this.bytes -= old.n * RECT_BYTES + TILE_OVERHEAD;
    }
  }

  /** Marks what was drawn as used. */
  touch(tiles: Tile[]): void {
    if (this.bytes < MOST_BYTES / 2) return;
    for (const tile of tiles) {
      const key = keyOf(tile.track, tile.level, tile.tile);
      if (this.tiles.delete(key)) this.tiles.set(key, tile);
    }
  }
}
