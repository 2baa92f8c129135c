// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A trace of all that was read of a file. Rows of all tables come in the order of tracks and times,
// whatever the order of the file, so that a trace that was written and read again is the same.

#include <string_view>
#include <vector>

#include "convert/kineto/read/event_parser.h"
#include "convert/kineto/read/staged.h"
#include "sonde/trace/builder.h"

namespace sonde {

struct KinetoParts {
  std::vector<Staged> stretches;    // in the order of the file
  std::vector<RawMember> metadata;  // keys of the file itself, save its events and devices
  std::string_view devices;         // an array, or empty
};

// Fills the builder, which holds nothing but the ledger.
void assemble(TraceBuilder& builder, KinetoParts parts, unsigned threads);

}  // namespace sonde
