// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Call stacks of a snapshot: lists of frames, innermost first, in which equal frames are mostly the
// same value.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "convert/snapshot/pickle.h"
#include "sonde/trace/builder.h"

namespace sonde {

class SnapshotStacks {
 public:
  explicit SnapshotStacks(TraceBuilder& builder) : builder_(builder) {}

  // Invalid if there are no frames.
  StackId stack(const PickleRef& frames) {
    constexpr std::size_t kDeepest = 4096;
    if (frames.size() == 0) return {};
    const auto [known, is_new_list] = by_list_.try_emplace(frames.identity());
    if (!is_new_list) return known->second;
    StackId outer;
    for (std::size_t i = std::min(frames.size(), kDeepest); i-- > 0;) {
      const std::pair key(frame(frames[i]), outer);
      const auto [found, is_new] = stacks_.try_emplace(key);
      if (is_new) found->second = builder_.stacks().push_back({key.first, key.second});
      outer = found->second;
    }
    known->second = outer;
    return outer;
  }

 private:
  FrameId frame(const PickleRef& value) {
    const auto [known, is_new] = by_value_.try_emplace(value.identity());
    if (!is_new) return known->second;
    const StringId function = builder_.intern(value["name"].text());
    const std::string_view file = value["filename"].text();
    const std::int64_t line = value["line"].integer();
    const std::tuple key(function, builder_.intern(file), line);
    const auto [found, is_new_frame] = by_text_.try_emplace(key);
    if (is_new_frame) {
      FrameRow row;
      row.function = function;
      row.file = file == "??" ? StringId() : std::get<1>(key);
      row.line = line > 0 && line < (1 << 30) ? static_cast<std::int32_t>(line) : -1;
      row.kind = file.ends_with(".py") ? FrameKind::Python : FrameKind::Native;
      found->second = builder_.frames().push_back(row);
    }
    known->second = found->second;
    return found->second;
  }

  TraceBuilder& builder_;
  std::unordered_map<std::uint32_t, StackId> by_list_;
  std::unordered_map<std::uint32_t, FrameId> by_value_;
  std::map<std::tuple<StringId, StringId, std::int64_t>, FrameId> by_text_;
  std::map<std::pair<FrameId, StackId>, StackId> stacks_;
};

}  // namespace sonde
