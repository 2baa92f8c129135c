# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of a trace in C++: declarations, definitions and notes."""

from schema_gen.model import INTEGERS, NOTICE, SPDX, camel, snake


def cpp_type(name):
    return f"std::{name}_t" if name in INTEGERS else name


def note(column):
    """The comment after a column in the header: unit and meaning."""
    unit = column.get("unit", "")
    if unit and (column["name"].endswith("_" + unit) or column["name"] == unit or unit in column["name"]):
        unit = ""
    words = "; ".join(w for w in (unit, column.get("doc", "")) if w)
    return f"  // {words}" if words else ""


def emit_enums(schema):
    for enum in schema.enums:
        yield f"// {enum['doc']}"
        yield f"enum class {enum['name']} : std::uint8_t {{"
        for value in enum["values"]:
            yield f"  {value['name']} = {value['value']},{note(value)}"
        yield "};"
        yield f"std::string_view to_string({enum['name']} value);"
        yield f"std::optional<{enum['name']}> parse_{snake(enum['name'])}(std::string_view text);"
        yield f"bool is_known({enum['name']} value);"
        yield ""
    for flags in schema.flags:
        yield f"// {flags['doc']}"
        yield f"struct {flags['name']} {{"
        for value in flags["values"]:
            yield f"  static constexpr std::uint16_t k{value['name']} = 1U << {value['bit']};{note(value)}"
        yield "};"
        yield "// The names of the bits that are set, joined by commas."
        yield f"std::string {snake(flags['name'])}_text(std::uint16_t flags);"
        yield ""


def emit_kinds(schema):
    """Questions about kinds of spans, as functions that cost an instruction or two."""
    kinds = schema.enum_values("SpanKind")
    yield "// The device that a span of this kind ran on; Cpu: the host."
    yield from emit_kind_switch("DeviceType device_of", [
        (k["name"], f"DeviceType::{k['device']}") for k in kinds if k["device"] != "Cpu"], "DeviceType::Cpu")
    yield "// The device whose runtime or driver is called; Unknown if it is not such a call."
    yield from emit_kind_switch("DeviceType device_called", [
        (k["name"], f"DeviceType::{k['calls']}") for k in kinds if "calls" in k], "DeviceType::Unknown")
    yield from emit_kind_switch("SpanClass span_class", [
        (k["name"], f"SpanClass::{k['class']}") for k in kinds], "SpanClass::Foreign")
    yield "// Its category in Kineto's files, unless spans.category has another."
    yield "std::string_view kineto_category(SpanKind kind);"
    yield ""
    for kind_set in schema.kind_sets:
        bits = sum(1 << kind["value"] for kind in schema.kinds_in(kind_set))
        yield f"// {kind_set['doc']}"
        yield f"constexpr bool {kind_set['name']}(SpanKind kind) noexcept {{"
        yield f"  return static_cast<unsigned>(kind) < 64 && ((std::uint64_t{{{bits:#x}}} >> static_cast<unsigned>(kind)) & 1) != 0;"
        yield "}"
    yield ""


def emit_kind_switch(declaration, cases, otherwise):
    yield f"constexpr {declaration}(SpanKind kind) noexcept {{"
    yield "  switch (kind) {"
    by_value = {}
    for kind, value in cases:
        if value != otherwise:
            by_value.setdefault(value, []).append(kind)
    for value, names in by_value.items():
        for name in names:
            yield f"    case SpanKind::{name}:"
        yield f"      return {value};"
    yield "    default:"
    yield f"      return {otherwise};"
    yield "  }"
    yield "}"


def emit_kineto_category(schema):
    yield "std::string_view kineto_category(SpanKind kind) {"
    for kind in schema.enum_values("SpanKind"):
        if "kineto" in kind:
            yield f"  if (kind == SpanKind::{kind['name']}) return \"{kind['kineto']}\";"
    yield "  return to_string(kind);"
    yield "}"
    yield ""


def emit_derived(schema):
    """The columns that files do not have."""
    yield "bool is_derived(TableKind table, std::string_view column) {"
    for table in schema.tables:
        for column in table["columns"]:
            if column.get("derived"):
                yield f"  if (table == TableKind::{camel(table['name'])} && column == \"{column['name']}\") return true;"
    yield "  return false;"
    yield "}"
    yield ""


def emit_ids(schema):
    yield "// Row numbers. Each table has its own type."
    yield "struct StringTag {};"
    yield "using StringId = Id<StringTag>;"
    for table in schema.tables:
        row = table["row"]
        yield f"struct {row}Tag {{"
        yield f"  static constexpr TableKind kTable = TableKind::{camel(table['name'])};"
        yield "};"
        yield f"using {row}Id = Id<{row}Tag>;"
    yield ""


def emit_visitor(name, items):
    """A member template that calls visit("name", member) for each of `items`, const or not."""
    for const in ("", " const"):
        yield "  template <typename Visit>"
        yield f"  void visit_{name}(Visit&& visit){const} {{"
        yield "    visit_each(*this, visit);"
        yield "  }"
    yield ""
    yield " private:"
    yield "  template <typename Self, typename Visit>"
    yield "  static void visit_each(Self& self, Visit& visit) {"
    for item in items:
        yield f"    visit(\"{item}\", self.{item});"
    yield "  }"
    yield "};"
    yield ""


def emit_table(schema, table):
    row, columns = table["row"], table["columns"]
    yield f"// {table['doc']}"
    yield f"struct {row}Row {{"
    for c in columns:
        null = schema.null(c)
        yield f"  {cpp_type(c['type'])} {c['name']}{' = ' + null if null != '{}' else '{}'};{note(c)}"
    yield "};"
    yield ""
    yield f"struct {row}Table {{"
    yield f"  using Row = {row}Row;"
    yield f"  static constexpr TableKind kTable = TableKind::{camel(table['name'])};"
    for c in columns:
        null = schema.null(c)
        argument = "" if null in ("{}", "0") else "{" + null + "}"
        yield f"  Column<{cpp_type(c['type'])}> {c['name']}{argument};"
    yield ""
    yield f"  std::size_t size() const noexcept {{ return {columns[0]['name']}.size(); }}"
    yield "  bool empty() const noexcept { return size() == 0; }"
    yield f"  {row}Id push_back(const {row}Row& values);"
    yield f"  {row}Row row(std::size_t at) const;"
    yield f"  {row}Row row({row}Id at) const {{ return row(at.index()); }}"
    yield f"  void append({row}Table&& other);  // the other is empty afterwards"
    yield "  void resize(std::size_t rows);"
    yield "  void reserve(std::size_t rows);"
    yield "  // Calls visit(\"name\", column) for every column."
    yield from emit_visitor("columns", [c["name"] for c in columns])


def emit_table_members(table):
    row, columns = table["row"], table["columns"]
    yield f"{row}Id {row}Table::push_back(const {row}Row& values) {{"
    for c in columns:
        yield f"  {c['name']}.push_back(values.{c['name']});"
    yield f"  return {row}Id(size() - 1);"
    yield "}"
    yield ""
    yield f"{row}Row {row}Table::row(std::size_t at) const {{"
    yield f"  {row}Row values;"
    for c in columns:
        yield f"  values.{c['name']} = {c['name']}[at];"
    yield "  return values;"
    yield "}"
    yield ""
    yield f"void {row}Table::append({row}Table&& other) {{"
    for c in columns:
        yield f"  {c['name']}.append(std::move(other.{c['name']}));"
    yield "}"
    yield ""
    for name in ("resize", "reserve"):
        yield f"void {row}Table::{name}(std::size_t rows) {{"
        yield f"  visit_columns([rows](const char*, auto& column) {{ column.{name}(rows); }});"
        yield "}"
        yield ""


def emit_all_tables(schema):
    yield "// Every table of a trace."
    yield "struct TraceTables {"
    for t in schema.tables:
        yield f"  {t['row']}Table {t['name']};"
    yield ""
    yield "  // Rows of a table; 0 for TableKind::None."
    yield "  std::size_t rows(TableKind table) const noexcept;"
    yield "  // Calls visit(\"name\", table) for every table."
    yield from emit_visitor("tables", [t["name"] for t in schema.tables])


def header(schema):
    yield from (SPDX, NOTICE, "#pragma once", "")
    yield "// The tables of a Trace: for each a struct of one row, and a struct of columns. docs/trace-model.md"
    yield "// describes them."
    yield ""
    for name in ("cstddef", "cstdint", "limits", "optional", "string", "string_view", "utility"):
        yield f"#include <{name}>"
    yield from ("", '#include "sonde/trace/column.h"', "", "// clang-format off", "", "namespace sonde {", "")
    yield from emit_enums(schema)
    yield from emit_kinds(schema)
    yield "// Whether a column is computed when a trace is built; files do not have it."
    yield "bool is_derived(TableKind table, std::string_view column);"
    yield ""
    yield from emit_ids(schema)
    for table in schema.tables:
        yield from emit_table(schema, table)
    yield from emit_all_tables(schema)
    yield "}  // namespace sonde"


def source(schema):
    yield from (SPDX, NOTICE, '#include "sonde/trace/tables_gen.h"', "", "// clang-format off", "")
    yield from ("namespace sonde {", "")
    for enum in schema.enums:
        name = enum["name"]
        yield f"std::string_view to_string({name} value) {{"
        yield "  switch (value) {"
        for v in enum["values"]:
            yield f"    case {name}::{v['name']}: return \"{v['text']}\";"
        yield "  }"
        yield '  return "?";'
        yield "}"
        yield ""
        yield f"std::optional<{name}> parse_{snake(name)}(std::string_view text) {{"
        for v in enum["values"]:
            yield f"  if (text == \"{v['text']}\") return {name}::{v['name']};"
        yield "  return std::nullopt;"
        yield "}"
        yield ""
        yield f"bool is_known({name} value) {{"
        yield "  switch (value) {"
        for v in enum["values"]:
            yield f"    case {name}::{v['name']}:"
        yield "      return true;"
        yield "  }"
        yield "  return false;"
        yield "}"
        yield ""
    for flags in schema.flags:
        yield f"std::string {snake(flags['name'])}_text(std::uint16_t flags) {{"
        yield "  std::string text;"
        for v in flags["values"]:
            yield f"  if ((flags & {flags['name']}::k{v['name']}) != 0) text += \",{v['text']}\";"
        yield "  return text.empty() ? text : text.substr(1);"
        yield "}"
        yield ""
    yield from emit_kineto_category(schema)
    yield from emit_derived(schema)
    for table in schema.tables:
        yield from emit_table_members(table)
    yield "std::size_t TraceTables::rows(TableKind table) const noexcept {"
    yield "  switch (table) {"
    yield "    case TableKind::None: return 0;"
    for t in schema.tables:
        yield f"    case TableKind::{camel(t['name'])}: return {t['name']}.size();"
    yield "  }"
    yield "  return 0;"
    yield "}"
    yield ""
    yield "}  // namespace sonde"


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def notes(schema):
    yield from (SPDX, NOTICE, '#include "trace/notes.h"', "", "// clang-format off", "", "namespace sonde {", "")
    yield "std::string_view table_note(TableKind table) {"
    yield "  switch (table) {"
    for t in schema.tables:
        yield f"    case TableKind::{camel(t['name'])}: return {quoted(t['doc'])};"
    yield "    case TableKind::None: break;"
    yield "  }"
    yield "  return {};"
    yield "}"
    yield ""
    yield "ColumnNote column_note(TableKind table, std::string_view column) {"
    yield "  switch (table) {"
    for t in schema.tables:
        yield f"    case TableKind::{camel(t['name'])}:"
        for c in t["columns"]:
            zero = "true" if c.get("zero") == "none" else "false"
            if "unit" in c or "doc" in c or zero == "true":
                yield (f"      if (column == \"{c['name']}\") return {{{quoted(c.get('unit', ''))}, "
                       f"{quoted(c.get('doc', ''))}, {zero}}};")
        yield "      break;"
    yield "    case TableKind::None: break;"
    yield "  }"
    yield "  return {};"
    yield "}"
    yield ""
    yield "}  // namespace sonde"
