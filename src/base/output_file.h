// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A file that grows without a name, or under a temporary one if the system requires it, and gets
// its name when it is complete.
//
//   SONDE_TRY(OutputFile file, OutputFile::create("a/trace.json"));
//   SONDE_TRY_VOID(file.append(bytes));
//   SONDE_TRY_VOID(file.commit());  // without this, nothing is left behind
//
// A pipe, /dev/stdout or anything else that cannot be replaced is written to directly.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  Result<void> append(std::span<const std::uint8_t> bytes);
  Result<void> append(std::string_view text);
  Result<void> commit();

 private:
  OutputFile() = default;
  std::string path_;
  std::string temporary_;  // empty: written directly, or unnamed
  bool unnamed_ = false;   // commit() gives it a name
  int fd_ = -1;
};

// Writes a whole file at once.
Result<void> write_file_whole(const std::string& path, std::span<const std::uint8_t> bytes);
Result<void> write_file_whole(const std::string& path, std::string_view text);

}  // namespace sonde
