// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Files: mapped for reading, appended to, or replaced whole. Errors name the path and the system's
// reason.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde {

// "PATH: cannot do X: No such file or directory", with the code that fits errno.
Failure io_failure(const std::string& path, std::string_view doing, int errno_value);

// A regular file mapped read-only. Refuses directories; an empty file is an empty span.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile() = default;
  std::string path_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

// A file that only grows at its end, written without buffering of its own: what append() has
// returned from outlives this process.
class AppendFile {
 public:
  // Creates or truncates. An empty path makes an unnamed file that is gone when closed.
  static Result<AppendFile> create(const std::string& path);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile();

  // All of it or an error; after an error the file is cut back to what it was before the call.
  Result<void> append(std::span<const std::uint8_t> bytes);
  // Cuts the file back to `size`, which is not more than it has.
  Result<void> cut(std::uint64_t size);
  // Gives the file its name, in place of what was there: whoever looks finds the one or the other.
  // Fails if the file that is there is still being written by somebody who published it.
  Result<void> publish(const std::string& path);
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // A name under which this process can open the file, also if it is unnamed.
  std::string readable_path() const;

 private:
  AppendFile() = default;
  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

// An error about a temporary file, told under the name that was asked for.
Error told_as(Error error, const std::string& temporary, const std::string& path);

// Writes `bytes` to a temporary name beside `path` and renames it: whole or not at all.
Result<void> write_file_whole(const std::string& path, std::span<const std::uint8_t> bytes);
Result<void> write_file_whole(const std::string& path, std::string_view text);

Result<std::string> read_file(const std::string& path);

}  // namespace sonde
