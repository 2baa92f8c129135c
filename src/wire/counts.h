// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a recording states about its size when it ends, so that it can be described without decoding
// its events; docs/file-format.md draws it. Numbers are varints unless stated otherwise.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace sonde {

// What the events of one thread become.
struct ThreadCounts {
  std::uint64_t thread = 0;
  std::uint64_t kernel_id = 0;
  std::string name;
  std::uint64_t logical_thread = 0;
  std::vector<std::pair<std::uint8_t, std::uint64_t>> spans_by_kind;  // a SpanKind
  std::uint64_t instants = 0;
  std::uint64_t counters = 0;
  std::uint64_t allocations = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t out_of_window = 0;
  std::uint64_t unmatched = 0;
  std::uint64_t cut_texts = 0;

  void write(ByteWriter& out) const {
    out.varint(thread);
    out.varint(kernel_id);
    out.string(name);
    out.varint(logical_thread);
    out.varint(spans_by_kind.size());
    for (const auto& [kind, count] : spans_by_kind) {
      out.write(kind);
      out.varint(count);
    }
    for (const std::uint64_t count :
         {instants, counters, allocations, unfinished, out_of_window, unmatched, cut_texts})
      out.varint(count);
  }
  static ThreadCounts read(ByteReader& in) {
    ThreadCounts counts;
    counts.thread = in.varint();
    counts.kernel_id = in.varint();
    counts.name = std::string(in.string());
    counts.logical_thread = in.varint();
    const std::uint64_t kinds = in.varint();
    for (std::uint64_t i = 0; i < kinds && in.ok(); ++i) {
      const auto kind = in.read<std::uint8_t>();
      counts.spans_by_kind.emplace_back(kind, in.varint());
    }
    for (std::uint64_t* count :
         {&counts.instants, &counts.counters, &counts.allocations, &counts.unfinished,
          &counts.out_of_window, &counts.unmatched, &counts.cut_texts})
      *count = in.varint();
    return counts;
  }
};

// One for the whole file; the threads follow it in any number of blocks.
struct CountsBlock {
  std::uint64_t records = 0;     // of all events blocks
  std::uint64_t last_ticks = 0;  // of the last record
  std::uint64_t cut_names = 0;
  std::uint64_t threads = 0;
  std::uint64_t steps = 0;
  std::uint8_t has_flows = 0;  // their number is not known

  void write(ByteWriter& out) const {
    for (const std::uint64_t number : {records, last_ticks, cut_names, threads, steps})
      out.varint(number);
    out.write(has_flows);
  }
  static CountsBlock read(ByteReader& in) {
    CountsBlock block;
    for (std::uint64_t* number :
         {&block.records, &block.last_ticks, &block.cut_names, &block.threads, &block.steps})
      *number = in.varint();
    block.has_flows = in.read<std::uint8_t>();
    return block;
  }
};

// What was recorded about the operators besides their times.
struct OperatorCounts {
  std::uint64_t inputs = 0;     // operators that have inputs
  std::uint64_t stacks = 0;     // that have a stack
  std::uint64_t gradients = 0;  // that are gradients; older files do not have this count

  void write(ByteWriter& out) const {
    out.varint(inputs);
    out.varint(stacks);
    out.varint(gradients);
  }
  static OperatorCounts read(ByteReader& in) {
    OperatorCounts counts;
    counts.inputs = in.varint();
    counts.stacks = in.varint();
    if (in.ok() && !in.at_end()) counts.gradients = in.varint();
    return counts;
  }
};

// A step, with times in the ticks of the events.
struct StepMark {
  std::uint64_t number = 0;
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;

  void write(ByteWriter& out) const {
    out.varint(number);
    out.varint(begin_ticks);
    out.varint(end_ticks - begin_ticks);
  }
  static StepMark read(ByteReader& in) {
    StepMark mark;
    mark.number = in.varint();
    mark.begin_ticks = in.varint();
    const std::uint64_t length = in.varint();
    if (length > ~mark.begin_ticks) in.fail();
    mark.end_ticks = mark.begin_ticks + length;
    return mark;
  }
};

}  // namespace sonde
