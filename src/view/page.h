// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Puts data into a page, as JSON that cannot break out of its element or as base64, in place of a
// placeholder.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonde::detail {

// Builds one JSON object, key by key. No text in it can end the element around it.
//
//   PageJson json;
//   json.key("title").text(title);
//   json.key("times").list(times, [&](Nanos time) { json.number(time); });
//   json.done();
class PageJson {
 public:
  PageJson& key(std::string_view name);
  void number(std::int64_t value) { out_ += std::to_string(value); }
  void real(double value);  // null for what JSON has no number for
  void boolean(bool value) { out_ += value ? "true" : "false"; }
  void json(std::string_view value) { out_ += value; }  // as it is
  void text(std::string_view value);
  // [item, …] with one call of `write` per item.
  template <typename Items, typename Write>
  void list(const Items& items, Write write) {
    out_ += '[';
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += ", ";
      first = false;
      write(item);
    }
    out_ += ']';
  }
  // {…}: what `write` adds with key() is inside.
  template <typename Write>
  void object(Write write) {
    out_ += '{';
    const bool outer_first = first_key_;
    first_key_ = true;
    write();
    first_key_ = outer_first;
    out_ += '}';
  }
  std::string done() { return "{" + out_ + "}"; }

 private:
  std::string out_;
  bool first_key_ = true;
};

std::string base64(const std::vector<std::uint8_t>& bytes);

// Replaces the first `mark` in the page by `with`.
void replace_mark(std::string& page, std::string_view mark, std::string_view with);

}  // namespace sonde::detail
