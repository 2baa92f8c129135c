// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives of this trace: what was sent, how long it took, and how much of that nothing hid.

import { showStretch } from "../actions.ts";
import { bytesText, countText, percentText, timeText } from "../format.ts";
import { useView, Waiting } from "../shell/fetched.tsx";
import { type Column, Table } from "../shell/table.tsx";
import type { Source } from "../source/source.ts";

interface Sum {
  count: number;
  bytes: number;
  ns: number;
  /** In which the rank did nothing else. */
  alone: number;
  most: number;
  longest_at: number;
}

interface Kind extends Sum {
  name: string;
  dtype: string;
  group: string;
  members: number;
}

interface Step extends Sum {
  step: number;
  begin: number;
  length: number;
}

interface Rank extends Sum {
  rank: number;
  world: number;
  rows: Kind[];
  steps: Step[];
}

/** Columns that kinds and steps have in common. */
function sums<Row extends Sum>(source: Source): Column<Row>[] {
  return [
    { title: "Time", unit: "ns", value: (row) => row.ns, show: (row) => timeText(row.ns), bar: true, hint: "In which at least one of them ran; waiting for late ranks is part of it" },
    { title: "Alone", unit: "ns", value: (row) => row.alone, show: (row) => (row.alone > 0 ? timeText(row.alone) : ""), bar: true, hint: "In which this rank did nothing else" },
    { title: "Calls", value: (row) => row.count, show: (row) => countText(row.count) },
    { title: "Bytes", value: (row) => row.bytes, show: (row) => (row.bytes > 0 ? bytesText(row.bytes) : "") },
    { title: "Longest", unit: "ns", value: (row) => row.most, show: (row) => <button type="button" class="link" onClick={() => showStretch(source, row.longest_at, row.longest_at + row.most)}>{timeText(row.most)}</button> },
  ];
}

export function Communication({ source }: { source: Source }) {
  const { data, error } = useView<{ ranks: Rank[] }>(source, "communication");
  if (data === null) return <Waiting error={error} />;
  const ranks = data.ranks.filter((rank) => rank.rows.length > 0);
  if (ranks.length === 0) return <p class="waiting">This trace has no collectives.</p>;
  const [first] = ranks;
  return (
    <div class="page scroll tables">
      <header class="bar">
        <h1>Communication</h1>
        <p class="quiet">{ranks.length === 1 ? `${first.rank >= 0 ? `Rank ${first.rank}${first.world > 0 ? ` of ${countText(first.world)}` : ""}: ` : ""}${sentence(first)}` : `Of ${countText(ranks.length)} ranks, each with its own time.`}{source.trace.views.includes("ranks") ? " The view Ranks says who was late." : " Who was late can be told from the traces of all ranks together."}</p>
      </header>
      {ranks.length === 1 ? <OneRank source={source} rank={first} /> : (
        <>
          <section class="card">
            <h2>By rank</h2>
            <Table<Rank> caption="Collectives by rank" rows={ranks} columns={[{ title: "Rank", value: (row) => row.rank }, ...sums<Rank>(source)]} />
          </section>
          {ranks.map((rank) => <details key={rank.rank}><summary>Rank {rank.rank}: {sentence(rank)}</summary><OneRank source={source} rank={rank} /></details>)}
        </>
      )}
    </div>
  );
}

function sentence(rank: Rank): string {
  return `${countText(rank.count)} ${rank.count === 1 ? "collective" : "collectives"} ran for ${timeText(rank.ns)}. For ${timeText(rank.alone)} of that, ${percentText(rank.alone, rank.ns)}, nothing else did.`;
}

function OneRank({ source, rank }: { source: Source; rank: Rank }) {
  return (
    <>
      <section class="card">
        <h2>By kind</h2>
        <Table<Kind>
          caption="Collectives by kind"
          rows={rank.rows}
          sort={2}
          text={(row) => `${row.name} ${row.group} ${row.dtype}`}
          columns={[
            { title: "Collective", value: (row) => row.name, show: (row) => <div>{row.name}{row.dtype !== "" && <small class="quiet">{row.dtype}</small>}</div> },
            { title: "Group", value: (row) => row.group, show: (row) => `${row.group}${row.members > 0 ? `, ${countText(row.members)} ranks` : ""}` },
            ...sums<Kind>(source),
            ...(rank.rows.some((row) => row.bytes > 0) ? [{ title: "Bytes a second", value: (row: Kind) => (1e9 * row.bytes) / Math.max(row.ns, 1), show: (row: Kind) => (row.bytes > 0 ? `${bytesText((row.bytes * 1e9) / Math.max(row.ns, 1))}/s` : ""), hint: "Bytes of the tensors, by the time of the calls" }] : []),
          ]}
        />
      </section>
      {rank.steps.length > 0 && (
        <section class="card">
          <h2>By step</h2>
          <Table<Step>
            caption="Collectives by step"
            rows={rank.steps}
            columns={[
              { title: "Step", value: (row) => row.step, show: (row) => <button type="button" class="link" onClick={() => showStretch(source, row.begin, row.begin + row.length)}>{row.step}</button> },
              { title: "Length", unit: "ns", value: (row) => row.length, show: (row) => timeText(row.length) },
              ...sums<Step>(source),
            ]}
          />
        </section>
      )}
    </>
  );
}
