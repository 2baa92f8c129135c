// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A command's output: buffered, to a descriptor that may be a pipe whose reader has gone. Names in
// a trace may contain control characters, which a terminal would obey. On a terminal they are shown
// as "\x1b"; files and pipes get every byte unchanged.

#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde::cli {

// The text with control characters made visible, except line breaks and tabs.
std::string for_terminal(std::string_view text);

class Output {
 public:
  // `name` appears in messages: "standard output".
  Output(int descriptor, std::string name);
  // Keeps everything for take().
  Output() = default;

  void write(std::string_view text);
  void line(std::string_view text) {
    write(text);
    write("\n");
  }

  // False once something could not be written: there is no point in continuing.
  bool ok() const { return errno_value_ == 0; }
  // Whether that was because the reader has gone, as after `| head`.
  bool reader_left() const;
  // Writes what is still in the buffer; an error if any of it, now or before, could not be written.
  Result<void> finish();
  // All that was written, of one that keeps it.
  std::string take() { return std::move(buffer_); }

 private:
  void flush();

  int descriptor_ = -1;  // -1: kept in the buffer
  bool is_terminal_ = false;
  std::string name_;
  std::string buffer_;
  int errno_value_ = 0;
};

}  // namespace sonde::cli
