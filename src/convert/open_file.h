// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A file opened once: its trace, and what kind of file it is. The public interface is open_trace()
// of sonde/open.h.

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
  // For `.sonde` files.
  std::optional<std::uint32_t> version = std::nullopt;
  bool sealed = false;  // the file is complete

  // Nobody should write it any more; a recording without its end may grow.
  bool is_whole() const { return format != FileFormat::Sonde || sealed; }
};

Error changed_while_read(const std::string& path);

Result<OpenedFile> open_file(const std::string& path, const OpenOptions& options = {});

}  // namespace sonde
