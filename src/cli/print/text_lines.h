// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What commands that print text inherit: formatted lines, and lists that show their first rows.

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/text.h"
#include "cli/print/output.h"

namespace sonde::cli {

class TextLines {
 protected:
  // `option` shows the rows beyond the limit.
  explicit TextLines(Output& out, std::size_t row_limit = 0, std::string_view option = {})
      : out_(out), row_limit_(row_limit), option_(option) {}

  template <typename... Args>
  void line(FormatPattern<Args...> format, Args&&... args) {
    out_.line(format_text(format, std::forward<Args>(args)...));
  }

  // Calls row(i) for the first rows and says how many were left out.
  template <typename Row>
  void rows(std::size_t count, Row row) {
    for (std::size_t i = 0; i < std::min(count, row_limit_); ++i) row(i);
    if (count > row_limit_)
      line("  … and {} more ({} shows all)", count_text(count - row_limit_), option_);
  }

  Output& out_;

 private:
  std::size_t row_limit_;
  std::string_view option_;
};

}  // namespace sonde::cli
