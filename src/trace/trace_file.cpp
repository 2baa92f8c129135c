// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/trace_file.h"

#include <algorithm>

#include "base/file.h"
#include "trace/recording_reader.h"

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

Result<void> write_sealed(const Trace& trace, const std::string& path) {
  SONDE_TRY(BlockWriter writer, BlockWriter::create(path));
  SONDE_TRY_VOID(write_columns(writer, trace));
  return writer.seal();
}

}  // namespace

void add_file_damage(TraceBuilder& builder, const BlockFile& file, bool still_written) {
  for (const BlockFile::Damage& damage : file.damage()) {
    builder.add_ledger(LedgerKind::DamagedBytes, damage.bytes, file.name(), damage.what);
  }
  if (!file.sealed() && !still_written) {
    builder.add_ledger(LedgerKind::Truncated, 1, file.name(), "the file has no proper end");
  }
}

Result<Trace> read_trace(const BlockFile& file) {
  return is_recording(file) ? read_recording(file) : read_columns(file, TraceBuilder());
}

Result<Trace> open_sonde(const std::string& path) {
  SONDE_TRY(const BlockFile file, BlockFile::open(path));
  return is_recording(file) && !file.sealed() ? open_recording(path) : read_trace(file);
}

Result<void> save_trace(const Trace& trace, const std::string& path) {
  return write_replacing(path, [&](const std::string& at) { return write_sealed(trace, at); });
}

}  // namespace sonde
