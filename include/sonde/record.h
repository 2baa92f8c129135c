// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Marks work in a program. Needs only Sonde::record.
//
//   void train(Batch& batch) {
//     SONDE_SCOPE("train");                         // from here to the closing brace
//     sonde::record_function step("step " + id);    // a name made at run time
//     SONDE_COUNTER("loss", loss);
//   }
//
// With no session recording, a scope costs one load and one branch. While one records, it writes
// two words of eight bytes into a buffer that only this thread writes; it never locks, throws or
// waits. When memory runs out events are dropped and counted, and the count is part of the trace.
// With SONDE_DISABLE defined, macros and classes compile to nothing.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "sonde/sonde.h"

#ifndef SONDE_DISABLE
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

// A range with a name made at run time and, if wanted, a text that goes with it; PyTorch's
// record_function. Ends with the object, or earlier by end(), which may be called on another
// thread. Assigning another ends it at once.
class record_function {  // NOLINT(readability-identifier-naming): the name PyTorch users know
 public:
  explicit record_function(std::string_view name) noexcept {
    if (__builtin_expect(detail::recording(), 0))
      range_ = sonde_range_begin(name.data(), name.size());
  }
  record_function(std::string_view name, std::string_view args) noexcept : record_function(name) {
    if (range_.position != 0) sonde_text(args.data(), args.size());
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

// Work that begins on one thread and may end on another, outside the nesting of both: a request, a
// transfer. Move it to where the work ends. Assigning another ends it at once.
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

inline bool is_recording() noexcept {
  return detail::recording();
}

#else

// Another name for the linker, so that units with and without recording may be mixed.
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
inline bool is_recording() noexcept {
  return false;
}

}  // namespace disabled

#endif

}  // namespace sonde

// Two hops: __LINE__ must be expanded before ## pastes it, or a block could hold only one scope.
#define SONDE_PASTE_AT(a, b) a##b
#define SONDE_PASTE(a, b) SONDE_PASTE_AT(a, b)

#ifndef SONDE_DISABLE

// `"" name` makes anything but a literal an error. The site is never destroyed, because its address
// may be recorded at any time; its number is filled in at its first use.
#define SONDE_STATIC_SITE(variable, name) \
  static ::sonde::Site variable = {"" name, __func__, __FILE__, __LINE__, 0}

// From here to the end of the block.
#define SONDE_SCOPE(name)                                      \
  SONDE_STATIC_SITE(SONDE_PASTE(sonde_site_, __LINE__), name); \
  const ::sonde::Scope SONDE_PASTE(sonde_scope_, __LINE__)(SONDE_PASTE(sonde_site_, __LINE__))

// The same, named after the function it stands in.
#define SONDE_FUNCTION()                                                                   \
  static ::sonde::Site SONDE_PASTE(sonde_site_, __LINE__) = {__func__, __func__, __FILE__, \
                                                             __LINE__, 0};                 \
  const ::sonde::Scope SONDE_PASTE(sonde_scope_, __LINE__)(SONDE_PASTE(sonde_site_, __LINE__))

// The next in a series of scopes; `laps` is a sonde::Laps.
#define SONDE_LAP(laps, name)                \
  do {                                       \
    SONDE_STATIC_SITE(sonde_lap_site, name); \
    (laps).next(sonde_lap_site);             \
  } while (false)

// A moment.
#define SONDE_INSTANT(name)                        \
  do {                                             \
    if (::sonde::is_recording()) {                 \
      SONDE_STATIC_SITE(sonde_instant_site, name); \
      ::sonde_instant(&sonde_instant_site);        \
    }                                              \
  } while (false)

// A value at this moment; `value` is evaluated only while something records.
#define SONDE_COUNTER(name, value)                                      \
  do {                                                                  \
    if (::sonde::is_recording()) {                                      \
      SONDE_STATIC_SITE(sonde_counter_site, name);                      \
      ::sonde_counter(&sonde_counter_site, static_cast<double>(value)); \
    }                                                                   \
  } while (false)

// An expression: a sonde::AsyncScope that has begun. One to a line.
#define SONDE_ASYNC(name)                         \
  ([]() -> ::sonde::AsyncScope {                  \
    SONDE_STATIC_SITE(sonde_async_site, name);    \
    return ::sonde::AsyncScope(sonde_async_site); \
  }())

#else

#define SONDE_SCOPE(name) static_assert(true, "" name)
#define SONDE_FUNCTION() static_assert(true, "")
#define SONDE_LAP(laps, name) static_cast<void>(laps)
#define SONDE_INSTANT(name) static_cast<void>(0)
#define SONDE_COUNTER(name, value) static_cast<void>(sizeof(value))
#define SONDE_ASYNC(name) (::sonde::AsyncScope())

#endif
