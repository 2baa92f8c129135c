// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writing records that are no plain scopes: what the C API is made of. Nothing here blocks; nothing
// is written while no stream runs.

#include <cstdint>
#include <string_view>

#include "sonde/detail/words.h"
#include "sonde/sonde.h"

namespace sonde::detail {

// What it is that gets lost if there is no room: LossCounts counts them apart.
enum class Loss { Span, End, Other };

struct Written {
  std::uint64_t position = 0;  // 0: lost, or nothing records
  std::uint64_t thread = 0;
};
Written write_record(ExtendedKind kind, const std::uint64_t* payload, std::uint32_t payload_count,
                     Loss loss) noexcept;

// The id of a place or a name, given out at first sight; 0 if there are too many.
std::uint32_t site_number(sonde_site* site) noexcept;
// The number of a place in the words of wire/places.h; 0 if it cannot be had.
std::uint32_t place_number(std::string_view place) noexcept;
std::uint32_t name_number(std::string_view text) noexcept;

// Of the calling thread; 0 before its first record.
std::uint64_t thread_number() noexcept;
// Unique in the process; 0 while nothing records.
std::uint64_t next_async_number() noexcept;

}  // namespace sonde::detail
