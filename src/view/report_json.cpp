// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The numbers of a report, as the page reads them.

#include "view/report_json.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/sum.h"
#include "base/text.h"
#include "view/page.h"

namespace sonde {
namespace {

constexpr std::size_t kMostNames = 12;
constexpr std::size_t kMostStepsListed = 2000;
constexpr std::size_t kSlowestSteps = 100;
constexpr std::size_t kMostGaps = 20;

// Those that a page shows, in the order of time. Of a long run, the slowest, and of every few
// neighbours the slowest one.
std::vector<StepTime> steps_to_show(const std::vector<StepTime>& all) {
  if (all.size() <= kMostStepsListed) return all;
  const auto is_slower = [&](std::size_t a, std::size_t b) {
    return all[a].host_ns() > all[b].host_ns();
  };
  std::vector<std::size_t> slowest(all.size());
  std::iota(slowest.begin(), slowest.end(), std::size_t{0});
  std::partial_sort(slowest.begin(), slowest.begin() + kSlowestSteps, slowest.end(), is_slower);
  std::set<std::size_t> chosen(slowest.begin(), slowest.begin() + kSlowestSteps);
  constexpr std::size_t kGroups = kMostStepsListed - kSlowestSteps;
  for (std::size_t group = 0; group < kGroups; ++group) {
    std::size_t most = group * all.size() / kGroups;
    for (std::size_t i = most; i < (group + 1) * all.size() / kGroups; ++i)
      if (is_slower(i, most)) most = i;
    chosen.insert(most);
  }
  std::vector<StepTime> out;
  out.reserve(chosen.size());
  for (const std::size_t i : chosen) out.push_back(all[i]);
  return out;
}

class ReportJson {
 public:
  ReportJson(const Report& report, std::string_view name) : report_(report), name_(name) {}

  std::string make() {
    json_.key("name").text(name_);
    json_.key("verdict").text(report_.verdict);
    json_.key("measured_ns").number(report_.measured_ns);
    json_.key("length_ns").number(report_.trace.last_ns() - report_.trace.first_ns());
    json_.key("spans").number(static_cast<std::int64_t>(report_.trace.spans().size()));
    json_.key("recording_ns").number(report_.recording_ns);
    json_.key("corrected").boolean(report_.profiler_ns > 0 || report_.corrected_ns > 0);
    std::vector<std::string> told = sentences(report_.trace, report_.end);
    for (std::string& line : introduction(report_)) told.push_back(std::move(line));
    json_.key("introduction").list(told, [&](const std::string& text) { json_.text(text); });
    ledger("lost", LedgerClass::Lost);
    ledger("incomplete", LedgerClass::Incomplete);
    findings();
    steps();
    devices();
    names("operators", report_.host.operators);
    names("device_work", report_.device_work);
    copies();
    memory();
    json_.key("missing").list(report_.missing, [&](const std::string& text) { json_.text(text); });
    return json_.done();
  }

 private:
  void ledger(std::string_view key, LedgerClass wanted) {
    std::vector<std::string> lines;
    for (const auto& [kind, total] : report_.ledger) {
      if (ledger_class(kind) != wanted || total.count == 0) continue;
      if (kind == LedgerKind::Unfinished && report_.is_whole()) continue;
      lines.push_back(std::string(ledger_phrase(kind)) + ": " + count_text(total.count));
    }
    json_.key(key).list(lines, [&](const std::string& line) { json_.text(line); });
  }

  void findings() {
    json_.key("findings").list(report_.findings, [&](const Finding& finding) {
      json_.object([&] {
        json_.key("id").text(finding.id);
        json_.key("title").text(finding.title);
        json_.key("detail").text(finding.detail);
        json_.key("advice").text(finding.advice);
        json_.key("command").text(command_text(finding, name_));
        json_.key("saving_ns").number(finding.saving_ns);
        json_.key("saves").text(saving_text(report_, finding));
        json_.key("count").number(static_cast<std::int64_t>(finding.count));
        json_.key("spans").list(finding.spans, [&](SpanId span) { example(span); });
        json_.key("groups").list(finding.groups, [&](const FindingGroup& group) {
          json_.object([&] {
            json_.key("name").text(group.name);
            json_.key("place").text(group.place);
            json_.key("ns").number(group.time_ns);
            json_.key("count").number(static_cast<std::int64_t>(group.count));
          });
        });
        json_.key("moments").list(finding.moments, [&](const FindingMoment& moment) {
          json_.object([&] {
            json_.key("text").text(moment_text(report_, moment));
            json_.key("what").text(moment.what);
            json_.key("begin_ns").number(moment.begin_ns - report_.trace.first_ns());
            json_.key("ns").number(moment.end_ns - moment.begin_ns);
          });
        });
      });
    });
  }

  void example(SpanId span) {
    const Trace& trace = report_.trace;
    json_.object([&] {
      json_.key("id").number(span.value());
      json_.key("name").text(trace.name(span));
      json_.key("at_ns").number(trace.spans().start_ns[span] - trace.first_ns());
      json_.key("ns").number(trace.spans().duration_ns[span]);
    });
  }

  void steps() {
    const StepTimes& times = report_.steps;
    json_.key("median_step_ns").number(times.median_ns);
    json_.key("step_deviation_ns").number(static_cast<std::int64_t>(times.deviation_ns));
    json_.key("steps_in_all").number(static_cast<std::int64_t>(times.steps.size()));
    json_.key("steps").list(steps_to_show(times.steps),
                            [&](const StepTime& step) { json_.object([&] { one_step(step); }); });
  }

  void one_step(const StepTime& step) {
    json_.key("step").number(step.step);
    json_.key("span").number(step.span.valid() ? step.span.value() : -1);
    json_.key("begin_ns").number(step.begin_ns - report_.trace.first_ns());
    json_.key("host_ns").number(step.host_ns());
    json_.key("in_operators_ns").number(step.in_operators_ns);
    json_.key("busy_ns").number(step.device_busy_ns);
    json_.key("copies_ns").number(step.copies_ns);
    json_.key("peak_bytes").number(step.peak_bytes);
    json_.key("why").text(step.why);
  }

  void devices() {
    std::size_t number = 0;
    json_.key("devices").list(report_.devices, [&](const DeviceTime& device) {
      json_.object([&] {
        json_.key("device").number(device.device);
        json_.key("extent_ns").number(device.extent_ns());
        json_.key("busy_ns").number(device.busy_ns);
        json_.key("share_of_ns").number(report_.device_shares[number].whole_ns);
        json_.key("share_busy_ns").number(report_.device_shares[number++].busy_ns);
        json_.key("idle").list(device.idle_by_cause, [&](Nanos ns) { json_.number(ns); });
        json_.key("doing").list(device.host_wait_by_doing, [&](Nanos ns) { json_.number(ns); });
        json_.key("compute_ns").number(device.compute.union_ns);
        json_.key("communication_ns").number(device.communication.union_ns);
        json_.key("communication_hidden_ns").number(device.communication_hidden_ns);
        json_.key("memory_ns").number(device.memory.union_ns);
        json_.key("memory_hidden_ns").number(device.memory_hidden_ns);
        json_.key("kernels").number(
            static_cast<std::int64_t>(device.compute.count + device.communication.count));
        json_.key("gaps_in_all").number(static_cast<std::int64_t>(device.gaps.size()));
        json_.key("gaps").list(longest_gaps(device), [&](const DeviceGap& gap) { one_gap(gap); });
        json_.key("other_work_ns").number(device.other.union_ns);
        json_.key("other_work").number(static_cast<std::int64_t>(device.other.count));
      });
    });
  }

  static std::vector<DeviceGap> longest_gaps(const DeviceTime& device) {
    std::vector<DeviceGap> gaps = device.gaps;
    const std::size_t kept = std::min(gaps.size(), kMostGaps);
    std::partial_sort(
        gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(kept), gaps.end(),
        [](const DeviceGap& a, const DeviceGap& b) { return a.length_ns() > b.length_ns(); });
    gaps.resize(kept);
    return gaps;
  }

  void one_gap(const DeviceGap& gap) {
    json_.object([&] {
      json_.key("begin_ns").number(gap.begin_ns - report_.trace.first_ns());
      json_.key("ns").number(gap.length_ns());
      json_.key("cause").number(static_cast<int>(gap.cause));
      json_.key("host").number(static_cast<int>(gap.host));
      json_.key("after").number(gap.after.valid() ? gap.after.value() : -1);
      json_.key("after_name").text(gap.after.valid() ? report_.trace.name(gap.after) : "");
    });
  }

  // The first few, then all others as one.
  void names(std::string_view key, const std::vector<NameTime>& all) {
    std::vector<NameTime> shown(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kMostNames)));
    if (all.size() > kMostNames) {
      NameTime rest;
      rest.name = "(" + count_text(all.size() - kMostNames) + " more)";
      for (std::size_t i = kMostNames; i < all.size(); ++i) {
        detail::add_to(rest.self_ns, all[i].self_ns);
        rest.count += all[i].count;
      }
      shown.push_back(rest);
    }
    std::size_t number = 0;
    json_.key(key).list(shown, [&](const NameTime& one) {
      json_.object([&] {
        json_.key("name").text(one.name);
        json_.key("ns").number(one.self_ns);
        json_.key("count").number(static_cast<std::int64_t>(one.count));
        json_.key("rest").number(number++ < kMostNames ? 0 : 1);
      });
    });
  }

  void copies() {
    json_.key("copies").list(report_.copies.totals, [&](const CopyTotal& total) {
      json_.object([&] {
        json_.key("kind").text(to_string(total));
        json_.key("count").number(static_cast<std::int64_t>(total.count));
        json_.key("bytes").number(total.bytes);
        json_.key("ns").number(total.device_ns);
      });
    });
  }

  void memory() {
    json_.key("memory").list(report_.memory, [&](const MemoryPeakOwner& peak) {
      json_.object([&] {
        json_.key("device").text(to_string(peak.device));
        json_.key("bytes").number(peak.bytes);
        json_.key("owner").text(peak.owner);
        json_.key("owner_bytes").number(peak.owner_bytes);
      });
    });
  }

  const Report& report_;
  const std::string_view name_;
  detail::PageJson json_;
};

}  // namespace

std::string detail::report_json(const Report& report, std::string_view name) {
  return ReportJson(report, name).make();
}

}  // namespace sonde
