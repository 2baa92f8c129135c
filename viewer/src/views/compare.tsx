// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What changed between two versions: the JSON of `sonde diff`.

import { findOnTimeline } from "../actions.ts";
import { bytesText, countText, shortName, timeText } from "../format.ts";
import { Card, useView, Waiting } from "../shell/fetched.tsx";
import { Name } from "../shell/name.tsx";
import { Table } from "../shell/table.tsx";
import type { Source } from "../source/source.ts";
import { Differences, type Part } from "./differences.tsx";

interface Time {
  base_ns: number | null;
  now_ns: number | null;
  /** Part of the base; +0.1 is 10 % longer. */
  change: number | null;
  tested: boolean;
  low?: number | null;
  high?: number | null;
  p?: number | null;
  detectable?: number | null;
  changed?: boolean;
  /** It changed, by too little to count. */
  small?: boolean;
}

interface Item {
  name: string;
  operator?: string;
  module?: string;
  status: "both" | "new" | "gone" | "replaced";
  replaces?: string;
  place?: string;
  base_mean_ns: number;
  delta_ns: number;
  base_count: number;
  now_count: number;
  time: Time;
}

interface Exact {
  name: string;
  base_low: number;
  base_high: number;
  now_low: number;
  now_high: number;
  changed: boolean;
}

interface Data {
  verdict: string;
  warnings: string[];
  base_runs: number;
  now_runs: number;
  steps: number;
  gates: { gate: string; verdict: string; why: string }[];
  exact: Exact[];
  one_sided: string[];
  step: Time;
  step_delta_ns: number;
  host: Item[];
  device?: Time;
  device_delta_ns?: number;
  device_work?: Item[];
}

function percent(part: number | null | undefined): string {
  if (part === null || part === undefined) return "";
  const rounded = Math.round(1000 * part) / 10;
  return `${rounded < 0 ? "" : "+"}${Math.abs(rounded) === 0 ? "0.0" : rounded.toFixed(1)} %`;
}

function signed(ns: number): string {
  return `${ns > 0 ? "+" : ns < 0 ? "-" : ""}${timeText(Math.abs(ns))}`;
}

/** Whether a time changed, and how sure that is. */
function verdictOf(time: Time): string {
  if (!time.tested) return "Not tested: that takes three runs a side.";
  const range = `between ${percent(time.low)} and ${percent(time.high)}`;
  const seen = time.detectable === null || time.detectable === undefined ? "" : ` A change of ${(100 * time.detectable).toFixed(1)} % could have been seen.`;
  if (time.small) return `Changed by too little to count, ${range}.${seen}`;
  return time.changed ? `Changed, ${range}.${seen}` : `No change was found.${seen}`;
}

function TimeCard({ title, time }: { title: string; time: Time }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <p><b>{timeText(time.base_ns ?? 0)} → {timeText(time.now_ns ?? 0)}</b>, {percent(time.change)}</p>
      <p class="quiet">{verdictOf(time)}</p>
    </section>
  );
}

function exactText(name: string, low: number, high: number): string {
  const one = (value: number) => (name === "bytes_copied" || name === "peak_memory" ? bytesText(value) : countText(value));
  return low === high ? one(low) : `${one(low)} to ${one(high)}`;
}

function statusText(item: Item): string {
  if (item.status === "new") return "new";
  if (item.status === "gone") return "gone";
  if (item.status === "replaced") return `replaces ${shortName(item.replaces ?? "")}`;
  if (!item.time.tested) return "";
  if (item.time.small) return "too small to count";
  return item.time.changed ? "changed" : "within the noise";
}

/** The modules around it, then the operator, then the kernel. */
function partOf(item: Item): Part {
  const modules = (item.module ?? "") === "" ? [] : (item.module ?? "").split(".");
  const operator = (item.operator ?? "") === "" ? [] : [item.operator ?? ""];
  return {
    path: [...modules, ...operator, item.name],
    before: item.base_mean_ns,
    now: item.base_mean_ns + item.delta_ns,
    isNoise: item.status === "both" && item.time.tested && !item.time.changed,
  };
}

function Items({ source, title, whole, items }: { source: Source; title: string; whole: string; items: Item[] }) {
  if (items.length === 0) return null;
  const hasTimeline = source.trace.spans > 0;
  return (
    <section class="card">
      <h2>{title}</h2>
      <Differences name={whole} parts={items.map(partOf)} />
      <Table<Item>
        caption={title}
        rows={items}
        text={(item) => `${item.name} ${item.operator ?? ""} ${item.status}`}
        columns={[
          { title: "Name", value: (item) => item.name, show: (item) => <div class="name" title={item.name}><Name name={item.name} />{(item.operator ?? "") !== "" && <small class="quiet">in {item.operator}</small>}{(item.place ?? "") !== "" && <small class="quiet">{item.place}</small>}</div> },
          { title: "Mean change a step", unit: "ns", value: (item) => Math.abs(item.delta_ns), copied: (item) => item.delta_ns, show: (item) => signed(item.delta_ns), bar: true },
          { title: "Median before", unit: "ns", value: (item) => item.time.base_ns ?? 0, show: (item) => ((item.time.base_ns ?? 0) > 0 ? timeText(item.time.base_ns ?? 0) : "") },
          { title: "Median now", unit: "ns", value: (item) => item.time.now_ns ?? 0, show: (item) => ((item.time.now_ns ?? 0) > 0 ? timeText(item.time.now_ns ?? 0) : "") },
          { title: "Of before", unit: "%", value: (item) => 100 * (item.time.change ?? 0), show: (item) => (item.status === "both" || item.status === "replaced" ? percent(item.time.change) : "") },
          { title: "Calls a step", value: (item) => item.now_count, show: (item) => (item.base_count === 0 && item.now_count === 0 ? "" : item.base_count === item.now_count ? String(Number(item.now_count.toPrecision(4))) : `${Number(item.base_count.toPrecision(4))} → ${Number(item.now_count.toPrecision(4))}`) },
          ...(items.some((item) => statusText(item) !== "") ? [{ title: "Verdict", value: statusText }] : []),
        ]}
        {...(hasTimeline ? { actions: (item: Item) => item.status !== "gone" && !item.name.startsWith("(") && <button type="button" class="link" onClick={() => findOnTimeline(source, item.name)}>timeline</button> } : {})}
      />
    </section>
  );
}

export function Compare({ source }: { source: Source }) {
  const { data, error } = useView<Data>(source, "compare");
  if (data === null) return <Waiting error={error} />;
  const runs = (n: number) => `${countText(n)} ${n === 1 ? "run" : "runs"}`;
  return (
    <div class="page scroll compare">
      <header class="bar"><h1>Compare</h1><p class="quiet">{runs(data.base_runs)} before, {runs(data.now_runs)} now{data.steps > 0 ? `, ${countText(data.steps)} ${data.steps === 1 ? "step" : "steps"}` : ""}.</p></header>
      {data.warnings.map((warning) => <p key={warning} class="trust bad">{warning}</p>)}
      <div class="answers">
        <TimeCard title={data.steps > 0 ? "Time of a step" : "Time"} time={data.step} />
        {data.device !== undefined && <TimeCard title={data.steps > 0 ? "Device work of a step" : "Device work"} time={data.device} />}
        {data.gates.map((gate) => <section key={gate.gate} class="card"><h2>Gate {gate.gate}</h2><p><b>{gate.verdict}</b></p><p class="quiet">{gate.why}</p></section>)}
      </div>
      {data.exact.length > 0 && (
        <Card title="Counts, which do not vary by chance">
          <table>
            <thead><tr><th scope="col">What</th><th scope="col" class="n">Before</th><th scope="col" class="n">Now</th><th scope="col">Verdict</th></tr></thead>
            <tbody>{data.exact.map((row) => <tr key={row.name}><td>{row.name.replaceAll("_", " ")}</td><td class="n">{exactText(row.name, row.base_low, row.base_high)}</td><td class="n">{exactText(row.name, row.now_low, row.now_high)}</td><td>{row.changed ? <b>changed</b> : "the same"}</td></tr>)}</tbody>
          </table>
          {data.one_sided.length > 0 && <p class="quiet">Only one side says: {data.one_sided.join(", ").replaceAll("_", " ")}.</p>}
        </Card>
      )}
      <Items source={source} title="What changed on the host" whole={data.steps > 0 ? "a step" : "the recording"} items={data.host} />
      <Items source={source} title="What changed on devices" whole="the device's work" items={data.device_work ?? []} />
    </div>
  );
}
