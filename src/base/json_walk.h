// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads small JSON texts (RFC 8259), such as metadata, value by value.
//
//   JsonWalk walk(R"({"name": "dp", "ranks": [0, 1]})");
//   walk.object([&](std::string_view key) {
//     return key == "ranks" ? read_ranks(walk) : walk.skip();
//   });
//
// Each call takes the next value. If the next value is of another kind, or is not JSON, the call
// returns false or nothing and takes nothing. Values nest at most 1000 deep. `convert` reads
// traces.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sonde/result.h"

namespace sonde {

class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : text_(text) {}

  // Calls visit(key) for each member of an object. `visit` takes the value and returns true, or
  // returns false to stop.
  template <typename Visit>
  bool object(Visit visit) {
    if (!open('{')) return false;
    if (close('}')) return true;
    std::string decoded;
    do {
      const std::optional<std::string_view> name = key(decoded);
      if (!name || !visit(*name)) return false;
    } while (take(','));
    return close('}') || wrong("',' or '}' is missing");
  }
  // Calls visit() for each value of an array.
  template <typename Visit>
  bool array(Visit visit) {
    if (!open('[')) return false;
    if (close(']')) return true;
    do {
      if (!visit()) return false;
    } while (take(','));
    return close(']') || wrong("',' or ']' is missing");
  }
  std::optional<std::string> string();
  std::optional<std::int64_t> integer();
  std::optional<double> number();  // finite
  // Takes any value.
  bool skip();
  // The same; gives it as it is written.
  std::optional<std::string_view> any();
  // Whether nothing but white space is left.
  bool at_end();

  // What is not JSON, and where. Meaningful after a call failed.
  Failure failure() const;

 private:
  static constexpr int kMaxDepth = 1000;

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char next();
  bool take(char wanted);
  bool open(char bracket);
  bool close(char bracket);
  bool wrong(const char* what);
  // A key and its colon. Keys with escapes are stored in `decoded`.
  std::optional<std::string_view> key(std::string& decoded);
  std::optional<std::string_view> raw_string();
  bool escape();
  bool word(std::string_view expected);
  std::optional<std::string_view> raw_number();
  bool digits();
  template <typename T>
  std::optional<T> parsed();

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  const char* wrong_ = nullptr;  // the first
  std::size_t wrong_at_ = 0;
};

}  // namespace sonde
