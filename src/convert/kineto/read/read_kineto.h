// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Kineto's and Chrome's JSON, as a trace.
//
//   SONDE_TRY(const PaddedBytes bytes, PaddedBytes::map_file(path));
//   SONDE_TRY(Trace trace, read_kineto(bytes.text(), path, TraceBuilder(), 0));
//
// The text is cut into stretches at what look like beginnings of events, and the stretches are read
// in parallel; a cut that turns out not to be where the stretch before ended is read again.

#include <string>
#include <string_view>
#include <vector>

#include "convert/kineto/read/stretches.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/builder.h"

namespace sonde {

// `text` must be padded as json_text.h asks. `builder` may have rows in its ledger. Fails if the
// text is no JSON, or JSON without events; `name` stands in messages.
// `early` are stretches of the text that were read while it came.
Result<Trace> read_kineto(std::string_view text, const std::string& name, TraceBuilder builder,
                          unsigned threads, std::vector<Reading> early = {});

}  // namespace sonde
