// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/reference_check.h"

#include <algorithm>
#include <functional>

#include "base/parallel.h"

namespace sonde {

namespace {

// Independent checks, one per column, which run in parallel. Their results are listed in the order
// in which they were added.
class Checks {
 public:
  // `correct` repairs the column and returns how many values were wrong.
  void add(const char* table, const char* column, const char* why, std::size_t rows,
           std::function<std::uint64_t()> correct) {
    if (rows == 0) return;
    checks_.push_back({table, column, why, std::move(correct)});
    rows_ += rows;
  }

  void run(std::vector<Correction>& corrections) {
    std::vector<std::uint64_t> found(checks_.size());
    // Threads are not worth starting for few values.
    parallel_for(
        checks_.size(), [&](std::size_t i) { found[i] = checks_[i].correct(); },
        rows_ < (1 << 20) ? 1 : 0);
    for (std::size_t i = 0; i < checks_.size(); ++i) {
      if (found[i] == 0) continue;
      corrections.push_back(
          {std::string(checks_[i].table) + "." + checks_[i].column + ": " + checks_[i].why,
           found[i]});
    }
    checks_.clear();
    rows_ = 0;
  }

 private:
  struct Check {
    const char* table;
    const char* column;
    const char* why;
    std::function<std::uint64_t()> correct;
  };
  std::vector<Check> checks_;
  std::size_t rows_ = 0;
};

// Passes every value for which `is_bad` is true to `correct`; returns how many. There is nearly
// never one, so whole blocks are checked first, in a loop that compilers vectorise.
template <typename T, typename IsBad, typename Correct>
std::uint64_t correct_if(Column<T>& column, const IsBad& is_bad, const Correct& correct) {
  constexpr std::size_t kBlock = 1024;
  std::uint64_t corrected = 0;
  column.change_stretches([&](std::size_t, T* values, std::size_t rows) {
    const std::uint64_t before = corrected;
    const auto correct_rows = [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        if (!is_bad(values[i])) continue;
        values[i] = correct(values[i]);
        ++corrected;
      }
    };
    std::size_t i = 0;
    for (; i + kBlock <= rows; i += kBlock) {
      unsigned bad = 0;
      for (std::size_t k = 0; k < kBlock; ++k) bad |= is_bad(values[i + k]) ? 1u : 0u;
      if (bad != 0) correct_rows(i, i + kBlock);
    }
    correct_rows(i, rows);
    return corrected != before;
  });
  return corrected;
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
void check_column(Checks& checks, const TraceTables& tables, const StringPool& strings,
                  const char* table, const char* name, Column<T>& column) {
  const auto to_null = [&column](T) { return column.null_value(); };
  if (!column.materialised()) return;
  if constexpr (IsId<T>::value) {
    const std::size_t rows = rows_behind<typename T::TagType>(tables, strings);
    checks.add(table, name, "no such row", column.size(), [&column, to_null, rows] {
      if (column.is_surely_below(rows)) return std::uint64_t{0};
      return correct_if(column, [rows](T id) { return id.valid() && id.index() >= rows; }, to_null);
    });
  } else if constexpr (std::is_enum_v<T>) {
    checks.add(table, name, "no such enumerator", column.size(), [&column, to_null] {
      return correct_if(column, [](T value) { return !is_known(value); }, to_null);
    });
  }
}

// Differences of two times in this range do not overflow. The later limit is in the year 2116.
constexpr Nanos kEarliest = -(Nanos{1} << 61);
constexpr Nanos kLatest = Nanos{1} << 62;

void check_times(Checks& checks, TraceTables& tables) {
  const auto add = [&checks](const char* table, const char* name, Column<Nanos>& times) {
    checks.add(table, name, "not a valid time", times.size(), [&times] {
      return correct_if(
          times, [](Nanos time) { return time < kEarliest || time > kLatest; },
          [](Nanos time) { return std::clamp(time, kEarliest, kLatest); });
    });
  };
  add("processes", "start_ns", tables.processes.start_ns);
  add("spans", "start_ns", tables.spans.start_ns);
  add("allocations", "time_ns", tables.allocations.time_ns);
  add("tensor_roles", "time_ns", tables.tensor_roles.time_ns);
  add("counters", "time_ns", tables.counters.time_ns);
  add("instants", "time_ns", tables.instants.time_ns);
  add("flows", "from_ns", tables.flows.from_ns);
  add("flows", "to_ns", tables.flows.to_ns);
  add("windows", "start_ns", tables.windows.start_ns);
  add("windows", "end_ns", tables.windows.end_ns);
  add("windows", "closed_ns", tables.windows.closed_ns);
}

std::uint64_t correct_durations(SpanTable& spans) {
  if (!spans.duration_ns.materialised()) return 0;
  std::uint64_t corrected = 0;
  spans.duration_ns.change_stretches([&](std::size_t first, Nanos* durations, std::size_t rows) {
    const std::uint64_t before = corrected;
    for (std::size_t i = 0; i < rows; ++i) {
      const Nanos longest = kLatest - spans.start_ns[first + i];
      if (durations[i] >= 0 && durations[i] <= longest) continue;
      durations[i] = std::clamp(durations[i], Nanos{0}, longest);
      ++corrected;
    }
    return corrected != before;
  });
  return corrected;
}

// All of a list must be inside the table of `rows` rows.
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
  std::uint64_t corrected = 0;
  parent.change_stretches([&](std::size_t first, IdType* values, std::size_t rows) {
    const std::uint64_t before = corrected;
    for (std::size_t i = 0; i < rows; ++i) {
      if (!values[i].valid() || values[i].index() < first + i) continue;
      values[i] = IdType();
      ++corrected;
    }
    return corrected != before;
  });
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
  std::vector<Correction> corrections;
  Checks checks;
  tables.visit_tables([&](const char* table_name, auto& table) {
    table.visit_columns([&](const char* name, auto& column) {
      check_column(checks, tables, strings, table_name, name, column);
    });
  });
  check_times(checks, tables);
  checks.run(corrections);
  // These read more than one column; each must be valid by now.
  OpArgumentTable& arguments = tables.op_arguments;
  const std::size_t dims = tables.dims.size();
  checks.add("op_arguments", "dims_first", "not within dims", arguments.size(),
             [&] { return correct_lists(arguments.dims_first, arguments.dims_count, dims); });
  checks.add("op_arguments", "strides_first", "not within dims", arguments.size(),
             [&] { return correct_lists(arguments.strides_first, arguments.strides_count, dims); });
  ArgumentListTable& lists = tables.argument_lists;
  checks.add("argument_lists", "first", "not within op_arguments", lists.size(),
             [&] { return correct_lists(lists.first, lists.count, arguments.size()); });
  checks.add("extras", "of_row", "no such row", tables.extras.size(),
             [&] { return correct_extras(tables); });
  checks.add("spans", "duration_ns", "negative, or too long", tables.spans.size(),
             [&] { return correct_durations(tables.spans); });
  checks.run(corrections);
  return corrections;
}

std::vector<Correction> correct_parents(TraceTables& tables) {
  std::vector<Correction> corrections;
  Checks checks;
  const auto add = [&checks](const char* table, auto& parent) {
    checks.add(table, "parent", "does not come before its child", parent.size(),
               [&parent] { return correct_parent_column(parent); });
  };
  add("spans", tables.spans.parent);
  add("stacks", tables.stacks.parent);
  add("modules", tables.modules.parent);
  checks.run(corrections);
  return corrections;
}

}  // namespace sonde
