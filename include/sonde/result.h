// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A value, or why there is none. Sonde throws no exceptions: whatever can fail returns a Result.
//
//   Result<Trace> trace = open_trace("step.sonde");
//   if (!trace) { std::cerr << trace.error().message << "\n"; return 1; }
//   use(*trace);
//
// The members are a subset of std::expected's, under the same names, for C++17 and later.

#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace sonde {

enum class ErrorCode {
  Invalid = 1,  // the caller asked for something impossible
  NotFound,     // no such file, symbol or row
  Io,           // the system refused: permissions, a full disk, a broken pipe
  Corrupt,      // bytes that are not what they claim to be
  TooNew,       // a file written by a later version
  Unsupported,  // understood, but not possible here
  Internal,     // a bug in Sonde
};

// The message tells a person what is wrong and where: "step.sonde: block 3 at byte 4096 ends
// early".
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
};

// Carries an error into a Result of any type.
class Failure {
 public:
  explicit Failure(Error error) : error_(std::move(error)) {}
  Failure(ErrorCode code, std::string message) : error_{code, std::move(message)} {}
  const Error& error() const& noexcept { return error_; }
  Error&& error() && noexcept { return std::move(error_); }

 private:
  Error error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;  // NOLINT(readability-identifier-naming): std::expected's name

  // Not explicit, so that `return value;` and `return Failure(…);` make one.
  Result(T value)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure failure)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(failure).error()) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // Asking a failed Result for its value is a bug in the caller and ends the program.
  T& value() & {
    if (!has_value()) std::abort();
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    if (!has_value()) std::abort();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    if (!has_value()) std::abort();
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    if (has_value()) std::abort();
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    if (has_value()) std::abort();
    return std::move(*std::get_if<1>(&state_));
  }

  template <typename U>
  T value_or(U&& fallback) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(fallback));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;  // NOLINT(readability-identifier-naming): std::expected's name

  Result() = default;
  Result(Failure failure)  // NOLINT(google-explicit-constructor)
      : failed_(true), error_(std::move(failure).error()) {}

  bool has_value() const noexcept { return !failed_; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (failed_) std::abort();
  }
  void operator*() const { value(); }
  const Error& error() const& {
    if (!failed_) std::abort();
    return error_;
  }
  Error&& error() && {
    if (!failed_) std::abort();
    return std::move(error_);
  }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace sonde

#define SONDE_CONCAT_AT(a, b) a##b
#define SONDE_CONCAT(a, b) SONDE_CONCAT_AT(a, b)

// Declares `decl` from the value of a Result, or returns its error from this function:
//   SONDE_TRY(const Trace trace, open_trace(path));
#define SONDE_TRY(decl, ...) SONDE_TRY_AS(SONDE_CONCAT(sonde_try_, __LINE__), decl, __VA_ARGS__)
#define SONDE_TRY_AS(tmp, decl, ...)                         \
  auto tmp = (__VA_ARGS__);                                  \
  if (!tmp) return ::sonde::Failure(std::move(tmp).error()); \
  decl = *std::move(tmp)

// Returns the error of a Result<void> from this function; continues otherwise.
#define SONDE_TRY_VOID(...)                                       \
  do {                                                            \
    if (auto sonde_try_void = (__VA_ARGS__); !sonde_try_void) {   \
      return ::sonde::Failure(std::move(sonde_try_void).error()); \
    }                                                             \
  } while (false)
