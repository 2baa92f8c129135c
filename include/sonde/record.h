// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Marks work in a program. Needs only Sonde::record.
//
//   void train(Batch& batch) {
//     SONDE_SCOPE("train");                         // from here to the closing brace
//     SONDE_SCOPE("load", "batch", i, "path", path, SONDE_CATEGORY, "io");  // with arguments
//     sonde::record_function step("step " + id);    // a name made at run time
//     SONDE_COUNTER("loss", loss);
//   }
//
// Arguments are pairs of a key, which must be a literal, and a value: an integer, floating point
// number, bool, enum or text. There may be up to eight. The key SONDE_CATEGORY gives a category.
// Values are evaluated only while something records. A scope with arguments writes a third record;
// a scope without them pays nothing for the feature. Do not use arguments in signal handlers.
//
// While no session records, a scope costs one load and one branch. While one records, it writes two
// words of eight bytes into a buffer that only this thread writes; it never locks, throws or waits.
// If memory runs out, events are dropped and counted, and the count is part of the trace. With
// SONDE_DISABLE defined, macros and classes compile to nothing.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "sonde/detail/arguments.h"
#include "sonde/sonde.h"

#ifdef SONDE_DISABLE
#include "sonde/detail/disabled.h"
#else
#include "sonde/detail/thread_cursor.h"
#endif

namespace sonde {

using Site = ::sonde_site;

#ifndef SONDE_DISABLE

// What SONDE_SCOPE makes: one scope, begun and ended on this thread, properly nested.
class Scope {
 public:
  explicit Scope(Site& site) noexcept
      : begun_(__builtin_expect(detail::recording(), 0) &&
               detail::write_begin(&site, detail::WordKind::Begin)) {}
  // Ends the scope, even if recording has stopped in between.
  ~Scope() {
    if (__builtin_expect(begun_, 0)) detail::write_end();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  bool begun() const noexcept { return begun_; }

 private:
  const bool begun_;
};

// Scopes that follow one another without a gap: the end of one and the beginning of the next share
// a single clock read. The last ends with the object, or at end().
//
//   sonde::Laps laps;
//   SONDE_LAP(laps, "load");   ...
//   SONDE_LAP(laps, "train");  ...
class Laps {
 public:
  Laps() noexcept = default;
  ~Laps() { end(); }
  Laps(const Laps&) = delete;
  Laps& operator=(const Laps&) = delete;

  void next(Site& site) noexcept {
    if (begun_) {
      begun_ = detail::write_begin(&site, detail::WordKind::Lap);
    } else if (__builtin_expect(detail::recording(), 0)) {
      begun_ = detail::write_begin(&site, detail::WordKind::Begin);
    }
  }
  void end() noexcept {
    if (begun_) detail::write_end();
    begun_ = false;
  }

 private:
  bool begun_ = false;
};

// A range with a name made at run time, like PyTorch's record_function. It may carry a text or
// arguments: keys, which must be literals, and values. It ends with the object, or earlier with
// end(), which may be called on another thread. Assigning another range ends it at once.
//
//   sonde::record_function step("step " + id, "batch", i, SONDE_CATEGORY, "io");
class record_function {  // NOLINT(readability-identifier-naming): the name PyTorch users know
 public:
  explicit record_function(std::string_view name) noexcept {
    if (__builtin_expect(detail::recording(), 0))
      range_ = sonde_range_begin(name.data(), name.size());
  }
  record_function(std::string_view name, std::string_view args) noexcept : record_function(name) {
    if (range_.position != 0) sonde_text(args.data(), args.size());
  }
  template <std::size_t N, typename Value, typename... More>
  record_function(std::string_view name, const char (&key)[N], const Value& value,
                  const More&... more) noexcept
      : record_function(name) {
    if (range_.position != 0) detail::record_keys_and_values(key, value, more...);
  }
  ~record_function() { end(); }
  record_function(record_function&& other) noexcept
      : range_(std::exchange(other.range_, sonde_range{0, 0})) {}
  record_function& operator=(record_function&& other) noexcept {
    const sonde_range taken = std::exchange(other.range_, sonde_range{0, 0});
    end();
    range_ = taken;
    return *this;
  }
  record_function(const record_function&) = delete;
  record_function& operator=(const record_function&) = delete;

  void end() noexcept {
    if (range_.position != 0) sonde_range_end(std::exchange(range_, sonde_range{0, 0}));
  }

 private:
  sonde_range range_ = {0, 0};
};

// Work that begins on one thread and may end on another, outside the nesting of both, such as a
// request or a transfer. Move it to where the work ends. Assigning another one ends it at once.
class AsyncScope {
 public:
  AsyncScope() noexcept = default;
  explicit AsyncScope(Site& site) noexcept {
    if (__builtin_expect(detail::recording(), 0)) async_ = sonde_async_begin(&site);
  }
  ~AsyncScope() { end(); }
  AsyncScope(AsyncScope&& other) noexcept : async_(std::exchange(other.async_, 0)) {}
  AsyncScope& operator=(AsyncScope&& other) noexcept {
    const std::uint64_t taken = std::exchange(other.async_, 0);
    end();
    async_ = taken;
    return *this;
  }
  AsyncScope(const AsyncScope&) = delete;
  AsyncScope& operator=(const AsyncScope&) = delete;

  void end() noexcept {
    if (async_ != 0) sonde_async_end(std::exchange(async_, 0));
  }

 private:
  std::uint64_t async_ = 0;
};

// An arrow from the innermost open span where out() is called to the one where in() is called.
class Flow {
 public:
  Flow() noexcept : id_(detail::recording() ? sonde_flow_new() : 0) {}
  void out() const noexcept {
    if (id_ != 0) sonde_flow_out(id_);
  }
  void in() const noexcept {
    if (id_ != 0) sonde_flow_in(id_);
  }

 private:
  std::uint64_t id_;
};

// Calls `callable` inside a range of that name and returns what it returns:
//
//   const Batch batch = sonde::recorded("load", [&] { return load(path); });
template <typename Callable>
decltype(auto) recorded(std::string_view name, Callable&& callable) {
  const record_function range(name);
  return std::forward<Callable>(callable)();
}

inline bool is_recording() noexcept {
  return detail::recording();
}

#endif

}  // namespace sonde

#ifndef SONDE_DISABLE

// `"" name` makes anything but a literal an error. The site is never destroyed, because its address
// may be recorded at any time; its number is filled in at its first use.
#define SONDE_STATIC_SITE(variable, name) \
  static ::sonde::Site variable = {"" name, __func__, __FILE__, __LINE__, 0}

// SONDE_SCOPE(name), SONDE_SCOPE(name, key, value, ...): from here to the end of the block.
#define SONDE_SCOPE(...) SONDE_PASTE(SONDE_SCOPE_OF_, SONDE_ONE_OR_MORE(__VA_ARGS__))(__VA_ARGS__)
#define SONDE_SCOPE_OF_ONE(name)                               \
  SONDE_STATIC_SITE(SONDE_PASTE(sonde_site_, __LINE__), name); \
  const ::sonde::Scope SONDE_PASTE(sonde_scope_, __LINE__)(SONDE_PASTE(sonde_site_, __LINE__))
#define SONDE_SCOPE_OF_MORE(name, ...) \
  SONDE_SCOPE_OF_ONE(name);            \
  SONDE_RECORD_ARGUMENTS(SONDE_PASTE(sonde_scope_, __LINE__).begun(), __VA_ARGS__)

// SONDE_FUNCTION(), SONDE_FUNCTION(key, value, ...): the same, named after the function it is in.
#define SONDE_FUNCTION(...) \
  SONDE_PASTE(SONDE_FUNCTION_OF_, SONDE_ONE_OR_MORE(__VA_ARGS__))(__VA_ARGS__)
#define SONDE_FUNCTION_OF_ONE(nothing)                                                     \
  SONDE_ASSERT_NOTHING(nothing);                                                           \
  static ::sonde::Site SONDE_PASTE(sonde_site_, __LINE__) = {__func__, __func__, __FILE__, \
                                                             __LINE__, 0};                 \
  const ::sonde::Scope SONDE_PASTE(sonde_scope_, __LINE__)(SONDE_PASTE(sonde_site_, __LINE__))
#define SONDE_FUNCTION_OF_MORE(...) \
  SONDE_FUNCTION_OF_ONE();          \
  SONDE_RECORD_ARGUMENTS(SONDE_PASTE(sonde_scope_, __LINE__).begun(), __VA_ARGS__)

// The next in a series of scopes; `laps` is a sonde::Laps.
#define SONDE_LAP(laps, name)                \
  do {                                       \
    SONDE_STATIC_SITE(sonde_lap_site, name); \
    (laps).next(sonde_lap_site);             \
  } while (false)

// SONDE_INSTANT(name), SONDE_INSTANT(name, key, value, ...): marks this moment.
#define SONDE_INSTANT(...) \
  SONDE_PASTE(SONDE_INSTANT_OF_, SONDE_ONE_OR_MORE(__VA_ARGS__))(__VA_ARGS__)
#define SONDE_INSTANT_OF_ONE(name) SONDE_INSTANT_THEN(name, static_cast<void>(0))
#define SONDE_INSTANT_OF_MORE(name, ...) \
  SONDE_INSTANT_THEN(name, SONDE_RECORD_ARGUMENTS(true, __VA_ARGS__))
#define SONDE_INSTANT_THEN(name, ...)              \
  do {                                             \
    if (::sonde::is_recording()) {                 \
      SONDE_STATIC_SITE(sonde_instant_site, name); \
      ::sonde_instant(&sonde_instant_site);        \
      __VA_ARGS__;                                 \
    }                                              \
  } while (false)

// Records a value at this moment. `value` is evaluated only while something records.
#define SONDE_COUNTER(name, value)                                      \
  do {                                                                  \
    if (::sonde::is_recording()) {                                      \
      SONDE_STATIC_SITE(sonde_counter_site, name);                      \
      ::sonde_counter(&sonde_counter_site, static_cast<double>(value)); \
    }                                                                   \
  } while (false)

// An expression: a sonde::AsyncScope that has begun. Use at most one per line.
#define SONDE_ASYNC(name)                         \
  ([]() -> ::sonde::AsyncScope {                  \
    SONDE_STATIC_SITE(sonde_async_site, name);    \
    return ::sonde::AsyncScope(sonde_async_site); \
  }())

#else

#define SONDE_SCOPE(...) SONDE_NOTHING_OF(__VA_ARGS__)
#define SONDE_FUNCTION(...) \
  SONDE_PASTE(SONDE_FUNCTION_OF_, SONDE_ONE_OR_MORE(__VA_ARGS__))(__VA_ARGS__)
#define SONDE_FUNCTION_OF_ONE(nothing) SONDE_ASSERT_NOTHING(nothing)
#define SONDE_FUNCTION_OF_MORE(...) SONDE_NOTHING_OF("", __VA_ARGS__)
#define SONDE_LAP(laps, name) static_cast<void>(laps)
#define SONDE_INSTANT(...)         \
  do {                             \
    SONDE_NOTHING_OF(__VA_ARGS__); \
  } while (false)
#define SONDE_COUNTER(name, value) static_cast<void>(sizeof(value))
#define SONDE_ASYNC(name) (::sonde::AsyncScope())

#endif
