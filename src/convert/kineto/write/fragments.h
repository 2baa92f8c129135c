// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Texts that many spans share: arguments of calls, stacks, modules. A text that several spans refer
// to is rendered once, as far as a bounded memory allows.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "convert/kineto/write/json_strings.h"
#include "convert/kineto/write/text_buffer.h"
#include "sonde/trace.h"

namespace sonde {

// Appends `, "Concrete Inputs": […], "Input type": […], …`.
void append_arguments(TextBuffer& out, const Trace& trace, const JsonStrings& strings,
                      ArgumentListId list, std::string& scratch);
// Appends `, "Call stack": "inner;outer;"`.
void append_stack(TextBuffer& out, const Trace& trace, const JsonStrings& strings, StackId stack,
                  std::string& scratch);
// Appends `, "Module Hierarchy": "outer(Class)::method.inner(Class)::method."`.
void append_module(TextBuffer& out, const Trace& trace, const JsonStrings& strings, ModuleId module,
                   std::string& scratch);

// Rendered rows of one table.
class Fragments {
 public:
  // Empty if the row was not rendered. A rendered text is never empty.
  std::string_view operator[](std::size_t row) const {
    if (row >= places_.size()) return {};
    return arena_.text().substr(places_[row].begin, places_[row].size);
  }

  // Renders the rows that `users` refer to more than once, with render(TextBuffer&, row).
  template <typename IdType, typename Render>
  void fill(const Column<IdType>& users, std::size_t rows, const Render& render) {
    if (!users.materialised() || rows == 0) return;
    std::vector<std::uint8_t> uses(rows);
    for (std::size_t i = 0; i < users.size(); ++i) {
      if (const IdType id = users[i]; id.valid() && uses[id.index()] < 2) ++uses[id.index()];
    }
    places_.resize(rows);
    for (std::size_t row = 0; row < rows && arena_.size() < kMaxBytes; ++row) {
      if (uses[row] < 2) continue;
      const std::size_t begin = arena_.size();
      render(arena_, IdType(row));
      places_[row] = {static_cast<std::uint32_t>(begin),
                      static_cast<std::uint32_t>(arena_.size() - begin)};
    }
  }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  struct Place {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  TextBuffer arena_;
  std::vector<Place> places_;
};

}  // namespace sonde
