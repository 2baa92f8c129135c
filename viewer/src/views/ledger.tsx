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
  if (row.kind.endsWith("_ns")) return timeText(row.count);
  if (row.kind.endsWith("_ps")) return timeText(row.count / 1000);
  return countText(row.count);
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
        return rows.length === 0 ? null : (
          <Card key={of} title={title}>
            <table>
              <tbody>
                {rows.map((row) => <tr key={row.kind}><td>{row.phrase}{row.details.map((detail) => <div key={detail} class="quiet">{detail}</div>)}</td><td class="n">{amount(row)}</td></tr>)}
              </tbody>
            </table>
          </Card>
        );
      })}
      <Card title="Clocks">
        <table><tbody>{source.trace.processes.map((_, i) => <tr key={i}><td>{processTitle(source.trace, i)}</td><td>{clockText(source, i)}</td></tr>)}</tbody></table>
      </Card>
      {data.metadata.length > 0 && (
        <Card title="Metadata">
          <table><tbody>{data.metadata.map((row, i) => <tr key={i}>{isOfSeveral && <td>{row.process !== data.metadata[i - 1]?.process ? processTitle(source.trace, row.process ?? -1) : ""}</td>}<td>{row.key}</td><td><code>{/^".*"$/.test(row.value) ? row.value.slice(1, -1) : row.value}</code></td></tr>)}</tbody></table>
        </Card>
      )}
    </div>
  );
}
