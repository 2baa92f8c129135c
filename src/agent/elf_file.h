// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Facts about an executable or library, read from the file without loading it.

#include <cstdint>
#include <string>
#include <vector>

#include "sonde/result.h"

namespace sonde {

struct ElfFacts {
  bool is_64_bit = false;
  std::uint16_t machine = 0;        // EM_X86_64, …
  std::string interpreter;          // the loader; empty for libraries and static programs
  bool is_dynamic = false;          // it has a dynamic section
  std::vector<std::string> needed;  // sonames; only for 64 bits
};

// Fails as Corrupt if it is not an ELF file or is truncated.
Result<ElfFacts> read_elf(const std::string& path);

// The machine this was compiled for.
std::uint16_t own_machine();

}  // namespace sonde
