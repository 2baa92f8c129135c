// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A command's output: buffered, to a descriptor that may be a pipe whose reader has gone. It is
// meant for people, and so made readable (base/readable.h), also in pipes and files, until
// for_programs() is called.

#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde::cli {

// "sonde: …" on stderr. All messages of the program go through here.
void say(std::string_view message);

class Output {
 public:
  // `name` appears in messages: "standard output".
  Output(int descriptor, std::string name);
  // Keeps everything for take().
  Output() = default;

  // JSON, CSV and pages follow: every byte stays, except on a terminal.
  void for_programs() { is_for_programs_ = true; }

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
  bool is_for_programs_ = false;
  std::string name_;
  std::string buffer_;
  int errno_value_ = 0;
};

}  // namespace sonde::cli
