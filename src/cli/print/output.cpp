// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/print/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/file.h"
#include "base/readable.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

// https://no-color.org: any value but an empty one.
bool wants_colour() {
  const char* const no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe)
  const char* const terminal = std::getenv("TERM");       // NOLINT(concurrency-mt-unsafe)
  if (no_colour != nullptr && *no_colour != '\0') return false;
  return terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

void say(std::string_view message) {
  const std::string line = "sonde: " + readable_text(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Output::Output(int descriptor, std::string name)
    : descriptor_(descriptor),
      is_terminal_(::isatty(descriptor) == 1),
      is_coloured_(is_terminal_ && wants_colour()),
      name_(std::move(name)) {}

void Output::write(std::string_view text) {
  if (!ok()) return;
  if (is_for_programs_ && !is_terminal_) {
    buffer_ += text;
  } else {
    buffer_ += readable_text(text);
  }
  if (descriptor_ >= 0 && buffer_.size() >= kBufferBytes) flush();
}

void Output::styled_line(Style style, std::string_view text) {
  if (!is_coloured_ || !ok()) return line(text);
  buffer_ += style == Style::Bold ? "\033[1m" : "\033[1;31m";
  write(text);
  buffer_ += "\033[0m\n";
}

std::size_t Output::terminal_width() const {
  winsize size{};
  if (!is_terminal_ || ::ioctl(descriptor_, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

void Output::flush() {
  if (descriptor_ < 0) return;
  std::string_view rest = buffer_;
  while (!rest.empty() && ok()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      errno_value_ = errno;
    }
  }
  buffer_.clear();
}

bool Output::reader_left() const {
  return errno_value_ == EPIPE;
}

Result<void> Output::finish() {
  flush();
  if (ok()) return {};
  return io_failure(name_, "cannot write", errno_value_);
}

}  // namespace sonde::cli
