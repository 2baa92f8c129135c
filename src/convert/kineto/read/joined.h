// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All stretches of a file, with what the raw numbers of each mean in the trace.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "convert/kineto/read/staged.h"
#include "sonde/trace/builder.h"

namespace sonde {

struct Joined {
  std::vector<Staged> stretches;
  std::vector<std::vector<StringId>> texts;
  std::vector<std::vector<ArgumentListId>> lists;
  std::vector<std::vector<StackId>> stacks;
  std::vector<std::vector<ModuleId>> modules;
  std::vector<std::vector<TrackId>> tracks;
  Nanos base_ns = 0;
  unsigned threads = 0;

  StringId text(std::size_t stretch, RawId id) const {
    return id == kNoRaw ? StringId() : texts[stretch][id];
  }
  // The sum is limited to the range of 64 bits.
  Nanos absolute(std::int64_t time) const {
    Nanos sum = 0;
    if (!__builtin_add_overflow(time, base_ns, &sum)) return sum;
    return time < 0 ? INT64_MIN : INT64_MAX;
  }
};

// A row of one stretch.
struct Place {
  std::uint32_t stretch = 0;
  std::uint32_t row = 0;
};

}  // namespace sonde
