// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A command's output, buffered and written to a descriptor, which may be a pipe whose reader has
// gone. It is meant for people and therefore made readable (base/readable.h), even in pipes and
// files, until for_programs() is called.

#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde::cli {

// Prints "sonde: …" on stderr. All messages of the program go through here.
void say(std::string_view message);

class Output {
 public:
  // `name` appears in messages: "standard output".
  Output(int descriptor, std::string name);
  // Keeps everything in memory for take().
  Output() = default;

  // From here on, the output is JSON, CSV or a page: every byte is kept, except on a terminal.
  void for_programs() { is_for_programs_ = true; }

  void write(std::string_view text);
  void line(std::string_view text) {
    write(text);
    write("\n");
  }

  // For what a reader should see first. Plain where it is not a terminal, and where NO_COLOR or
  // TERM=dumb ask for that.
  enum class Style { Bold, Warning };
  void styled_line(Style style, std::string_view text);
  // In characters; 0: not a terminal, or not known.
  std::size_t terminal_width() const;

  // False once something could not be written. Then there is no point in continuing.
  bool ok() const { return errno_value_ == 0; }
  // Whether that was because the reader is gone, as after `| head`.
  bool reader_left() const;
  // Writes the rest of the buffer. Fails if anything, now or before, could not be written.
  Result<void> finish();
  // Everything that was written to an Output that keeps it.
  std::string take() { return std::move(buffer_); }

 private:
  void flush();

  int descriptor_ = -1;  // -1: kept in the buffer
  bool is_terminal_ = false;
  bool is_coloured_ = false;
  bool is_for_programs_ = false;
  std::string name_;
  std::string buffer_;
  int errno_value_ = 0;
};

}  // namespace sonde::cli
