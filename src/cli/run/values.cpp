// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/values.h"

#include <signal.h>
#include <strings.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace sonde::cli {
namespace {

constexpr double kLargest = 9e18;

struct Quantity {
  double number = 0;
  std::string_view unit;
};

Result<Quantity> split_quantity(std::string_view text, std::string_view what) {
  Quantity quantity;
  const auto [stopped, error] =
      std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  if (error != std::errc{} || !(quantity.number > 0)) {
    return Failure(ErrorCode::Invalid, "'" + std::string(text) + "' is not a " + std::string(what));
  }
  quantity.unit = text.substr(static_cast<std::size_t>(stopped - text.data()));
  return quantity;
}

template <typename Units>
Result<double> scaled(std::string_view text, const Units& units, std::string_view what) {
  SONDE_TRY(const Quantity quantity, split_quantity(text, what));
  for (const auto& [unit, factor] : units) {
    const double value = quantity.number * factor;
    if (quantity.unit == unit && value >= 1 && value < kLargest) return value;
  }
  return Failure(ErrorCode::Invalid, "'" + std::string(text) + "' is not a " + std::string(what));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && stopped == text.data() + text.size();
  return is_number && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<std::int64_t> parse_duration(const std::string& text) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}, {"h", 3600e9}};
  SONDE_TRY(const double ns, scaled(text, kUnits, "duration; write 500ms, 10s or 2m"));
  return static_cast<std::int64_t>(ns);
}

Result<std::pair<std::int64_t, std::int64_t>> parse_steps(const std::string& text) {
  const std::size_t dots = text.find("..");
  const bool is_range = dots != std::string::npos;
  const std::string_view all = text;
  const auto first = whole_number(is_range ? all.substr(0, dots) : all);
  const auto last = is_range ? whole_number(all.substr(dots + 2)) : first;
  if (first && last && *first <= *last) return std::pair(*first, *last);
  return Failure(ErrorCode::Invalid, "'" + text + "' does not name steps; write 40 or 40..49");
}

Result<std::uint64_t> parse_bytes(const std::string& text) {
  static constexpr double kK = 1024;
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"", 1},
                                                                   {"B", 1},
                                                                   {"K", kK},
                                                                   {"KB", kK},
                                                                   {"KiB", kK},
                                                                   {"M", kK * kK},
                                                                   {"MB", kK * kK},
                                                                   {"MiB", kK * kK},
                                                                   {"G", kK * kK * kK},
                                                                   {"GB", kK * kK * kK},
                                                                   {"GiB", kK * kK * kK},
                                                                   {"T", kK * kK * kK * kK},
                                                                   {"TB", kK * kK * kK * kK},
                                                                   {"TiB", kK * kK * kK * kK}};
  SONDE_TRY(const double bytes, scaled(text, kUnits, "size; write 64M or 1G"));
  return static_cast<std::uint64_t>(bytes);
}

Result<int> parse_signal(const std::string& text) {
  int number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stopped != text.data() + text.size()) {
    number = 0;
    const std::string name = ::strncasecmp(text.c_str(), "SIG", 3) == 0 ? text.substr(3) : text;
    for (int each = 1; each < NSIG; ++each) {
      const char* const known = ::sigabbrev_np(each);
      if (known != nullptr && ::strcasecmp(known, name.c_str()) == 0) number = each;
    }
  }
  if (number < 1 || number >= NSIG)
    return Failure(ErrorCode::Invalid, "unknown signal '" + text + "'");
  for (const int reserved : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGCHLD}) {
    if (number == reserved)
      return Failure(ErrorCode::Invalid, "signal '" + text + "' cannot be used; use USR1 or USR2");
  }
  return number;
}

}  // namespace sonde::cli
