// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What a function prints to an Output, as a string.

#include <cstdio>
#include <functional>
#include <string>

#include "cli/print/output.h"

namespace sonde::cli {

inline std::string printed(const std::function<void(Output&)>& print) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return "no temporary file";
  Output out(fileno(file), "test");
  print(out);
  std::string text;
  if (out.finish()) {
    std::rewind(file);
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  }
  std::fclose(file);
  return text;
}

}  // namespace sonde::cli
