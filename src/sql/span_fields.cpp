// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/span_fields.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace sonde::sql {
namespace {

std::int64_t end_at(const void* source, std::size_t row) {
  const SpanTable& spans = *static_cast<const SpanTable*>(source);
  return spans.start_ns[row] + spans.duration_ns[row];
}

std::int64_t class_at(const void* source, std::size_t row) {
  return static_cast<std::int64_t>(span_class(static_cast<const SpanTable*>(source)->kind[row]));
}

std::string_view class_label(std::int64_t raw) {
  return to_string(static_cast<SpanClass>(raw));
}

// Values of all spans, found when the first of them is asked for.
struct ComputedOfSpans {
  const Trace* trace = nullptr;
  std::vector<std::int64_t> (*compute)(const Trace& trace) = nullptr;
  std::vector<std::int64_t> values;
};

std::int64_t computed_at(const void* source, std::size_t row) {
  auto& computed = *static_cast<ComputedOfSpans*>(const_cast<void*>(source));
  if (computed.values.empty()) computed.values = computed.compute(*computed.trace);
  return computed.values[row];
}

// Parents come before their children.
std::vector<std::int64_t> depths(const Trace& trace) {
  std::vector<std::int64_t> depth(trace.spans().size());
  for (const SpanId span : trace.all_spans()) {
    const SpanId parent = trace.spans().parent[span];
    depth[span.index()] = parent.valid() ? depth[parent.index()] + 1 : 0;
  }
  return depth;
}

void add_computed(Source& source, Part& part, std::string_view name, std::string_view doc,
                  std::vector<std::int64_t> (*compute)(const Trace&)) {
  static constexpr FieldReader kReader = {.raw = computed_at};
  auto& values = source.keep<ComputedOfSpans>();
  values.trace = &source.trace;
  values.compute = compute;
  part.fields.push_back({.name = name,
                         .unit = name.ends_with("_ns") ? "ns" : "",
                         .doc = doc,
                         .source = &values,
                         .reader = &kReader});
}

// A column of the span that a row refers to.
struct FieldOfSpan {
  Field of_span;
  Field span;
};

std::int64_t raw_of_span(const void* source, std::size_t row) {
  const auto& joined = *static_cast<const FieldOfSpan*>(source);
  const std::int64_t span = joined.span.raw(row);
  if (joined.span.is_null(span)) return joined.of_span.null;
  return joined.of_span.raw(static_cast<std::size_t>(span));
}

}  // namespace

std::vector<std::int64_t> self_times(const Trace& trace) {
  const SpanTable& spans = trace.spans();
  std::vector<std::int64_t> self(spans.size());
  std::vector<Nanos> covered_until(spans.size());
  for (const SpanId span : trace.all_spans()) {
    const Nanos begin = spans.start_ns[span];
    const Nanos end = begin + spans.duration_ns[span];
    self[span.index()] = spans.duration_ns[span];
    covered_until[span.index()] = begin;
    const SpanId parent = spans.parent[span];
    if (!parent.valid()) continue;
    Nanos& covered = covered_until[parent.index()];
    const Nanos until = std::min(end, trace.end_ns(parent));
    self[parent.index()] -= std::max<Nanos>(0, until - std::max(begin, covered));
    covered = std::max(covered, until);
  }
  return self;
}

void add_span_fields(Source& source, Part& part) {
  static constexpr FieldReader kEnd = {.raw = end_at};
  static constexpr FieldReader kClass = {.raw = class_at, .label = class_label};
  part.fields.push_back({.name = "end_ns",
                         .unit = "ns",
                         .doc = "start_ns + duration_ns",
                         .source = &source.trace.spans(),
                         .reader = &kEnd});
  part.fields.push_back(
      {.name = "class",
       .unit = "",
       .doc = "What its kind has in common with others: operator, annotation, call, kernel, copy",
       .type = FieldType::Label,
       .source = &source.trace.spans(),
       .reader = &kClass});
  add_computed(source, part, "depth", "How many spans are around it", depths);
  add_computed(source, part, "self_ns", "The part that no span inside it covers", self_times);
}

void add_fields_of_span(Source& source, Part& part, const Field& span) {
  static constexpr std::array<std::string_view, 6> kNames = {"name",  "start_ns",    "duration_ns",
                                                             "track", "correlation", "launch"};
  static constexpr FieldReader kReader = {.raw = raw_of_span};
  const Relation spans = relation(source.trace, TableKind::Spans);
  for (const std::string_view name : kNames) {
    const bool is_there = std::any_of(part.fields.begin(), part.fields.end(),
                                      [&](const Field& field) { return field.name == name; });
    if (is_there) continue;
    auto& joined = source.keep<FieldOfSpan>();
    joined.of_span = *spans.find(name);
    joined.span = span;
    Field field = joined.of_span;
    field.source = &joined;
    field.reader = &kReader;
    part.fields.push_back(field);
  }
}

}  // namespace sonde::sql
