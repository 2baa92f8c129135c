// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde job`: all ranks of a job on one clock, and which of them held the others up.

#include "cli/job/job.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/output_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/job/processes.h"
#include "cli/print/progress.h"
#include "sonde/view/job_page.h"

namespace sonde::cli {
namespace {

Result<std::string> job_format(const JobCommand& command) {
  if (command.output.empty()) return command.format;
  for (const auto& [suffix, format] : {std::pair(".html", "html"), std::pair(".md", "md"),
                                       std::pair(".json", "json"), std::pair(".txt", "text")})
    if (command.output.ends_with(suffix)) return std::string(format);
  return Failure(ErrorCode::Invalid,
                 command.output + ": the name of a report must end in .html, .md, .json or .txt");
}

// "2/16": the files 2, 18, 34, … of the list, counted from 0.
struct Share {
  std::size_t index = 0;
  std::size_t count = 1;
};
Result<Share> parse_share(const std::string& text) {
  Share share;
  const char* const end = text.data() + text.size();
  const auto [slash, first] = std::from_chars(text.data(), end, share.index);
  if (first == std::errc{} && slash != end && *slash == '/') {
    const auto [stop, second] = std::from_chars(slash + 1, end, share.count);
    if (second == std::errc{} && stop == end && share.index < share.count) return share;
  }
  return Failure(ErrorCode::Invalid,
                 "--share " + text + ": must be I/N with I from 0 to N-1, as in --share 0/16");
}

// The largest first, dealt out in turn, so that shares are about as large.
std::vector<JobFile> share_of(std::vector<JobFile> files, const Share& share) {
  std::stable_sort(files.begin(), files.end(),
                   [](const JobFile& a, const JobFile& b) { return a.bytes > b.bytes; });
  std::vector<JobFile> mine;
  for (std::size_t i = share.index; i < files.size(); i += share.count) mine.push_back(files[i]);
  return mine;
}

Result<void> refuse_problems(const Summaries& summaries, const JobCommand& command) {
  for (const std::string& problem : summaries.problems) say(problem);
  for (const std::string& problem : summaries.not_kept) say(problem);
  const bool is_share = !command.share.empty();
  if (!summaries.not_kept.empty() && (is_share || !command.is_partial))
    return Failure(ErrorCode::Io,
                   format_text("{} could not be kept; those that were are used the next time{}",
                               summaries.not_kept.size() == 1
                                   ? "1 summary"
                                   : format_text("{} summaries", summaries.not_kept.size()),
                               is_share ? "" : "; --partial answers without keeping them"));
  if (summaries.problems.empty() || command.is_partial) return {};
  return Failure(ErrorCode::Io,
                 format_text("{} could not be read; --partial answers from the others",
                             counted_text(summaries.problems.size(), "file")));
}

// Each process makes the summaries of its share; process 0 gets them all.
Result<Summaries> shared_summaries(const std::vector<JobFile>& files, const JobCommand& command,
                                   JobProcesses& processes) {
  const auto process = static_cast<std::size_t>(processes.process());
  const Share share{process, static_cast<std::size_t>(processes.processes())};
  SONDE_TRY(Summaries all, make_summaries(share_of(files, share), command));
  all.list = list_number(files);
  if (process != 0) {
    SONDE_TRY_VOID(processes.send(encode_summaries(all), command.timeout_s));
    return Summaries();
  }
  SONDE_TRY(const auto messages, processes.receive_all(command.timeout_s));
  for (std::size_t i = 1; i < messages.size(); ++i) {
    SONDE_TRY(Summaries more, decode_summaries(messages[i]));
    if (more.list != all.list)
      return Failure(ErrorCode::Invalid,
                     format_text("process {} sees other files than process 0: each reads a share "
                                 "of the same list; see docs/clusters.md for local disks",
                                 i));
    for (RankSummary& rank : more.ranks) all.ranks.push_back(std::move(rank));
    all.problems.insert(all.problems.end(), more.problems.begin(), more.problems.end());
    all.skipped.insert(all.skipped.end(), more.skipped.begin(), more.skipped.end());
    all.not_kept.insert(all.not_kept.end(), more.not_kept.begin(), more.not_kept.end());
  }
  return all;
}

void add_notes(Summaries& summaries, JobReport& job) {
  std::sort(summaries.problems.begin(), summaries.problems.end());
  std::sort(summaries.skipped.begin(), summaries.skipped.end());
  for (const std::string& problem : summaries.problems) job.notes.push_back("Left out: " + problem);
  if (summaries.skipped.empty()) return;
  job.notes.push_back(format_text(
      "Not a trace of a rank, and left out: {}{}.", summaries.skipped.front(),
      summaries.skipped.size() == 1 ? std::string()
                                    : format_text(" and {} more", summaries.skipped.size() - 1)));
}

Result<void> write_job(const JobReport& job, const std::string& format, const std::string& name,
                       Output& out) {
  if (format == "html") {
    SONDE_TRY(const std::string page, job_page(job, job_sentences(job), name));
    out.for_programs();
    out.write(page);
  } else if (format == "json") {
    write_job_json(job, out);
  } else if (format == "md") {
    write_job_markdown(job, out);
  } else {
    write_job_text(job, out);
  }
  return {};
}

}  // namespace

Result<void> check(const JobCommand& command) {
  if (!command.share.empty()) {
    SONDE_TRY_VOID([&]() -> Result<void> {
      SONDE_TRY(const Share share, parse_share(command.share));
      (void)share;
      return {};
    }());
    if (command.summaries.empty())
      return Failure(ErrorCode::Invalid, "--share needs --summaries FOLDER, where the shares meet");
  }
  const Result<std::string> format = job_format(command);
  return format ? Result<void>() : Failure(format.error());
}

Result<JobPageView> job_view_of(const std::vector<std::string>& files, const OpenOptions& open) {
  JobCommand command;
  command.inputs = files;
  command.open = open;
  SONDE_TRY(const std::vector<JobFile> found, find_job_files(command.inputs));
  SONDE_TRY(Summaries summaries, make_summaries(found, command));
  SONDE_TRY_VOID(refuse_problems(summaries, command));
  const std::vector<JobTrace> recorded = recorded_in(summaries);
  SONDE_TRY(JobReport job, analyse_job(std::move(summaries.ranks)));
  add_notes(summaries, job);
  JobPageView page;
  page.traces = traces_of(job, recorded);
  page.view = job_view(job, job_sentences(job));
  return page;
}

Result<void> run_job(const JobCommand& command, Output& out) {
  SONDE_TRY(const std::string format, job_format(command));
  SONDE_TRY(std::vector<JobFile> files, find_job_files(command.inputs, true));
  for (const JobFile& file : files) SONDE_TRY_VOID(not_onto_itself(file.path, command.output));
  Summaries summaries;
  if (!command.share.empty()) {
    SONDE_TRY(const Share share, parse_share(command.share));
    files = share_of(std::move(files), share);
    SONDE_TRY(summaries, make_summaries(files, command));
    SONDE_TRY_VOID(refuse_problems(summaries, command));
    out.line(format_text("{} read, summaries in {}", counted_text(files.size(), "file"),
                         command.summaries));
    return {};
  }
  SONDE_TRY(std::optional<JobProcesses> processes, JobProcesses::open());
  if (processes) {
    SONDE_TRY(summaries, shared_summaries(files, command, *processes));
    if (processes->process() != 0) return {};
  } else {
    SONDE_TRY(summaries, make_summaries(files, command));
  }
  SONDE_TRY_VOID(refuse_problems(summaries, command));
  SONDE_TRY(JobReport job, analyse_job(std::move(summaries.ranks), {.hosts = command.hosts}));
  add_notes(summaries, job);
  if (command.output.empty()) return write_job(job, format, command.inputs.front(), out);
  Output text;
  SONDE_TRY_VOID(write_job(job, format, command.inputs.front(), text));
  return write_file_whole(command.output, text.take());
}

}  // namespace sonde::cli
