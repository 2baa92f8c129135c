// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes one JSON value, indented by two spaces, to an Output. It adds commas and line breaks; the
// caller must end everything that it begins.
//
//   JsonWriter json(out);
//   json.begin_object();
//   json.key("spans").value(12);
//   json.end_object();

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "cli/print/output.h"

namespace sonde::cli {

class JsonWriter {
 public:
  explicit JsonWriter(Output& out) : out_(out) { out_.for_programs(); }

  JsonWriter& key(std::string_view name) {
    separate();
    out_.write(json_string(name));
    out_.write(": ");
    after_key_ = true;
    return *this;
  }

  void value(std::string_view text) { raw(json_string(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag) { raw(flag ? "true" : "false"); }
  void null() { raw("null"); }
  template <std::integral T>
  void value(T number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
    raw({digits, static_cast<std::size_t>(end - digits)});
  }
  // Exact, with three decimals: 1234 becomes 1.234.
  void microseconds(std::int64_t nanoseconds) { raw(microseconds_text(nanoseconds)); }
  // Writes `json` unchanged if it is valid JSON, else as a string.
  void embed(std::string_view json) { validate_json(json) ? raw(json) : value(json); }

  // Calls fill() for the members.
  template <typename Fill>
  void object(Fill fill) {
    begin_object();
    fill();
    end_object();
  }
  // An object for each item, whose members fill(item) writes.
  template <typename Items, typename Fill>
  void list(const Items& items, Fill fill, std::size_t most = SIZE_MAX) {
    begin_array();
    for (const auto& item : items) {
      if (most-- == 0) break;
      object([&] { fill(item); });
    }
    end_array();
  }

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }

 private:
  void raw(std::string_view text) {
    separate();
    out_.write(text);
  }
  void begin(char bracket) {
    separate();
    out_.write({&bracket, 1});
    ++depth_;
    first_ = true;
  }
  void end(char bracket) {
    --depth_;
    if (!first_) new_line();
    out_.write({&bracket, 1});
    first_ = false;
  }
  // Called before a key, and before a value without one.
  void separate() {
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (depth_ == 0) return;
    if (!first_) out_.write(",");
    first_ = false;
    new_line();
  }
  void new_line() { out_.write("\n" + std::string(depth_ * 2, ' ')); }

  Output& out_;
  std::size_t depth_ = 0;
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace sonde::cli
