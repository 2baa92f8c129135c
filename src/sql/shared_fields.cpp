// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/shared_fields.h"

#include <algorithm>
#include <limits>

namespace sonde::sql {
namespace {

constexpr std::int64_t kNoRank = -1;

std::int64_t row_number(const void* /*source*/, std::size_t row) {
  return static_cast<std::int64_t>(row);
}

std::size_t find_row(const void* /*source*/, std::size_t from, std::size_t to, std::int64_t low,
                     std::int64_t high) {
  const auto first = static_cast<std::int64_t>(from);
  const std::int64_t row = std::max(first, low);
  return row <= high && row < static_cast<std::int64_t>(to) ? static_cast<std::size_t>(row) : to;
}

std::string_view file_text(const void* source, std::size_t /*row*/) {
  return *static_cast<const std::string*>(source);
}

// How a table's rows lead to their process.
struct RankOfRow {
  const Trace* trace = nullptr;
  bool is_uniform = true;  // all processes of the trace have the same
  std::int64_t uniform = kNoRank;
  const Field* process = nullptr;
  const Field* track = nullptr;
  const Field* span = nullptr;
  Field fields[3];
};

std::int64_t rank_of(const Trace& trace, ProcessId process) {
  return process.valid() ? trace.processes().rank[process] : kNoRank;
}

std::int64_t rank_of_track(const Trace& trace, std::int64_t track) {
  if (track == std::int64_t{TrackId::kInvalid}) return kNoRank;
  return rank_of(trace, trace.tracks().process[static_cast<std::size_t>(track)]);
}

std::int64_t rank_at(const void* source, std::size_t row) {
  const RankOfRow& of = *static_cast<const RankOfRow*>(source);
  if (of.is_uniform) return of.uniform;
  if (of.process != nullptr)
    return rank_of(*of.trace, ProcessId(static_cast<std::uint32_t>(of.process->raw(row))));
  if (of.track != nullptr) return rank_of_track(*of.trace, of.track->raw(row));
  if (of.span == nullptr) return kNoRank;
  const std::int64_t span = of.span->raw(row);
  if (span == std::int64_t{SpanId::kInvalid}) return kNoRank;
  return rank_of_track(*of.trace, of.trace->spans().track[static_cast<std::size_t>(span)].value());
}

std::size_t find_rank(const void* source, std::size_t from, std::size_t to, std::int64_t low,
                      std::int64_t high) {
  const RankOfRow& of = *static_cast<const RankOfRow*>(source);
  const auto fits = [&](std::int64_t rank) { return rank >= low && rank <= high; };
  if (of.is_uniform) return fits(of.uniform) ? from : to;
  while (from < to && !fits(rank_at(source, from))) ++from;
  return from;
}

void find_uniform_rank(RankOfRow& of) {
  const ProcessTable& processes = of.trace->processes();
  if (processes.size() == 0) return;
  of.uniform = processes.rank[std::size_t{0}];
  for (std::size_t i = 1; i < processes.size(); ++i)
    of.is_uniform &= processes.rank[i] == of.uniform;
}

const Field* kept_field(RankOfRow& of, std::size_t place, const Relation& made,
                        std::string_view name) {
  const Field* const found = made.find(name);
  if (found == nullptr || found->type != FieldType::Reference) return nullptr;
  of.fields[place] = *found;
  return &of.fields[place];
}

}  // namespace

Field id_field(TableKind table) {
  static constexpr FieldReader kReader = {.raw = row_number, .find = find_row};
  return {.name = "id",
          .unit = "",
          .doc = "The row's number, which other tables refer to",
          .type = FieldType::Reference,
          .refers_to = table,
          .reader = &kReader};
}

void add_shared_fields(Source& source, Part& part, const Relation& made) {
  static constexpr FieldReader kFile = {.text = file_text};
  static constexpr FieldReader kRank = {.raw = rank_at, .find = find_rank};
  if (made.find("file") == nullptr) {
    part.fields.push_back({.name = "file",
                           .unit = "",
                           .doc = "The trace that the row is of",
                           .type = FieldType::Text,
                           .source = &source.file,
                           .reader = &kFile});
  }
  if (made.find("rank") != nullptr) return;
  auto& of = source.keep<RankOfRow>();
  of.trace = &source.trace;
  find_uniform_rank(of);
  of.process = kept_field(of, 0, made, "process");
  of.track = kept_field(of, 1, made, "track");
  of.span = kept_field(of, 2, made, "span");
  part.fields.push_back({.name = "rank",
                         .unit = "",
                         .doc = "Of its process, in a distributed run",
                         .type = FieldType::Integer,
                         .has_null = true,
                         .null = kNoRank,
                         .source = &of,
                         .reader = &kRank});
}

}  // namespace sonde::sql
