// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/reference_check.h"

#include <algorithm>

namespace sonde {

namespace {

class Corrections {
 public:
  void add(const char* table, const char* column, const char* why, std::uint64_t count) {
    if (count == 0) return;
    list_.push_back({std::string(table) + "." + column + ": " + why, count});
  }
  std::vector<Correction> take() { return std::move(list_); }

 private:
  std::vector<Correction> list_;
};

// Sets to null what `is_bad` says; returns how many.
template <typename T, typename IsBad>
std::uint64_t clear_if(Column<T>& column, IsBad&& is_bad) {
  if (!column.materialised()) return 0;
  std::uint64_t cleared = 0;
  T* values = column.mutable_data();
  const std::size_t rows = column.size();
  for (std::size_t i = 0; i < rows; ++i) {
    if (!is_bad(values[i])) continue;
    values[i] = column.null_value();
    ++cleared;
  }
  return cleared;
}

template <typename Tag>
std::size_t rows_behind(const TraceTables& tables, const StringPool& strings) {
  if constexpr (std::is_same_v<Tag, StringTag>) {
    return strings.size();
  } else {
    return tables.rows(Tag::kTable);
  }
}

template <typename T>
void check_column(Corrections& corrections, const TraceTables& tables, const StringPool& strings,
                  const char* table, const char* name, Column<T>& column) {
  if constexpr (IsId<T>::value) {
    const std::size_t rows = rows_behind<typename T::TagType>(tables, strings);
    corrections.add(table, name, "no such row",
                    clear_if(column, [rows](T id) { return id.valid() && id.index() >= rows; }));
  } else if constexpr (std::is_enum_v<T>) {
    corrections.add(table, name, "no such enumerator",
                    clear_if(column, [](T value) { return !is_known(value); }));
  }
}

// Between these no difference of two times overflows. The later is in the year 2116.
constexpr Nanos kEarliest = -(Nanos{1} << 61);
constexpr Nanos kLatest = Nanos{1} << 62;

std::uint64_t correct_times(Column<Nanos>& times) {
  if (!times.materialised()) return 0;
  Nanos* values = times.mutable_data();
  const std::size_t rows = times.size();
  std::uint64_t corrected = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (values[i] >= kEarliest && values[i] <= kLatest) continue;
    values[i] = std::clamp(values[i], kEarliest, kLatest);
    ++corrected;
  }
  return corrected;
}

void correct_all_times(Corrections& corrections, TraceTables& tables) {
  const auto correct = [&corrections](const char* table, const char* name, Column<Nanos>& times) {
    corrections.add(table, name, "no sensible time", correct_times(times));
  };
  correct("processes", "start_ns", tables.processes.start_ns);
  correct("spans", "start_ns", tables.spans.start_ns);
  correct("allocations", "time_ns", tables.allocations.time_ns);
  correct("counters", "time_ns", tables.counters.time_ns);
  correct("instants", "time_ns", tables.instants.time_ns);
  correct("flows", "from_ns", tables.flows.from_ns);
  correct("flows", "to_ns", tables.flows.to_ns);
  correct("windows", "start_ns", tables.windows.start_ns);
  correct("windows", "end_ns", tables.windows.end_ns);
  correct("windows", "closed_ns", tables.windows.closed_ns);
}

std::uint64_t correct_durations(SpanTable& spans) {
  if (!spans.duration_ns.materialised()) return 0;
  Nanos* durations = spans.duration_ns.mutable_data();
  const std::size_t rows = spans.size();
  std::uint64_t corrected = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const Nanos longest = kLatest - spans.start_ns[i];
    if (durations[i] >= 0 && durations[i] <= longest) continue;
    durations[i] = std::clamp(durations[i], Nanos{0}, longest);
    ++corrected;
  }
  return corrected;
}

// A list must lie in the table of `rows` rows as a whole.
template <typename IdType>
std::uint64_t correct_lists(Column<IdType>& first, Column<std::int32_t>& count, std::size_t rows) {
  std::uint64_t corrected = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (count[i] == 0 || count[i] == count.null_value()) continue;
    const auto wanted = static_cast<std::size_t>(count[i]);  // huge if negative
    if (first[i].valid() && wanted <= rows && first[i].index() <= rows - wanted) continue;
    first.set(i, first.null_value());
    count.set(i, count.null_value());
    ++corrected;
  }
  return corrected;
}

std::uint64_t correct_extras(TraceTables& tables) {
  ExtraTable& extras = tables.extras;
  std::uint64_t corrected = 0;
  for (std::size_t i = 0; i < extras.size(); ++i) {
    if (extras.of_row[i] == extras.of_row.null_value()) continue;
    if (extras.of_row[i] < tables.rows(extras.of_table[i])) continue;
    extras.of_row.set(i, extras.of_row.null_value());
    ++corrected;
  }
  return corrected;
}

template <typename IdType>
std::uint64_t correct_parent_column(Column<IdType>& parent) {
  if (!parent.materialised()) return 0;
  IdType* values = parent.mutable_data();
  std::uint64_t corrected = 0;
  for (std::size_t i = 0; i < parent.size(); ++i) {
    if (!values[i].valid() || values[i].index() < i) continue;
    values[i] = IdType();
    ++corrected;
  }
  return corrected;
}

}  // namespace

Result<void> check_lengths(const TraceTables& tables) {
  std::string problem;
  tables.visit_tables([&problem](const char* table_name, const auto& table) {
    const std::size_t rows = table.size();
    if (rows >= SpanId::kInvalid) problem = std::string(table_name) + ": too many rows";
    table.visit_columns([&](const char* name, const auto& column) {
      if (column.size() == rows || !problem.empty()) return;
      problem = std::string(table_name) + "." + name + " has " + std::to_string(column.size()) +
                " rows, but the table's first column has " + std::to_string(rows);
    });
  });
  if (!problem.empty()) return Failure(ErrorCode::Invalid, problem);
  return {};
}

std::vector<Correction> correct_values(TraceTables& tables, const StringPool& strings) {
  Corrections corrections;
  tables.visit_tables([&](const char* table_name, auto& table) {
    table.visit_columns([&](const char* name, auto& column) {
      check_column(corrections, tables, strings, table_name, name, column);
    });
  });
  OpArgumentTable& arguments = tables.op_arguments;
  const std::size_t dims = tables.dims.size();
  corrections.add("op_arguments", "dims_first", "not within dims",
                  correct_lists(arguments.dims_first, arguments.dims_count, dims));
  corrections.add("op_arguments", "strides_first", "not within dims",
                  correct_lists(arguments.strides_first, arguments.strides_count, dims));
  ArgumentListTable& lists = tables.argument_lists;
  corrections.add("argument_lists", "first", "not within op_arguments",
                  correct_lists(lists.first, lists.count, arguments.size()));
  corrections.add("extras", "of_row", "no such row", correct_extras(tables));
  correct_all_times(corrections, tables);
  corrections.add("spans", "duration_ns", "negative, or too long", correct_durations(tables.spans));
  return corrections.take();
}

std::vector<Correction> correct_parents(TraceTables& tables) {
  Corrections corrections;
  const char* why = "does not stand before its child";
  corrections.add("spans", "parent", why, correct_parent_column(tables.spans.parent));
  corrections.add("stacks", "parent", why, correct_parent_column(tables.stacks.parent));
  corrections.add("modules", "parent", why, correct_parent_column(tables.modules.parent));
  return corrections.take();
}

}  // namespace sonde
