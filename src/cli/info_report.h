// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What `sonde info` has found out, and the two ways to say it.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/output.h"
#include "cli/trace_facts.h"
#include "sonde/trace.h"

namespace sonde::cli {

enum class OtherFormat { Json, Database, Snapshot };

struct FileFacts {
  std::string path;
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> version;  // of the `.sonde` format; none: another format
  OtherFormat other_format = OtherFormat::Json;
  bool complete = false;  // it was ended properly, and nothing in it is damaged
};

struct InfoReport {
  FileFacts file;
  Trace trace;
  TraceFacts facts;  // of `trace`
};

void write_info_text(const InfoReport& report, Output& out);
// Its keys are stable: they may be added to, not renamed.
void write_info_json(const InfoReport& report, Output& out);

}  // namespace sonde::cli
