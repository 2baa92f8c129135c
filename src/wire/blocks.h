// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The content of a recording's small blocks; docs/file-format.md draws them. Each struct writes
// itself to bytes and reads itself back. A block holds any number of them in sequence.

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"

namespace sonde {

struct ProcessBlock {
  std::int64_t pid = 0;
  std::int64_t parent_pid = 0;
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  std::int32_t local_rank = -1;
  std::uint64_t stream = 0;  // which use of its buffers, as in ChunkHeader
  std::string host;
  std::string name;       // of the program
  std::string live_name;  // the live file's name, beside this file; empty: none
  std::string live_path;  // its absolute path at the time of recording

  void write(ByteWriter& out) const {
    out.write(pid);
    out.write(parent_pid);
    out.write(rank);
    out.write(world_size);
    out.write(local_rank);
    out.write(stream);
    for (const std::string* text : {&host, &name, &live_name, &live_path}) out.string(*text);
  }
  static ProcessBlock read(ByteReader& in) {
    ProcessBlock block;
    block.pid = in.read<std::int64_t>();
    block.parent_pid = in.read<std::int64_t>();
    block.rank = in.read<std::int32_t>();
    block.world_size = in.read<std::int32_t>();
    block.local_rank = in.read<std::int32_t>();
    block.stream = in.read<std::uint64_t>();
    for (std::string* text : {&block.host, &block.name, &block.live_name, &block.live_path}) {
      *text = std::string(in.string());
    }
    return block;
  }
};

struct AnchorBlock {
  ClockAnchor anchor;

  void write(ByteWriter& out) const {
    out.write(anchor.ticks);
    out.write(anchor.monotonic_ns);
    out.write(anchor.realtime_ns);
    out.write(anchor.spread_ticks);
  }
  static AnchorBlock read(ByteReader& in) {
    AnchorBlock block;
    block.anchor.ticks = in.read<std::uint64_t>();
    block.anchor.monotonic_ns = in.read<std::int64_t>();
    block.anchor.realtime_ns = in.read<std::int64_t>();
    block.anchor.spread_ticks = in.read<std::uint64_t>();
    return block;
  }
};

// The begin or the end of a window. A window without an end was still open when the file ended.
struct WindowBlock {
  std::uint32_t index = 0;
  std::uint32_t is_end = 0;
  std::uint64_t ticks = 0;
  std::int64_t first_step = 0;

  void write(ByteWriter& out) const {
    out.write(index);
    out.write(is_end);
    out.write(ticks);
    out.write(first_step);
  }
  static WindowBlock read(ByteReader& in) {
    WindowBlock block;
    block.index = in.read<std::uint32_t>();
    block.is_end = in.read<std::uint32_t>();
    block.ticks = in.read<std::uint64_t>();
    block.first_step = in.read<std::int64_t>();
    return block;
  }
};

struct MetadataBlock {
  std::string key;
  std::string json;

  void write(ByteWriter& out) const {
    out.string(key);
    out.string(json);
  }
  static MetadataBlock read(ByteReader& in) {
    MetadataBlock block;
    block.key = std::string(in.string());
    block.json = std::string(in.string());
    return block;
  }
};

struct LedgerBlock {
  std::uint8_t kind = 0;  // a LedgerKind
  std::uint64_t count = 0;
  std::string source;
  std::string detail;

  void write(ByteWriter& out) const {
    out.write(kind);
    out.write(count);
    out.string(source);
    out.string(detail);
  }
  static LedgerBlock read(ByteReader& in) {
    LedgerBlock block;
    block.kind = in.read<std::uint8_t>();
    block.count = in.read<std::uint64_t>();
    block.source = std::string(in.string());
    block.detail = std::string(in.string());
    return block;
  }
};

}  // namespace sonde
