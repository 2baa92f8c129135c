// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The parts of `sonde job`: finding files, making and keeping summaries, printing the answer.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/print/output.h"
#include "sonde/analyse/job.h"
#include "sonde/open.h"
#include "sonde/result.h"
#include "sonde/trace/clock_shift.h"
#include "sonde/view/trace_page.h"

namespace sonde::cli {

struct JobCommand {
  std::vector<std::string> inputs;  // folders, files, patterns
  OpenOptions open;
  std::string output;
  std::string format = "text";     // text, md, json or html
  std::vector<std::string> hosts;  // of the ranks in order
  std::string summaries;           // folder; empty: they are not kept
  std::string share;               // "2/16": only make the summaries of this share
  double timeout_s = 300;          // without progress of another process
  bool is_partial = false;
};
Result<void> check(const JobCommand& command);
Result<void> run_job(const JobCommand& command, Output& out);
// The files of a job, sorted. Whether something in a folder is a trace is seen when it is opened.
struct JobFile {
  std::string path;
  std::uint64_t bytes = 0;
  bool is_named = false;  // by itself or by a pattern, not by its folder
};
// `with_summaries`: of a folder without traces, the summaries that an earlier run left.
Result<std::vector<JobFile>> find_job_files(const std::vector<std::string>& inputs,
                                            bool with_summaries = false);
inline constexpr std::string_view kSummarySuffix = ".sum";

// Summaries of files: made, or taken from the folder where an earlier run left them.
struct Summaries {
  std::vector<RankSummary> ranks;
  std::vector<std::string> problems;  // of files that could not be read, a sentence each
  std::vector<std::string> skipped;   // files of a folder that are no traces of a rank
  std::vector<std::string> not_kept;  // summaries that could not be written, a sentence each
  std::uint64_t list = 0;             // list_number() of all files, not only of these
};
// The same for processes that see the same files.
std::uint64_t list_number(const std::vector<JobFile>& files);
Result<Summaries> make_summaries(const std::vector<JobFile>& files, const JobCommand& command);

// A file of a job: whose it is, and what puts its times on the job's clock.
struct JobTrace {
  std::int32_t rank = -1;
  std::string host;
  std::string path;
  ClockShift clock;
};
// Every file once, by rank. Those without a clock of their own are left out.
std::vector<JobTrace> traces_of(const JobReport& job, const std::vector<JobTrace>& recorded);
// Which file was whose, before the summaries are joined to the ranks of a report.
std::vector<JobTrace> recorded_in(const Summaries& summaries);

// What all these traces say together, for their page.
struct JobPageView {
  PageView view;
  std::vector<JobTrace> traces;
};
Result<JobPageView> job_view_of(const std::vector<std::string>& files, const OpenOptions& open);

// For another process.
std::vector<std::uint8_t> encode_summaries(const Summaries& summaries);
Result<Summaries> decode_summaries(std::span<const std::uint8_t> bytes);

// `sonde export FOLDER -o job.pftrace`: all ranks on one clock.
struct ExportCommand;
bool names_a_job(const std::string& input);  // a folder, or a pattern that matches files
Result<void> export_job(const ExportCommand& command);

void write_job_text(const JobReport& job, Output& out);
void write_job_json(const JobReport& job, Output& out);
void write_job_markdown(const JobReport& job, Output& out);

// The sentences that matter, for all formats.
std::vector<std::string> job_sentences(const JobReport& job);
// "ranks 2, 5 and 7".
std::string ranks_text(const std::vector<std::int32_t>& ranks);
std::string percent(double share);                                     // "12.3 %"
std::string short_name(std::string_view name, std::size_t most = 90);  // for one line

}  // namespace sonde::cli
