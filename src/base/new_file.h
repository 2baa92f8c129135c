// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Creates files. Every file that Sonde makes is made here, so that none of them opens, follows or
// truncates something that exists: a link that somebody put there, a file that a program has
// mapped.
//
//   const int fd = create_new(path);   // -1 and errno: EEXIST if the name is taken

#include <sys/types.h>

#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde {

// Unfinished files are readable only by their user.
inline constexpr mode_t kPrivateMode = 0600;

// A new, empty file, open for reading and writing, closed by exec().
int create_new(const std::string& path, mode_t mode = kPrivateMode);

// A new file without a name in `folder`, which disappears when closed. -1 and errno if the file
// system does not support that.
int create_unnamed(const std::string& folder, mode_t mode = kPrivateMode);

// The mode of a finished file: everything that the process's umask allows.
mode_t finished_mode();

// 16 hexadecimal digits that nobody can guess.
std::string random_digits();

// TMPDIR, or /tmp; from the root.
std::string temporary_folder();

// A private file in the temporary folder. It is removed with this object.
class TemporaryFile {
 public:
  // Its name begins with `prefix`, and it holds `text`. If TMPDIR does not exist, is full or may
  // not be written to, it lies in another folder that is known for such files.
  static Result<TemporaryFile> create(const std::string& prefix, const std::string& text = "");
  // The same for a file that others will write to. Room for `reserved_bytes` is kept for them, in
  // `last_folder` if nowhere else.
  static Result<TemporaryFile> create_to_share(const std::string& prefix,
                                               std::size_t reserved_bytes,
                                               const std::string& last_folder);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();
  const std::string& path() const { return path_; }  // from the root

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  static Result<TemporaryFile> create_in(const std::string& folder, const std::string& prefix,
                                         const std::string& text, std::size_t reserved_bytes);
  static Result<TemporaryFile> create_in_one_of(const std::vector<std::string>& folders,
                                                const std::string& prefix, const std::string& text,
                                                std::size_t reserved_bytes);
  std::string path_;
};

// Like write() and pwrite(), but they fail with EFBIG at the process's size limit (RLIMIT_FSIZE)
// instead of raising SIGXFSZ.
ssize_t write_some(int fd, const void* bytes, std::size_t count);
ssize_t write_some_at(int fd, const void* bytes, std::size_t count, off_t offset);
// The same for fallocate().
int reserve_blocks(int fd, off_t bytes);

// How large a file may become in the folder of `path`: what RLIMIT_FSIZE allows, but at most a
// quarter of the free disk space, to which `own_bytes` that the file already has are added.
std::uint64_t room_beside(const std::string& path, std::uint64_t own_bytes = 0);
// The limit set by RLIMIT_FSIZE.
std::uint64_t file_size_limit();

}  // namespace sonde
