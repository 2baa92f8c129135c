// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The text that an export wrote.

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "sonde/export.h"
#include "trace/testing/temp_dir.h"

namespace sonde::testing {

// The text of the JSON file. The trace has no name of its own, so the file calls itself `name`.
inline std::string exported_json(const Trace& trace, const std::string& name = "trace.json",
                                 const ChromeExportOptions& options = {}) {
  const TempDir dir;
  const std::string path = dir.file(name);
  if (!export_chrome_trace(trace, path, options)) std::abort();
  std::string text = *read_file(path);
  const std::size_t at = text.find(dir.path());
  if (at != std::string::npos) text.erase(at, dir.path().size() + 1);
  return text;
}

}  // namespace sonde::testing
