// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Decides which summaries belong to the job, and the rank of each.

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "analyse/job/job_data.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Finds the number of "rank3" or "rank_3" in a file's name.
struct RankInName {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int32_t rank = -1;
};
RankInName rank_in_name(std::string_view name) {
  for (std::size_t at = name.rfind("rank"); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : name.rfind("rank", at - 1)) {
    std::size_t begin = at + 4;
    if (begin < name.size() && std::string_view("_-.=").find(name[begin]) != std::string_view::npos)
      ++begin;
    RankInName found{.begin = begin};
    const auto [end, error] =
        std::from_chars(name.data() + begin, name.data() + name.size(), found.rank);
    found.end = static_cast<std::size_t>(end - name.data());
    if (error == std::errc{} && found.rank >= 0) return found;
  }
  return {};
}

// "clean.rank*.json", the same for all files of a job.
std::string pattern_of(const RankSummary& summary) {
  const std::string_view name = file_of(summary.source);
  const RankInName found = rank_in_name(name);
  if (found.rank < 0) return std::string(name);
  return std::string(name.substr(0, found.begin)) + "*" + std::string(name.substr(found.end));
}

// "node3" of "node3_4711.1700000000.pt.trace.json", as PyTorch's handler for TensorBoard names it.
std::string_view host_in_name(std::string_view name) {
  if (name.find(".pt.trace.json") == std::string_view::npos) return {};
  const std::size_t dot = name.find('.');
  const std::size_t bar = name.substr(0, dot).rfind('_');
  if (dot == std::string_view::npos || bar == std::string_view::npos || bar == 0) return {};
  const std::string_view pid = name.substr(bar + 1, dot - bar - 1);
  const bool is_number =
      !pid.empty() && pid.find_first_not_of("0123456789") == std::string_view::npos;
  const std::string_view time = name.substr(dot + 1, 13);
  const bool has_time =
      time.size() == 13 && time.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number && has_time ? name.substr(0, bar) : std::string_view();
}

void name_ranks(JobData& data) {
  std::set<std::int32_t> taken;
  std::size_t by_name = 0;
  for (RankSummary& summary : data.ranks) {
    if (summary.host.empty()) summary.host = host_in_name(file_of(summary.source));
    if (summary.rank < 0) {
      summary.rank = rank_in_name(file_of(summary.source)).rank;
      by_name += summary.rank >= 0 ? 1 : 0;
    }
    if (summary.rank >= 0) taken.insert(summary.rank);
  }
  std::size_t by_order = 0;
  std::int32_t next = 0;
  for (RankSummary& summary : data.ranks) {
    if (summary.rank >= 0) continue;
    while (taken.contains(next)) ++next;
    summary.rank = next++;
    ++by_order;
  }
  if (by_name > 0)
    data.report.notes.push_back(
        format_text("{} no rank inside; it was taken from the name of the file.",
                    by_name == 1 ? "One file has" : counted_text(by_name, "file") + " have"));
  if (by_order > 0)
    data.report.notes.push_back(format_text(
        "{} no rank, inside or in the name; ranks were given in the order of the names.",
        by_order == 1 ? "One file has" : counted_text(by_order, "file") + " have"));
}

// Appends what the same process recorded later.
void append_cycle(RankSummary& first, RankSummary&& later) {
  const auto texts = static_cast<std::uint32_t>(first.texts.size());
  const auto groups = static_cast<std::uint32_t>(first.groups.size());
  const auto kinds = static_cast<std::uint32_t>(first.kinds.size());
  const auto steps = static_cast<std::uint32_t>(first.steps.size());
  const auto collectives = static_cast<std::uint32_t>(first.collectives.size());
  const auto moved = [](std::uint32_t place, std::uint32_t by) {
    return place == RankActivity::kNone ? place : place + by;
  };
  for (CollectiveKind& kind : later.kinds) {
    kind.name += texts;
    kind.dtype = moved(kind.dtype, texts);
    kind.group += groups;
  }
  for (RankCollective& one : later.collectives) {
    one.kind += kinds;
    one.step = moved(one.step, steps);
  }
  for (RankActivity& one : later.activities) {
    one.name = moved(one.name, one.kind == ActivityKind::Collective ? collectives : texts);
    one.op = moved(one.op, texts);
    one.range = moved(one.range, texts);
  }
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(first.texts, later.texts);
  append(first.groups, later.groups);
  append(first.kinds, later.kinds);
  append(first.collectives, later.collectives);
  append(first.steps, later.steps);
  append(first.activities, later.activities);
  first.last_ns = later.last_ns;
  first.lost += later.lost;
  first.is_truncated |= later.is_truncated;
  first.records_without_work += later.records_without_work;
}

// Joins cycles of one process that follow each other. Cycles that overlap stay apart.
void join_cycles(JobData& data) {
  std::vector<RankSummary> joined;
  for (RankSummary& summary : data.ranks) {
    RankSummary* const last = joined.empty() ? nullptr : &joined.back();
    const bool continues = last != nullptr && last->rank == summary.rank && last->pid != 0 &&
                           last->pid == summary.pid && last->host == summary.host &&
                           last->last_ns <= summary.first_ns;
    if (continues) {
      append_cycle(*last, std::move(summary));
    } else {
      joined.push_back(std::move(summary));
    }
  }
  data.ranks = std::move(joined);
}

// By the number that the cluster gave the job, where it is recorded.
Result<void> only_one_number(const JobData& data) {
  std::map<std::string, std::vector<const RankSummary*>> by_job;
  for (const RankSummary& summary : data.ranks)
    if (!summary.job.empty()) by_job[summary.job].push_back(&summary);
  if (by_job.size() < 2) return {};
  std::string list;
  for (const auto& [job, ranks] : by_job)
    list += format_text("{}{} ({}, as in {})", list.empty() ? "" : ", ", job,
                        counted_text(ranks.size(), "rank"), ranks.front()->source);
  return Failure(ErrorCode::Invalid,
                 format_text("these are the files of {} jobs: {}; name the files of one",
                             by_job.size(), list));
}

Result<void> only_one_job(const JobData& data) {
  std::map<std::string, std::set<std::int32_t>> by_pattern;
  std::optional<std::pair<std::size_t, std::size_t>> twice;
  for (std::size_t i = 0; i < data.ranks.size(); ++i) {
    by_pattern[pattern_of(data.ranks[i])].insert(data.ranks[i].rank);
    if (i > 0 && data.ranks[i].rank == data.ranks[i - 1].rank) twice = {i - 1, i};
  }
  if (!twice) return {};
  const RankSummary& a = data.ranks[twice->first];
  const RankSummary& b = data.ranks[twice->second];
  const std::size_t least =
      std::min(by_pattern[pattern_of(a)].size(), by_pattern[pattern_of(b)].size());
  if (least == 1 || by_pattern.size() > data.ranks.size() / 2 + 1)
    return Failure(ErrorCode::Invalid,
                   format_text("rank {} is there twice: {} and {}; name the files of one job",
                               a.rank, a.source, b.source));
  std::string list;
  for (const auto& [pattern, ranks] : by_pattern)
    list += format_text("{}{} ({})", list.empty() ? "" : ", ", pattern,
                        counted_text(ranks.size(), "rank"));
  return Failure(ErrorCode::Invalid,
                 format_text("these are the files of {} jobs: {}; name those of one, as in `sonde "
                             "job '{}'`",
                             by_pattern.size(), list, by_pattern.begin()->first));
}

void keep_one_world(JobData& data) {
  std::map<std::int32_t, std::size_t> sizes;
  for (const RankSummary& summary : data.ranks)
    if (summary.world_size > 0) ++sizes[summary.world_size];
  if (sizes.empty()) return;
  const auto most = std::max_element(
      sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  data.report.world_size = most->first;
  if (sizes.size() == 1) return;
  std::string left_out;
  std::erase_if(data.ranks, [&](const RankSummary& summary) {
    if (summary.world_size <= 0 || summary.world_size == most->first) return false;
    left_out += format_text("{}rank {} of {}", left_out.empty() ? "" : ", ", summary.rank,
                            summary.world_size);
    return true;
  });
  data.report.notes.push_back(format_text("World sizes disagree. {} say {}; left out: {}.",
                                          counted_text(most->second, "file"), most->first,
                                          left_out));
}

void note_missing(JobData& data) {
  JobReport& report = data.report;
  if (report.world_size <= 0 || report.world_size > 1'000'000) return;
  std::set<std::int32_t> present;
  for (const RankSummary& summary : data.ranks) present.insert(summary.rank);
  for (std::int32_t rank = 0; rank < report.world_size; ++rank)
    if (!present.contains(rank)) report.missing.push_back(rank);
  if (report.missing.empty()) return;
  report.notes.push_back(format_text(
      "{} of {} ranks {} no file: waits are lower bounds, and a missing rank cannot be blamed.",
      report.missing.size(), report.world_size, report.missing.size() == 1 ? "has" : "have"));
}

}  // namespace

std::uint32_t JobData::text(std::string_view text) {
  for (std::size_t i = 0; i < report.texts.size(); ++i)
    if (report.texts[i] == text) return static_cast<std::uint32_t>(i);
  report.texts.emplace_back(text);
  return static_cast<std::uint32_t>(report.texts.size() - 1);
}

Result<void> admit(JobData& data, const JobOptions& options) {
  if (data.ranks.empty()) return Failure(ErrorCode::NotFound, "no rank has anything recorded");
  std::sort(data.ranks.begin(), data.ranks.end(), [](const RankSummary& a, const RankSummary& b) {
    return std::tuple(file_of(a.source), a.first_ns, a.source) <
           std::tuple(file_of(b.source), b.first_ns, b.source);
  });
  name_ranks(data);
  std::stable_sort(data.ranks.begin(), data.ranks.end(),
                   [](const RankSummary& a, const RankSummary& b) {
                     return std::tuple(a.rank, a.first_ns) < std::tuple(b.rank, b.first_ns);
                   });
  join_cycles(data);
  SONDE_TRY_VOID(only_one_number(data));
  SONDE_TRY_VOID(only_one_job(data));
  keep_one_world(data);
  note_missing(data);
  for (std::size_t i = 0; i < data.ranks.size(); ++i) {
    RankSummary& summary = data.ranks[i];
    const auto rank = static_cast<std::size_t>(summary.rank);
    if (rank < options.hosts.size()) summary.host = options.hosts[rank];
    if (summary.is_truncated || summary.lost > 0)
      data.report.notes.push_back(
          format_text("Rank {} is incomplete; `sonde info {}` shows what is missing.", summary.rank,
                      summary.source));
  }
  return {};
}

}  // namespace sonde::detail
