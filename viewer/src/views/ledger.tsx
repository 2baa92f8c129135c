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
  metadata: { key: string; value: string }[];
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

export function Ledger({ source }: { source: Source }) {
  const { data, error } = useView<Data>(source, "ledger");
  if (data === null) return <Waiting error={error} />;
  const isWhole = !data.rows.some((row) => row.class === "lost" || row.class === "incomplete");
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
        <table><tbody>{source.trace.processes.map((process, i) => <tr key={i}><td>{processTitle(source.trace, i)}</td><td>{process.clock_error > 0 ? `times may be off by ${timeText(process.clock_error)}` : "the trace does not say how far times may be off"}</td></tr>)}</tbody></table>
      </Card>
      {data.metadata.length > 0 && (
        <Card title="Metadata">
          <table><tbody>{data.metadata.map((row) => <tr key={row.key}><td>{row.key}</td><td><code>{/^".*"$/.test(row.value) ? row.value.slice(1, -1) : row.value}</code></td></tr>)}</tbody></table>
        </Card>
      )}
    </div>
  );
}
