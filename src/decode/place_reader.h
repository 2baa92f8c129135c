// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Turns stacks and modules of a recording, which are places in the dictionary (wire/places.h), into
// rows.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sonde/trace/builder.h"
#include "symbols/symboliser.h"

namespace sonde {

// Rows are made on demand, each once. Invalid places give no row.
class PlaceReader {
 public:
  using Places = std::unordered_map<std::uint64_t, std::string>;

  PlaceReader(TraceBuilder& builder, const Places& places) : builder_(builder), places_(places) {}

  StackId stack(std::uint32_t id);
  ModuleId module(std::uint32_t id);

 private:
  StringId intern(std::string_view text);  // none of ""
  std::string_view text_of(std::uint64_t id) const;
  const std::vector<FrameId>& frames(std::uint64_t id);
  std::vector<FrameId> make_frames(std::string_view place);
  ModuleId make_module(std::string_view place, int depth);
  ModuleId find_module(std::uint32_t id, int depth);

  TraceBuilder& builder_;
  const Places& places_;
  Symboliser symboliser_;
  std::unordered_map<std::uint32_t, StackId> stacks_;
  std::unordered_map<std::uint64_t, std::vector<FrameId>> frames_;  // the innermost first
  std::unordered_map<std::uint64_t, StackId> nodes_;                // frame and parent
  std::unordered_map<std::uint32_t, ModuleId> modules_;
};

}  // namespace sonde
