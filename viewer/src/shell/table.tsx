// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table that can be sorted, filtered and copied. Shows the first rows and more on demand.

import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { copyText } from "../actions.ts";
import { countText, separated } from "../format.ts";
import { type Sorting, sorting } from "../state.ts";

export interface Column<Row> {
  title: string;
  /** What is sorted by. */
  value: (row: Row) => number | string;
  show?: (row: Row) => ComponentChildren;
  /** Of the largest value: a bar behind the number. */
  bar?: boolean;
  hint?: string;
  /** What is copied, where that is not what is sorted by; and the unit of it. */
  copied?: (row: Row) => number | string;
  unit?: string;
  /** Left out where there is little room, until it is asked for. */
  minor?: boolean;
}

interface Props<Row> {
  caption: string;
  rows: Row[];
  columns: Column<Row>[];
  sort?: number;
  text?: (row: Row) => string;
  filter?: string;
  onFilter?: (text: string) => void;
  actions?: (row: Row) => ComponentChildren;
  /** How many rows there are in all, if some are left out. */
  total?: number;
  /** The view whose only table this is: how it is sorted is part of the address. */
  view?: string;
}

const PAGE = 100;
const narrow = matchMedia("(max-width: 1000px)");
const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => {
  isNarrow.value = narrow.matches;
});
const allColumns = signal(false);

/** A bar behind a number; those of columns side by side do not touch. */
export function barStyle(part: number): { backgroundSize: string } {
  return { backgroundSize: `${(92 * Math.min(part, 1)).toFixed(1)}% 18px` };
}

export function Table<Row>({ caption, rows, columns: wanted, sort, text, filter, onFilter, actions, total, view }: Props<Row>) {
  const ownSorting = useSignal<Sorting>({ by: sort ?? -1, up: false });
  const kept = view === undefined ? undefined : sorting.value.get(view);
  const { by, up } = kept !== undefined && kept.by < wanted.length ? kept : ownSorting.value;
  const shown = useSignal(PAGE);
  const own = useSignal("");
  const hasMinor = isNarrow.value && wanted.some((column) => column.minor === true);
  const columns = wanted.map((column, i) => ({ ...column, i })).filter((column) => !hasMinor || allColumns.value || column.minor !== true);
  const words = (filter ?? own.value).toLowerCase().split(/\s+/).filter((word) => word !== "");
  let list = text === undefined || words.length === 0 ? [...rows] : rows.filter((row) => words.every((word) => text(row).toLowerCase().includes(word)));
  if (by >= 0) {
    const { value } = wanted[by];
    list = list.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return up ? order : -order;
    });
  }
  const most = columns.map((column) => (column.bar ? Math.max(0, ...rows.slice(0, 5000).map((row) => Number(column.value(row)))) : 0));
  const sortBy = (i: number) => {
    const next = { by: i, up: by === i ? !up : rows.length > 0 && typeof wanted[i].value(rows[0]) === "string" };
    if (view === undefined) ownSorting.value = next;
    else sorting.value = new Map(sorting.value).set(view, next);
  };
  const cells = () => [wanted.map((column) => (column.unit === undefined ? column.title : `${column.title} (${column.unit})`)), ...list.map((row) => wanted.map((column) => (column.copied ?? column.value)(row)))];
  return (
    <div class="table">
      <div class="tools">
        {text !== undefined && (
          <input type="search" placeholder="Filter rows" aria-label={`Filter ${caption}`} value={filter ?? own.value} onInput={(e) => (onFilter ?? ((value: string) => { own.value = value; }))(e.currentTarget.value)} />
        )}
        <span class="quiet">{countText(list.length)} {list.length === 1 ? "row" : "rows"}{total !== undefined && total > rows.length ? `, the first of ${countText(total)}` : ""}</span>
        <button type="button" onClick={() => void copyText(separated(cells(), "\t"))}>Copy as text</button>
        <button type="button" onClick={() => void copyText(separated(cells(), ","))}>Copy as CSV</button>
        {hasMinor && <button type="button" aria-pressed={allColumns.value} onClick={() => { allColumns.value = !allColumns.value; }}>All columns</button>}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
      <section class="rows" tabIndex={0} aria-label={caption}>
        <table>
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.title} scope="col" aria-sort={by === column.i ? (up ? "ascending" : "descending") : "none"} class={rows.length > 0 && typeof column.value(rows[0]) === "number" ? "n" : ""}>
                  <button type="button" title={column.hint ?? ""} onClick={() => sortBy(column.i)}>{column.title}{by === column.i ? (up ? " ▴" : " ▾") : ""}</button>
                </th>
              ))}
              {actions !== undefined && <th scope="col"><span class="hidden">Show</span></th>}
            </tr>
          </thead>
          <tbody>
            {list.slice(0, shown.value).map((row, r) => (
              <tr key={r}>
                {columns.map((column, i) => {
                  const value = column.value(row);
                  const part = most[i] > 0 ? Number(value) / most[i] : 0;
                  return (
                    <td key={column.title} class={typeof value === "number" ? "n" : ""} style={part > 0.02 ? barStyle(part) : {}} data-bar={part > 0.02 ? "" : undefined}>
                      {column.show === undefined ? value : column.show(row)}
                    </td>
                  );
                })}
                {actions !== undefined && <td class="acts">{actions(row)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
        {list.length > shown.value && <button type="button" class="more" onClick={() => { shown.value += PAGE * 5; }}>Show more rows</button>}
      </section>
    </div>
  );
}
