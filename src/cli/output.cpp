// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/format.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

// Of the control character at `at`, if there is one: ASCII's, or one of U+0080 to U+009F, which
// some terminals obey as well.
std::size_t control_bytes(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  constexpr unsigned char kDelete = 0x7f;
  if (byte < ' ') return byte == '\n' || byte == '\t' ? 0 : 1;
  if (byte == kDelete) return 1;
  if (byte != 0xc2 || at + 1 == text.size()) return 0;
  const auto next = static_cast<unsigned char>(text[at + 1]);
  return next >= 0x80 && next < 0xa0 ? 2 : 0;
}

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = control_bytes(text, at);
    if (bytes == 0) shown += text[at++];
    for (std::size_t i = 0; i < bytes; ++i)
      shown += format_text("\\x{:02x}", static_cast<unsigned char>(text[at++]));
  }
  return shown;
}

Output::Output(int descriptor, std::string name)
    : descriptor_(descriptor), is_terminal_(::isatty(descriptor) == 1), name_(std::move(name)) {}

void Output::write(std::string_view text) {
  if (!ok()) return;
  buffer_ += text;
  if (descriptor_ >= 0 && buffer_.size() >= kBufferBytes) flush();
}

void Output::flush() {
  if (descriptor_ < 0) return;
  if (is_terminal_) buffer_ = for_terminal(buffer_);
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
