// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The contents of NVTX events as text.

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ranges/nvtx_abi.h"

namespace sonde {

// wchar_t is UTF-32 on Linux.
std::string to_utf8(const wchar_t* text);

// A library's own part of NVTX: its ranges nest separately, and it numbers its own categories.
// Never destroyed, because its handles may be used at any time.
class NvtxDomain {
 public:
  explicit NvtxDomain(std::string name) : name_(std::move(name)) {}
  // The domain of ranges without one.
  static NvtxDomain& unnamed();
  static NvtxDomain& of(nvtx_abi::Handle handle) {
    return handle != nullptr ? *static_cast<NvtxDomain*>(handle) : unnamed();
  }

  void name_category(std::uint32_t category, std::string name);
  // Equal texts give the same handle.
  nvtx_abi::Handle register_string(std::string_view text);

  // What an event has besides its message: "domain: NCCL, category: comm, payload: 7"; "" if
  // nothing. `attributes` may be null.
  std::string details(const nvtx_abi::EventAttributes* attributes);

 private:
  std::string category_name(std::uint32_t category);

  const std::string name_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::string> categories_;
  std::unordered_set<std::string> strings_;
};

// The message of an event; "" if it has none. Valid as long as both this and the event live.
class NvtxMessage {
 public:
  explicit NvtxMessage(const nvtx_abi::EventAttributes* attributes);
  explicit NvtxMessage(const char* text) : text_(text != nullptr ? text : "") {}
  explicit NvtxMessage(const wchar_t* text) : converted_(to_utf8(text)), text_(converted_) {}
  NvtxMessage(const NvtxMessage&) = delete;
  NvtxMessage& operator=(const NvtxMessage&) = delete;
  std::string_view text() const { return text_; }

 private:
  std::string converted_;
  std::string_view text_;
};

}  // namespace sonde
