// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hands the trace to Perfetto's viewer, which takes it from pages of this machine: it answers a PING once it is loaded.

import { showError } from "../actions.ts";
import type { Source } from "../source/source.ts";

const PERFETTO = "https://ui.perfetto.dev";
const BETWEEN = 100;
const MOST_WAIT = 60_000;

function whenReady(other: Window): Promise<void> {
  return new Promise((done, failed) => {
    const timer = setInterval(() => other.postMessage("PING", PERFETTO), BETWEEN);
    const stop = setTimeout(() => {
      clearInterval(timer);
      failed(new Error(`${PERFETTO} does not answer.`));
    }, MOST_WAIT);
    window.addEventListener("message", function listen(event) {
      if (event.origin !== PERFETTO || event.data !== "PONG") return;
      window.removeEventListener("message", listen);
      clearInterval(timer);
      clearTimeout(stop);
      done();
    });
  });
}

/** `part` is a stretch of time; null: all of the trace. */
export function openInPerfetto(source: Source, part: { from: number; to: number } | null): void {
  const other = window.open(PERFETTO);
  if (other === null) {
    showError("The browser did not open a window for Perfetto.");
    return;
  }
  Promise.all([source.perfetto(part), whenReady(other)]).then(([buffer]) => {
    other.postMessage({ perfetto: { buffer, title: source.trace.name } }, PERFETTO, [buffer]);
  }, showError);
}
