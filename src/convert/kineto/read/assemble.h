// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Makes a trace of everything that was read from a file. Rows of all tables are ordered by track
// and time, whatever the order in the file, so a trace that is written and read again stays the
// same.

#include <string_view>
#include <vector>

#include "convert/kineto/read/event_parser.h"
#include "convert/kineto/read/staged.h"
#include "sonde/trace/builder.h"

namespace sonde {

struct KinetoParts {
  std::vector<Staged> stretches;    // in the order of the file
  std::vector<RawMember> metadata;  // top-level keys of the file, except its events and devices
  std::string_view devices;         // an array, or empty
};

// Fills the builder, which must hold nothing but ledger rows.
void assemble(TraceBuilder& builder, KinetoParts parts, unsigned threads);

}  // namespace sonde
