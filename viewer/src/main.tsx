// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import { render } from "preact";
import { arrive } from "./shell/carry.ts";
import { rememberPlace } from "./shell/place.ts";
import { Shell } from "./shell/shell.tsx";
import { HttpSource, takeToken } from "./source/http.ts";
import { LocalSource } from "./source/local.ts";
import type { Source } from "./source/source.ts";
import { goTo, restore, traceNamed } from "./state.ts";

async function open(of: number): Promise<Source> {
  const data = document.getElementById("data")?.textContent ?? "";
  return data === "" ? HttpSource.open(takeToken(), of) : LocalSource.open(data);
}

async function start(of: number): Promise<void> {
  const app = document.getElementById("app")!;
  try {
    const source = await open(of);
    const kept = await arrive(source);
    if (kept !== null) history.replaceState(null, "", `#${kept}`);
    const giveBack = app.firstChild === null ? null : rememberPlace();
    render(null, app);
    // Before the first picture, so that nothing is asked for that is not shown.
    const restored = restore(location.hash.length > 1 ? location.hash.slice(1) : source.at, source);
    // For tests and measurements: the source, and a way to move.
    Object.assign(window, { sonde: source, sondeShow: (from: number, to: number) => goTo({ from, to }, source) });
    render(<Shell source={source} restored={restored} reload={(other) => void start(other)} />, app);
    giveBack?.();
  } catch (error) {
    render(<p class="waiting" role="alert">{(error as Error).message}</p>, app);
  }
}

void start(traceNamed(location.hash.slice(1)));
