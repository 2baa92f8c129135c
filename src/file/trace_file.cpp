// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "file/trace_file.h"

#include "base/file.h"

namespace sonde {

namespace {

Result<void> write_sealed(const Trace& trace, const std::string& path) {
  SONDE_TRY(BlockWriter writer, BlockWriter::create(path));
  SONDE_TRY_VOID(write_columns(writer, trace));
  return writer.seal();
}

}  // namespace

void add_file_damage(TraceBuilder& builder, const BlockFile& file, const KnownOfFile& known) {
  for (const BlockFile::Damage& damage : file.damage()) {
    if (known.has_buffers && damage.cut == BlockKind::Events) continue;
    builder.add_ledger(LedgerKind::DamagedBytes, damage.bytes, file.name(), damage.what);
  }
  if (!file.sealed() && !known.still_written) {
    builder.add_ledger(LedgerKind::Truncated, 1, file.name(), "the file is truncated");
  }
}

Result<void> save_trace(const Trace& trace, const std::string& path) {
  return write_replacing(path, [&](const std::string& at) { return write_sealed(trace, at); });
}

}  // namespace sonde
