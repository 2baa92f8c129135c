// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of spans by number, asked for when one is first needed.

import type { Source } from "../source/source.ts";

const MOST_PER_REQUEST = 5000;

export class NameStore {
  private readonly texts = new Map<number, string>();
  private readonly missing = new Set<number>();
  private waiting = false;

  constructor(
    private readonly source: Source,
    private readonly changed: () => void,
  ) {}

  get(id: number): string | undefined {
    const text = this.texts.get(id);
    if (text === undefined && !this.missing.has(id)) {
      this.missing.add(id);
      if (!this.waiting) {
        this.waiting = true;
        queueMicrotask(() => void this.fetch());
      }
    }
    return text;
  }

  private async fetch(): Promise<void> {
    const ids = [...this.missing].filter((id) => !this.texts.has(id)).slice(0, MOST_PER_REQUEST);
    try {
      const names = await this.source.names(ids);
      ids.forEach((id, i) => {
        this.texts.set(id, names[i] ?? "");
        this.missing.delete(id);
      });
    } catch {
      // Asked for again with the next picture.
      for (const id of ids) this.missing.delete(id);
      this.waiting = false;
      return;
    }
    this.waiting = false;
    this.changed();
    if (this.missing.size > 0 && ids.length > 0) void this.fetch();
  }
}
