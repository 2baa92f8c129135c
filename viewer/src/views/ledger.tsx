// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What was lost, what it cost, and how far times may be off.

import { countText, timeText } from "../format.ts";
import { Card, useView, Waiting } from "../shell/fetched.tsx";
import type { Source } from "../source/source.ts";
import { processTitle } from "../timeline/layout.ts";

interface Row {
  class: "lost" | "incomplete" | "cost" | "remark";
  kind: string;
  phrase: string;
  count: number;
  details: string[];
}

interface Data {
  recording_ns: number;
  /** What recording cost, by what was recorded; older pages do not have them. */
  paths?: { what: string; count: number; each_ns: number }[];
  rows: Row[];
  metadata: { process?: number; key: string; value: string }[];
}

const TITLES: [Row["class"], string][] = [
  ["lost", "Lost"],
  ["incomplete", "Incomplete"],
  ["cost", "What recording cost"],
  ["remark", "Remarks"],
];

function amount(row: Row): string {
  return row.kind.endsWith("_ns") ? timeText(row.count) : countText(row.count);
}

/** The library's phrase, without the unit that the amount has. */
function phrase(row: Row): string {
  return row.kind.endsWith("_ns") ? row.phrase.replace(/^ns (of )?/, "") : row.phrase;
}

/** Said elsewhere on the page: in the costs by what was recorded, and about clocks. */
const ELSEWHERE = ["event_cost_ps", "clock_error_ns"];

function Cost({ data }: { data: Data }) {
  const rows = data.rows.filter((row) => row.class === "cost" && row.count > 0 && !ELSEWHERE.includes(row.kind));
  const paths = data.paths ?? [];
  if (rows.length + paths.length === 0) return null;
  return (
    <Card title="What recording cost">
      {paths.length > 0 && (
        <table>
          <thead><tr><th scope="col">Recorded</th><th scope="col" class="n">Count</th><th scope="col" class="n">Each, about</th><th scope="col" class="n">Together</th></tr></thead>
          <tbody>{paths.map((path) => <tr key={path.what}><td>{path.what}</td><td class="n">{countText(path.count)}</td><td class="n">{timeText(path.each_ns)}</td><td class="n">{timeText(path.count * path.each_ns)}</td></tr>)}</tbody>
        </table>
      )}
      <LedgerRows rows={rows} />
    </Card>
  );
}

function LedgerRows({ rows }: { rows: Row[] }) {
  if (rows.length === 0) return null;
  return (
    <table>
      <tbody>
        {rows.map((row) => <tr key={row.kind}><td>{phrase(row)}{row.details.map((detail) => <div key={detail} class="quiet">{detail}</div>)}</td><td class="n">{amount(row)}</td></tr>)}
      </tbody>
    </table>
  );
}

/** Spans that were still open at the end do not make a trace incomplete: something always is. The Overview counts the same way. */
function isMissing(row: Row): boolean {
  return (row.class === "lost" || row.class === "incomplete") && row.kind !== "unfinished" && row.count > 0;
}

/** How far the times of a process may be off; of several, the one without an error may be what the others were measured by. */
function clockText(source: Source, process: number): string {
  const { processes } = source.trace;
  const error = processes[process].clock_error;
  if (error > 0) return `times may be off by ${timeText(error)}`;
  const isReference = processes.length > 1 && processes.every((other, i) => i === process || other.clock_error > 0);
  return isReference ? "the times of the others were moved to its clock" : "the trace does not say how far times may be off";
}

export function Ledger({ source }: { source: Source }) {
  const { data, error } = useView<Data>(source, "ledger");
  if (data === null) return <Waiting error={error} />;
  const isWhole = !data.rows.some(isMissing);
  const isOfSeveral = data.metadata.some((row) => row.process !== data.metadata[0].process);
  return (
    <div class="page scroll">
      <header class="bar"><h1>Ledger</h1><p class="quiet">What was lost, what recording cost, and how far times may be off.</p></header>
      <p class={`trust ${isWhole ? "" : "bad"}`}>
        <b>{isWhole ? "Nothing was lost." : "This trace is incomplete."}</b>
        {data.recording_ns > 0 && ` Recording cost the recorded threads ${timeText(data.recording_ns)}.`}
      </p>
      {TITLES.map(([of, title]) => {
        const rows = data.rows.filter((row) => row.class === of && row.count > 0);
        return of === "cost" ? <Cost key={of} data={data} /> : rows.length === 0 ? null : <Card key={of} title={title}><LedgerRows rows={rows} /></Card>;
      })}
      <Card title="Clocks">
        <table><tbody>{source.trace.processes.map((_, i) => <tr key={i}><td class="wrap"><span class="words">{processTitle(source.trace, i)}</span></td><td>{clockText(source, i)}</td></tr>)}</tbody></table>
      </Card>
      {data.metadata.length > 0 && (
        <Card title="Metadata">
          <table><tbody>{data.metadata.map((row, i) => <tr key={i}>{isOfSeveral && <td>{row.process !== data.metadata[i - 1]?.process ? processTitle(source.trace, row.process ?? -1) : ""}</td>}<td>{row.key}</td><td><code>{/^".*"$/.test(row.value) ? row.value.slice(1, -1) : row.value}</code></td></tr>)}</tbody></table>
        </Card>
      )}
    </div>
  );
}
