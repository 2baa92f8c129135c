// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Files: mapped for reading, appended to, or replaced. Errors name the path and the system's
// reason. For files that users name, see output_file.h.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/kept_file.h"
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

// A file that only grows at its end, without a buffer: what append() has written survives this
// process.
class AppendFile {
 public:
  // Fails if something has that name. An empty path makes an unnamed file that is gone when closed.
  static Result<AppendFile> create(const std::string& path);
  // Writes all of it or fails; after an error the file has the same length as before the call.
  Result<void> append(std::span<const std::uint8_t> bytes);
  // Truncates the file to `size`, which is at most its length.
  Result<void> cut(std::uint64_t size);
  // Gives the file its name, as replace_file() does, and the mode of a finished file. Fails if the
  // existing file is still being written by the process that published it.
  Result<void> publish(const std::string& path);
  // Nothing is written any more: whoever wants its name may have it. One without a name stays, to
  // be read.
  void release();
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // A name under which this process can open the file, also if it is unnamed.
  std::string readable_path() const;

 private:
  AppendFile() = default;
  void rename_to(const std::string& path);

  std::string path_;
  KeptFile file_;
  std::uint64_t size_ = 0;
};

// The folder that a path is in; "." if it names none.
std::string folder_of(const std::string& path);

// What a name refers to, following symbolic links.
struct Destination {
  std::string path;
  // A regular file, or nothing yet. Not folders, pipes, devices, or what a process has open, such
  // as /dev/stdout, even if that is a regular file.
  bool is_file = true;
  // Behind another user's link in a folder where all may write: not to be written to at all.
  bool is_planted = false;
};
Destination destination_of(const std::string& path);
// Why `path`, which leads there, is not to be written to.
Failure not_to_be_written(const std::string& path, const Destination& where);

// A unique name for a file that is to replace `path`, which others cannot guess. Fails if `path` is
// something other than a file, which would be lost.
Result<std::string> temporary_beside(const std::string& path);
// Renames `temporary` to `path`: a reader finds either the old file or the new one.
Result<void> replace_file(const std::string& temporary, const std::string& path);
// A new, empty file that has replaced `path`, open for writing. Whoever has the old one open or
// mapped keeps it. If `path` is not a file, it is opened as it is.
Result<int> create_in_place_of(const std::string& path);
// An error about a temporary file, reported under the requested name.
Error told_as(Error error, const std::string& temporary, const std::string& path);

// Calls write(temporary name), then replaces `path` with the result: completely or not at all.
Result<void> write_replacing(const std::string& path,
                             const std::function<Result<void>(const std::string&)>& write);

Result<std::string> read_file(const std::string& path);

}  // namespace sonde
