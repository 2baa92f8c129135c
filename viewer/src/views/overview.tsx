// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an expert would say first: whether to trust the trace, where the time went, what could be faster, and where.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { findOnTimeline, selectGap, selectSpan, showError, showStretch } from "../actions.ts";
import { bytesText, countedText, countText, momentText, percentText, sentenceText, shortName, timeText } from "../format.ts";
import { Card, useView, Waiting } from "../shell/fetched.tsx";
import { Name } from "../shell/name.tsx";
import { barStyle } from "../shell/table.tsx";
import type { AreaRow, Source } from "../source/source.ts";
import * as state from "../state.ts";
import { CAUSES, DOINGS } from "../timeline/charts.ts";
import { type StepRow, Steps, showStep } from "./steps.tsx";

interface Example {
  id: number;
  name: string;
  at_ns: number;
  ns: number;
}

interface Finding {
  id: string;
  title: string;
  detail: string;
  advice: string;
  command: string;
  saving_ns: number;
  /** What it saves, in words; older pages do not have it. */
  saves?: string;
  count: number;
  spans?: Example[];
  /** Causes, the longest first, and when it was seen. */
  groups?: { name: string; place: string; ns: number; count: number }[];
  moments?: { text: string; what: string; begin_ns: number; ns: number }[];
}

interface DeviceRow {
  device: number;
  extent_ns: number;
  busy_ns: number;
  /** Of the part that findings are about, as the verdict counts it; older pages do not have them. */
  share_of_ns?: number;
  share_busy_ns?: number;
  idle: number[];
  doing: number[];
  compute_ns: number;
  communication_ns: number;
  communication_hidden_ns: number;
  memory_ns: number;
  memory_hidden_ns: number;
  kernels: number;
  gaps_in_all?: number;
  gaps: { begin_ns: number; ns: number; cause: number; host: number; after: number; after_name: string }[];
}

type GapRow = DeviceRow["gaps"][number];

/** An idle stretch on the timeline, with the work that ended it. */
function showGap(source: Source, gap: GapRow): void {
  showStretch(source, gap.begin_ns, gap.begin_ns + gap.ns);
  selectGap(source, [gap.begin_ns, gap.begin_ns + gap.ns, gap.cause, gap.host, gap.after, -1]);
}

interface NameRow {
  name: string;
  ns: number;
  count: number;
  rest: number;
}

interface Data {
  verdict: string;
  /** What to know before the findings. */
  introduction?: string[];
  measured_ns: number;
  length_ns: number;
  recording_ns: number;
  /** Whether the verdict and the findings leave out what the profiler added; older pages do not say. */
  corrected?: boolean;
  lost: string[];
  incomplete: string[];
  findings: Finding[];
  median_step_ns: number;
  steps_in_all: number;
  steps: StepRow[];
  devices: DeviceRow[];
  operators: NameRow[];
  device_work: NameRow[];
  copies: { kind: string; count: number; bytes: number; ns: number }[];
  memory: { device: string; bytes: number; owner: string; owner_bytes: number }[];
  missing: string[];
}

export function Overview({ source }: { source: Source }) {
  const { data, error } = useView<Data>(source, "overview");
  if (data === null) return <Waiting error={error} />;
  const gone = [...data.lost, ...data.incomplete];
  return (
    <div class="page scroll overview">
      <h1 class="verdict">{sentenceText(data.verdict)}</h1>
      {data.introduction !== undefined && data.introduction.length > 0 && <p>{sentenceText(data.introduction.join(" "))}</p>}
      <p class={`trust ${gone.length > 0 ? "bad" : ""}`}>
        <b>{gone.length === 0 ? "Nothing was lost." : "This trace is incomplete."}</b>
        {data.recording_ns > 0 && ` Recording cost the recorded threads ${timeText(data.recording_ns)}, ${percentText(data.recording_ns, data.length_ns)} of the time.`}
        {gone.map((line) => <span key={line} class="line">{line}</span>)}
      </p>
      <Answers source={source} data={data} />
      <Findings source={source} data={data} />
      <Steps source={source} steps={data.steps} all={data.steps_in_all} median={data.median_step_ns} />
      {data.devices.map((device) => <Device key={device.device} source={source} device={device} />)}
      <div class="cards">
        {data.operators.length > 0 ? <Names source={source} title="Operators by self time on the host" rows={data.operators} /> : <ByName source={source} />}
        <Names source={source} title="Work of devices" rows={data.device_work} />
        {data.copies.length > 0 && (
          <Card title="Copies and fills">
            <table>
              <thead><tr><th scope="col">Kind</th><th scope="col" class="n">Count</th><th scope="col" class="n">Bytes</th><th scope="col" class="n">Time</th></tr></thead>
              <tbody>{data.copies.map((copy) => <tr key={copy.kind}><td>{copy.kind}</td><td class="n">{countText(copy.count)}</td><td class="n">{bytesText(copy.bytes)}</td><td class="n">{timeText(copy.ns)}</td></tr>)}</tbody>
            </table>
          </Card>
        )}
        {data.memory.length > 0 && (
          <Card title="Memory at its peak">
            <table>
              <thead><tr><th scope="col">Device</th><th scope="col" class="n">Live</th><th scope="col">Most held by</th></tr></thead>
              <tbody>{data.memory.map((peak) => <tr key={peak.device}><td>{peak.device}</td><td class="n">{bytesText(peak.bytes)}</td><td class="wrap">{peak.owner} {bytesText(peak.owner_bytes)}</td></tr>)}</tbody>
            </table>
          </Card>
        )}
      </div>
      {data.missing.length > 0 && <Card title="Not checked"><ul>{data.missing.map((line) => <li key={line}>{line}</li>)}</ul></Card>}
    </div>
  );
}

function Findings({ source, data }: { source: Source; data: Data }) {
  if (data.findings.length === 0) {
    return (
      <Card title="What could be faster">
        <p>None of the checks found anything.{data.devices.length === 0 && data.operators.length === 0 ? " Most of them need operators or work of a device, which this trace does not have." : ""}</p>
      </Card>
    );
  }
  return (
    <section>
      <h2>What could be faster</h2>
      <ol class="findings">
        {data.findings.map((finding) => (
          <li key={finding.id + finding.title} class="card finding">
            <h3>{finding.title}</h3>
            <p class="saves">{finding.saves !== undefined ? sentenceText(finding.saves) : finding.saving_ns > 0 ? <>saves about <b>{timeText(finding.saving_ns)}</b>, {percentText(finding.saving_ns, data.measured_ns)}</> : "good to know"}</p>
            <p>{sentenceText(finding.detail)}</p>
            <p>{sentenceText(finding.advice)}</p>
            <Evidence source={source} finding={finding} />
            {finding.command !== "" && <p class="quiet">More: <code>{finding.command}</code></p>}
          </li>
        ))}
      </ol>
    </section>
  );
}

interface Seen {
  key: string;
  at: number;
  ns: number;
  name: string;
  show: () => void;
}

/** When it was seen: moments lead to the stretch, spans to the span. Often both mean the same; then moments are enough. */
function seenOf(source: Source, finding: Finding): Seen[] {
  const moments = finding.moments ?? [];
  if (moments.length > 0) return moments.map((moment) => ({ key: `m${moment.begin_ns}`, at: moment.begin_ns, ns: moment.ns, name: moment.what, show: () => showStretch(source, moment.begin_ns, moment.begin_ns + moment.ns) }));
  return (finding.spans ?? []).map((span) => ({ key: `s${span.id}`, at: span.at_ns, ns: span.ns, name: span.name, show: () => void selectSpan(source, span.id, true) }));
}

const FIRST_SEEN = 3;
const MOST_NAMES = 12;

function SeenRows({ seen }: { seen: Seen[] }) {
  return (
    <table class="seen">
      <tbody>
        {seen.map((one) => (
          <tr key={one.key}>
            <td class="n"><button type="button" class="link" onClick={one.show}>at {momentText(one.at, 1000)}</button></td>
            <td class="n">{timeText(one.ns)}</td>
            <td class="wrap" title={one.name}>{shortName(one.name)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Where to look: causes as text, the worst moments as links to the timeline. */
function Evidence({ source, finding }: { source: Source; finding: Finding }) {
  const groups = finding.groups ?? [];
  const seen = seenOf(source, finding);
  return (
    <div class="evidence">
      {groups.length > 0 && (
        <div>
          <b>Causes</b>
          <table class="seen">
            <tbody>
              {groups.map((group) => (
                <tr key={group.name + group.place}>
                  <td class="n">{timeText(group.ns)}</td>
                  <td class="n quiet">{group.count === 1 ? "once" : `${countText(group.count)} times`}</td>
                  <td class="wrap" title={group.name}>{shortName(group.name)}{group.place !== "" && <span class="quiet"> {group.place}</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {seen.length > 0 && (
        <div>
          <b>{seen.length < finding.count ? "Worst moments" : "Moments"}</b>
          <SeenRows seen={seen.slice(0, FIRST_SEEN)} />
          {seen.length > FIRST_SEEN && <details><summary>{seen.length - FIRST_SEEN} more</summary><SeenRows seen={seen.slice(FIRST_SEEN)} /></details>}
        </div>
      )}
    </div>
  );
}

/** Less of a step says nothing. */
const LEAST_MORE = 0.01;

/** What the slowest step has more of than the others, if the report does not call it slow. */
function slowestText(slowest: StepRow, steps: StepRow[], all: number): string {
  const others = steps.filter((step) => step !== slowest);
  const mean = (of: (step: StepRow) => number) => others.reduce((sum, step) => sum + of(step), 0) / Math.max(others.length, 1);
  const parts: [string, number][] = [
    ["in operators", slowest.in_operators_ns - mean((step) => step.in_operators_ns)],
    ["outside operators", slowest.host_ns - slowest.in_operators_ns - mean((step) => step.host_ns - step.in_operators_ns)],
  ];
  const [where, more] = parts[0][1] >= parts[1][1] ? parts[0] : parts[1];
  if (steps.length < all || more < LEAST_MORE * slowest.host_ns) return "No step stands out.";
  return `No step stands out. This one spent ${timeText(more)} more ${where} than ${others.length === 1 ? "the other" : "the others on average"}.`;
}

/** The first questions, answered in a line each. */
function Answers({ source, data }: { source: Source; data: Data }) {
  const slowest = data.steps.length > 1 ? data.steps.reduce((worst, step) => (step.host_ns > worst.host_ns ? step : worst)) : null;
  const gaps = data.devices.flatMap((device) => device.gaps.map((gap) => ({ device: device.device, ...gap }))).sort((a, b) => b.ns - a.ns);
  const peak = data.memory.reduce<Data["memory"][number] | null>((most, one) => (most === null || one.bytes > most.bytes ? one : most), null);
  if (slowest === null && data.devices.length === 0 && peak === null) return null;
  return (
    <section>
      <h2>At a glance{data.corrected === true && <span class="quiet"> steps and gaps as recorded, with the time that the profiler added</span>}</h2>
      <div class="answers">
      {slowest !== null && (
        <section class="card">
          <h2>Slowest step</h2>
          <p><button type="button" class="link" onClick={() => showStep(source, slowest)}>Step {slowest.step}</button> with {timeText(slowest.host_ns)}; {data.steps.length === 2 ? "the other took" : "the median is"} {timeText(data.steps.length === 2 ? (data.steps.find((step) => step !== slowest)?.host_ns ?? 0) : data.median_step_ns)}.</p>
          <p class="quiet">{slowest.why === "" ? slowestText(slowest, data.steps, data.steps_in_all) : `${sentenceText(slowest.why)}.`}</p>
        </section>
      )}
      {data.devices.map((device) => (
        <section key={device.device} class="card">
          <h2>Device {device.device}</h2>
          <p>Busy {percentText(device.share_busy_ns ?? device.busy_ns, device.share_of_ns ?? device.extent_ns)} of {timeText(device.share_of_ns ?? device.extent_ns)}.</p>
          <p class="quiet">{data.corrected === true ? "As recorded, from" : "From"} its first work to its last: {timeText(device.busy_ns)} busy, {timeText(device.extent_ns - device.busy_ns)} idle{device.gaps.length > 0 && ` in ${countedText(device.gaps_in_all ?? device.gaps.length, "gap")}`}.</p>
        </section>
      ))}
      {gaps.length > 0 && (
        <section class="card">
          <h2>Longest idle</h2>
          <p>Device {gaps[0].device}, <button type="button" class="link" onClick={() => showGap(source, gaps[0])}>{timeText(gaps[0].ns)} at {momentText(gaps[0].begin_ns, 1000)}</button>.</p>
          <p class="quiet">{CAUSES[gaps[0].cause]}{gaps[0].cause === 0 ? `, which ${DOINGS[gaps[0].host]}` : ""}.</p>
        </section>
      )}
      {peak !== null && (
        <section class="card">
          <h2>Memory peak</h2>
          <p><button type="button" class="link" onClick={() => { state.memoryDevice.value = peak.device; state.tab.value = "memory"; }}>{bytesText(peak.bytes)} on {peak.device}</button></p>
          <p class="quiet">Of what was allocated while recording, {peak.owner} held the most: {bytesText(peak.owner_bytes)}.</p>
        </section>
      )}
      </div>
    </section>
  );
}

function Device({ source, device }: { source: Source; device: DeviceRow }) {
  const host = device.doing.map((ns, i) => ({ name: `waited while the host ${DOINGS[i]}`, ns, colour: `var(--wait${i})` }));
  const parts = [
    { name: "busy", ns: device.busy_ns, colour: "var(--busy)" },
    ...host,
    { name: "own delay between work", ns: device.idle[1], colour: "var(--delay)" },
    { name: "waited for something else", ns: device.idle[2], colour: "var(--other)" },
  ].filter((part) => part.ns > 0);
  return (
    <Card title={`Device ${device.device}, from its first work to its last: ${timeText(device.extent_ns)}`}>
      <div class="stack-bar" role="img" aria-label={parts.map((part) => `${part.name} ${percentText(part.ns, device.extent_ns)}`).join(", ")}>
        {parts.map((part) => <i key={part.name} style={{ width: `${(100 * part.ns) / device.extent_ns}%`, background: part.colour }} title={`${part.name}: ${timeText(part.ns)}`} />)}
      </div>
      <p class="legend">{parts.map((part) => <span key={part.name}><i class="swatch" style={{ background: part.colour }} /> {part.name} {timeText(part.ns)}{part.name !== "busy" && `, ${percentText(part.ns, device.extent_ns - device.busy_ns)} of the idle time`}</span>)}</p>
      <p class="quiet">
        {countText(device.kernels)} kernels. Computing {timeText(device.compute_ns)}{device.communication_ns > 0 ? `, communicating ${timeText(device.communication_ns)}, of which ${timeText(device.communication_hidden_ns)} while computing` : ""}{device.memory_ns > 0 ? `, copying ${timeText(device.memory_ns)}, of which ${timeText(device.memory_hidden_ns)} while computing` : ""}.
      </p>
      {device.gaps.length > 0 && (
        <details open>
          <summary>Where it idled longest, and why</summary>
          <table class="gaps">
            <thead><tr><th scope="col" class="n">At</th><th scope="col" class="n">Idle</th><th scope="col">Why</th><th scope="col">Ended by</th></tr></thead>
            <tbody>
              {device.gaps.map((gap) => (
                <tr key={gap.begin_ns}>
                  <td class="n"><button type="button" class="link" onClick={() => showGap(source, gap)}>{momentText(gap.begin_ns, 1000)}</button></td>
                  <td class="n">{timeText(gap.ns)}</td>
                  <td>{CAUSES[gap.cause]}{gap.cause === 0 ? `, which ${DOINGS[gap.host]}` : ""}</td>
                  <td class="wrap">{gap.after >= 0 && <button type="button" class="link" title={gap.after_name} onClick={() => void selectSpan(source, gap.after, true)}>{shortName(gap.after_name)}</button>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </Card>
  );
}

/** Where time went in a trace without operators: all spans by name. */
function ByName({ source }: { source: Source }) {
  const answer = useSignal<AreaRow[]>([]);
  useEffect(() => {
    const tracks = source.trace.tracks.map((_, i) => i);
    source.area(0, source.trace.length + 1, tracks).then((all) => { answer.value = all.rows; }, showError);
  }, [source]);
  const rows = [...answer.value].sort((a, b) => b.self - a.self).slice(0, MOST_NAMES);
  return <Names source={source} title="Self time by name" rows={rows.map((row) => ({ name: row.name, ns: row.self, count: row.count, rest: 0 }))} />;
}

function Names({ source, title, rows }: { source: Source; title: string; rows: NameRow[] }) {
  if (rows.length === 0) return null;
  const most = Math.max(1, ...rows.map((row) => row.ns));
  return (
    <Card title={title}>
      <table>
        <thead><tr><th scope="col">Name</th><th scope="col" class="n">Time</th><th scope="col" class="n">Count</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <td class="wrap">{row.rest === 1 ? row.name : <button type="button" class="link" title={row.name} onClick={() => findOnTimeline(source, row.name)}><Name name={row.name} /></button>}</td>
              <td class="n" data-bar="" style={barStyle(row.ns / most)}>{timeText(row.ns)}</td>
              <td class="n">{countText(row.count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
