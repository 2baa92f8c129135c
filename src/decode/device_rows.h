// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What sources recorded about devices (src/wire/device.h), as rows of a trace: devices and their
// streams, the work on them, the calls that launched it, and what joins all of it to operators and
// annotations.

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decode/recording_blocks.h"
#include "decode/thread_decoder.h"
#include "sonde/source/device.h"
#include "trace/launches.h"

namespace sonde {

class DeviceRows {
 public:
  DeviceRows(Recording& recording, const DecodeContext& context);
  void begin(ProcessId process) { process_ = process; }

  // Adds the calls of one thread. `local` holds the thread's spans; its parents count from `first`,
  // the row that the thread's first span will have in the trace. A call has the id of the operator
  // around it. A scope without an id gets the next one after `last_external_id`.
  void add_calls(const std::vector<DecodedDevices::ApiCall>& calls, SpanTable& local,
                 std::uint32_t first, std::int64_t& last_external_id);
  void add_graph_nodes(const std::vector<DecodedDevices::GraphNode>& nodes, std::uint32_t first);
  // Adds records of work, from any thread.
  void add_words(std::vector<std::uint64_t> words) { words_.push_back(std::move(words)); }
  // Call it after all threads were added. `cut_short`: the recording has no proper end.
  void finish(bool cut_short);

 private:
  struct Work {
    sonde_device_span span;
    const std::uint64_t* more;
    std::size_t more_words;
  };
  // From the first to the last work of an annotation on a stream.
  struct Cover {
    Nanos start_ns;
    Nanos end_ns;
  };

  template <typename Visit>
  void for_each_record(detail::ExtendedKind kind, const Visit& visit) const {
    for (const std::vector<std::uint64_t>& words : words_) {
      for (std::size_t i = 0; i < words.size(); i += 1 + detail::payload_words(words[i])) {
        if (detail::extended_kind(words[i]) != kind) continue;
        visit(std::span(words).subspan(i + 1, detail::payload_words(words[i])));
      }
    }
  }
  bool has_records(detail::ExtendedKind kind) const {
    bool found = false;
    for_each_record(kind, [&found](std::span<const std::uint64_t>) { found = true; });
    return found;
  }
  void add_devices();
  void add_all_work();
  void add_memory();
  AllocationRow allocation_row(const sonde_device_allocation& memory) const;
  void add_metadata();
  void add_losses();
  void add_work(const Work& work);
  void add_kernel(const Work& work, SpanId span);
  void add_copy(const Work& work, SpanId span, Nanos duration_ns);
  void add_sync(const Work& work, SpanId span);
  void add_covers();
  void count_missing_work();
  SpanId maker_of(std::uint64_t graph_node) const;
  TrackId track_of(const sonde_device_span& span);
  int window_of(Nanos start_ns, Nanos end_ns) const;
  StringId text_of(std::uint32_t name) const;
  void cover_annotations(SpanId call, TrackId track, Nanos start_ns, Nanos end_ns);

  Recording& recording_;
  TraceBuilder& builder_;
  const DecodeContext& context_;
  RealtimeMap clock_;
  ProcessId process_;
  std::vector<std::pair<Nanos, Nanos>> windows_;
  CallsByNumber calls_;  // filled when all calls were added
  std::vector<std::vector<std::uint64_t>> words_;
  struct GraphNode {
    std::uint64_t copied_from;
    SpanId maker;
  };
  std::unordered_map<std::uint64_t, GraphNode> graph_nodes_;
  std::map<std::tuple<std::uint8_t, std::int16_t, std::uint32_t, bool>, TrackId> tracks_;
  std::map<std::pair<std::uint8_t, std::int16_t>, DeviceRow> devices_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Cover> covers_;  // annotation, track
  std::uint64_t uncorrelated_ = 0;
  std::uint64_t out_of_window_ = 0;
  std::uint64_t memory_out_of_window_ = 0;
  std::uint64_t undecodable_ = 0;
  std::uint64_t work_missing_ = 0;
};

// A number from outside, if it is a valid enumerator.
template <typename Enum>
Enum known_or(std::uint8_t number, Enum otherwise) {
  const auto value = static_cast<Enum>(number);
  return is_known(value) ? value : otherwise;
}

}  // namespace sonde
