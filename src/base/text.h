// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Quantities as readable text.

#include <cstdint>
#include <string>
#include <string_view>

namespace sonde {

// "812 ns", "1.234 µs", "56.700 ms", "3.250 s": four to six significant digits.
std::string duration_text(std::int64_t nanoseconds);
// For estimates, two digits: "810 ns", "1.2 µs", "57 ms".
std::string rough_duration_text(std::int64_t nanoseconds);
// "1.234": exact microseconds.
std::string microseconds_text(std::int64_t nanoseconds);
// "512 B", "1.5 KiB", "256 MiB".
std::string bytes_text(std::uint64_t bytes);
// "12,345,678"
std::string count_text(std::uint64_t count);
// "1 span", "12,345 spans": for nouns with a plural in s.
std::string counted_text(std::uint64_t count, std::string_view noun);
// "<method f of T object>" for "<method f of T object at 0x7f10>": what differs from run to run,
// and from object to object, is no part of a name.
std::string without_addresses(std::string_view name);

}  // namespace sonde
