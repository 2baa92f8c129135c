// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The result of `sonde info`, and its two output formats.

#include <string>

#include "cli/answer/trace_facts.h"
#include "cli/print/output.h"
#include "convert/open_file.h"

namespace sonde::cli {

struct InfoReport {
  std::string path;
  bool complete = false;  // it was ended properly and is undamaged
  OpenedFile file;
  TraceFacts facts;  // of file.trace
};

void write_info_text(const InfoReport& report, Output& out);
// Its keys are stable: add keys, but do not rename them.
void write_info_json(const InfoReport& report, Output& out);

}  // namespace sonde::cli
