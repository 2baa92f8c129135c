// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The answer of `sonde job` for people.

#include <algorithm>
#include <map>

#include "base/format.h"
#include "base/readable.h"
#include "base/text.h"
#include "cli/job/job.h"
#include "cli/print/markdown.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kMostRows = 20;
constexpr std::size_t kMostKernels = 8;

class JobText {
 public:
  JobText(const JobReport& job, Output& out) : job_(job), out_(out) {}

  void write() {
    notes();
    causes();
    ranks();
    clocks();
    groups();
    collectives();
    devices();
    steps();
  }

 private:
  void notes() {
    if (job_.notes.empty()) return;
    out_.line("");
    for (const std::string& note : job_.notes) out_.line("  " + readable_line(note));
  }

  void causes() {
    const JobVerdict* const verdict = job_.verdict ? &*job_.verdict : nullptr;
    if (verdict == nullptr || verdict->causes.empty()) return;
    out_.line("");
    out_.line(format_text("What rank {} did longer than the others", verdict->rank));
    out_.line("        longer    share           own        others  ");
    for (const JobCause& cause : verdict->causes) {
      if (cause.share < 0.01) continue;
      out_.line(format_text("  {:>12} {:>8} {:>13} {:>13}  {}: {}{}", duration_text(cause.extra_ns),
                            percent(cause.share), duration_text(cause.own_ns),
                            duration_text(cause.others_ns), cause.cause, short_name(cause.name, 70),
                            cause.range.empty() || cause.range == cause.name
                                ? std::string()
                                : " in " + short_name(cause.range, 30)));
    }
  }

  void ranks() {
    out_.line("");
    out_.line("  rank         waited      exposed     held others up   last  mean step      host");
    std::vector<const JobRank*> rows;
    rows.reserve(job_.ranks.size());
    for (const JobRank& rank : job_.ranks) rows.push_back(&rank);
    if (rows.size() > kMostRows) {
      std::stable_sort(rows.begin(), rows.end(), [](const JobRank* a, const JobRank* b) {
        return a->caused_ns > b->caused_ns;
      });
      rows.resize(kMostRows);
    }
    for (const JobRank* const rank : rows)
      out_.line(format_text("{:>6} {:>14} {:>12} {:>18} {:>6} {:>10}      {}", rank->rank,
                            duration_text(rank->wait_ns), duration_text(rank->exposed_ns),
                            duration_text(rank->caused_ns), rank->times_last,
                            rank->mean_step_ns > 0 ? duration_text(rank->mean_step_ns) : "-",
                            rank->host.empty() ? "-" : readable_line(rank->host)));
    if (job_.ranks.size() > kMostRows)
      out_.line(format_text("  … and {} more", job_.ranks.size() - kMostRows));
  }

  void clocks() {
    out_.line("");
    out_.line(
        "  Clocks: what was added to each rank's times, how good that is, and what is possible");
    std::size_t shown = 0;
    for (const JobClock& clock : job_.clocks) {
      if (++shown > kMostRows) break;
      if (!clock.is_aligned) {
        out_.line(format_text("{:>6}   not joined to the others by any collective", clock.rank));
        continue;
      }
      out_.line(format_text(
          "{:>6} {:>16} ± {:<12} from {} to {}{}", clock.rank, signed_text(clock.offset_ns),
          duration_text(clock.error_ns), clock.is_bounded_below ? signed_text(clock.low_ns) : "-∞",
          clock.is_bounded_above ? signed_text(clock.high_ns) : "∞",
          clock.drift_ppm == 0 ? std::string()
                               : format_text(", drift {:.2f} ppm", clock.drift_ppm)));
    }
    if (job_.clocks.size() > kMostRows)
      out_.line(format_text("  … and {} more", job_.clocks.size() - kMostRows));
    if (job_.contradictions > 0)
      out_.line(format_text("  {} contradict this: a rank ends before another begins, by up to {}.",
                            counted_text(job_.contradictions, "collective"),
                            duration_text(job_.worst_contradiction_ns)));
  }

  static std::string signed_text(std::int64_t ns) {
    return (ns < 0 ? "-" : "+") + duration_text(ns < 0 ? -ns : ns);
  }

  void groups() {
    out_.line("");
    out_.line("  group                   ranks    calls  matched  matched by");
    std::size_t shown = 0;
    for (const JobGroup& group : job_.groups) {
      if (group.calls == 0) continue;
      if (++shown > kMostRows) break;
      std::uint64_t all = 0;
      for (const std::uint64_t count : group.states) all += count;
      std::string line =
          format_text("  {:<22} {:>6} {:>8} {:>8}  {}{}", short_name(label(group), 22),
                      group.ranks.empty() ? job_.ranks.size() : group.ranks.size(), all,
                      group.states[0], group.matched_by.empty() ? "-" : group.matched_by,
                      group.is_assumed ? ", group assumed from its threads or streams" : "");
      if (!group.problem.empty()) line += "; " + group.problem;
      out_.line(line);
    }
  }

  static std::string label(const JobGroup& group) {
    if (group.description.empty() || group.description == "undefined") return group.name;
    return group.name + " " + group.description;
  }

  void collectives() {
    struct Sum {
      std::uint64_t count = 0;
      Nanos wait_ns = 0;
      Nanos transfer_ns = 0;
      double best = 0;
    };
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, Sum> sums;
    for (const JobCollective& one : job_.collectives) {
      if (one.members < 2) continue;
      Sum& sum = sums[{one.group, one.name, one.bytes}];
      ++sum.count;
      sum.wait_ns += one.wait_ns / one.members;
      sum.transfer_ns += one.transfer_ns;
      sum.best = std::max(sum.best, one.bus_gb_per_s);
    }
    if (sums.empty()) return;
    std::vector<std::pair<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>, Sum>> rows(
        sums.begin(), sums.end());
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return a.second.wait_ns > b.second.wait_ns;
    });
    if (rows.size() > kMostRows) rows.resize(kMostRows);
    out_.line("");
    out_.line("    mean wait     transfer   times       size  best bus GB/s  collective");
    for (const auto& [key, sum] : rows) {
      const auto& [group, name, bytes] = key;
      const auto count = static_cast<Nanos>(sum.count);
      out_.line(
          format_text("{:>13} {:>12} {:>7} {:>10} {:>14}  {} of group {}",
                      duration_text(sum.wait_ns / count), duration_text(sum.transfer_ns / count),
                      sum.count, bytes < 0 ? "-" : bytes_text(static_cast<std::uint64_t>(bytes)),
                      sum.best > 0 ? format_text("{:.2f}", sum.best) : "-",
                      short_name(job_.text(name), 30), short_name(job_.groups[group].name, 30)));
    }
  }

  // The kernels that took longest, and the ranks on which one of them takes longest and shortest.
  void devices() {
    Nanos all_ns = 0;
    for (const Nanos ns : job_.running_ns) all_ns += ns;
    if (all_ns <= 0) return;
    out_.line("");
    std::string line = "  Devices ran";
    for (std::size_t types = 1; types < job_.running_ns.size(); ++types) {
      const Nanos ns = job_.running_ns[types];
      if (ns * 1000 < all_ns) continue;
      if (line.back() == '%') line += ",";
      line += " " + types_text(types) + " " +
              percent(static_cast<double>(ns) / static_cast<double>(all_ns));
    }
    out_.line(line + " of the time in which they ran anything.");
    out_.line(
        "        total        times  ranks         mean   of the ranks, from and to  kernel or "
        "copy");
    std::size_t shown = 0;
    for (const JobKernel& kernel : job_.kernels) {
      if (++shown > kMostKernels) break;
      const auto mean_ns = [](const RankKernel& one) {
        return one.sum_ns / static_cast<Nanos>(std::max<std::uint64_t>(one.count, 1));
      };
      const auto shorter = [&](const auto& a, const auto& b) {
        return mean_ns(a.second) < mean_ns(b.second);
      };
      const auto [least, most] =
          std::minmax_element(kernel.ranks.begin(), kernel.ranks.end(), shorter);
      out_.line(format_text(
          "{:>13} {:>12} {:>6} {:>12} {:>13} {:>12}  {}", duration_text(kernel.all.sum_ns),
          kernel.all.count, kernel.ranks.size(), duration_text(mean_ns(kernel.all)),
          duration_text(mean_ns(least->second)), duration_text(mean_ns(most->second)),
          short_name(job_.text(kernel.all.name), 70)));
    }
  }

  static std::string types_text(std::size_t types) {
    std::string text;
    for (std::uint8_t type = 0; type < kWorkTypes; ++type) {
      if ((types & (std::size_t{1} << type)) == 0) continue;
      if (!text.empty()) text += " with ";
      text += to_string(static_cast<WorkType>(type));
    }
    return text;
  }

  void steps() {
    if (job_.steps.empty()) return;
    out_.line("");
    out_.line("    step     duration    waited on average    held up by");
    std::size_t shown = 0;
    for (const JobStep& step : job_.steps) {
      if (++shown > kMostRows) break;
      Nanos wait_ns = 0;
      const JobStepRank* worst = nullptr;
      for (const JobStepRank& rank : step.ranks) {
        wait_ns += rank.wait_ns;
        if (rank.caused_ns > 0 && (worst == nullptr || rank.caused_ns > worst->caused_ns))
          worst = &rank;
      }
      wait_ns /= static_cast<Nanos>(std::max<std::size_t>(step.ranks.size(), 1));
      out_.line(format_text("{:>8} {:>12} {:>20}    {}{}", step.number,
                            duration_text(step.duration_ns), duration_text(wait_ns),
                            worst == nullptr ? std::string("-")
                                             : format_text("rank {}, {}", worst->rank,
                                                           duration_text(worst->caused_ns)),
                            step.is_outlier ? ", a long step" : ""));
    }
    if (job_.steps.size() > kMostRows)
      out_.line(format_text("  … and {} more", job_.steps.size() - kMostRows));
  }

  const JobReport& job_;
  Output& out_;
};

}  // namespace

void write_job_text(const JobReport& job, Output& out) {
  for (const std::string& sentence : job_sentences(job)) out.line(sentence);
  JobText(job, out).write();
}

void write_job_markdown(const JobReport& job, Output& out) {
  for (const std::string& sentence : job_sentences(job)) out.line(markdown_text(sentence) + "\n");
  Output text;
  JobText(job, text).write();
  out.line("```");
  out.write(text.take());
  out.line("```");
}

}  // namespace sonde::cli
