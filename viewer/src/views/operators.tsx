// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PyTorch's operator table.

import { findOnTimeline } from "../actions.ts";
import { bytesText, countText, largeText, timeText } from "../format.ts";
import { useView, Waiting } from "../shell/fetched.tsx";
import { Name } from "../shell/name.tsx";
import { type Column, Table } from "../shell/table.tsx";
import type { Source } from "../source/source.ts";
import * as state from "../state.ts";

interface Row {
  name: string;
  shapes: string;
  stack: string[];
  device: string;
  count: number;
  self_host: number;
  host: number;
  self_device: number;
  on_device: number;
  host_bytes: number;
  device_bytes: number;
  flops: number;
}

interface Data {
  device: string;
  total: number;
  rows: Row[];
}

/** As the address calls them, as the page does, and the view that has them. */
const GROUPS: [string, string, string][] = [
  ["name", "By name", "operators"],
  ["shape", "By shape", "operators-shapes"],
  ["stack", "By stack", "operators-stacks"],
];

export function Operators({ source }: { source: Source }) {
  const group = GROUPS.find(([name]) => name === state.grouping.value) ?? GROUPS[0];
  const { data, error } = useView<Data>(source, group[2]);
  const all = state.allRows;
  const onHost = data?.rows.filter((row) => row.device === "cpu") ?? [];
  const rows = all.value || onHost.length === 0 ? (data?.rows ?? []) : onHost;
  const time = (title: string, of: keyof Row, hint: string, minor = false): Column<Row> => ({ title, hint, minor, unit: "ns", value: (row) => row[of] as number, show: (row) => ((row[of] as number) > 0 ? timeText(row[of] as number) : ""), bar: true });
  const has = (of: keyof Row) => rows.some((row) => (row[of] as number) !== 0);
  return (
    <div class="page">
      <header class="bar">
        <h1>Operators</h1>
        <fieldset class="choice">
          <legend class="hidden">Group operators</legend>
          {GROUPS.map(([name, title]) => <button key={name} type="button" aria-pressed={group[0] === name} onClick={() => { state.grouping.value = name; }}>{title}</button>)}
        </fieldset>
        {data !== null && onHost.length > 0 && onHost.length < data.rows.length && (
          <fieldset class="choice">
            <legend class="hidden">Which rows</legend>
            <button type="button" aria-pressed={!all.value} onClick={() => { all.value = false; }}>Calls on the host</button>
            <button type="button" aria-pressed={all.value} title="With rows of kernels and of ranges on devices, as PyTorch's table has them" onClick={() => { all.value = true; }}>All rows</button>
          </fieldset>
        )}
        <p class="quiet">As PyTorch counts them: self is without what an operator called. <code>sonde table</code> prints the same.</p>
      </header>
      {data === null ? <Waiting error={error} /> : rows.length === 0 ? <p class="waiting">This trace has no operators.</p> : (
        <Table<Row>
          key={`${group[0]}${all.value}`}
          caption="Operators"
          view="operators"
          rows={rows}
          total={rows === data.rows ? data.total : rows.length}
          sort={has("self_device") ? 3 : 1}
          text={(row) => `${row.name} ${row.shapes}`}
          filter={state.tableFilter.value}
          onFilter={(text) => { state.tableFilter.value = text; }}
          columns={[
            {
              title: "Name", value: (row) => row.name,
              show: (row) => (
                <div class="name" title={row.name}>
                  <Name name={row.name} />
                  {row.shapes !== "" && <small class="quiet">{row.shapes}</small>}
                  {row.stack.length > 0 && <small class="quiet">{row.stack.slice(0, 3).join(" ← ")}</small>}
                </div>
              ),
            },
            time("Self host", "self_host", "Time on the host, without what it called"),
            time("Host total", "host", "Time on the host"),
            ...(has("on_device") || has("self_device") ? [time("Self device", "self_device", "Time of kernels and copies that it launched itself"), time("Device total", "on_device", "With those that it called", true)] : []),
            { title: "Calls", value: (row) => row.count, show: (row) => countText(row.count) },
            { title: "Mean host", unit: "ns", minor: true, value: (row) => row.host / row.count, show: (row) => (row.host > 0 ? timeText(row.host / row.count) : "") },
            ...(has("host_bytes") ? [{ title: "Host memory", unit: "bytes", minor: true, value: (row: Row) => row.host_bytes, show: (row: Row) => (row.host_bytes !== 0 ? bytesText(row.host_bytes) : "") }] : []),
            ...(has("device_bytes") ? [{ title: "Device memory", unit: "bytes", value: (row: Row) => row.device_bytes, show: (row: Row) => (row.device_bytes !== 0 ? bytesText(row.device_bytes) : "") }] : []),
            ...(has("flops") ? [{ title: "FLOPs", minor: true, value: (row: Row) => row.flops, show: (row: Row) => (row.flops > 0 ? largeText(row.flops) : "") }] : []),
          ]}
          actions={(row) => <button type="button" class="link" onClick={() => findOnTimeline(source, row.name === "ProfilerStep*" ? "ProfilerStep#" : row.name)}>timeline</button>}
        />
      )}
    </div>
  );
}
