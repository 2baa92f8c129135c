// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/format.h"

namespace sonde {

std::string duration_text(std::int64_t nanoseconds) {
  const std::string sign = nanoseconds < 0 ? "-" : "";
  // Through unsigned, because the most negative value has no positive counterpart.
  const std::uint64_t ns = nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds)
                                           : static_cast<std::uint64_t>(nanoseconds);
  if (ns < 1'000) return format_text("{}{} ns", sign, ns);
  const auto value = static_cast<double>(ns);
  if (ns < 1'000'000) return format_text("{}{:.3f} µs", sign, value / 1e3);
  if (ns < 1'000'000'000) return format_text("{}{:.3f} ms", sign, value / 1e6);
  return format_text("{}{:.3f} s", sign, value / 1e9);
}

std::string rough_duration_text(std::int64_t nanoseconds) {
  std::int64_t step = 1;
  for (std::int64_t rest = nanoseconds / 100; rest != 0; rest /= 10) step *= 10;
  // As the sum of parts that cannot overflow.
  const std::int64_t ns = nanoseconds / step * step + (nanoseconds % step * 2 / step) * step;
  const auto value = std::abs(static_cast<double>(ns));
  const std::string sign = ns < 0 ? "-" : "";
  if (value < 1e3) return format_text("{}{:.0f} ns", sign, value);
  const auto [unit, name] = value < 1e6   ? std::pair(1e3, "µs")
                            : value < 1e9 ? std::pair(1e6, "ms")
                                          : std::pair(1e9, "s");
  return format_text("{}{:.{}f} {}", sign, value / unit, value < 10 * unit ? 1 : 0, name);
}

std::string microseconds_text(std::int64_t nanoseconds) {
  const std::uint64_t ns = nanoseconds < 0 ? 0 - static_cast<std::uint64_t>(nanoseconds)
                                           : static_cast<std::uint64_t>(nanoseconds);
  return format_text("{}{}.{:03}", nanoseconds < 0 ? "-" : "", ns / 1000, ns % 1000);
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  return whole ? format_text("{:.0f} {}", value, kUnits[unit])
               : format_text("{:.1f} {}", value, kUnits[unit]);
}

std::string count_text(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

std::string counted_text(std::uint64_t count, std::string_view noun) {
  return count_text(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

std::string without_addresses(std::string_view name) {
  constexpr std::string_view kMark = " at 0x";
  std::string text;
  for (std::size_t at = name.find(kMark); at != std::string_view::npos; at = name.find(kMark)) {
    text += name.substr(0, at);
    name.remove_prefix(at + kMark.size());
    name.remove_prefix(std::min(name.find_first_not_of("0123456789abcdefABCDEF"), name.size()));
  }
  return text + std::string(name);
}

}  // namespace sonde
