// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serve/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/new_file.h"

// NOLINTNEXTLINE(readability-redundant-declaration): POSIX does not declare it
extern char** environ;

namespace sonde::detail {
namespace {

// Escapes text for an attribute.
std::string attribute_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string redirect_page(const std::string& address) {
  return "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
         "<meta http-equiv=\"refresh\" content=\"0;url=" +
         attribute_text(address) + "\"><title>Sonde</title>\n";
}

Result<void> write_all(int fd, const std::string& text, const std::string& path) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write_some(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return Failure(ErrorCode::Io, path + ": " + std::strerror(errno));
    done += static_cast<std::size_t>(wrote);
  }
  return {};
}

}  // namespace

Result<BrowserFile> BrowserFile::create(const std::string& address) {
  const std::string path = temporary_folder() + "/sonde-view-" + random_digits() + ".html";
  const int fd = create_new(path);
  if (fd < 0) return Failure(ErrorCode::Io, path + ": " + std::strerror(errno));
  BrowserFile file(path);
  const Result<void> written = write_all(fd, redirect_page(address), path);
  ::close(fd);
  if (!written) return Failure(written.error());
  return file;
}

BrowserFile::BrowserFile(BrowserFile&& other) noexcept : path_(std::move(other.path_)) {
  other.path_.clear();
}

BrowserFile::~BrowserFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

bool has_desktop() {
  return std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
}

bool open_in_browser(const std::string& path) {
  std::string program = "xdg-open";
  std::string argument = path;
  char* const words[] = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, words, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0;
}

}  // namespace sonde::detail
