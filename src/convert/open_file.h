// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A file opened once: the trace in it, and what the file itself is. open_trace() of sonde/open.h is
// the public door to this.

#include <cstdint>
#include <optional>
#include <string>

#include "sonde/open.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

enum class FileFormat { Sonde, Json, Database, Snapshot };

struct OpenedFile {
  Trace trace;
  FileFormat format = FileFormat::Json;
  std::uint64_t bytes = 0;
  // Of a `.sonde` file.
  std::optional<std::uint32_t> version = std::nullopt;
  bool sealed = false;  // it has its proper end
};

Result<OpenedFile> open_file(const std::string& path, const OpenOptions& options = {});

}  // namespace sonde
