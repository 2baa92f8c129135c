// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/open_sonde.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "decode/recording_reader.h"
#include "file/trace_file.h"

namespace sonde {
namespace {

bool has_block(const BlockFile& file, std::initializer_list<BlockKind> kinds) {
  return std::any_of(file.blocks().begin(), file.blocks().end(), [&](const auto& block) {
    return std::find(kinds.begin(), kinds.end(), block.kind) != kinds.end();
  });
}

bool is_recording(const BlockFile& file) {
  return has_block(file, {BlockKind::Dictionary, BlockKind::Events, BlockKind::Anchors}) &&
         !has_block(file, {BlockKind::Columns});
}

}  // namespace

Result<Trace> read_trace(const BlockFile& file) {
  return is_recording(file) ? read_recording(file) : read_columns(file, TraceBuilder());
}

Result<Trace> read_growing_trace(BlockFile& file) {
  if (!is_recording(file) || file.sealed()) return read_trace(file);
  return read_growing_recording(file);
}

Result<Trace> read_trace_lazily(BlockFile& file, std::shared_ptr<const void> bytes,
                                ReadFor purpose) {
  if (!is_recording(file) || !file.sealed()) return read_growing_trace(file);
  return read_recording_lazily(file, std::move(bytes), purpose);
}

Result<Trace> read_trace_part(BlockFile& file, const TracePart& part) {
  if (is_recording(file)) {
    SONDE_TRY(std::optional<Trace> read, read_recording_part(file, part));
    if (read) return *std::move(read);
  }
  SONDE_TRY(const Trace whole, read_growing_trace(file));
  return part_of(whole, part);
}

Result<Trace> open_sonde(const std::string& path) {
  SONDE_TRY(BlockFile file, BlockFile::open(path));
  return read_trace_lazily(file);
}

}  // namespace sonde
