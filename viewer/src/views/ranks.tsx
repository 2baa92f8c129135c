// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ranks of a job side by side: who held the others up, when, and what it did longer than they did.

import { useSignal } from "@preact/signals";
import { selectSpan, showStretch } from "../actions.ts";
import { countText, sentenceText, shortName, timeText } from "../format.ts";
import { Card, roomOfCards, useView, Waiting } from "../shell/fetched.tsx";
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
  low: number;
  high: number;
}

interface Step {
  step: number;
  duration: number;
  /** rank, duration, waited, held others up */
  ranks: [number, number, number, number][];
}

/** A collective; times count from the first arrival. */
interface Arrivals {
  name: string;
  group: string;
  /** -1: not in a step */
  step: number;
  last: number;
  late: number;
  members: number;
  /** rank, arrival, end, error of its clock */
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
  arrivals: Arrivals[];
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
      <ArrivalChart data={data} />
      <RankTable source={source} data={data} />
      <ClockChart data={data} />
      {data.notes.length > 0 && <Card title="Notes"><ul>{data.notes.map((note) => <li key={note}>{note}</li>)}</ul></Card>}
    </div>
  );
}

/** One row a rank, one column a step: orange where it held others up, blue where it waited. */
function HeatMap({ source, data }: { source: Source; data: Data }) {
  if (data.steps.length === 0) return null;
  const places = new Map(data.ranks.map((rank, i) => [rank.rank, i]));
  const cell = Math.max(3, Math.min(64, Math.floor((roomOfCards() - LEFT) / data.steps.length)));
  const line = data.ranks.length > 64 ? 6 : 18;
  const every = Math.ceil(40 / cell);
  const sources = new Map(data.ranks.map((rank) => [rank.rank, rank.source]));
  const show = (rank: number, step: number) => showStep(source, rank, sources.get(rank) ?? "", step);
  const canShow = source.traces.length > 1 || source.trace.steps.length > 0;
  return (
    <Card title="Steps and ranks">
      <p class="legend"><span><i class="swatch held" /> held others up</span><span><i class="swatch waited" /> waited for others</span><span class="quiet">{canShow ? "Click for the timeline of that rank and step. " : ""}A stronger colour is a larger part of the step.{data.all_steps > data.steps.length ? ` The first ${countText(data.steps.length)} steps.` : ""}</span></p>
      <svg class="heat" role="img" aria-label="Of each step and rank, how long it waited and held others up; the table below has the sums" width={LEFT + cell * data.steps.length} height={20 + line * data.ranks.length}>
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

const MOST_WIDTH = 900;
const LEFT = 70;

function widthOfCharts(): number {
  return Math.min(MOST_WIDTH, roomOfCards() - LEFT - 10);
}

/** The lines of a chart with one for each rank. */
function lines(count: number): { line: number; hasNames: boolean } {
  return count > 64 ? { line: 6, hasNames: false } : { line: 18, hasNames: true };
}

function collectiveText(one: Arrivals): string {
  const step = one.step >= 0 ? ` in step ${one.step}` : "";
  return `${one.name} of group ${one.group}${step}${one.late > 0 ? `, ${timeText(one.late)} late` : ""}`;
}

/** Who came when to one collective: waiting in blue, then the transfer. */
function ArrivalChart({ data }: { data: Data }) {
  const chosen = useSignal(0);
  if (data.arrivals.length === 0) return null;
  const one = data.arrivals[chosen.value] ?? data.arrivals[0];
  const end = Math.max(1, one.last, ...one.ranks.map(([, , to]) => to));
  const width = widthOfCharts();
  const x = (time: number) => LEFT + (time / end) * width;
  const { line, hasNames } = lines(one.ranks.length);
  return (
    <Card title="Arrivals">
      <p class="legend">
        <label>Collective <select class="file" value={chosen.value} onChange={(event) => { chosen.value = Number(event.currentTarget.value); }}>
          {data.arrivals.map((of, i) => <option key={`${i}.${of.step}`} value={i}>{collectiveText(of)}</option>)}
        </select></label>
        <span><i class="swatch waited" /> waited for the last</span><span><i class="swatch sent" /> transfer</span>
        <span class="quiet">Thin lines are the errors of the clocks.{one.members > one.ranks.length ? ` The first ${countText(one.ranks.length)} of ${countText(one.members)} ranks.` : ""}</span>
      </p>
      <svg class="heat" role="img" aria-label={`When each rank came to ${collectiveText(one)}`} width={LEFT + width + 10} height={24 + line * one.ranks.length}>
        <text x={LEFT} y={12}>0</text><text x={LEFT + width} y={12} text-anchor="end">{timeText(end)}</text>
        {one.ranks.map(([rank, from, to, error], i) => {
          const y = 20 + i * line;
          const middle = y + (line - 2) / 2;
          return (
            <g key={rank}>
              <title>{`Rank ${rank} came ${timeText(from)} after the first (± ${timeText(error)}), waited ${timeText(Math.max(0, one.last - from))}`}</title>
              {hasNames && <text x={62} y={y + 12} text-anchor="end" class={rank === data.blamed ? "blamed" : ""}>rank {rank}</text>}
              <rect class="waited" x={x(from)} y={y} width={Math.max(1, x(one.last) - x(from))} height={line - 2} />
              <rect class="sent" x={x(one.last)} y={y} width={Math.max(0, x(to) - x(one.last))} height={line - 2} />
              <line class="error" x1={Math.max(LEFT, x(from - error))} x2={x(from + error)} y1={middle} y2={middle} />
            </g>
          );
        })}
        <line class="last" x1={x(one.last)} x2={x(one.last)} y1={18} y2={20 + line * one.ranks.length} />
      </svg>
    </Card>
  );
}

/** What was added to each rank's times, with its error, and what is possible. */
function ClockChart({ data }: { data: Data }) {
  const ranks = data.ranks.filter((rank) => rank.aligned === 1).slice(0, 512);
  const least = Math.min(0, ...ranks.map((rank) => Math.min(rank.low, rank.offset - rank.error)));
  const most = Math.max(0, ...ranks.map((rank) => Math.max(rank.high, rank.offset + rank.error)));
  if (ranks.length < 2 || most - least < 1) return null;
  const width = widthOfCharts();
  const x = (time: number) => LEFT + ((time - least) / (most - least)) * width;
  const { line, hasNames } = lines(ranks.length);
  return (
    <Card title="Clocks">
      <p class="legend"><span><i class="swatch held" /> added to the rank's times</span><span><i class="swatch error" /> its error</span><span><i class="swatch bounds" /> possible</span></p>
      <svg class="heat" role="img" aria-label="Of each rank, what was added to its times; the table above has the figures" width={LEFT + width + 10} height={24 + line * ranks.length}>
        <text x={LEFT} y={12}>{timeText(least)}</text><text x={LEFT + width} y={12} text-anchor="end">{timeText(most)}</text>
        <line class="last" x1={x(0)} x2={x(0)} y1={18} y2={20 + line * ranks.length} />
        {ranks.map((rank, i) => {
          const y = 20 + i * line;
          return (
            <g key={rank.rank}>
              <title>{`Rank ${rank.rank}: ${timeText(rank.offset)} ± ${timeText(rank.error)}, possible from ${timeText(rank.low)} to ${timeText(rank.high)}`}</title>
              {hasNames && <text x={62} y={y + 12} text-anchor="end" class={rank.rank === data.blamed ? "blamed" : ""}>rank {rank.rank}</text>}
              <rect class="error" x={x(rank.offset - rank.error)} y={y + 1} width={Math.max(1, x(rank.offset + rank.error) - x(rank.offset - rank.error))} height={Math.max(line - 4, 2)} />
              <rect class="bounds" x={x(rank.low)} y={y + line / 2 - 2} width={Math.max(1, x(rank.high) - x(rank.low))} height={2} />
              <rect class="held" x={x(rank.offset) - 1} y={y} width={2} height={line - 2} />
            </g>
          );
        })}
      </svg>
    </Card>
  );
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
