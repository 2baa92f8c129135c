// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Numbers of operators' names, found without looking at more than a few bytes.

#include <ATen/record_function.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "sonde/op.h"

namespace sonde::torch {

// One a thread. A name that belongs to a schema lies at one address for good; others lie in objects
// that come and go, so the text is compared too.
class OpNames {
 public:
  std::uint32_t number(const at::RecordFunction& fn) {
    const char* name = fn.name();
    Entry& entry = entries_[(reinterpret_cast<std::uintptr_t>(name) >> 4) % kEntries];
    if (entry.name == name && std::strncmp(entry.text, name, sizeof(entry.text)) == 0) {
      return entry.number;
    }
    return find(fn, name, entry);
  }

 private:
  static constexpr std::size_t kEntries = 1024;
  struct Entry {
    const char* name = nullptr;
    std::uint32_t number = 0;
    char text[52] = {};
  };

  static std::uint32_t find(const at::RecordFunction& fn, const char* name, Entry& entry) {
    std::string text = name;
    const std::size_t bytes = text.size();
    if (const auto op = fn.operator_name(); op && !op->overload_name.empty()) {
      text += '\x1f';
      text += op->overload_name;
    }
    const std::uint32_t number = sonde_name(text.data(), text.size());
    if (number != 0 && bytes < sizeof(entry.text)) {
      entry.name = name;
      entry.number = number;
      std::memcpy(entry.text, name, bytes + 1);
    }
    return number;
  }

  std::array<Entry, kEntries> entries_;
};

}  // namespace sonde::torch
