// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame around the views: names of views, search, messages, help.

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { copyText, search, selectArea, selectSpan, walk } from "../actions.ts";
import { countText, shortName, timeText } from "../format.ts";
import type { Source } from "../source/source.ts";
import * as state from "../state.ts";
import { viewsOf } from "../views/views.tsx";
import { carry } from "./carry.ts";
import { KEYS, startKeys } from "./keys.ts";
import { openInPerfetto } from "./perfetto.ts";

const THEME = "sonde-theme";
const SAVE_AFTER = 250;
const LOOK_AFTER = 2000;
/** More views than these stand in a line of their own. */
const MOST_IN_A_LINE = 8;

function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function startTheme(): void {
  let kept: string | null = null;
  try {
    kept = localStorage.getItem(THEME);
  } catch {
    // A page from a file may have no storage.
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  state.theme.value = kept === "dark" || kept === "light" ? kept : dark.matches ? "dark" : "light";
  dark.addEventListener("change", () => {
    state.theme.value = dark.matches ? "dark" : "light";
  });
}
startTheme();

/** Keeps the address up to date, so that it can be copied and reloaded. */
function useAddress(source: Source, restored: state.Restored, reload: (of: number) => void): void {
  const timer = useRef(0);
  useEffect(() => {
    const show = (wanted: state.Restored) => {
      if (wanted.span >= 0) void selectSpan(source, wanted.span, false);
      if (wanted.area !== null) void selectArea(source, wanted.area);
      void search(source, state.query.value);
    };
    show(restored);
    // Somebody has put another state into the address.
    const onHash = () => {
      const text = location.hash.slice(1);
      const of = state.traceNamed(text);
      clearTimeout(timer.current);
      if (of !== source.of && of < source.traces.length) {
        reload(of);
        return;
      }
      state.selected.value = null;
      state.area.value = null;
      show(state.restore(text, source));
    };
    window.addEventListener("hashchange", onHash);
    document.body.dataset.ready = "1";
    return () => window.removeEventListener("hashchange", onHash);
  }, [source]);
  useSignalEffect(() => {
    const text = state.stateText();
    clearTimeout(timer.current);
    timer.current = setTimeout(() => history.replaceState(null, "", `#${text}`), SAVE_AFTER) as unknown as number;
  });
}

/** Asks now and then whether the trace has grown. */
function useRefresh(source: Source, reload: () => void): void {
  useEffect(() => {
    if (source.opened === null) return;
    const timer = setInterval(async () => {
      if (document.hidden) return;
      const version = await source.version().catch(() => null);
      if (version !== null && version !== source.opened) {
        clearInterval(timer);
        await carry(source);
        reload();
      }
    }, LOOK_AFTER);
    return () => clearInterval(timer);
  }, [source]);
}

/** Shows another of several traces at the same time, or at a step, in the same view. */
function useWantedTrace(source: Source, reload: (of: number) => void): void {
  useSignalEffect(() => {
    const wanted = state.wantedTrace.value;
    if (wanted === null) return;
    state.wantedTrace.value = null;
    void carry(source, wanted.step).then(() => {
      state.selected.value = null;
      state.area.value = null;
      reload(wanted.of);
    });
  });
}

export function Shell({ source, restored, reload }: { source: Source; restored: state.Restored; reload: (of: number) => void }) {
  useAddress(source, restored, reload);
  useRefresh(source, () => reload(source.of));
  useWantedTrace(source, reload);
  useEffect(() => startKeys(source), [source]);
  useSignalEffect(() => {
    document.documentElement.dataset.theme = state.theme.value;
    try {
      localStorage.setItem(THEME, state.theme.value);
    } catch {
      // A page from a file may have no storage.
    }
  });
  useEffect(() => {
    document.title = `${source.trace.name.split("/").pop()} - Sonde`;
  }, [source]);
  const views = viewsOf(source);
  const view = views.find((one) => one.name === state.tab.value) ?? views[0];
  return (
    <div class="shell">
      <Top source={source} current={view.name} />
      <main><view.show source={source} /></main>
      <Message />
      <Spoken />
      {state.helpOpen.value && <Help />}
    </div>
  );
}

/** The file, or a choice of files. Another one is shown with the same view. */
function FileName({ source }: { source: Source }) {
  const last = (path: string) => path.split("/").pop() ?? "";
  if (source.traces.length < 2) return <span class="file">{last(source.trace.name)}</span>;
  const choose = (of: number) => {
    state.wantedTrace.value = { of };
  };
  return (
    <select class="file" aria-label="Trace" value={source.of} onChange={(e) => choose(Number(e.currentTarget.value))}>
      {source.traces.map((file, i) => <option key={file} value={i} title={file}>{last(file)}</option>)}
    </select>
  );
}

function Top({ source, current }: { source: Source; current: string }) {
  const views = viewsOf(source);
  const hasTimeline = views[0].name === "timeline";
  const files = source.files.length > 0 ? source.files : [source.trace.name];
  const against = source.against.map((file) => ` --against ${quoted(file)}`).join("");
  const command = () => `sonde view ${files.map(quoted).join(" ")}${against} --at ${quoted(state.stateText())}`;
  return (
    <header class={`top ${views.length > MOST_IN_A_LINE ? "many" : ""}`}>
      <span class="brand" title={source.trace.name}><b>Sonde</b> <FileName source={source} /></span>
      <nav aria-label="Views">
        {views.map((view) => <button key={view.name} type="button" aria-current={view.name === current ? "page" : undefined} onClick={() => { state.tab.value = view.name; }}>{view.title}</button>)}
      </nav>
      {hasTimeline ? <form class={`find ${state.found.value === null ? "" : "counted"}`} onSubmit={(e) => { e.preventDefault(); state.tab.value = "timeline"; }}>
        <input
          id="search"
          type="search"
          placeholder="Search (/)" title="gemm, dur > 1ms, kind:kernel, arg:batch, or several at once"
          aria-label="Search spans by name, kind:kernel, arg:text, dur > 1ms"
          value={state.query.value}
          onInput={(e) => void search(source, e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key !== "Enter") return;
            e.preventDefault();
            state.tab.value = "timeline";
            walk(source, e.shiftKey ? -1 : 1);
          }}
        />
        {state.query.value !== "" && <button type="button" class="clear" aria-label="Clear the search" onClick={() => void search(source, "")}>×</button>}
        {state.searching.value && <span class="count">searching…</span>}
        {!state.searching.value && state.found.value !== null && <span class="count">{state.hit.value >= 0 ? `${countText(state.hit.value + 1)} of ` : ""}{countText(state.found.value.count)}</span>}
      </form> : <span class="spacer" />}
      {hasTimeline && <button type="button" title="Copies a command that opens this view" onClick={() => void copyText(command())}>Copy link</button>}
      {source.canExport && <button type="button" title="Opens ui.perfetto.dev and hands it this trace; the trace stays in your browser" onClick={() => openInPerfetto(source, null)}>Perfetto</button>}
      <button type="button" aria-label="Light or dark" title="Light or dark (t)" onClick={() => { state.theme.value = state.theme.value === "dark" ? "light" : "dark"; }}>◐</button>
      <button type="button" aria-label="Keys" title="Keys (?)" onClick={() => { state.helpOpen.value = true; }}>?</button>
    </header>
  );
}

function Message() {
  if (state.message.value === "") return null;
  return (
    <div class="message" role="alert">
      <span>{state.message.value}</span>
      <button type="button" aria-label="Close" onClick={() => { state.message.value = ""; }}>×</button>
    </div>
  );
}

/** The selection in words, for screen readers: a canvas has none. */
function Spoken() {
  const span = state.selected.value;
  return <div class="hidden" role="status" aria-live="polite">{span === null ? "" : `${shortName(span.name)}, ${span.kind}, ${timeText(span.length)}`}</div>;
}

function Help() {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog ref={box} class="help" aria-label="Keys" onClose={() => { state.helpOpen.value = false; }}>
      <header class="bar"><h2>Keys</h2><span class="spacer" /><button type="button" onClick={() => { state.helpOpen.value = false; }}>Close</button></header>
      <dl>{KEYS.map(([keys, what]) => <div key={what}><dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>
      <h2>Search</h2>
      <dl>
        <div><dt><kbd>gemm</kbd></dt><dd>names that contain it</dd></div>
        <div><dt><kbd>dur &gt; 1ms</kbd></dt><dd>longer than that; also &lt;, &gt;=, &lt;=</dd></div>
        <div><dt><kbd>kind:kernel</kbd></dt><dd>operator, annotation, function, call, kernel, copy, wait</dd></div>
        <div><dt><kbd>arg:batch</kbd></dt><dd>inputs, arguments or stacks that contain it</dd></div>
      </dl>
    </dialog>
  );
}
