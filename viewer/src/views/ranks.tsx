// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ranks of a job side by side: who held the others up, when, and what it did longer than they did.

import { selectSpan, showStretch } from "../actions.ts";
import { countText, sentenceText, shortName, timeText } from "../format.ts";
import { Card, useView, Waiting } from "../shell/fetched.tsx";
import { barStyle } from "../shell/table.tsx";
import type { Source } from "../source/source.ts";
import * as state from "../state.ts";

interface Rank {
  rank: number;
  source: string;
  host: string;
  step: number;
  outlier: number;
  wait: number;
  caused: number;
  last: number;
  aligned: number;
  offset: number;
  drift: number;
  at: number;
  error: number;
}

interface Step {
  step: number;
  duration: number;
  /** rank, duration, waited, held others up */
  ranks: [number, number, number, number][];
}

interface Data {
  sentences: string[];
  notes: string[];
  /** The rank that held the others up; -1: none did. */
  blamed: number;
  all_ranks: number;
  ranks: Rank[];
  all_steps: number;
  steps: Step[];
  causes: { cause: string; name: string; extra: number; own: number; others: number }[];
}

export function Ranks({ source }: { source: Source }) {
  const { data, error } = useView<Data>(source, "ranks");
  if (data === null) return <Waiting error={error} />;
  return (
    <div class="page scroll">
      <header class="bar"><h1>Ranks</h1><p class="quiet">{countText(data.all_ranks)} ranks, {countText(data.all_steps)} steps</p></header>
      {data.sentences.map((sentence, i) => <p key={sentence} class={i === 0 ? "verdict" : ""}>{sentenceText(sentence)}</p>)}
      {data.causes.length > 0 && (
        <Card title={data.blamed >= 0 ? `What rank ${data.blamed} did longer than the others` : "What the late rank did longer than the others"}>
          <table>
            <thead><tr><th scope="col">What</th><th scope="col" class="n">Longer by</th><th scope="col" class="n">Its own time</th><th scope="col" class="n">That of others</th></tr></thead>
            <tbody>
              {data.causes.map((cause) => (
                <tr key={cause.cause + cause.name}>
                  <td class="wrap" title={cause.name}>{cause.cause.replaceAll("_", " ")}: {shortName(cause.name)}</td>
                  <td class="n" data-bar="" style={barStyle(cause.extra / Math.max(data.causes[0].extra, 1))}>{timeText(cause.extra)}</td>
                  <td class="n">{timeText(cause.own)}</td>
                  <td class="n">{timeText(cause.others)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Card>
      )}
      <HeatMap source={source} data={data} />
      <RankTable source={source} data={data} />
      {data.notes.length > 0 && <Card title="Notes"><ul>{data.notes.map((note) => <li key={note}>{note}</li>)}</ul></Card>}
    </div>
  );
}

/** One row a rank, one column a step: orange where it held others up, blue where it waited. */
function HeatMap({ source, data }: { source: Source; data: Data }) {
  if (data.steps.length === 0) return null;
  const places = new Map(data.ranks.map((rank, i) => [rank.rank, i]));
  const cell = Math.max(3, Math.min(64, Math.floor(1100 / data.steps.length)));
  const line = data.ranks.length > 64 ? 6 : 18;
  const every = Math.ceil(40 / cell);
  const sources = new Map(data.ranks.map((rank) => [rank.rank, rank.source]));
  const show = (rank: number, step: number) => showStep(source, rank, sources.get(rank) ?? "", step);
  const canShow = source.traces.length > 1 || source.trace.steps.length > 0;
  return (
    <Card title="Steps and ranks">
      <p class="legend"><span><i class="swatch held" /> held others up</span><span><i class="swatch waited" /> waited for others</span><span class="quiet">{canShow ? "Click for the timeline of that rank and step. " : ""}Darker is a larger part of the step.{data.all_steps > data.steps.length ? ` The first ${countText(data.steps.length)} steps.` : ""}</span></p>
      <svg class="heat" role="img" aria-label="Of each step and rank, how long it waited and held others up; the table below has the sums" width={70 + cell * data.steps.length} height={20 + line * data.ranks.length}>
        {line > 10 && data.ranks.map((rank, i) => <text key={rank.rank} x={62} y={20 + i * line + 12} text-anchor="end" class={rank.rank === data.blamed ? "blamed" : ""}>rank {rank.rank}</text>)}
        {data.steps.map((step, column) => column % every === 0 && <text key={step.step} x={70 + column * cell} y={12}>{step.step}</text>)}
        {data.steps.map((step, column) => step.ranks.map(([rank, duration, wait, caused]) => {
          const row = places.get(rank);
          if (row === undefined) return null;
          const part = Math.min(1, (caused > 0 ? caused : wait) / Math.max(step.duration, 1));
          return (
            <rect key={`${step.step}.${rank}`} class={caused > 0 ? "held" : "waited"} x={70 + column * cell} y={20 + row * line} width={Math.max(cell - 1, 1)} height={line - 1} {...(canShow ? { style: { cursor: "pointer" }, onClick: () => show(rank, step.step) } : {})} fill-opacity={(0.08 + 0.92 * part).toFixed(3)}>
              <title>{`Step ${step.step}, rank ${rank}: ${timeText(duration)}, waited ${timeText(wait)}, held others up ${timeText(caused)}`}</title>
            </rect>
          );
        }))}
      </svg>
    </Card>
  );
}

/** A step of a rank: on this timeline if it has that rank, or else on the rank's own. */
function showStep(source: Source, rank: number, file: string, step: number): void {
  const { processes, steps } = source.trace;
  const own = steps.find(([, , number, , process]) => number === step && processes[process]?.rank === rank);
  if (own === undefined) {
    showRank(source, file, step);
    return;
  }
  showStretch(source, own[0], own[1]);
  void selectSpan(source, own[3], false);
}

/** The timeline of another rank: at a step, or at the moment that is shown now. */
function showRank(source: Source, file: string, step?: number): void {
  const of = source.traces.indexOf(file);
  if (of >= 0) state.wantedTrace.value = step === undefined ? { of } : { of, step };
}

const fileOf = (rank: Rank) => rank.source.split("/").pop() ?? "";

function RankTable({ source, data }: { source: Source; data: Data }) {
  const most = Math.max(1, ...data.ranks.map((rank) => Math.max(rank.wait, rank.caused)));
  const hasHosts = data.ranks.some((rank) => rank.host !== "");
  const isShown = (rank: Rank) => source.trace.spans > 0 && rank.source !== "" && rank.source === source.trace.name;
  return (
    <Card title="Who waited, and who held others up">
      <table>
        <thead><tr><th scope="col">Rank</th>{hasHosts && <th scope="col">Host</th>}<th scope="col" class="n">Held others up</th><th scope="col" class="n">Waited</th><th scope="col" class="n">Came last</th><th scope="col" class="n">Mean step</th><th scope="col" class="n">Clock moved by</th><th scope="col">Trace</th></tr></thead>
        <tbody>
          {data.ranks.map((rank) => (
            <tr key={rank.rank} class={rank.rank === data.blamed ? "blamed" : ""}>
              <td>{rank.rank}{rank.outlier === 1 && <span class="badge">differs</span>}</td>
              {hasHosts && <td>{rank.host}</td>}
              <td class="n" data-bar={rank.caused > 0 ? "" : undefined} style={barStyle(rank.caused / most)}>{rank.caused > 0 ? timeText(rank.caused) : ""}</td>
              <td class="n" data-bar={rank.wait > 0 ? "" : undefined} style={barStyle(rank.wait / most)}>{timeText(rank.wait)}</td>
              <td class="n">{rank.last > 0 ? countText(rank.last) : ""}</td>
              <td class="n">{rank.step > 0 ? timeText(rank.step) : ""}</td>
              <td class="n">{rank.aligned === 1 ? rank.offset === 0 && rank.error === 0 ? "" : `${rank.offset >= 0 ? "+" : ""}${timeText(rank.offset)} ± ${timeText(rank.error)}` : "not joined to the others"}</td>
              <td class="wrap" title={rank.source}>{isShown(rank) ? <b>{fileOf(rank)} (shown)</b> : source.traces.includes(rank.source) ? <button type="button" class="link" onClick={() => showRank(source, rank.source)}>{fileOf(rank)}</button> : fileOf(rank)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {data.all_ranks > data.ranks.length && <p class="quiet">The first {countText(data.ranks.length)} of {countText(data.all_ranks)} ranks.</p>}
    </Card>
  );
}
