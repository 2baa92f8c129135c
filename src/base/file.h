// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Files: mapped for reading, appended to, or replaced. Errors contain the path and the system's
// reason. For files that users name, see output_file.h.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/kept_file.h"
#include "sonde/result.h"

namespace sonde {

// "PATH: cannot do X: No such file or directory", with the error code for errno.
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

// A file that only grows at its end, without a buffer. What append() has written survives the
// process.
class AppendFile {
 public:
  // Fails if the name is taken. An empty path makes an unnamed file that disappears when closed.
  static Result<AppendFile> create(const std::string& path);
  // Writes everything or fails. After an error the file is as long as before the call.
  Result<void> append(std::span<const std::uint8_t> bytes);
  // Truncates the file to `size`, which is at most its length.
  Result<void> cut(std::uint64_t size);
  // Gives the file its name, like replace_file(), and the mode of a finished file. Fails if the
  // existing file is still being written by the process that published it.
  Result<void> publish(const std::string& path);
  // Call it when nothing more is written: others may then take the name. An unnamed file stays
  // readable.
  void release();
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // A name under which this process can open the file, even if it is unnamed.
  std::string readable_path() const;

 private:
  AppendFile() = default;
  void rename_to(const std::string& path);

  std::string path_;
  KeptFile file_;
  std::uint64_t size_ = 0;
};

// The folder of a path; "." if it has none.
std::string folder_of(const std::string& path);

// What a name refers to, following symbolic links.
struct Destination {
  std::string path;
  // A regular file, or nothing yet. False for folders, pipes, devices, and files that a process has
  // open, such as /dev/stdout, even if that is a regular file.
  bool is_file = true;
  // Reached through another user's link in a folder where everyone may write. It must not be
  // written.
  bool is_planted = false;
};
Destination destination_of(const std::string& path);
// The error for a `path` that leads to something that must not be written.
Failure not_to_be_written(const std::string& path, const Destination& where);

// A unique, unguessable name for a file that will replace `path`. Fails if `path` is not a regular
// file, because it would be lost.
Result<std::string> temporary_beside(const std::string& path);
// Renames `temporary` to `path`. A reader finds either the old file or the new one.
Result<void> replace_file(const std::string& temporary, const std::string& path);
// Replaces `path` by a new, empty file, open for writing. Processes that have the old file open or
// mapped keep it. If `path` is not a regular file, it is opened directly.
Result<int> create_in_place_of(const std::string& path);
// Turns an error about a temporary file into one about the requested path.
Error told_as(Error error, const std::string& temporary, const std::string& path);

// Calls write(temporary name), then replaces `path` with the result, completely or not at all.
Result<void> write_replacing(const std::string& path,
                             const std::function<Result<void>(const std::string&)>& write);

Result<std::string> read_file(const std::string& path);

}  // namespace sonde
