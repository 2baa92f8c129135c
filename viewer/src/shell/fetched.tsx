// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A view whose data is asked for when it is first shown, and kept.

import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { countText } from "../format.ts";
import type { Source } from "../source/source.ts";

const kept = new WeakMap<Source, Map<string, unknown>>();

export function useView<T>(source: Source, name: string): { data: T | null; error: string } {
  const data = useSignal<T | null>((kept.get(source)?.get(name) as T | undefined) ?? null);
  const error = useSignal("");
  useEffect(() => {
    const known = kept.get(source)?.get(name) as T | undefined;
    data.value = known ?? null;
    error.value = "";
    if (known !== undefined) return;
    let current = true;
    source.view(name).then(
      (answer) => {
        if (!kept.has(source)) kept.set(source, new Map());
        kept.get(source)?.set(name, answer);
        if (current) data.value = answer as T;
      },
      (problem: Error) => {
        if (current) error.value = problem.message;
      },
    );
    return () => {
      current = false;
    };
  }, [source, name]);
  return { data: data.value, error: error.value };
}

const SLOW_AFTER = 2;

export function Waiting({ error }: { error: string }) {
  const seconds = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => { seconds.value++; }, 1000);
    return () => clearInterval(timer);
  }, []);
  if (error !== "") return <p class="waiting" role="status">{error}</p>;
  return (
    <div class="waiting">
      <p role="status">{seconds.value < SLOW_AFTER ? "Computing…" : "With so many spans this takes a while. The timeline can be used meanwhile."}</p>
      {seconds.value >= SLOW_AFTER && <p class="quiet" aria-hidden="true">Computing for {countText(seconds.value)} s…</p>}
    </div>
  );
}

const AROUND_CARDS = 64;
const windowWidth = signal(window.innerWidth);
window.addEventListener("resize", () => { windowWidth.value = window.innerWidth; });

/** How wide a chart can be inside a card that is as wide as the page. */
export function roomOfCards(): number {
  return Math.max(200, windowWidth.value - AROUND_CARDS);
}

export function Card({ title, children, note }: { title: string; children: ComponentChildren; note?: string | undefined }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      {note !== undefined && <p class="quiet">{note}</p>}
      {children}
    </section>
  );
}
