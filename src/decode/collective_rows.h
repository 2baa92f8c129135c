// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The table `collectives` of a recording. The source of operators describes a collective by
// arguments of its operator, which are named after the table's columns.

#include "decode/decoded_thread.h"
#include "sonde/trace/builder.h"

namespace sonde {

class CollectiveRows {
 public:
  explicit CollectiveRows(TraceBuilder& builder) : builder_(builder) {}

  // Takes an argument of a span; false if it does not describe a collective. Those of one span must
  // follow each other.
  bool add(SpanId span, StringId key, const DecodedNotes::Argument& argument);
  // Describes the kernels that these operators launched, once all spans are there.
  void add_kernels();

 private:
  TraceBuilder& builder_;
  StringId operator_;
};

}  // namespace sonde
