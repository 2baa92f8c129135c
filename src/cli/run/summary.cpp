// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/run/summary.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/bytes.h"
#include "base/format.h"
#include "base/new_file.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/answer/trace_facts.h"
#include "cli/print/progress.h"
#include "cli/run/child_output.h"
#include "cli/run/files.h"
#include "cli/setup/torch_install.h"
#include "collect/live_file.h"
#include "decode/open_sonde.h"
#include "decode/recording_blocks.h"
#include "decode/recording_reader.h"
#include "file/block_file.h"
#include "sonde/analyse/program_facts.h"
#include "sonde/trace.h"
#include "sonde/trace/execution_trace_file.h"
#include "trace/known_names.h"
#include "wire/blocks.h"

namespace sonde::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 8;
// How much of a recording is decoded to describe it: some 200,000 spans, 30 MB of memory.
constexpr std::uint64_t kMostDecoded = std::uint64_t{1} << 20;
// How much of one that was cut short is decoded to make one file of it: 100 to 200 MB of memory.
constexpr std::uint64_t kMostMadeWhole = std::uint64_t{8} << 20;
// A smaller file cannot even hold the summary of what was recorded.
constexpr std::uint64_t kSmallestLimit = std::uint64_t{64} << 10;

struct Recorded {
  std::string shown_path;
  std::size_t spans = 0;
  bool has_gpu = false;
  bool has_calls = false;  // to CUDA
  bool is_work_missing = false;
  std::string why_no_gpu = {};  // the source's own words
  std::string text;             // "12 spans in 3.250 s, nothing lost"
  bool still_runs = false;
  bool is_outline = false;  // its events were not read
  bool is_rank = false;     // of a distributed run
};

// Whether it may still arrive while the process is running.
bool may_come(LedgerKind kind) {
  return kind == LedgerKind::Truncated || kind == LedgerKind::Unfinished ||
         kind == LedgerKind::WorkMissing;
}

std::string losses_text(const TraceFacts& facts, bool still_runs) {
  std::string text;
  for (const auto& [kind, total] : facts.ledger) {
    const LedgerClass group = ledger_class(kind);
    if (total.count == 0 || (group != LedgerClass::Lost && group != LedgerClass::Incomplete))
      continue;
    if (still_runs && may_come(kind)) continue;
    text += format_text("{}{}: {}", text.empty() ? "" : ", ", ledger_phrase(kind),
                        count_text(total.count));
  }
  return text.empty() ? "nothing lost" : "not whole (" + text + ")";
}

// Moves what a killed process left in its buffers into the file.
void make_whole(const BlockFile& file, const Trace& trace) {
  if (file.sealed() || save_trace(trace, file.name())) remove_live_file(file);
}

void look_for_gpu(const Trace& trace, const TraceCounts& counts, Recorded& result) {
  for (const auto& [kind, count] : counts.spans_by_kind) {
    result.has_gpu = result.has_gpu || is_device_work(kind);
    result.has_calls = result.has_calls || device_called(kind) == DeviceType::Cuda;
  }
  const LedgerTable& ledger = trace.ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    const std::string_view detail = trace.string(ledger.detail[i]);
    const bool is_of_cuda = detail.starts_with("cuda: ");
    if (ledger.kind[i] == LedgerKind::SourceFailed && is_of_cuda)
      result.why_no_gpu = detail.substr(6);
    if (ledger.kind[i] == LedgerKind::WorkMissing ||
        (ledger.kind[i] == LedgerKind::Undecodable && is_of_cuda && ledger.count[i] > 0))
      result.is_work_missing = true;
  }
}

bool is_of_rank(const Trace& trace) {
  const ProcessTable& processes = trace.processes();
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes.rank[i] >= 0) return true;
  }
  return false;
}

Nanos windows_ns(const Trace& trace) {
  const WindowTable& windows = trace.windows();
  return windows.empty() ? 0 : windows.end_ns[windows.size() - 1] - windows.start_ns[0];
}

// Describes a recording without its events, which may take any amount of memory.
Recorded outline_of(const BlockFile& file, Recorded result) {
  const auto trace = read_recording(file, {.outline = true});
  if (!trace) {
    result.text = trace.error().message;
    return result;
  }
  result.is_outline = true;
  const TraceFacts facts = gather_facts(*trace);
  look_for_gpu(*trace, facts.counts, result);
  result.is_rank = is_of_rank(*trace);
  const std::uint64_t events = count_of(facts.ledger, LedgerKind::EventsWritten);
  result.spans = std::max<std::uint64_t>(events, file.file_bytes()) / 2;  // a guess, to sort by
  result.text = events > 0 ? counted_text(events, "event") : bytes_text(file.file_bytes());
  // That of a recording that was cut short is known from its events alone.
  if (const Nanos time = windows_ns(*trace); time > 0)
    result.text += format_text(" in {}", duration_text(time));
  result.text += format_text(", {}", losses_text(facts, result.still_runs || !file.sealed()));
  if (file.sealed()) {
    remove_live_file(file);
  } else if (const auto process = process_of(file); process && !process->live_name.empty()) {
    result.text +=
        format_text("; its end is in {}: keep the two files together", process->live_name);
  }
  return result;
}

Recorded look_at(const ReportEntry& entry, bool still_runs) {
  Recorded result{.shown_path = shown(entry.text), .text = "", .still_runs = still_runs};
  const Progress progress("reading " + result.shown_path);
  auto file = own_file(entry);
  if (file && !has_counts(*file) &&
      bytes_to_decode(*file) > (file->sealed() ? kMostDecoded : kMostMadeWhole))
    return outline_of(*file, std::move(result));
  const auto trace = file ? read_trace_lazily(*file) : Result<Trace>(Failure(file.error()));
  if (!trace) {
    result.text = trace.error().message;
    return result;
  }
  const TraceFacts facts = gather_facts(*trace);
  if (facts.counts.empty() && !has(facts.ledger, LedgerClass::Lost) && !still_runs) {
    remove_recording(*file);
    return result;
  }
  const std::string why = program_end(*trace).dumped_because;
  result.spans = facts.counts.spans;
  look_for_gpu(*trace, facts.counts, result);
  result.is_rank = is_of_rank(*trace);
  result.text = format_text("{} in {}, {}", counted_text(result.spans, "span"),
                            duration_text(trace->last_ns() - trace->first_ns()),
                            losses_text(facts, still_runs));
  if (!why.empty()) result.text = format_text("{} ({})", why, result.text);
  if (!still_runs) make_whole(*file, *trace);
  return result;
}

// Messages about files that no longer exist or were replaced. Call it before recorded_in(), which
// removes empty recordings.
std::vector<std::string> missing_files(const std::vector<ReportEntry>& report) {
  std::vector<std::string> lines;
  for (const ReportEntry& entry : report) {
    if (entry.kind != ReportKind::Recording) continue;
    std::error_code ignored;
    if (!fs::exists(entry.text, ignored)) {
      lines.push_back(shown(entry.text) + ": was moved or deleted during recording");
    } else if (const auto file = own_file(entry); !file && is_replaced(file.error())) {
      lines.push_back(file.error().message);
    }
  }
  return lines;
}

// A recording is locked while its process writes it. True also where that cannot be known.
bool is_recorded_to(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return true;
  const bool is_free = ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  ::close(fd);
  return !is_free;
}

// Removes the files of processes that ended while opening them. They are empty.
void remove_begun(const std::vector<ReportEntry>& report, std::int64_t run_pid) {
  for (const ReportEntry& claim : report) {
    std::error_code ignored;
    if (claim.kind != ReportKind::Claim || !fs::is_regular_file(claim.text, ignored)) continue;
    const bool is_told_of =
        std::any_of(report.begin(), report.end(), [&](const ReportEntry& entry) {
          return entry.kind != ReportKind::Claim && entry.text == claim.text;
        });
    if (is_told_of || runs(claim.pid, run_pid)) continue;
    auto file = BlockFile::open(claim.text);
    if (!file || bytes_to_decode(*file) > kMostDecoded) continue;
    const auto process = process_of(*file);
    // It may be another process's, which may not have got as far as to say so.
    if (process ? process->pid != claim.pid : is_recorded_to(claim.text)) continue;
    const auto trace = read_trace_lazily(*file);
    if (!trace || !trace->counts().empty()) continue;
    remove_recording(*file);
    // The process may have ended before it noted in the recording that it has a live file.
    remove_if_left_over(claim.text + ".live");
  }
}

// Most spans first: a launcher starts before its ranks but has nothing to show.
std::vector<Recorded> recorded_in(const std::vector<ReportEntry>& report, std::int64_t run_pid) {
  std::vector<Recorded> recordings;
  for (const ReportEntry& entry : report) {
    if (entry.kind != ReportKind::Recording || !is_there(entry)) continue;
    Recorded found = look_at(entry, runs(entry.pid, run_pid));
    if (!found.text.empty()) recordings.push_back(std::move(found));
  }
  std::stable_sort(recordings.begin(), recordings.end(),
                   [](const Recorded& a, const Recorded& b) { return a.spans > b.spans; });
  return recordings;
}

// Adds what was written because a daemon asked for it. Returns the last of the files.
std::string add_demanded(const std::vector<ReportEntry>& report, std::vector<std::string>& lines) {
  std::string last;
  std::size_t count = 0;
  for (const ReportEntry& entry : report) {
    if (entry.kind != ReportKind::Demand) continue;
    last = entry.text;
    if (++count <= kMostFiles) lines.push_back(shown(last) + ": written on demand");
  }
  if (count > kMostFiles)
    lines.push_back(format_text("… and {} more files on demand", count - kMostFiles));
  return last;
}

// Adds one line per execution trace. One without operators is removed.
void add_execution_traces(const std::vector<ReportEntry>& report, std::int64_t run_pid,
                          std::vector<std::string>& lines) {
  for (const ReportEntry& entry : report) {
    std::error_code ignored;
    if (entry.kind != ReportKind::ExecutionTrace || !fs::exists(entry.text, ignored)) continue;
    const auto et = open_execution_trace(entry.text);
    if (!et) {
      lines.push_back(et.error().message);
    } else if (et->nodes.size() > 1) {
      lines.push_back(format_text("{}: execution trace, {} nodes", shown(entry.text),
                                  count_text(et->nodes.size())));
    } else if (!runs(entry.pid, run_pid)) {
      fs::remove(entry.text, ignored);
    }
  }
}

bool is_problem(const ReportEntry& entry) {
  return entry.kind == ReportKind::Adapter || entry.kind == ReportKind::Error;
}

// `text` begins with the path of the libtorch_cpu that is not recorded.
std::string adapter_advice(const std::string& text, const Target& target) {
  const std::string library = text.substr(0, text.find(" is not recorded"));
  const std::string command = build_advice(library, target.path);
  if (!command.empty()) return format_text("to record it, run this once: {}", command);
  return "building an adapter needs its headers; `sonde doctor` shows what is installed";
}

void add_problems(const std::vector<ReportEntry>& report, const Target& target,
                  std::vector<std::string>& lines) {
  std::vector<std::string> seen;  // many processes say the same
  for (const ReportEntry& entry : report) {
    if (!is_problem(entry)) continue;
    if (std::find(seen.begin(), seen.end(), entry.text) != seen.end()) continue;
    seen.push_back(entry.text);
    lines.push_back(format_text("process {}: {}", entry.pid, entry.text));
    if (entry.kind == ReportKind::Adapter) lines.push_back(adapter_advice(entry.text, target));
  }
}

// Adds a line if GPUs were requested but no GPU data arrived.
void add_gpu_line(const std::vector<Recorded>& recordings, const RunOptions& options,
                  std::vector<std::string>& lines) {
  if (options.cuda_library.empty()) return;
  std::string why = "the program did not use CUDA";
  for (const Recorded& recording : recordings) {
    if (recording.has_gpu || (recording.is_outline && recording.why_no_gpu.empty())) return;
    if (recording.has_calls) why = "the program launched no work";
    if (recording.is_work_missing) why = "none of the launched work had arrived";
    if (!recording.why_no_gpu.empty()) why = recording.why_no_gpu;
  }
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY);
  if (driver == nullptr) why = "no NVIDIA driver found (libcuda.so.1)";
  if (driver != nullptr) ::dlclose(driver);
  lines.push_back("no GPU data: " + why);
}

// Several ranks are looked at together: by their names if these are few, else by their folder.
std::vector<std::string> next_command(const std::vector<Recorded>& recordings) {
  std::vector<std::string> ranks;
  for (const Recorded& recording : recordings) {
    if (recording.is_rank) ranks.push_back(recording.shown_path);
  }
  if (ranks.size() < 2) return {"sonde", "report", recordings.front().shown_path};
  if (ranks.size() > 4) {
    const fs::path folder = fs::path(ranks.front()).parent_path();
    return {"sonde", "job", folder.empty() ? "." : folder.string()};
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.insert(ranks.begin(), {"sonde", "job"});
  return ranks;
}

std::string why_nothing(const std::vector<ReportEntry>& report, const Target& target,
                        const std::string& program, const RunOptions& options) {
  if (const std::string reason = why_not(target); !reason.empty()) return reason;
  const bool attached = std::any_of(report.begin(), report.end(), [](const ReportEntry& entry) {
    return entry.kind == ReportKind::Recording;
  });
  if (!attached && file_size_limit() < kSmallestLimit) {
    return format_text("files may have at most {} here, which is too little (ulimit -f)",
                       bytes_text(file_size_limit()));
  }
  if (!attached) {
    return program + " loaded neither libtorch nor Sonde's recorder (libsonde_record.so)" +
           (options.follow_children ? "" : "; its children were not followed");
  }
  if (options.captures)
    return "the program never called cudaProfilerStart, or nothing ran after it. A program that is "
           "linked with CUDA's static runtime library calls it unseen";
  if (options.on_demand)
    return "nobody asked for a recording, as `sonde trigger` does, or nothing ran while it was on";
  if (options.paused || options.signal_start != 0)
    return options.signal_start == 0
               ? "recording was never started, or nothing ran while it was on"
               : format_text(
                     "recording was never started, or nothing ran while it was on. It waited for "
                     "signal {}, which the program must not handle itself",
                     signal_text(options.signal_start));
  if (options.from_step > 0) {
    return format_text(
        "no {} steps were seen. A step ends with a step of an optimizer of torch, with the next "
        "batch of a DataLoader, or with a step of a profiler",
        options.from_step);
  }
  if (options.after_ns > 0) return "nothing ran after " + duration_text(options.after_ns);
  return program + " ran no operator and no scope";
}

}  // namespace

void note_ending(const std::vector<ReportEntry>& report, std::int64_t pid, bool was_killed,
                 int number) {
  for (const ReportEntry& entry : report) {
    if (entry.kind != ReportKind::Recording || entry.pid != pid || !is_there(entry)) continue;
    ByteWriter out;
    MetadataBlock{std::string(kProgramEndedKey),
                  format_text("{{\"{}\": {}}}", was_killed ? "signal" : "status", number)}
        .write(out);
    // The recording is as good without it.
    static_cast<void>(add_block(entry.text, encode_block(BlockKind::Metadata, out.bytes(), false)));
  }
}

std::vector<std::string> closing_lines(const std::vector<ReportEntry>& report, const Target& target,
                                       const std::string& program, const RunOptions& options,
                                       std::int64_t run_pid, const std::string& why_none) {
  std::vector<std::string> lines;
  const std::vector<std::string> missing = missing_files(report);
  remove_begun(report, run_pid);
  const std::vector<Recorded> recordings = recorded_in(report, run_pid);
  const bool problems = std::any_of(report.begin(), report.end(), is_problem);
  add_problems(report, target, lines);
  lines.insert(lines.end(), missing.begin(), missing.end());
  const std::string demanded = add_demanded(report, lines);
  if (demanded.empty()) add_gpu_line(recordings, options, lines);
  add_execution_traces(report, run_pid, lines);
  if (recordings.empty() && !demanded.empty()) {
    lines.push_back("next: " + command_text({"sonde", "report", shown(demanded)}));
    return lines;
  }
  if (recordings.empty() && !why_none.empty()) {
    lines.push_back(why_none);
    return lines;
  }
  if (recordings.empty() && !missing.empty()) return lines;  // something was
  if (recordings.empty()) {
    lines.push_back("nothing was recorded" +
                    (problems ? "" : ": " + why_nothing(report, target, program, options)));
    return lines;
  }
  for (std::size_t i = 0; i < std::min(recordings.size(), kMostFiles); ++i) {
    lines.push_back(format_text("{}: {}{}", recordings[i].shown_path, recordings[i].text,
                                recordings[i].still_runs ? "; its process is still running" : ""));
  }
  if (recordings.size() > kMostFiles)
    lines.push_back(format_text("… and {} more files", recordings.size() - kMostFiles));
  lines.back() += "; next: " + command_text(next_command(recordings));
  return lines;
}

}  // namespace sonde::cli
