// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads Kineto's and Chrome's JSON as a trace.
//
//   SONDE_TRY(const PaddedBytes bytes, PaddedBytes::map_file(path));
//   SONDE_TRY(Trace trace, read_kineto(bytes.text(), path, TraceBuilder(), 0));
//
// The text is cut into stretches where events seem to begin, and the stretches are read in
// parallel. A stretch that turns out not to begin where the one before ended is read again.

#include <string>
#include <string_view>
#include <vector>

#include "convert/kineto/read/stretches.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/builder.h"

namespace sonde {

// `text` must be padded as json_text.h requires. `builder` may have rows in its ledger. Fails if
// the text is not JSON, or has no events; messages mention `name`. `early` are stretches that were
// read while the text was still being inflated.
Result<Trace> read_kineto(std::string_view text, const std::string& name, TraceBuilder builder,
                          unsigned threads, std::vector<Reading> early = {});

}  // namespace sonde
