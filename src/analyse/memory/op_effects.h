// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What an operator does to its arguments. Traces have no schemas, but PyTorch's naming rules say
// which arguments are written to.
//
//   OpEffects effects(trace);
//   effects.of(span).writes(0)   // true for aten::add_

#include <cstdint>
#include <string_view>
#include <vector>

#include "sonde/trace.h"

namespace sonde::detail {

// "aten::add": a function of an operator library. Nothing is known about others, such as
// `AddmmBackward0` or a user's names.
bool is_library_call(std::string_view name) noexcept;

class OpEffects {
 public:
  // The effect of one call.
  struct Effect {
    bool known = false;             // it is a call of a library
    std::uint64_t written = 0;      // one bit for each of the first arguments
    std::int32_t written_out = -1;  // an argument that takes the result
    bool writes(std::int32_t argument) const noexcept {
      if (argument == written_out) return true;
      return argument >= 0 && argument < 64 && ((written >> argument) & 1) != 0;
    }
  };

  explicit OpEffects(const Trace& trace)
      : trace_(trace), names_(trace.strings().size()), overloads_(trace.strings().size()) {}

  Effect of(SpanId span);

 private:
  struct Name {
    bool looked_at = false;
    bool known = false;
    std::uint64_t written = 0;
  };
  enum class Overload : std::uint8_t { NotLookedAt, Plain, Out };

  const Name& name_of(StringId name);
  bool has_out(StringId overload);

  const Trace& trace_;
  std::vector<Name> names_;
  std::vector<Overload> overloads_;
};

}  // namespace sonde::detail
