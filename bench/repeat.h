// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes a big trace from a small real one.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sonde/trace/builder.h"

namespace sonde::bench {

// Repeats the rows of `trace` `times` times. Times and ids are shifted, so that each copy is a
// recording of its own right after the previous one. Strings, tracks, argument lists and stacks are
// shared, like those of a loop. Extras are left out.
class Repeat {
 public:
  Repeat(const Trace& trace, std::size_t times) : trace_(trace), times_(times) {
    period_ns_ = trace.last_ns() - trace.first_ns() + 1000;
    const SpanTable& spans = trace.spans();
    for (std::size_t i = 0; i < spans.size(); ++i) {
      largest_id_ =
          std::max({largest_id_, spans.external_id[i], spans.correlation[i], spans.event_index[i],
                    spans.sequence_number[i], spans.record_function_id[i]});
    }
  }

  Trace make() {
    for (std::size_t i = 0; i < trace_.strings().size(); ++i) {
      builder_.strings().add(trace_.string(StringId(i)));
    }
    copy_once();
    for (std::size_t copy = 0; copy < times_; ++copy) add(copy);
    Result<Trace> built = std::move(builder_).build();
    if (!built) std::abort();
    return *std::move(built);
  }

 private:
  template <typename Table>
  void copy_table(Table& to, const Table& from) {
    to = from;
  }
  void copy_once() {
    TraceTables& to = builder_.tables();
    const TraceTables& from = trace_.tables();
    copy_table(to.processes, from.processes);
    copy_table(to.tracks, from.tracks);
    copy_table(to.dims, from.dims);
    copy_table(to.op_arguments, from.op_arguments);
    copy_table(to.argument_lists, from.argument_lists);
    copy_table(to.frames, from.frames);
    copy_table(to.stacks, from.stacks);
    copy_table(to.modules, from.modules);
    copy_table(to.devices, from.devices);
    copy_table(to.metadata, from.metadata);
    copy_table(to.windows, from.windows);
    if (to.windows.size() > 0) {
      to.windows.end_ns.set(0, to.windows.start_ns[0] + period_ns_ * static_cast<Nanos>(times_));
    }
  }

  void add(std::size_t copy) {
    TraceTables& to = builder_.tables();
    const TraceTables& from = trace_.tables();
    first_span_ = static_cast<std::uint32_t>(to.spans.size());
    shift_ns_ = period_ns_ * static_cast<Nanos>(copy);
    shift_id_ = (largest_id_ + 1) * static_cast<std::int64_t>(copy);
    append(to.spans, from.spans);
    shift_ids(to.spans.external_id, from.spans.size());
    shift_ids(to.spans.correlation, from.spans.size());
    shift_ids(to.spans.event_index, from.spans.size());
    shift_ids(to.spans.sequence_number, from.spans.size());
    shift_ids(to.spans.record_function_id, from.spans.size());
    append(to.kernels, from.kernels);
    append(to.copies, from.copies);
    append(to.api_calls, from.api_calls);
    append(to.syncs, from.syncs);
    append(to.python_calls, from.python_calls);
    append(to.allocations, from.allocations);
    append(to.instants, from.instants);
    append(to.counters, from.counters);
    append(to.flows, from.flows);
    shift_ids(to.flows.id, from.flows.size());
  }

  // Times are recognised by their names, spans by their type.
  template <typename Table>
  void append(Table& to, const Table& from) {
    Table shifted = from;
    shifted.visit_columns([this](const char* name, auto& column) {
      using Value = typename std::decay_t<decltype(column)>::ValueType;
      const std::string_view text(name);
      if constexpr (std::is_same_v<Value, SpanId>) {
        for (std::size_t i = 0; i < column.size(); ++i) {
          if (column[i].valid()) column.set(i, SpanId(column[i].value() + first_span_));
        }
      } else if constexpr (std::is_same_v<Value, Nanos>) {
        if (text != "start_ns" && text != "time_ns" && text != "from_ns" && text != "to_ns") return;
        for (std::size_t i = 0; i < column.size(); ++i) {
          if (column[i] != 0) column.set(i, column[i] + shift_ns_);
        }
      }
    });
    to.append(std::move(shifted));
  }

  void shift_ids(Column<std::int64_t>& ids, std::size_t rows) const {
    for (std::size_t i = ids.size() - rows; i < ids.size(); ++i) {
      if (ids[i] > 0) ids.set(i, ids[i] + shift_id_);
    }
  }

  const Trace& trace_;
  std::size_t times_;
  TraceBuilder builder_;
  Nanos period_ns_ = 0;
  std::int64_t largest_id_ = 0;
  std::uint32_t first_span_ = 0;
  Nanos shift_ns_ = 0;
  std::int64_t shift_id_ = 0;
};

inline Trace repeat(const Trace& trace, std::size_t times) {
  return Repeat(trace, times).make();
}

}  // namespace sonde::bench
