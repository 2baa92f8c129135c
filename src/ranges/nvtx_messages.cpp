// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranges/nvtx_messages.h"

#include <cstdio>
#include <utility>

namespace sonde {
namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

// Earlier versions of the struct are shorter.
bool is_whole(const nvtx_abi::EventAttributes* attributes) {
  return attributes != nullptr && attributes->size >= sizeof(nvtx_abi::EventAttributes);
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

std::string payload_text(const nvtx_abi::EventAttributes& attributes) {
  const auto& payload = attributes.payload;
  switch (attributes.payload_type) {
    case nvtx_abi::kUint64:
      return std::to_string(payload.of_uint64);
    case nvtx_abi::kInt64:
      return std::to_string(payload.of_int64);
    case nvtx_abi::kDouble:
      return number_text(payload.of_double);
    case nvtx_abi::kUint32:
      return std::to_string(payload.of_uint32);
    case nvtx_abi::kInt32:
      return std::to_string(payload.of_int32);
    case nvtx_abi::kFloat:
      return number_text(double{payload.of_float});
    default:
      return {};
  }
}

void add_detail(std::string& text, const char* what, const std::string& value) {
  if (value.empty()) return;
  if (!text.empty()) text += ", ";
  text += what;
  text += ": ";
  text += value;
}

}  // namespace

std::string to_utf8(const wchar_t* text) {
  std::string out;
  for (; text != nullptr && *text != L'\0'; ++text)
    append_utf8(out, static_cast<std::uint32_t>(*text));
  return out;
}

NvtxDomain& NvtxDomain::unnamed() {
  static auto* const only = new NvtxDomain("");
  return *only;
}

void NvtxDomain::name_category(std::uint32_t category, std::string name) {
  const std::lock_guard lock(mutex_);
  categories_[category] = std::move(name);
}

nvtx_abi::Handle NvtxDomain::register_string(std::string_view text) {
  const std::lock_guard lock(mutex_);
  return const_cast<std::string*>(&*strings_.emplace(text).first);
}

std::string NvtxDomain::category_name(std::uint32_t category) {
  if (category == 0) return {};
  const std::lock_guard lock(mutex_);
  const auto found = categories_.find(category);
  return found != categories_.end() ? found->second : std::to_string(category);
}

std::string NvtxDomain::details(const nvtx_abi::EventAttributes* attributes) {
  std::string text;
  add_detail(text, "domain", name_);
  if (is_whole(attributes)) {
    add_detail(text, "category", category_name(attributes->category));
    add_detail(text, "payload", payload_text(*attributes));
  }
  return text;
}

NvtxMessage::NvtxMessage(const nvtx_abi::EventAttributes* attributes) {
  if (!is_whole(attributes)) return;
  const auto& message = attributes->message;
  if (attributes->message_type == nvtx_abi::kAscii && message.ascii != nullptr) {
    text_ = message.ascii;
  } else if (attributes->message_type == nvtx_abi::kWide) {
    converted_ = to_utf8(message.wide);
    text_ = converted_;
  } else if (attributes->message_type == nvtx_abi::kRegistered && message.registered != nullptr) {
    text_ = *static_cast<const std::string*>(message.registered);
  }
}

}  // namespace sonde
