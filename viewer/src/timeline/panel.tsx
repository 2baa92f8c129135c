// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Below the timeline: the selected span, the selected area, or what a search found.

import { findOnTimeline, selectSpan, showInTable } from "../actions.ts";
import { CLASSES, classColour } from "../colours.ts";
import { NO_NAME, bytesText, countedText, countText, momentText, percentText, shortName, timeText } from "../format.ts";
import { openInPerfetto } from "../shell/perfetto.ts";
import { Name } from "../shell/name.tsx";
import { Table } from "../shell/table.tsx";
import type { AreaRow, Hit, Link, Source, SpanDetails } from "../source/source.ts";
import * as state from "../state.ts";
import { IDLE_NAMES, idleStyle, idleText } from "./charts.ts";
import { trackTitle } from "./layout.ts";

export function Swatch({ of }: { of: number }) {
  return <i class="swatch" style={{ background: classColour(of, state.theme.value === "dark") }} />;
}

export function Panel({ source }: { source: Source }) {
  const span = state.selected.value;
  if (span !== null) return <SpanPanel source={source} span={span} />;
  if (state.area.value !== null) return <AreaPanel source={source} />;
  if (state.found.value !== null || state.foundError.value !== "") return <FoundPanel source={source} />;
  return <Welcome source={source} />;
}

/** Words for classes whose own are not clear to everyone. */
const CLASS_NAMES: Record<number, string> = { 3: "call of the runtime or system", 6: "other device work", 11: "other" };

export function className(of: number): string {
  return CLASS_NAMES[of] ?? CLASSES[of];
}

/** The classes that the trace has; a trace of many names all of them. */
function classesOf(source: Source): number[] {
  return source.trace.classes ?? [0, 1, 2, 3, 4, 5, 7];
}

function Welcome({ source }: { source: Source }) {
  return (
    <aside class="panel welcome" aria-label="Details">
      <p>
        <b>{timeText(source.trace.length)}</b>, <b>{countText(source.trace.spans)}</b> {source.trace.spans === 1 ? "span" : "spans"}. {source.trace.spans > 0 && "Click a span for its details, drag for a table of what is inside, press "}{source.trace.spans === 0 && "Press "}<kbd>?</kbd> for keys.
        {source.cut !== null && <> This page has the spans from {momentText(source.cut[0], (source.cut[1] - source.cut[0]) / 100)} to {momentText(source.cut[1], (source.cut[1] - source.cut[0]) / 100)} only; tables and findings are of the whole trace.</>}
      </p>
      {source.trace.instants_in_all > source.trace.instants.length && <p class="quiet">Of {countText(source.trace.instants_in_all)} marks of single moments, the first {countText(source.trace.instants.length)} are shown.</p>}
      {classesOf(source).length > 1 && <p class="legend">
        {classesOf(source).map((of) => <span key={of}><Swatch of={of} /> {className(of)}</span>)}
      </p>}
      {source.trace.curves.some((curve) => curve.kind === "busy") && (
        <p class="legend">
          <span class="quiet">Below the curve of a busy device, why it idled:</span>
          {IDLE_NAMES.map((name, i) => <span key={name}><i class="swatch" style={{ background: idleStyle(i) }} /> {name}</span>)}
        </p>
      )}
    </aside>
  );
}

function place(source: Source, link: { track: number; start: number; length: number }): string {
  return `${timeText(link.length)} at ${momentText(link.start, 1000)}, ${trackTitle(source.trace.tracks[link.track])}`;
}

const HOW: Record<string, string> = {
  parent: "Inside",
  "launched by": "Launched by",
  operator: "Operator",
  launches: "Launches",
  forward: "Forward",
  backward: "Backward",
  "leads to": "Leads to",
  follows: "Follows",
};

function Links({ source, links, total }: { source: Source; links: Link[]; total: number }) {
  const groups = [...new Set(links.map((link) => link.how))];
  return (
    <dl class="links">
      {groups.map((how) => (
        <div key={how}>
          <dt>{HOW[how] ?? how}{how === "launches" && total > 1 ? ` (${countText(total)})` : ""}</dt>
          {links.filter((link) => link.how === how).slice(0, 20).map((link) => (
            <dd key={link.id}>
              <button type="button" class="link" title={link.name} onClick={() => void selectSpan(source, link.id, true)}>{shortName(link.name)}</button>
              <span class="quiet"> {place(source, link)}</span>
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

function SpanPanel({ source, span }: { source: Source; span: SpanDetails }) {
  const { known } = span;
  const facts: [string, string][] = [
    ["Duration", timeText(span.length)],
    ["Self", `${timeText(span.self)}${span.length > 0 ? `, ${percentText(span.self, span.length)}` : ""}`],
    ["Start", momentText(span.start, 1)],
    ["Kind", span.kind],
    ["Track", trackTitle(source.trace.tracks[span.track])],
    ...((span.launched ?? 0) > 0 ? [["On the device", `${timeText(span.device ?? 0)} in ${countText(span.launched ?? 0)} ${span.launched === 1 ? "piece" : "pieces"} of work`] as [string, string]] : []),
    ...(known.facts ?? []),
    ...Object.entries(span.numbers).map(([key, value]) => [key, String(value)] as [string, string]),
  ];
  const isDevice = span.class >= 4 && span.class <= 6;
  return (
    <aside class="panel" aria-label="Selected span">
      <header>
        <Swatch of={span.class} />
        <h2 class="of-span" title={span.name}>{span.name === "" ? NO_NAME : span.name.length > 300 ? `${span.name.slice(0, 300)}…` : span.name}</h2>
        {(span.flags & 1) !== 0 && <span class="badge">end not seen</span>}
        <span class="spacer" />
        <button type="button" onClick={() => state.goTo(state.around(span.start, span.length), source)}>Zoom to it</button>
        <button type="button" onClick={() => findOnTimeline(source, span.name)}>All of this name</button>
        <button type="button" onClick={() => showInTable(isDevice ? "kernels" : "operators", span.name)}>In the table</button>
        <button type="button" aria-label="Close" onClick={() => { state.selected.value = null; }}>×</button>
      </header>
      {state.idle.value !== null && state.idle.value[4] === span.id && <p class="why">{idleText(state.idle.value)} This work ended it.</p>}
      <div class="columns">
        <dl class="facts">
          {facts.map(([key, value]) => <div key={key}><dt>{key}</dt><dd>{value}</dd></div>)}
        </dl>
        <div>
          <Links source={source} links={span.links} total={span.launched ?? 0} />
          {known.inputs !== undefined && (
            <table class="inputs">
              <caption>Inputs</caption>
              <thead><tr><th scope="col">#</th><th scope="col">type</th><th scope="col">sizes</th><th scope="col">strides</th><th scope="col">value</th></tr></thead>
              <tbody>{known.inputs.map((cells) => <tr key={cells[0]}>{cells.map((cell, i) => <td key={i}>{cell}</td>)}</tr>)}</tbody>
            </table>
          )}
        </div>
        {known.stack !== undefined && (
          <div class="stack">
            <h3>Called from</h3>
            <ol>{known.stack.map((frame, i) => <li key={i}>{frame}</li>)}</ol>
          </div>
        )}
      </div>
    </aside>
  );
}

function AreaPanel({ source }: { source: Source }) {
  const area = state.area.value!;
  const answer = state.areaAnswer.value;
  return (
    <aside class="panel" aria-label="Selected area">
      <header>
        <h2>{timeText(area.to - area.from)} on {area.tracks.length === 1 ? trackTitle(source.trace.tracks[area.tracks[0]]) : `${area.tracks.length} tracks`}</h2>
        <span class="quiet">from {momentText(area.from, 1000)}{answer === null ? "" : `, ${countedText(answer.rows.reduce((sum, row) => sum + row.count, 0), "span")} of ${countedText(answer.names, "name")}`}</span>
        <span class="spacer" />
        <button type="button" onClick={() => state.goTo({ from: area.from, to: area.to }, source)}>Zoom to it</button>
        {source.canExport && <button type="button" title="Hands this stretch of time, with all tracks, to ui.perfetto.dev" onClick={() => openInPerfetto(source, area)}>To Perfetto</button>}
        <button type="button" aria-label="Close" onClick={() => { state.area.value = null; }}>×</button>
      </header>
      {answer === null ? <p class="waiting" role="status">Adding up…</p> : (
        <Table<AreaRow>
          caption="What is inside"
          rows={answer.rows}
          total={answer.names}
          sort={3}
          text={(row) => row.name}
          columns={[
            { title: "Name", value: (row) => row.name, show: (row) => <span class="name swatched" title={row.name}><Swatch of={row.class} /><Name name={row.name} /></span> },
            { title: "Count", value: (row) => row.count, show: (row) => countText(row.count) },
            { title: "Total", unit: "ns", value: (row) => row.total, show: (row) => timeText(row.total), hint: "Time within the area, with what is inside" },
            { title: "Self", unit: "ns", value: (row) => row.self, show: (row) => timeText(row.self), bar: true, hint: "Without the spans inside" },
            ...(answer.from_device ? [{ title: "Device", unit: "ns", value: (row: AreaRow) => row.device, show: (row: AreaRow) => (row.device > 0 ? timeText(row.device) : ""), hint: "Device work that these spans launched" }] : []),
            { title: "Bytes", value: (row) => row.bytes, show: (row) => (row.bytes > 0 ? bytesText(row.bytes) : ""), hint: "That copies and fills moved" },
          ]}
          actions={(row) => <button type="button" class="link" onClick={() => findOnTimeline(source, row.name)}>find</button>}
        />
      )}
    </aside>
  );
}

function FoundPanel({ source }: { source: Source }) {
  const found = state.found.value;
  return (
    <aside class="panel" aria-label="Search results">
      <header>
        <h2>{found === null ? state.foundError.value : `${countText(found.count)} found`}</h2>
        {found !== null && <span class="quiet">{timeText(found.total)} in total. Enter and Shift+Enter walk through them.{found.hits.length < found.count ? ` The first ${countText(found.hits.length)} are listed.` : ""}</span>}
        <span class="spacer" />
        <button type="button" aria-label="Close" onClick={() => { state.found.value = null; state.foundError.value = ""; state.query.value = ""; }}>×</button>
      </header>
      {found !== null && found.hits.length > 0 && (
        <Table<Hit>
          caption="Found spans"
          rows={found.hits}
          text={(row) => row.name}
          columns={[
            { title: "Name", value: (row) => row.name, show: (row) => <span class="name swatched"><Swatch of={row.class} /><button type="button" class="link" title={row.name} onClick={() => void selectSpan(source, row.id, true)}><Name name={row.name} /></button></span> },
            { title: "Start", unit: "ns", value: (row) => row.start, show: (row) => momentText(row.start, 1000) },
            { title: "Duration", unit: "ns", value: (row) => row.length, show: (row) => timeText(row.length), bar: true },
            { title: "Track", value: (row) => trackTitle(source.trace.tracks[row.track]) },
          ]}
        />
      )}
    </aside>
  );
}
