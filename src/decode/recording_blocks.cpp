// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/recording_blocks.h"

#include <algorithm>
#include <filesystem>

#include "file/file_upgrade.h"
#include "trace/known_names.h"
#include "wire/codec.h"
#include "wire/dictionary.h"

namespace sonde {
namespace {

// A small file may expand to this much. A larger one may expand by this factor; a file that expands
// further was probably made to exhaust memory. Words take up to 8 times the size of their block.
constexpr std::uint64_t kFreelyExpanded = std::uint64_t{64} << 20;
constexpr std::uint64_t kMaxExpansion = 128;

// Separates an operator's name from that of its overload: see sonde_name in sonde/source/op.h.
constexpr char kOverloadMark = '\x1f';

void add_dictionary(Recording& recording, std::span<const std::uint8_t> bytes) {
  const std::size_t understood = read_dictionary(bytes, [&](const DictionaryEntry& entry) {
    if (entry.kind == DictionaryKind::Thread) {
      recording.threads[entry.id] = {static_cast<std::int64_t>(entry.number),
                                     recording.builder.intern(entry.name)};
      return;
    }
    if (entry.kind == DictionaryKind::Place) {
      recording.places.try_emplace(entry.id, entry.name);
      return;
    }
    NameInfo info;
    const std::string_view text = entry.name;
    const std::size_t overload = text.find(kOverloadMark);
    info.name = recording.builder.intern(text.substr(0, overload));
    if (overload != std::string_view::npos) {
      info.overload = recording.builder.intern(text.substr(overload + 1));
    }
    if (entry.kind == DictionaryKind::Site) {
      info.function = recording.builder.intern(entry.function);
      info.file = recording.builder.intern(entry.file);
      info.line = static_cast<std::int32_t>(std::min<std::uint64_t>(entry.number, 0x7fffffff));
    }
    info.step = step_number(entry.name);
    // After a kill, the buffers may hold the beginning of a text that the file has in full.
    if (recording.names.set(entry.id, info) && entry.is_cut) ++recording.cut_names;
  });
  if (understood != bytes.size()) ++recording.undecodable;
}

template <typename Item>
void read_items(std::span<const std::uint8_t> payload, Recording& recording,
                std::vector<Item>& items) {
  ByteReader in(payload);
  while (in.ok() && !in.at_end()) {
    Item item = Item::read(in);
    if (in.ok()) items.push_back(std::move(item));
  }
  if (!in.ok()) ++recording.undecodable;
}

// Times since boot and since 1970, small enough that no sum of them overflows.
bool makes_sense(const ClockAnchor& anchor) {
  constexpr std::int64_t kLatest = std::int64_t{1} << 62;
  return anchor.monotonic_ns >= 0 && anchor.monotonic_ns < kLatest / 2 && anchor.realtime_ns >= 0 &&
         anchor.realtime_ns < kLatest;
}

void add_small_block(Recording& recording, BlockKind kind, std::span<const std::uint8_t> payload) {
  switch (kind) {
    case BlockKind::Process: {
      std::vector<ProcessBlock> processes;
      read_items(payload, recording, processes);
      if (!processes.empty()) recording.process = processes.back();
      break;
    }
    case BlockKind::Anchors: {
      std::vector<AnchorBlock> anchors;
      read_items(payload, recording, anchors);
      for (const AnchorBlock& a : anchors) {
        if (makes_sense(a.anchor)) {
          recording.anchors.push_back(a.anchor);
        } else {
          ++recording.undecodable;
        }
      }
      break;
    }
    case BlockKind::Windows: {
      std::vector<WindowBlock> windows;
      read_items(payload, recording, windows);
      for (const WindowBlock& w : windows) {
        if (w.is_end == 0) {
          // Where a ring begins is known only at its end.
          recording.windows.try_emplace(w.index, w, std::nullopt).first->second.first = w;
        } else if (const auto found = recording.windows.find(w.index);
                   found != recording.windows.end()) {
          found->second.second = w;
        }
      }
      break;
    }
    case BlockKind::Metadata:
      read_items(payload, recording, recording.metadata);
      break;
    case BlockKind::Ledger:
      read_items(payload, recording, recording.ledger);
      break;
    case BlockKind::Dictionary:
      add_dictionary(recording, payload);
      break;
    case BlockKind::Counts: {
      std::vector<CountsBlock> counts;
      read_items(payload, recording, counts);
      if (!counts.empty()) recording.counts = counts.back();
      break;
    }
    case BlockKind::Operators: {
      std::vector<OperatorCounts> operators;
      read_items(payload, recording, operators);
      if (!operators.empty()) recording.operators = operators.back();
      break;
    }
    case BlockKind::Threads:
      read_items(payload, recording, recording.thread_counts);
      break;
    case BlockKind::Steps:
      read_items(payload, recording, recording.steps);
      break;
    case BlockKind::Pieces:
      read_items(payload, recording, recording.marks);
      break;
    default:
      break;
  }
}

bool is_chosen(BlockKind kind, BlockChoice choice) {
  switch (kind) {
    case BlockKind::Events:
    case BlockKind::Dictionary:
      return choice == BlockChoice::Events || choice == BlockChoice::Part;
    case BlockKind::Metadata:
      return choice != BlockChoice::Outline;
    case BlockKind::Counts:
    case BlockKind::Operators:
    case BlockKind::Threads:
    case BlockKind::Steps:
      return choice == BlockChoice::Counted || choice == BlockChoice::Part;
    case BlockKind::Pieces:
      return choice == BlockChoice::Part;
    default:
      return kind != BlockKind::Index;
  }
}

// Where the live file may be. Beside the file only the last part of its stored name counts, so that
// it cannot lead to another folder.
std::vector<std::string> live_paths(const BlockFile& file, const ProcessBlock& process) {
  if (process.live_name.empty()) return {};
  const std::filesystem::path beside = std::filesystem::path(file.name()).parent_path() /
                                       std::filesystem::path(process.live_name).filename();
  return {beside.string(), process.live_path};
}

// The session's budget was used up: the file already has everything it will keep, and its window
// ended there.
void drop_live_pieces(const LiveBuffers& live, Recording& recording) {
  if (!recording.told) return;
  ToldLosses& told = *recording.told;
  for (const LiveBuffers::LivePiece& piece : live.pieces) {
    const std::uint32_t drained = std::max(piece.drained, piece.head.first_offset);
    const std::size_t counted = (drained - piece.head.first_offset) / 8;
    if (counted < piece.words.size())
      told.dropped += count_records(std::span(piece.words).subspan(counted));
  }
  if (recording.windows.empty()) return;
  auto& [begin, end] = recording.windows.rbegin()->second;
  if (!end && begin.ticks <= told.spent_ticks)
    end = WindowBlock{begin.index, 1, told.spent_ticks, begin.first_step};
}

// Opening a pipe would block until somebody opens its other end.
Result<LiveBuffers> open_live(const std::string& path, std::uint64_t stream) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return Failure(ErrorCode::NotFound, path + ": not found");
  return LiveBuffers::open(path, stream);
}

}  // namespace

void read_blocks(const BlockFile& file, Recording& recording, BlockChoice choice) {
  // Who reads the events as well gets the rest with them.
  if (choice != BlockChoice::Events) {
    file.will_read([choice](const BlockFile::Block& block) {
      return block.kind != BlockKind::Events && is_chosen(block.kind, choice);
    });
  }
  std::vector<std::uint8_t> scratch;
  std::uint64_t left = file.most_expanded(kFreelyExpanded, kMaxExpansion);
  for (std::size_t i = 0; i < file.blocks().size(); ++i) {
    const BlockFile::Block& block = file.blocks()[i];
    if (!is_chosen(block.kind, choice)) continue;
    if (block.payload_bytes > left) {
      recording.builder.add_ledger(LedgerKind::DamagedBytes, block.stored_bytes, file.name(),
                                   "expands to more than a file of this size can hold");
      continue;
    }
    left -= block.payload_bytes;
    if (block.kind == BlockKind::Events) {
      recording.events.push_back(i);
      continue;
    }
    if (const auto payload = file.payload(block, scratch)) {
      add_small_block(recording, block.kind, *payload);
    } else {
      recording.builder.add_ledger(LedgerKind::DamagedBytes, block.stored_bytes, file.name(),
                                   payload.error().message);
    }
  }
}

std::vector<PieceMark> read_marks(const BlockFile& file) {
  // A block of marks may expand to much more than its events do.
  std::uint64_t most = 0;
  for (const BlockFile::Block& block : file.blocks()) {
    if (block.kind == BlockKind::Events) most += block.payload_bytes / sizeof(EventsHead);
  }
  Recording told;
  std::vector<std::uint8_t> scratch;
  for (const BlockFile::Block& block : file.blocks()) {
    if (block.kind != BlockKind::Pieces) continue;
    const auto payload = file.payload(block, scratch);
    if (!payload) return {};
    add_small_block(told, block.kind, *payload);
    if (told.undecodable > 0 || told.marks.size() > most) return {};
  }
  return std::move(told.marks);
}

// The last block that says who recorded counts, as in read_blocks().
std::optional<ProcessBlock> process_of(const BlockFile& file) {
  const auto last =
      std::find_if(file.blocks().rbegin(), file.blocks().rend(),
                   [](const auto& block) { return block.kind == BlockKind::Process; });
  if (last == file.blocks().rend()) return std::nullopt;
  Recording told;
  std::vector<std::uint8_t> scratch;
  if (const auto payload = file.payload(*last, scratch))
    add_small_block(told, last->kind, *payload);
  return told.process;
}

std::optional<Result<LiveBuffers>> find_live_buffers(const BlockFile& file) {
  if (file.sealed()) return std::nullopt;
  const std::optional<ProcessBlock> process = process_of(file);
  if (!process || process->live_name.empty()) return std::nullopt;
  std::optional<Result<LiveBuffers>> live;
  for (const std::string& path : live_paths(file, *process)) {
    live = open_live(path, process->stream);
    if (*live) break;
  }
  return live;
}

bool has_counts(const BlockFile& file) {
  return file.sealed() && file.damage().empty() &&
         std::any_of(file.blocks().rbegin(), file.blocks().rend(),
                     [](const auto& block) { return block.kind == BlockKind::Counts; });
}

std::uint64_t bytes_to_decode(const BlockFile& file) {
  std::uint64_t bytes = 0;
  for (const BlockFile::Block& block : file.blocks()) bytes += block.payload_bytes;
  const std::optional<ProcessBlock> process = process_of(file);
  if (file.sealed() || !process) return bytes;
  for (const std::string& path : live_paths(file, *process)) {
    const std::uint64_t live = LiveBuffers::used_bytes(path, process->stream);
    if (live > 0) return bytes + live;
  }
  return bytes;
}

void remove_live_file(const BlockFile& file) {
  const std::optional<ProcessBlock> process = process_of(file);
  if (!process) return;
  std::error_code ignored;
  for (const std::string& path : live_paths(file, *process)) {
    if (LiveBuffers::is_of(path, process->stream)) std::filesystem::remove(path, ignored);
  }
}

void add_live_buffers(const BlockFile& file, Result<LiveBuffers> live, Recording& recording) {
  if (!live) {
    recording.builder.add_ledger(LedgerKind::Truncated, 1, file.name(),
                                 "what was still in memory is missing: " + live.error().message);
    return;
  }
  if (live->stream != recording.process.stream) return;  // another recording has reused the name
  for (const auto& dictionary : live->dictionaries) add_dictionary(recording, dictionary);
  recording.has_buffers = true;
  recording.told = live->lost_by(file.id());
  if (recording.told && recording.told->spent_ticks != 0) {
    drop_live_pieces(*live, recording);
  } else {
    for (Piece& piece : live->pieces) recording.pieces.push_back(std::move(piece));
  }
  recording.builder.add_ledger(LedgerKind::Note, 1, file.name(),
                               "its end was recovered from " + recording.process.live_name +
                                   ": keep the two files together");
}

}  // namespace sonde
