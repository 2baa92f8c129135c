// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Finds the number of an operator's name by looking at only a few bytes.

#include <ATen/record_function.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "sonde/source/op.h"

namespace sonde::torch {

// Use one per thread. The name of a schema stays at one address for as long as the operator is
// registered, so its first bytes are enough to see that it is still there. Other names are in
// objects that come and go, so their whole text is compared.
class OpNames {
 public:
  struct Found {
    std::uint32_t number;
    bool is_of_schema;  // a call by the dispatcher, not a user's scope or asynchronous
  };

  // The number of a schema's name; 0 if it is not one or not known yet.
  std::uint32_t find_of_schema(const char* name) const {
    const Entry& entry = entries_[slot(name)];
    const bool found = entry.name == name && first_bytes(name) == entry.first && entry.is_of_schema;
    return __builtin_expect(found, 1) ? entry.number : 0;
  }

  Found find(const at::RecordFunction& fn) {
    const char* name = fn.name();
    if (const std::uint32_t number = find_of_schema(name)) return {number, true};
    const Entry& entry = entries_[slot(name)];
    const bool found = entry.name == name && first_bytes(name) == entry.first &&
                       !entry.is_of_schema &&
                       std::strncmp(entry.text, name, sizeof(entry.text)) == 0;
    return found ? Found{entry.number, false} : learn(fn, name);
  }

 private:
  static constexpr std::size_t kEntries = 1024;
  static constexpr std::size_t kTextBytes = 64 - 3 * 8;
  struct alignas(64) Entry {
    const char* name = nullptr;
    std::uint64_t first = 0;
    std::uint32_t number = 0;
    bool is_of_schema = false;
    char text[kTextBytes] = {};
  };

  static std::size_t slot(const char* name) {
    return (reinterpret_cast<std::uintptr_t>(name) >> 4) % kEntries;
  }

  // Names are those of std::string, which has room for at least fifteen characters, so eight can
  // always be read.
  static std::uint64_t first_bytes(const char* name) {
    std::uint64_t first;
    std::memcpy(&first, name, sizeof(first));
    return first;
  }

  __attribute__((noinline)) Found learn(const at::RecordFunction& fn, const char* name) {
    std::string text = name;
    const std::size_t bytes = text.size();
    const auto op = fn.operator_name();
    if (op && !op->overload_name.empty()) {
      text += '\x1f';
      text += op->overload_name;
    }
    const std::uint32_t number = sonde_name(text.data(), text.size());
    const bool is_of_schema = op.has_value();
    if (number != 0 && (is_of_schema || bytes < kTextBytes)) {
      Entry& entry = entries_[slot(name)];
      entry.name = name;
      entry.first = first_bytes(name);
      entry.number = number;
      entry.is_of_schema = is_of_schema;
      if (!is_of_schema) std::memcpy(entry.text, name, bytes + 1);
    }
    return {number, is_of_schema};
  }

  std::array<Entry, kEntries> entries_;
};

}  // namespace sonde::torch
