// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work of devices by name: kernels, copies, fills.

import { findOnTimeline, selectSpan, showInTable } from "../actions.ts";
import { CLASSES } from "../colours.ts";
import { countText, percentText, timeText } from "../format.ts";
import { useView, Waiting } from "../shell/fetched.tsx";
import { Name } from "../shell/name.tsx";
import { Table } from "../shell/table.tsx";
import type { Source } from "../source/source.ts";
import * as state from "../state.ts";
import { Swatch } from "../timeline/panel.tsx";

interface Row {
  name: string;
  class: number;
  count: number;
  ns: number;
  least: number;
  most: number;
  longest: number;
  blocks_per_sm: number;
  occupancy: number;
  tensor_cores: boolean;
  operators: string[];
}

export function Kernels({ source }: { source: Source }) {
  const { data, error } = useView<{ total: number; rows: Row[] }>(source, "kernels");
  if (data === null) return <Waiting error={error} />;
  if (data.rows.length === 0) return <p class="waiting">This trace has no work of a device. Record with <code>sonde run --gpu</code>.</p>;
  const all = data.rows.reduce((sum, row) => sum + row.ns, 0);
  const hasOccupancy = data.rows.some((row) => row.occupancy >= 0);
  const kernels = data.rows.filter((row) => CLASSES[row.class] === "kernel").length;
  const tensor = data.rows.filter((row) => row.tensor_cores).reduce((sum, row) => sum + row.ns, 0);
  return (
    <div class="page">
      <header class="bar">
        <h1>Kernels</h1>
        <p class="quiet">{timeText(all)} of device work{tensor > 0 ? `, ${percentText(tensor, all)} of it in kernels whose names say that they use tensor cores` : ""}.{tensor === 0 && kernels > 0 ? " No kernel's name says that it uses tensor cores." : ""}{hasOccupancy ? " Occupancy is estimated and weighted by time." : ""}</p>
      </header>
      <Table<Row>
        caption="Kernels, copies and fills"
        view="kernels"
        rows={data.rows}
        total={data.total}
        sort={1}
        text={(row) => `${row.name} ${row.operators.join(" ")}`}
        filter={state.tableFilter.value}
        onFilter={(text) => { state.tableFilter.value = text; }}
        columns={[
          { title: "Name", value: (row) => row.name, show: (row) => <div class="name" title={row.name}><span class="swatched"><Swatch of={row.class} /><Name name={row.name} /></span>{row.operators.length > 0 && <small class="quiet">{row.operators.map((op) => <button key={op} type="button" class="link" onClick={() => showInTable("operators", op)}>{op}</button>)}</small>}</div> },
          { title: "Total", unit: "ns", value: (row) => row.ns, show: (row) => timeText(row.ns), bar: true },
          { title: "Share", unit: "%", value: (row) => (100 * row.ns) / all, show: (row) => percentText(row.ns, all) },
          { title: "Count", value: (row) => row.count, show: (row) => countText(row.count) },
          { title: "Mean", unit: "ns", value: (row) => row.ns / row.count, show: (row) => timeText(row.ns / row.count) },
          { title: "Shortest", unit: "ns", minor: true, value: (row) => row.least, show: (row) => timeText(row.least) },
          { title: "Longest", unit: "ns", value: (row) => row.most, show: (row) => <button type="button" class="link" onClick={() => void selectSpan(source, row.longest, true)}>{timeText(row.most)}</button> },
          ...(data.rows.some((row) => row.blocks_per_sm >= 0) ? [{ title: "Blocks per SM", minor: true, value: (row: Row) => row.blocks_per_sm, show: (row: Row) => (row.blocks_per_sm >= 0 ? row.blocks_per_sm.toFixed(2) : "") }] : []),
          ...(hasOccupancy ? [{ title: "Occupancy", unit: "%", value: (row: Row) => row.occupancy, show: (row: Row) => (row.occupancy >= 0 ? `${row.occupancy.toFixed(0)} %` : "") }] : []),
          ...(tensor > 0 ? [{ title: "Tensor cores", minor: true, value: (row: Row) => (row.tensor_cores ? "yes" : ""), hint: "As far as the kernel's name says" }] : []),
        ]}
        actions={(row) => <button type="button" class="link" onClick={() => findOnTimeline(source, row.name)}>timeline</button>}
      />
    </div>
  );
}
