// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The classes of sonde/record.h if SONDE_DISABLE is defined: they do nothing. Otherwise this is
// empty, because names would be ambiguous.

#ifdef SONDE_DISABLE

#include <cstddef>
#include <string_view>
#include <utility>

#include "sonde/detail/arguments.h"
#include "sonde/sonde.h"

namespace sonde {

using Site = ::sonde_site;

// Has another name for the linker, so that units with and without recording may be mixed.
inline namespace disabled {

class [[maybe_unused]] Scope {
 public:
  explicit Scope(Site&) noexcept {}
};
class [[maybe_unused]] Laps {
 public:
  void next(Site&) noexcept {}
  void end() noexcept {}
};
class [[maybe_unused]] record_function {  // NOLINT(readability-identifier-naming)
 public:
  explicit record_function(std::string_view) noexcept {}
  record_function(std::string_view, std::string_view) noexcept {}
  template <std::size_t N, typename Value, typename... More>
  record_function(std::string_view, const char (&key)[N], const Value& value,
                  const More&... more) noexcept {
    detail::check_keys_and_values(key, value, more...);
  }
  void end() noexcept {}
};
class [[maybe_unused]] AsyncScope {
 public:
  AsyncScope() noexcept = default;
  explicit AsyncScope(Site&) noexcept {}
  void end() noexcept {}
};
class [[maybe_unused]] Flow {
 public:
  void out() const noexcept {}
  void in() const noexcept {}
};
template <typename Callable>
decltype(auto) recorded(std::string_view, Callable&& callable) {
  return std::forward<Callable>(callable)();
}
inline bool is_recording() noexcept {
  return false;
}

}  // namespace disabled

}  // namespace sonde

#endif
