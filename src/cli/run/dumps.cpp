// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/dumps.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/format.h"
#include "cli/run/files.h"
#include "decode/gather_ring.h"
#include "decode/recording_blocks.h"
#include "sonde/analyse/program_facts.h"
#include "trace/known_names.h"
#include "wire/blocks.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

// What the file of a process that has ended says of its end.
struct RingEnd {
  ProgramEnd end;
  bool is_empty = false;  // nothing was recorded
};

RingEnd ring_end(const BlockFile& file) {
  Recording told;
  read_blocks(file, told, BlockChoice::Counted);
  RingEnd ring;
  for (const MetadataBlock& block : told.metadata)
    if (block.key == kProgramEndedKey) ring.end = program_end_of(block.json);
  ring.end.is_cut_short = !file.sealed() && ring.end.signal == 0 && ring.end.status == 0;
  std::uint64_t events = 0;
  for (const LedgerBlock& block : told.ledger)
    if (block.kind == static_cast<std::uint8_t>(LedgerKind::EventsWritten)) events = block.count;
  ring.is_empty = file.sealed() && events == 0;
  return ring;
}

bool asks_to_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

// Empty: no reason for a dump.
std::string reason_of(const ProgramEnd& end, const DumpOn& on) {
  const bool crashed = end.is_cut_short || (end.signal != 0 && !asks_to_end(end.signal));
  if (crashed && on.crash) return "crash";
  return end.is_bad() && on.bad_exit ? "exit" : "";
}

void add_dump_metadata(const std::string& path, const std::string& json) {
  ByteWriter out;
  MetadataBlock{std::string(kDumpKey), json}.write(out);
  // The dump is as good without it.
  static_cast<void>(add_block(path, encode_block(BlockKind::Metadata, out.bytes(), false)));
}

class DumpSettler {
 public:
  DumpSettler(const DumpOn& on, std::int64_t ring_ns, std::int64_t most, std::int64_t run_pid)
      : on_(on), ring_ns_(ring_ns), most_(most), run_pid_(run_pid) {}

  DumpsMade settle(const std::vector<ReportEntry>& report) {
    for (const ReportEntry& entry : report) add(entry, report);
    const bool was_recorded = std::any_of(report.begin(), report.end(), [](const auto& entry) {
      return entry.kind == ReportKind::Recording;
    });
    if (was_recorded) made_.why_none = why_none(report);
    return std::move(made_);
  }

 private:
  void add(const ReportEntry& entry, const std::vector<ReportEntry>& report) {
    if (entry.kind == ReportKind::Dump) return add_dump(entry);
    if (entry.kind != ReportKind::Recording || !is_there(entry) || runs(entry.pid, run_pid_)) {
      made_.report.push_back(entry);
      return;
    }
    auto file = own_file(entry);
    if (!file) {
      made_.lines.push_back(file.error().message);
      return;
    }
    const RingEnd ring = ring_end(*file);
    const std::string reason = ring.is_empty ? "" : reason_of(ring.end, on_);
    if (reason.empty()) return remove_recording(*file);
    const auto number =
        1 + std::count_if(report.begin(), report.end(), [&](const auto& other) {
          return other.kind == ReportKind::Dump && other.pid == entry.pid && !other.text.empty();
        });
    dump_end(entry, *file, reason, number);
  }

  void add_dump(const ReportEntry& entry) {
    if (entry.text.empty()) {
      made_.lines.push_back(format_text(
          "process {}: there were more reasons for a dump than --dumps allows ({}{})", entry.pid,
          most_, on_.crash || on_.bad_exit ? "; the last is kept for the end" : ""));
      return;
    }
    ReportEntry dump = entry;
    dump.kind = ReportKind::Recording;
    if (const auto file = BlockFile::open(entry.text)) dump.file_id = file->id();
    made_.report.push_back(dump);
  }

  void dump_end(const ReportEntry& entry, const BlockFile& file, const std::string& reason,
                std::int64_t number) {
    const std::string path = dump_path(entry.text, number);
    const auto moved = [&]() -> Result<bool> {
      if (!file.sealed()) return gather_ring(file, ring_ns_, path);
      std::error_code failed;
      fs::rename(entry.text, path, failed);
      if (failed) return Failure(ErrorCode::Io, path + ": " + failed.message());
      return true;
    }();
    if (!moved) {  // what the process left stays as it is
      made_.lines.push_back(moved.error().message);
      made_.report.push_back(entry);
      return;
    }
    if (!file.sealed()) remove_recording(file);
    if (!*moved) return;
    add_dump_metadata(path, format_text(R"({{"reason": "{}", "number": {}}})", reason, number));
    ReportEntry dump = entry;
    dump.kind = ReportKind::Dump;
    dump.text = path;
    add_dump(dump);
  }

  std::string why_none(const std::vector<ReportEntry>& report) const {
    std::string text = "no dump: nothing happened that --dump-on names";
    const bool has_steps = std::any_of(report.begin(), report.end(), [](const auto& entry) {
      return entry.kind == ReportKind::Steps;
    });
    if (on_.needs_steps() && !has_steps)
      text +=
          "; no steps of the program were seen, so it is not known whether one was slow (see "
          "\"Steps\" in docs/run.md)";
    return text;
  }

  const DumpOn& on_;
  std::int64_t ring_ns_;
  std::int64_t most_;
  std::int64_t run_pid_;
  DumpsMade made_;
};

}  // namespace

DumpsMade settle_dumps(const std::vector<ReportEntry>& report, const DumpOn& on,
                       std::int64_t ring_ns, std::int64_t most, std::int64_t run_pid) {
  return DumpSettler(on, ring_ns, most, run_pid).settle(report);
}

}  // namespace sonde::cli
