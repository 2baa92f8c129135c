// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Time by module of the network, as a tree.

import { useSignal } from "@preact/signals";
import { selectSpan } from "../actions.ts";
import { bytesText, countText, timeText } from "../format.ts";
import { useView, Waiting } from "../shell/fetched.tsx";
import { barStyle } from "../shell/table.tsx";
import type { Source } from "../source/source.ts";

interface Row {
  name: string;
  parent: number;
  depth: number;
  calls: number;
  host: number;
  device: number;
  launches: number;
  allocated: number;
  kept: number;
  longest: number;
}

export function Modules({ source }: { source: Source }) {
  const { data, error } = useView<{ total: number; rows: Row[] }>(source, "modules");
  const closed = useSignal<ReadonlySet<number>>(new Set());
  if (data === null) return <Waiting error={error} />;
  if (data.rows.length === 0) return <p class="waiting">This trace does not say which modules ran. Record with <code>sonde run --modules</code>, or with <code>torch.profiler.profile(with_stack=True, with_modules=True)</code>.</p>;
  const rows = data.rows;
  const hidden = new Set<number>();
  const hasInside = new Set<number>();
  rows.forEach((row, i) => {
    if (row.parent === i) return;
    hasInside.add(row.parent);
    if (hidden.has(row.parent) || closed.value.has(row.parent)) hidden.add(i);
  });
  const most = { host: Math.max(1, ...rows.map((row) => row.host)), device: Math.max(1, ...rows.map((row) => row.device)), kept: Math.max(1, ...rows.map((row) => row.kept)) };
  const hasDevice = rows.some((row) => row.launches > 0);
  const hasBytes = rows.some((row) => row.allocated > 0);
  const bar = (value: number, of: number) => barStyle(value / of);
  const toggle = (i: number) => {
    const next = new Set(closed.value);
    if (!next.delete(i)) next.add(i);
    closed.value = next;
  };
  return (
    <div class="page">
      <header class="bar"><h1>Modules</h1><p class="quiet">Figures are of all calls together, and contain those of the modules inside. What backward passes do is not counted.</p></header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
      <section class="rows" tabIndex={0} aria-label="Modules">
        <table>
          <thead><tr><th scope="col">Module</th><th scope="col" class="n">Calls</th><th scope="col" class="n">Host</th>{hasDevice && <><th scope="col" class="n">Device</th><th scope="col" class="n">Launches</th></>}{hasBytes && <><th scope="col" class="n">Allocated</th><th scope="col" class="n" title="Of what was allocated inside, still held when the call returned: results, and what the backward pass needs">Kept after the call</th></>}<th scope="col"><span class="hidden">Show</span></th></tr></thead>
          <tbody>
            {rows.map((row, i) => hidden.has(i) ? null : (
              <tr key={i}>
                <td style={{ paddingLeft: `${8 + row.depth * 18}px`, whiteSpace: "nowrap" }}>
                  {hasInside.has(i) ? <button type="button" class="fold" aria-expanded={!closed.value.has(i)} aria-label={`Modules in ${row.name}`} onClick={() => toggle(i)}>{closed.value.has(i) ? "▸" : "▾"}</button> : <span class="fold" />}
                  {row.name}
                </td>
                <td class="n">{countText(row.calls)}</td>
                <td class="n" data-bar="" style={bar(row.host, most.host)}>{timeText(row.host)}</td>
                {hasDevice && <><td class="n" data-bar="" style={bar(row.device, most.device)}>{row.device > 0 ? timeText(row.device) : ""}</td><td class="n">{row.launches > 0 ? countText(row.launches) : ""}</td></>}
                {hasBytes && <><td class="n">{row.allocated > 0 ? bytesText(row.allocated) : ""}</td><td class="n" data-bar="" style={bar(row.kept, most.kept)}>{row.kept > 0 ? bytesText(row.kept) : ""}</td></>}
                <td class="acts">{row.longest >= 0 && <button type="button" class="link" onClick={() => void selectSpan(source, row.longest, true)}>longest call</button>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}
