// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/place_reader.h"

#include <algorithm>

#include "wire/places.h"

namespace sonde {
namespace {

// Modules are never nested deeper. The limit also ends a place that refers to itself.
constexpr int kDeepestModule = 256;

bool is(std::string_view place, PlaceKind kind) {
  return !place.empty() && place.front() == static_cast<char>(kind);
}

std::int32_t line_of(std::uint64_t line) {
  return line > 0 && line <= 0x7fffffff ? static_cast<std::int32_t>(line) : -1;
}

}  // namespace

std::string_view PlaceReader::text_of(std::uint64_t id) const {
  const auto found = places_.find(id);
  return found != places_.end() ? std::string_view(found->second) : std::string_view();
}

StringId PlaceReader::intern(std::string_view text) {
  return text.empty() ? StringId() : builder_.intern(text);
}

StackId PlaceReader::stack(std::uint32_t id) {
  if (id == 0) return {};
  const auto [found, is_new] = stacks_.try_emplace(id);
  const std::string_view place = text_of(id);
  if (!is_new || !is(place, PlaceKind::Stack)) return found->second;
  std::vector<FrameId> innermost_first;
  for (PlaceFields fields(place);
       !fields.at_end() && innermost_first.size() < 4 * kMaxStackFrames;) {
    const std::vector<FrameId>& of_place = frames(fields.number(10, ','));
    innermost_first.insert(innermost_first.end(), of_place.begin(), of_place.end());
  }
  StackId at;
  for (auto frame = innermost_first.rbegin(); frame != innermost_first.rend(); ++frame) {
    const std::uint64_t key = frame->value() | (std::uint64_t{at.value()} << 32);
    const auto [node, is_new_node] = nodes_.try_emplace(key);
    if (is_new_node) node->second = builder_.stacks().push_back({*frame, at});
    at = node->second;
  }
  found->second = at;
  return at;
}

const std::vector<FrameId>& PlaceReader::frames(std::uint64_t id) {
  const auto [found, is_new] = frames_.try_emplace(id);
  if (is_new) found->second = make_frames(text_of(id));
  return found->second;
}

std::vector<FrameId> PlaceReader::make_frames(std::string_view place) {
  PlaceFields fields(place);
  FrameRow row;
  const bool is_python = is(place, PlaceKind::Python);
  if (is_python || is(place, PlaceKind::Frame)) {
    row.kind = is_python ? FrameKind::Python : FrameKind::Script;
    row.function = intern(fields.text());
    row.file = intern(fields.text());
    row.line = line_of(fields.number());
    return {builder_.frames().push_back(row)};
  }
  if (!is(place, PlaceKind::Address)) return {};
  const std::string_view binary = fields.text();
  const std::string_view build_id = fields.text();
  row.kind = FrameKind::Native;
  row.binary = intern(binary);
  row.binary_offset = fields.number(16);
  const std::vector<SymbolFrame> symbols =
      symboliser_.frames_at(binary, build_id, row.binary_offset);
  if (symbols.empty()) return {builder_.frames().push_back(row)};
  std::vector<FrameId> rows;
  for (const SymbolFrame& symbol : symbols) {
    row.function = intern(symbol.function);
    row.file = intern(symbol.file);
    row.line = symbol.line;
    rows.push_back(builder_.frames().push_back(row));
  }
  return rows;
}

ModuleId PlaceReader::module(std::uint32_t id) {
  return find_module(id, 0);
}

ModuleId PlaceReader::find_module(std::uint32_t id, int depth) {
  if (id == 0 || depth > kDeepestModule) return {};
  if (const auto known = modules_.find(id); known != modules_.end()) return known->second;
  const std::string_view place = text_of(id);
  const ModuleId made = is(place, PlaceKind::Module) ? make_module(place, depth) : ModuleId();
  modules_.try_emplace(id, made);
  return made;
}

ModuleId PlaceReader::make_module(std::string_view place, int depth) {
  PlaceFields fields(place);
  ModuleRow row;
  row.parent = find_module(static_cast<std::uint32_t>(fields.number()), depth + 1);
  row.name = intern(fields.text());
  row.class_name = intern(fields.text());
  row.method = intern(fields.text());
  return builder_.modules().push_back(row);
}

}  // namespace sonde
