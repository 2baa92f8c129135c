// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds names and lines of addresses in programs and libraries, long after they ran.
//
//   Symboliser symboliser;
//   for (const SymbolFrame& frame : symboliser.frames_at("/usr/lib/libfoo.so", build_id, 0x1234))
//     print(frame.function, frame.file, frame.line);
//
// Reads the binary's symbols and debug information, including debug information in separate files
// (as in Debian's -dbgsym packages). Gives nothing for a binary that is missing or was replaced.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sonde {

struct SymbolFrame {
  std::string function;
  std::string file;        // empty if unknown
  std::int32_t line = -1;  // -1 if unknown
};

class Symboliser {
 public:
  Symboliser();
  ~Symboliser();
  Symboliser(const Symboliser&) = delete;
  Symboliser& operator=(const Symboliser&) = delete;

  // The function that contains the call before `offset`, preceded by the functions inlined there,
  // innermost first. `offset` is a return address minus the load address of the binary. `build_id`
  // is in hexadecimal digits; "" accepts any.
  std::vector<SymbolFrame> frames_at(std::string_view binary, std::string_view build_id,
                                     std::uint64_t offset);

 private:
  class Binaries;
  std::unique_ptr<Binaries> binaries_;  // null until first needed
};

}  // namespace sonde
