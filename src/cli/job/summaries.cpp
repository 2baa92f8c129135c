// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Summaries of files, kept in a folder if one is given: FILE.KEY.sum, where the key changes with
// the file. A rerun goes on from what is there.

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include "base/bytes.h"
#include "base/file.h"
#include "base/format.h"
#include "base/output_file.h"
#include "base/parallel.h"
#include "cli/job/job.h"
#include "cli/print/progress.h"
#include "sonde/version.h"

namespace sonde::cli {
namespace {

constexpr std::uint64_t kMemoryForFiles = std::uint64_t{512} << 20;
constexpr std::uint64_t kMemoryPerByte = 4;  // of a file that is open

std::uint64_t hashed(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return hash;
}

// Another file, another time of writing or another version of Sonde: another key.
std::string summary_path(const std::string& folder, const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return "";
  std::error_code ignored;
  const std::string whole = std::filesystem::absolute(path, ignored).lexically_normal().string();
  const std::string text = format_text("{}|{}|{}|{}|{}", whole, facts.st_size, facts.st_mtim.tv_sec,
                                       facts.st_mtim.tv_nsec, SONDE_VERSION);
  return format_text("{}/{}.{:016x}.sum", folder, std::filesystem::path(path).filename().string(),
                     hashed(0xcbf29ce484222325, text));
}

Result<std::vector<RankSummary>> read_summaries(const std::string& path) {
  SONDE_TRY(const MappedFile file, MappedFile::open(path));
  ByteReader in(file.bytes());
  std::vector<RankSummary> ranks;
  while (!in.at_end() && in.ok()) {
    const auto size = in.read<std::uint64_t>();
    if (size > in.remaining()) break;
    SONDE_TRY(RankSummary rank,
              decode_rank_summary(in.bytes(static_cast<std::size_t>(size)), path));
    ranks.push_back(std::move(rank));
  }
  if (!in.ok() || !in.at_end()) return Failure(ErrorCode::Corrupt, path + ": is damaged");
  return ranks;
}

Result<void> write_summaries(const std::string& path, const std::vector<RankSummary>& ranks) {
  ByteWriter out;
  for (const RankSummary& rank : ranks) {
    const std::vector<std::uint8_t> bytes = encode(rank);
    out.write(static_cast<std::uint64_t>(bytes.size()));
    out.raw(bytes.data(), bytes.size());
  }
  return write_file_whole(path, out.bytes());
}

struct OfFile {
  std::vector<RankSummary> ranks;
  std::optional<Error> error;
  std::optional<Error> not_kept;  // the ranks were read, but their summary was not written
};

OfFile summarise_file(const JobFile& file, const OpenOptions& open) {
  OfFile result;
  Result<Trace> trace = open_trace(file.path, open);
  if (!trace) {
    result.error = trace.error();
    return result;
  }
  result.ranks = summarise_ranks(*trace);
  for (RankSummary& rank : result.ranks) rank.source = file.path;
  return result;
}

OfFile summary_of(const JobFile& file, const JobCommand& command, const OpenOptions& open) {
  if (file.path.ends_with(kSummarySuffix)) {
    Result<std::vector<RankSummary>> ranks = read_summaries(file.path);
    if (!ranks) return {{}, ranks.error(), std::nullopt};
    return {*std::move(ranks), std::nullopt, std::nullopt};
  }
  if (command.summaries.empty()) return summarise_file(file, open);
  const std::string kept = summary_path(command.summaries, file.path);
  std::error_code ignored;
  if (!kept.empty() && std::filesystem::exists(kept, ignored)) {
    Result<std::vector<RankSummary>> ranks = read_summaries(kept);
    if (ranks) {
      for (RankSummary& rank : *ranks) rank.source = file.path;
      return {*std::move(ranks), std::nullopt, std::nullopt};
    }
  }
  OfFile result = summarise_file(file, open);
  if (result.error || kept.empty()) return result;
  if (const Result<void> written = write_summaries(kept, result.ranks); !written)
    result.not_kept = written.error();
  return result;
}

// Few large files one after the other, each on all cores; many small ones side by side.
struct Plan {
  unsigned files = 1;
  unsigned threads = 0;
};
Plan plan_for(const std::vector<JobFile>& files, unsigned threads) {
  std::uint64_t largest = 1;
  for (const JobFile& file : files) {
    const bool is_packed = file.path.ends_with(".gz");
    largest = std::max(largest, file.bytes * (is_packed ? 8 : 1));
  }
  const unsigned cores = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t fit = kMemoryForFiles / (largest * kMemoryPerByte);
  const unsigned side_by_side = static_cast<unsigned>(std::clamp<std::uint64_t>(fit, 1, cores));
  return {side_by_side, side_by_side > 1 ? 1U : threads};
}

bool is_no_trace(const Error& error) {
  return error.code == ErrorCode::Corrupt || error.code == ErrorCode::Invalid ||
         error.code == ErrorCode::Unsupported;
}

void write_list(ByteWriter& out, const std::vector<std::string>& texts) {
  out.varint(texts.size());
  for (const std::string& text : texts) out.string(text);
}

std::vector<std::string> read_list(ByteReader& in) {
  std::vector<std::string> texts;
  const std::uint64_t count = in.varint();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) texts.emplace_back(in.string());
  return texts;
}

}  // namespace

std::uint64_t list_number(const std::vector<JobFile>& files) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const JobFile& file : files)
    hash = hashed(hash, format_text("{}|{}|", file.path, file.bytes));
  return hash;
}

std::vector<std::uint8_t> encode_summaries(const Summaries& summaries) {
  ByteWriter out;
  out.write(summaries.list);
  write_list(out, summaries.problems);
  write_list(out, summaries.skipped);
  write_list(out, summaries.not_kept);
  for (const RankSummary& rank : summaries.ranks) {
    const std::vector<std::uint8_t> bytes = encode(rank);
    out.write(static_cast<std::uint64_t>(bytes.size()));
    out.raw(bytes.data(), bytes.size());
  }
  return out.take();
}

Result<Summaries> decode_summaries(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  Summaries all;
  all.list = in.read<std::uint64_t>();
  all.problems = read_list(in);
  all.skipped = read_list(in);
  all.not_kept = read_list(in);
  while (in.ok() && !in.at_end()) {
    const auto size = in.read<std::uint64_t>();
    if (size > in.remaining()) in.fail();
    if (!in.ok()) break;
    SONDE_TRY(RankSummary rank, decode_rank_summary(in.bytes(static_cast<std::size_t>(size)),
                                                    "what another process sent"));
    all.ranks.push_back(std::move(rank));
  }
  if (!in.ok()) return Failure(ErrorCode::Corrupt, "what another process sent is damaged");
  return all;
}

Result<Summaries> make_summaries(const std::vector<JobFile>& files, const JobCommand& command) {
  if (!command.summaries.empty()) {
    std::error_code error;
    std::filesystem::create_directories(command.summaries, error);
    if (error)
      return Failure(ErrorCode::Io, command.summaries + ": cannot be made: " + error.message());
  }
  const Plan plan = plan_for(files, command.open.threads);
  OpenOptions open = command.open;
  open.threads = plan.threads;
  std::vector<OfFile> results(files.size());
  for (std::size_t done = 0; done < files.size();) {
    const std::size_t some = std::min<std::size_t>(files.size() - done, plan.files * 8UL);
    const Progress progress(format_text("reading file {} of {} ({} %)", done + 1, files.size(),
                                        100 * done / files.size()));
    parallel_for(
        some,
        [&](std::size_t i) { results[done + i] = summary_of(files[done + i], command, open); },
        plan.files);
    done += some;
  }
  Summaries all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (const auto& error = results[i].not_kept; error) all.not_kept.push_back(error->message);
    if (const auto& error = results[i].error; error) {
      const bool is_other = !files[i].is_named && is_no_trace(*error);
      (is_other ? all.skipped : all.problems).push_back(is_other ? files[i].path : error->message);
      continue;
    }
    if (results[i].ranks.empty()) all.skipped.push_back(files[i].path);
    for (RankSummary& rank : results[i].ranks) all.ranks.push_back(std::move(rank));
  }
  return all;
}

}  // namespace sonde::cli
