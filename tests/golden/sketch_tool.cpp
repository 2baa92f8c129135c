// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// sketch_tool FILE < DRAWING: makes a `.sonde` file from a drawing (trace/testing/sketch.h). Lines
// that begin with + add what cannot be drawn:
//
//   + step NAME NUMBER            the spans of that name are steps of a schedule
//   + window FIRST LAST STEP      recording was on between two columns
//   + metadata KEY JSON
//   + ledger KIND COUNT [DETAIL]
//   + argument NAME KEY JSON      of the spans of that name
//   + category NAME TEXT

#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sonde/trace/builder.h"
#include "trace/testing/sketch.h"

namespace sonde {
namespace {

constexpr Nanos kColumn = 1000;

std::string rest_of(std::istringstream& words) {
  std::string rest;
  std::getline(words >> std::ws, rest);
  return rest;
}

template <typename Visit>
void for_spans_named(const std::string& name, TraceBuilder& builder, const Visit& visit) {
  const SpanTable& spans = builder.spans();
  for (std::size_t row = 0; row < spans.size(); ++row) {
    if (builder.strings()[spans.name[row]] == name) visit(static_cast<std::uint32_t>(row));
  }
}

void add_step(std::istringstream& words, TraceBuilder& builder) {
  std::string name;
  std::int64_t number = 0;
  words >> name >> number;
  SpanTable& spans = builder.spans();
  for_spans_named(name, builder, [&](std::uint32_t row) {
    spans.kind.set(row, SpanKind::Step);
    spans.step.set(row, number);
    spans.name.set(row, builder.intern("ProfilerStep#" + std::to_string(number)));
  });
}

void add_window(std::istringstream& words, TraceBuilder& builder) {
  WindowRow row;
  words >> row.start_ns >> row.end_ns >> row.first_step;
  row.process = ProcessId(0);
  row.start_ns *= kColumn;
  row.end_ns *= kColumn;
  builder.windows().push_back(row);
}

void add_metadata(std::istringstream& words, TraceBuilder& builder) {
  std::string key;
  words >> key;
  builder.metadata().push_back({.process = ProcessId(0),
                                .key = builder.intern(key),
                                .value = builder.intern(rest_of(words))});
}

void add_argument(std::istringstream& words, TraceBuilder& builder) {
  std::string name;
  std::string key;
  words >> name >> key;
  const StringId value = builder.intern(rest_of(words));
  for_spans_named(name, builder, [&](std::uint32_t row) {
    builder.extras().push_back({TableKind::Spans, row, builder.intern(key), value});
  });
}

void add_category(std::istringstream& words, TraceBuilder& builder) {
  std::string name;
  words >> name;
  const StringId category = builder.intern(rest_of(words));
  for_spans_named(name, builder,
                  [&](std::uint32_t row) { builder.spans().category.set(row, category); });
}

Result<void> add_ledger(std::istringstream& words, TraceBuilder& builder) {
  std::string kind;
  std::uint64_t count = 0;
  words >> kind >> count;
  const auto parsed = parse_ledger_kind(kind);
  if (!parsed) return Failure(ErrorCode::Invalid, "no ledger kind '" + kind + "'");
  builder.add_ledger(*parsed, count, "sketch", rest_of(words), ProcessId(0));
  return {};
}

Result<void> add_line(const std::string& line, TraceBuilder& builder) {
  std::istringstream words(line.substr(1));
  std::string what;
  words >> what;
  if (what == "step") {
    add_step(words, builder);
  } else if (what == "window") {
    add_window(words, builder);
  } else if (what == "argument") {
    add_argument(words, builder);
  } else if (what == "category") {
    add_category(words, builder);
  } else if (what == "metadata") {
    add_metadata(words, builder);
  } else if (what == "ledger") {
    return add_ledger(words, builder);
  } else {
    return Failure(ErrorCode::Invalid, "no such line: " + line);
  }
  return {};
}

Result<void> draw(const std::string& path) {
  std::string drawing;
  std::vector<std::string> additions;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.starts_with('+')) {
      additions.push_back(line);
    } else {
      drawing += line + "\n";
    }
  }
  SONDE_TRY(const Trace drawn, testing::parse_sketch(drawing));
  TraceBuilder builder;
  builder.tables() = drawn.tables();
  builder.strings() = drawn.strings();
  for (const std::string& line : additions) SONDE_TRY_VOID(add_line(line, builder));
  SONDE_TRY(const Trace trace, std::move(builder).build());
  return save_trace(trace, path);
}

}  // namespace
}  // namespace sonde

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: sketch_tool FILE < DRAWING\n";
    return 2;
  }
  if (const sonde::Result<void> done = sonde::draw(argv[1]); !done) {
    std::cerr << done.error().message << "\n";
    return 1;
  }
  return 0;
}
