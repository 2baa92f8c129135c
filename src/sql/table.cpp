// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/table.h"

#include "sql/shared_fields.h"
#include "sql/span_fields.h"
#include "trace/notes.h"

namespace sonde::sql {
namespace {

Part model_part(Source& source, TableKind kind) {
  Relation made = relation(source.trace, kind);
  Part part;
  part.source = &source;
  part.rows = made.rows;
  part.fields.push_back(id_field(kind));
  for (const Field& field : made.fields) part.fields.push_back(field);
  if (kind == TableKind::Spans) add_span_fields(source, part);
  if (const Field* const span = made.find("span"); span != nullptr)
    add_fields_of_span(source, part, *span);
  add_shared_fields(source, part, made);
  part.lookups.resize(part.fields.size());
  return part;
}

}  // namespace

Source::Source(NamedTrace named, std::size_t place)
    : file(std::move(named.name)),
      number(place),
      trace(std::move(named.trace)),
      names(trace.strings()) {}

std::vector<Part>& Table::parts() {
  if (!parts_.empty()) return parts_;
  std::int64_t id = 0;
  for (const auto& source : *sources_) {
    parts_.push_back(make_(*source));
    parts_.back().first_id = id;
    id += static_cast<std::int64_t>(parts_.back().rows);
  }
  return parts_;
}

std::size_t Table::rows() const {
  std::size_t rows = 0;
  for (const Part& part : parts_) rows += part.rows;
  if (!parts_.empty() || !estimate) return rows;
  for (const auto& source : *sources_) rows += estimate(source->trace);
  return rows;
}

std::vector<std::unique_ptr<Table>> model_tables() {
  std::vector<std::unique_ptr<Table>> tables;
  for (const TableKind kind : all_tables()) {
    tables.push_back(
        std::make_unique<Table>(std::string(to_string(kind)), std::string(table_note(kind)),
                                [kind](Source& source) { return model_part(source, kind); }));
    tables.back()->estimate = [kind](const Trace& trace) { return trace.tables().rows(kind); };
  }
  return tables;
}

}  // namespace sonde::sql
