// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What `sonde job` says first: who held the others up, why, and what it cost.

#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/readable.h"
#include "base/sum.h"
#include "base/text.h"
#include "cli/job/job.h"

namespace sonde::cli {
namespace {

constexpr double kWorthNaming = 0.05;  // of the job's time
constexpr std::size_t kMostSuspectsNamed = 3;
constexpr double kLateTogether = 0.1;  // of the job's time

std::string who(const JobVerdict& verdict) {
  if (!verdict.host.empty())
    return format_text("Host {} ({})", readable_line(verdict.host), ranks_text(verdict.ranks));
  std::string text = ranks_text(verdict.ranks);
  text.front() = 'R';
  return text;
}

// The step in which a rank held the others up longest.
std::int64_t worst_step(const JobReport& job, const JobVerdict& verdict) {
  std::int64_t number = -1;
  Nanos worst_ns = -1;
  for (const JobStep& step : job.steps)
    for (const JobStepRank& rank : step.ranks) {
      if (rank.rank != verdict.rank || rank.caused_ns <= worst_ns) continue;
      worst_ns = rank.caused_ns;
      number = step.number;
    }
  return number;
}

std::string verdict_sentence(const JobReport& job, const JobVerdict& verdict) {
  const bool many = verdict.ranks.size() > 1 && verdict.host.empty();
  if (verdict.steps == 1 && job.steps.size() > 1)
    return format_text("{} held the others up once: {} in step {}, {} of the time of {}.",
                       who(verdict), duration_text(verdict.total_ns), worst_step(job, verdict),
                       percent(verdict.share), counted_text(job.steps.size(), "step"));
  if (verdict.per_step_ns > 0)
    return format_text("{} {} the others up: {} a step ({} of {} on average), in {} of {}.",
                       who(verdict), many ? "hold" : "holds", duration_text(verdict.per_step_ns),
                       percent(verdict.share),
                       duration_text(job.total_ns / static_cast<Nanos>(job.steps.size())),
                       verdict.steps, counted_text(job.steps.size(), "step"));
  return format_text("{} {} the others up: {} in all, {} of the recorded time, in {}.",
                     who(verdict), many ? "hold" : "holds", duration_text(verdict.total_ns),
                     percent(verdict.share), counted_text(verdict.times, "collective"));
}

std::string cause_word(const std::string& cause) {
  static const std::map<std::string, std::string> words = {
      {"kernel", "the kernel"},
      {"copy", "the copy"},
      {"operator", "the operator"},
      {"data_loading", "loading data in"},
      {"gc", "garbage collection in"},
      {"host", "the host, in"},
      {"device_wait", "a wait for the device in"}};
  const auto found = words.find(cause);
  return found == words.end() ? cause : found->second;
}

std::string cause_sentence(const JobVerdict& verdict) {
  if (verdict.cause.empty())
    return "Nothing that it did explains 80 % of the delay; below is what it did longer than the "
           "others.";
  const bool by_op = verdict.cause == "kernel" && verdict.name == verdict.op;
  std::string text =
      verdict.name.starts_with("all ")
          ? format_text("The cause is {} together", short_name(verdict.name))
      : by_op
          ? format_text("The cause is the kernels that {} launched", short_name(verdict.name))
          : format_text("The cause is {} {}", cause_word(verdict.cause), short_name(verdict.name));
  if (!verdict.op.empty() && verdict.op != verdict.name)
    text += format_text(", launched by {}", short_name(verdict.op));
  if (!verdict.range.empty() && verdict.range != verdict.name)
    text += format_text(" in {}", short_name(verdict.range));
  if (verdict.cause_own_ns > 0)
    text += format_text(": {} against {} on the others, {} of the delay",
                        duration_text(verdict.cause_own_ns), duration_text(verdict.cause_others_ns),
                        percent(verdict.cause_share));
  return text + ".";
}

// "7.313 ms a step (21.9 %)"
std::string cost_text(const JobVerdict& verdict) {
  return format_text(
      "{}{} ({})", duration_text(verdict.per_step_ns > 0 ? verdict.per_step_ns : verdict.total_ns),
      verdict.per_step_ns > 0 ? " a step" : " in all", percent(verdict.share));
}

// Ranks that cost much, of which none is clearly the worst, or one that did so by chance.
std::string suspects_sentence(const JobReport& job) {
  const JobVerdict& first = job.suspects.front();
  std::string list;
  std::size_t count = 0;
  for (const JobVerdict& one : job.suspects) {
    if (one.total_ns * 2 <= first.total_ns) continue;
    if (++count > kMostSuspectsNamed) continue;
    list += (list.empty() ? "" : ", ") + ranks_text(one.ranks) + " by " + cost_text(one);
  }
  if (count == 1)
    return format_text(
        "No rank holds the others up time and again: {} did in {}, {}, and arrivals vary by {} by "
        "themselves.",
        ranks_text(first.ranks), counted_text(first.times, "collective"), cost_text(first),
        duration_text(job.noise_ns));
  if (count > kMostSuspectsNamed) list += format_text(" and {} more", count - kMostSuspectsNamed);
  return "Several ranks hold the others up, and none of them is clearly the worst: " + list + ".";
}

// The rank that costs most after the one that is named.
std::string next_sentence(const JobVerdict& next) {
  std::string text = "Next comes " + ranks_text(next.ranks) + " with " + cost_text(next);
  if (!next.name.empty()) text += ", because of " + short_name(next.name);
  return text + ".";
}

std::string slow_group_sentence(const JobReport& job, const JobSlowGroup& slow) {
  const JobGroup& group = job.groups[slow.group];
  const auto steps = static_cast<Nanos>(job.steps.size());
  return format_text(
      "{} of group {} ({}) takes {} once all have arrived, and {} in other groups of its size: {} "
      "longer {}.",
      short_name(job.text(slow.name), 30), short_name(group.name, 30), ranks_text(group.ranks),
      duration_text(slow.transfer_ns), duration_text(slow.others_ns),
      duration_text(steps > 0 ? slow.total_ns / steps : slow.total_ns),
      steps > 0 ? "a step" : "in all");
}

// Whether the replay finds about the saving that the delays add up to.
bool agrees(const JobSimulation& replay, const JobVerdict& verdict) {
  const auto saved = static_cast<double>(replay.measured_step_ns - replay.without_culprits_step_ns);
  const auto late = static_cast<double>(verdict.per_step_ns);
  return saved > 0.7 * late && saved < 1.3 * late;
}

// "16.4 ms", or "16.4 to 17.9 ms" if they differ by more than 2 %.
std::string range_text(Nanos from_ns, Nanos to_ns) {
  if (to_ns - from_ns <= from_ns / 50) return duration_text(from_ns);
  return format_text("{} to {}", duration_text(from_ns), duration_text(to_ns));
}

std::string hang_sentence(const JobReport& job, const JobHang& hang) {
  std::string text = ranks_text(hang.absent);
  text.front() = 'R';
  text += format_text(
      " never arrived at {} of group {}, in which {} {} waiting when the recording ended",
      short_name(hang.name), short_name(job.groups[hang.group].name), ranks_text(hang.waiting),
      hang.waiting.size() == 1 ? "was" : "were");
  if (!hang.last_activity.empty())
    text += "; the last that it did was " + short_name(hang.last_activity);
  return text + ".";
}

void add_verdict(const JobReport& job, const JobVerdict& verdict,
                 std::vector<std::string>& sentences) {
  sentences.push_back(verdict_sentence(job, verdict));
  sentences.push_back(cause_sentence(verdict));
  if (job.replay && agrees(*job.replay, verdict))
    sentences.push_back(format_text(
        "If {} were like the others, a step would take {} instead of {}.",
        ranks_text(verdict.ranks),
        range_text(job.replay->without_culprits_step_ns, job.replay->without_culprits_kept_step_ns),
        duration_text(job.replay->measured_step_ns)));
  if (!job.suspects.empty() && job.suspects.front().share >= kWorthNaming)
    sentences.push_back(next_sentence(job.suspects.front()));
}

// Where half of the ranks or more come late together, nobody can say which half is wrong.
std::string late_together_sentence(const JobReport& job) {
  std::vector<const JobRank*> order;
  order.reserve(job.ranks.size());
  for (const JobRank& rank : job.ranks) order.push_back(&rank);
  std::stable_sort(order.begin(), order.end(),
                   [](const JobRank* a, const JobRank* b) { return a->wait_ns < b->wait_ns; });
  std::size_t cut = 0;
  Nanos widest_ns = 0;
  for (std::size_t i = 1; i < order.size(); ++i)
    if (const Nanos gap_ns = order[i]->wait_ns - order[i - 1]->wait_ns; gap_ns > widest_ns) {
      widest_ns = gap_ns;
      cut = i;
    }
  const bool is_clear =
      cut * 2 >= order.size() &&
      static_cast<double>(widest_ns) > kLateTogether * static_cast<double>(job.total_ns) &&
      widest_ns * 2 > order.back()->wait_ns - order.front()->wait_ns;
  if (!is_clear) return "";
  std::vector<std::int32_t> early;
  for (std::size_t i = cut; i < order.size(); ++i) early.push_back(order[i]->rank);
  std::sort(early.begin(), early.end());
  return format_text(
      "No rank is later than all others, but {} {} at least {} longer than each of the other {}, "
      "which come late together.",
      ranks_text(early), early.size() == 1 ? "waits" : "wait", duration_text(widest_ns), cut);
}

// How much of the time a rank waits for others.
double waits_share(const JobReport& job) {
  Nanos wait_ns = 0;
  for (const JobRank& rank : job.ranks) detail::add_to(wait_ns, rank.wait_ns);
  if (job.ranks.empty() || job.total_ns <= 0) return 0;
  return static_cast<double>(wait_ns) / static_cast<double>(job.ranks.size()) /
         static_cast<double>(job.total_ns);
}

std::string no_culprit_sentence(const JobReport& job) {
  if (job.ranks.size() < 2) return "There is only one rank here: nothing can be compared.";
  if (std::none_of(job.collectives.begin(), job.collectives.end(),
                   [](const JobCollective& one) { return one.members > 1; }))
    return "No collective could be matched across ranks: nothing can be said about waits.";
  if (!job.suspects.empty() && job.suspects.front().share >= kWorthNaming)
    return suspects_sentence(job);
  const auto unused = std::find_if(job.groups.begin(), job.groups.end(),
                                   [](const JobGroup& group) { return !group.problem.empty(); });
  if (unused != job.groups.end())
    return format_text(
        "No rank is seen to hold the others up, but not all collectives could be compared: see the "
        "notes on group {}.",
        short_name(unused->name));
  if (job.pairs_unknown > 0)
    return "No rank is seen to hold the others up, but waits in sends and receives are not seen: "
           "see the note.";
  if (!job.began_late.empty())
    return format_text(
        "No rank is seen to hold the others up, but they waited for {} before the recording began.",
        ranks_text(job.began_late));
  if (std::string late = late_together_sentence(job); !late.empty()) return late;
  if (!job.suspects.empty())
    return format_text("No rank costs the others 5 % of the time: the most is {} with {}.",
                       ranks_text(job.suspects.front().ranks), cost_text(job.suspects.front()));
  return format_text("{}: arrivals vary by {} by themselves.",
                     waits_share(job) < kWorthNaming
                         ? "No rank holds the others up by more than the noise"
                         : "No rank comes clearly later than all others often enough to be named",
                     duration_text(job.noise_ns));
}

}  // namespace

std::string percent(double share) {
  return format_text("{:.1f} %", 100 * share);
}

std::string short_name(std::string_view name, std::size_t most) {
  std::string text = readable_line(name);
  if (text.size() <= most) return text;
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;  // in UTF-8
  return text.substr(0, end) + "...";
}

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t shown = std::min<std::size_t>(ranks.size(), 8);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (ranks.size() > shown) text += format_text(" and {} more", ranks.size() - shown);
  return text;
}

std::vector<std::string> job_sentences(const JobReport& job) {
  std::vector<std::string> sentences;
  sentences.reserve(job.hangs.size());
  for (const JobHang& hang : job.hangs) sentences.push_back(hang_sentence(job, hang));
  if (job.verdict) {
    add_verdict(job, *job.verdict, sentences);
  } else {
    sentences.push_back(no_culprit_sentence(job));
  }
  if (!job.slow_groups.empty())
    sentences.push_back(slow_group_sentence(job, job.slow_groups.front()));
  if (const double share = waits_share(job); share > 0)
    sentences.push_back(format_text(
        "A rank waits for others {} on average, {} of {}.",
        duration_text(static_cast<Nanos>(share * static_cast<double>(job.total_ns))),
        percent(share),
        job.steps.empty() ? "the recorded time" : counted_text(job.steps.size(), "step")));
  return sentences;
}

}  // namespace sonde::cli
