// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/functions.h"

#include <sqlite3.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <string_view>

#include "analyse/events/module_path.h"
#include "analyse/events/stacks.h"
#include "analyse/operators/shapes.h"
#include "base/cpp_names.h"
#include "base/format.h"
#include "base/json_walk.h"
#include "base/text.h"
#include "sql/perfetto_views.h"

namespace sonde::sql {
namespace {

using Sources = std::vector<std::unique_ptr<Source>>;

bool is_null(sqlite3_value* value) {
  return sqlite3_value_type(value) == SQLITE_NULL;
}

void give(sqlite3_context* result, const std::string& text) {
  sqlite3_result_text64(result, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

std::string text_of(sqlite3_value* value) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<std::size_t>(sqlite3_value_bytes(value)));
}

// A function of one text.
template <std::string (*Make)(const std::string&)>
void of_text(sqlite3_context* result, int /*count*/, sqlite3_value** values) {
  if (!is_null(values[0])) give(result, Make(text_of(values[0])));
}

// A function of one number.
template <std::string (*Make)(std::int64_t)>
void of_number(sqlite3_context* result, int /*count*/, sqlite3_value** values) {
  if (!is_null(values[0])) give(result, Make(sqlite3_value_int64(values[0])));
}

std::string short_name(const std::string& name) {
  return short_cpp_name(name);
}
std::string folded_name(const std::string& name) {
  return folded_cpp_name(name);
}
std::string bytes_or_less(std::int64_t bytes) {
  const std::uint64_t size =
      bytes < 0 ? 0 - static_cast<std::uint64_t>(bytes) : static_cast<std::uint64_t>(bytes);
  return (bytes < 0 ? "-" : "") + bytes_text(size);
}

// 2026-11-18 05:20:01.123456789, in UTC.
std::string utc_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t fraction = ((ns % kSecond) + kSecond) % kSecond;
  const std::time_t seconds = (ns - fraction) / kSecond;
  std::tm date{};
  if (::gmtime_r(&seconds, &date) == nullptr) return "?";
  return format_text("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:09}", date.tm_year + 1900,
                     date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec,
                     fraction);
}

// How long both last: overlap(start, end, start, end).
void overlap(sqlite3_context* result, int /*count*/, sqlite3_value** values) {
  for (int i = 0; i < 4; ++i)
    if (is_null(values[i])) return;
  const auto number = [&](int i) { return sqlite3_value_int64(values[i]); };
  std::int64_t both = 0;
  if (__builtin_sub_overflow(std::min(number(1), number(3)), std::max(number(0), number(2)), &both))
    return;
  sqlite3_result_int64(result, std::max<std::int64_t>(0, both));
}

template <std::int64_t Unit>
void in_unit(sqlite3_context* result, int /*count*/, sqlite3_value** values) {
  if (!is_null(values[0]))
    sqlite3_result_double(result, sqlite3_value_double(values[0]) / static_cast<double>(Unit));
}

// A row of a trace.
struct FoundRow {
  Source* source = nullptr;  // null: there is no such row
  std::uint32_t row = 0;
};

// The row that an id of the database names.
FoundRow row_of_id(sqlite3_context* result, TableKind table, sqlite3_value* value) {
  if (sqlite3_value_type(value) != SQLITE_INTEGER) return {};
  const auto& sources = *static_cast<const Sources*>(sqlite3_user_data(result));
  const std::int64_t id = sqlite3_value_int64(value);
  for (const auto& source : sources) {
    const std::int64_t first = source->first_id[static_cast<std::size_t>(table)];
    if (id < first) continue;
    const std::int64_t row = id - first;
    if (static_cast<std::size_t>(row) >= source->trace.tables().rows(table)) continue;
    return {source.get(), static_cast<std::uint32_t>(row)};
  }
  return {};
}

template <typename Make>
void of_row(sqlite3_context* result, TableKind table, sqlite3_value* value, Make&& make) {
  const auto [source, row] = row_of_id(result, table, value);
  if (source != nullptr) give(result, make(source->trace, row));
}

void stack_text(sqlite3_context* result, int /*count*/, sqlite3_value** values) {
  of_row(result, TableKind::Stacks, values[0], [](const Trace& trace, std::uint32_t row) {
    std::string text;
    for (const std::string& frame : detail::recorded_stack(trace, StackId(row)))
      text += (text.empty() ? "" : " < ") + frame;
    return text;
  });
}

void module_path(sqlite3_context* result, int /*count*/, sqlite3_value** values) {
  of_row(result, TableKind::Modules, values[0], [](const Trace& trace, std::uint32_t row) {
    return detail::module_path(trace, ModuleId(row));
  });
}

void shapes(sqlite3_context* result, int /*count*/, sqlite3_value** values) {
  of_row(result, TableKind::ArgumentLists, values[0], [](const Trace& trace, std::uint32_t row) {
    return detail::shapes_text(trace, ArgumentListId(row));
  });
}

// A JSON object; empty if there is no such span, or if it has no arguments.
std::string span_arguments(sqlite3_context* result, sqlite3_value* span) {
  const auto [source, row] = row_of_id(result, TableKind::Spans, span);
  if (source == nullptr) return {};
  if (source->span_arguments == nullptr)
    source->span_arguments = std::make_unique<SpanArguments>(source->trace);
  return source->span_arguments->of(SpanId(row));
}

void arguments_json(sqlite3_context* result, int /*count*/, sqlite3_value** values) {
  const std::string text = span_arguments(result, values[0]);
  if (!text.empty()) give(result, text);
}

void give_json(sqlite3_context* result, JsonWalk& walk) {
  if (const auto text = walk.string()) return give(result, *text);
  if (const auto whole = walk.integer()) return sqlite3_result_int64(result, *whole);
  if (const auto number = walk.number()) return sqlite3_result_double(result, *number);
  if (const auto other = walk.any(); other && *other != "null") give(result, std::string(*other));
}

// extract_arg(arg_set_id, 'args.External id'), as in Perfetto.
void extract_arg(sqlite3_context* result, int /*count*/, sqlite3_value** values) {
  const std::string text = span_arguments(result, values[0]);
  std::string wanted = text_of(values[1]);
  constexpr std::string_view kBefore = "args.";
  if (wanted.starts_with(kBefore)) wanted.erase(0, kBefore.size());
  JsonWalk walk(text);
  walk.object([&](std::string_view key) {
    if (key != wanted) return walk.skip();
    give_json(result, walk);
    return false;
  });
}

// From the first time of all traces to the last.
struct Bounds {
  Nanos first_ns = 0;
  Nanos last_ns = 0;
};

Bounds bounds_of(sqlite3_context* result) {
  const auto& sources = *static_cast<const Sources*>(sqlite3_user_data(result));
  Bounds bounds;
  for (const auto& source : sources) {
    const Trace& trace = source->trace;
    const bool is_first = source == sources.front();
    bounds.first_ns = is_first ? trace.first_ns() : std::min(bounds.first_ns, trace.first_ns());
    bounds.last_ns = is_first ? trace.last_ns() : std::max(bounds.last_ns, trace.last_ns());
  }
  return bounds;
}

void trace_start(sqlite3_context* result, int /*count*/, sqlite3_value** /*values*/) {
  sqlite3_result_int64(result, bounds_of(result).first_ns);
}
void trace_end(sqlite3_context* result, int /*count*/, sqlite3_value** /*values*/) {
  sqlite3_result_int64(result, bounds_of(result).last_ns);
}
void trace_dur(sqlite3_context* result, int /*count*/, sqlite3_value** /*values*/) {
  const auto [first_ns, last_ns] = bounds_of(result);
  sqlite3_result_int64(result, last_ns - first_ns);
}

using Function = void (*)(sqlite3_context*, int, sqlite3_value**);

struct Described {
  const char* name;
  int count;
  Function call;
  const char* usage;
  const char* doc;
};

constexpr Described kFunctions[] = {
    {"demangle", 1, of_text<demangled>, "demangle(name)", "The readable name of a C++ function"},
    {"short_name", 1, of_text<short_name>, "short_name(name)",
     "A kernel's name without namespaces, template arguments and parameters"},
    {"folded_name", 1, of_text<folded_name>, "folded_name(name)",
     "A kernel's name with # in place of sizes, to add up kernels that differ in them alone"},
    {"overlap", 4, overlap, "overlap(start, end, start, end)",
     "How long two stretches of time last together"},
    {"duration_text", 1, of_number<duration_text>, "duration_text(ns)", "1.234 ms"},
    {"bytes_text", 1, of_number<bytes_or_less>, "bytes_text(bytes)", "1.5 MiB"},
    {"utc", 1, of_number<utc_text>, "utc(ns)", "2026-11-18 05:20:01.123456789"},
    {"us", 1, in_unit<1'000>, "us(ns)", "Microseconds"},
    {"ms", 1, in_unit<1'000'000>, "ms(ns)", "Milliseconds"},
    {"stack_text", 1, stack_text, "stack_text(stack)",
     "The frames of a stack, innermost first, with < between them"},
    {"module_path", 1, module_path, "module_path(module)", "model.encoder.layer0"},
    {"shapes", 1, shapes, "shapes(arguments)", "The sizes of an operator's inputs: [[64, 3], []]"},
    {"arguments_json", 1, arguments_json, "arguments_json(span)",
     "All that PyTorch's JSON says of a span: {\"External id\": 5, …}"},
    {"extract_arg", 2, extract_arg, "extract_arg(span, key)",
     "One of these, as in Perfetto: extract_arg(arg_set_id, 'args.External id')"},
    {"trace_start", 0, trace_start, "trace_start()", "The first time, as in Perfetto"},
    {"trace_end", 0, trace_end, "trace_end()", "The last time"},
    {"trace_dur", 0, trace_dur, "trace_dur()", "What lies between, in nanoseconds"},
};

}  // namespace

void add_functions(sqlite3* database, Sources& sources) {
  constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  for (const Described& function : kFunctions)
    sqlite3_create_function(database, function.name, function.count, kFlags, &sources,
                            function.call, nullptr, nullptr);
}

const std::vector<SqlFunction>& function_list() {
  static const std::vector<SqlFunction> list = [] {
    std::vector<SqlFunction> made;
    for (const Described& function : kFunctions) made.push_back({function.usage, function.doc});
    for (const TableFunction& function : kPerfettoTableFunctions)
      made.push_back({function.usage, function.doc});
    made.push_back({"median(value)", "The value in the middle of a group"});
    made.push_back({"percentile(value, p)", "Below which p percent of a group lie"});
    made.push_back({"stddev(value)", "The standard deviation of a group"});
    return made;
  }();
  return list;
}

}  // namespace sonde::sql
