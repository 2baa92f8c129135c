// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps side by side: which was slow, and why.

import { selectSpan, showStretch } from "../actions.ts";
import { bytesText, countText, sentenceText, timeText } from "../format.ts";
import { Card } from "../shell/fetched.tsx";
import { barStyle } from "../shell/table.tsx";
import type { Source } from "../source/source.ts";

export interface StepRow {
  step: number;
  span: number;
  begin_ns: number;
  host_ns: number;
  in_operators_ns: number;
  busy_ns: number;
  copies_ns: number;
  peak_bytes: number;
  why: string;
}

const MOST_BARS = 240;

/** At most so many, in order: of every few neighbours the slowest. */
function barsOf(steps: StepRow[]): StepRow[] {
  if (steps.length <= MOST_BARS) return steps;
  return Array.from({ length: MOST_BARS }, (_, i) =>
    steps.slice(Math.floor((i * steps.length) / MOST_BARS), Math.floor(((i + 1) * steps.length) / MOST_BARS)).reduce((worst, step) => (step.host_ns > worst.host_ns ? step : worst)),
  );
}

/** A step on the timeline, with its details if it has a span. */
export function showStep(source: Source, step: StepRow): void {
  showStretch(source, step.begin_ns, step.begin_ns + step.host_ns);
  if (step.span >= 0) void selectSpan(source, step.span, false);
}

export function Steps({ source, steps, all, median }: { source: Source; steps: StepRow[]; all: number; median: number }) {
  if (steps.length === 0) return null;
  const most = Math.max(1, ...steps.map((step) => step.host_ns));
  const slowest = steps.reduce((worst, step) => (step.host_ns > worst.host_ns ? step : worst));
  const bars = barsOf(steps);
  const show = (step: StepRow) => showStep(source, step);
  const hasWhy = steps.some((step) => step.why !== "");
  const hasDevice = steps.some((step) => step.busy_ns >= 0);
  const hasCopies = steps.some((step) => step.copies_ns > 0);
  const hasMemory = steps.some((step) => step.peak_bytes >= 0);
  const listed = [...steps].sort((a, b) => b.host_ns - a.host_ns).slice(0, 12);
  return (
    <Card title={all === 2 ? "2 steps" : `${countText(all)} ${all === 1 ? "step" : "steps"}, ${timeText(median)} at the median`}>
      <p>The slowest is step <button type="button" class="link" onClick={() => show(slowest)}>{slowest.step}</button> with {timeText(slowest.host_ns)}.{slowest.why !== "" && ` ${sentenceText(slowest.why)}.`}</p>
      <div class="bars" aria-hidden="true">
        {bars.map((step) => (
          <button key={step.begin_ns} type="button" tabIndex={-1} class={step.why !== "" ? "odd" : ""} title={`Step ${step.step}: ${timeText(step.host_ns)}${step.busy_ns >= 0 ? `, device busy ${timeText(step.busy_ns)}` : ""}`} onClick={() => show(step)} style={{ height: `${(100 * step.host_ns) / most}%` }}>
            {step.busy_ns > 0 && <i style={{ height: `${(100 * step.busy_ns) / Math.max(step.host_ns, 1)}%` }} />}
          </button>
        ))}
      </div>
      <p class="legend"><span><i class="swatch step" /> time of the step{bars.length < all ? `, the slowest of about every ${countText(all / bars.length)}` : ""}</span>{hasDevice && <span><i class="swatch busy" /> in which a device was busy</span>}{hasWhy && <span><i class="swatch held" /> much slower than the others</span>}</p>
      <table>
        <thead><tr><th scope="col">Slowest steps</th><th scope="col" class="n">Time</th><th scope="col" class="n">In operators</th>{hasDevice && <th scope="col" class="n">Device busy</th>}{hasCopies && <th scope="col" class="n">Copies</th>}{hasMemory && <th scope="col" class="n">Peak memory</th>}{hasWhy && <th scope="col">Why</th>}</tr></thead>
        <tbody>
          {listed.map((step) => (
            <tr key={step.begin_ns}>
              <td><button type="button" class="link" onClick={() => show(step)}>{step.step}</button></td>
              <td class="n" data-bar="" style={barStyle(step.host_ns / most)}>{timeText(step.host_ns)}</td>
              <td class="n">{timeText(step.in_operators_ns)}</td>
              {hasDevice && <td class="n">{step.busy_ns >= 0 ? timeText(step.busy_ns) : ""}</td>}
              {hasCopies && <td class="n">{step.copies_ns > 0 ? timeText(step.copies_ns) : ""}</td>}
              {hasMemory && <td class="n">{step.peak_bytes >= 0 ? bytesText(step.peak_bytes) : ""}</td>}
              {hasWhy && <td class="wrap">{sentenceText(step.why)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
