// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The view of collectives: what was sent, how long it took, and how much of that nothing hid.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analyse/time/coverage.h"
#include "base/readable.h"
#include "base/sum.h"
#include "sonde/analyse/rank_summary.h"
#include "view/page.h"
#include "view/timeline/view_json.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostCommunicationRows = 1000;

// Calls of one name, type and group, or those of one step. Of calls at the same time, each moment
// counts once.
struct CollectiveSum {
  std::uint64_t count = 0;
  std::int64_t bytes = 0;  // of those whose size is known
  Stretches times;
  Nanos alone_ns = 0;
  Nanos most_ns = -1;
  Nanos longest_at_ns = 0;

  void add(const RankCollective& call, std::int64_t call_bytes) {
    ++count;
    add_to(bytes, std::max<std::int64_t>(call_bytes, 0));
    times.add(call.start_ns, call.end_ns);
    if (call.duration_ns() <= most_ns) return;
    most_ns = call.duration_ns();
    longest_at_ns = call.start_ns;
  }
};

class RankCommunication {
 public:
  RankCommunication(const RankSummary& rank, Nanos first_ns) : rank_(rank), first_ns_(first_ns) {
    for (const RankCollective& call : rank.collectives) add(call);
    for (const RankActivity& activity : rank.activities) add(activity);
  }

  void write(PageJson& json) {
    json.key("rank").number(rank_.rank);
    json.key("world").number(rank_.world_size);
    sum_into(json, all_);
    write_kinds(json);
    write_steps(json);
  }

 private:
  using KindKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  using KindRow = std::pair<const KindKey, CollectiveSum>;

  KindKey key_of(const RankCollective& call) const {
    const CollectiveKind& kind = rank_.kinds[call.kind];
    return {kind.name, kind.dtype, kind.group};
  }

  void add(const RankCollective& call) {
    const CollectiveKind& kind = rank_.kinds[call.kind];
    const std::int64_t bytes =
        collective_bytes(rank_.text(kind.dtype), std::max(kind.in_elements, kind.out_elements));
    all_.add(call, bytes);
    kinds_[key_of(call)].add(call, bytes);
    if (call.step != RankCollective::kNoStep) steps_[call.step].add(call, bytes);
  }

  // Time in which nothing ran but a collective.
  void add(const RankActivity& activity) {
    if (activity.kind != ActivityKind::Collective || activity.name >= rank_.collectives.size())
      return;
    const RankCollective& call = rank_.collectives[activity.name];
    add_to(all_.alone_ns, activity.length_ns());
    add_to(kinds_[key_of(call)].alone_ns, activity.length_ns());
    if (call.step != RankCollective::kNoStep)
      add_to(steps_[call.step].alone_ns, activity.length_ns());
  }

  void sum_into(PageJson& json, CollectiveSum& sum) const {
    json.key("count").number(static_cast<std::int64_t>(sum.count));
    json.key("bytes").number(sum.bytes);
    json.key("ns").number(sum.times.united().total_ns());
    json.key("alone").number(sum.alone_ns);
    json.key("most").number(sum.most_ns);
    json.key("longest_at").number(sum.longest_at_ns - first_ns_);
  }

  void write_kinds(PageJson& json) {
    std::vector<KindRow*> rows;
    rows.reserve(kinds_.size());
    for (KindRow& row : kinds_) rows.push_back(&row);
    rows.resize(std::min(rows.size(), kMostCommunicationRows));
    json.key("rows").list(rows, [&](KindRow* row) {
      const auto& [name, dtype, group] = row->first;
      const RankGroup& of = rank_.groups[group];
      // PyTorch's word for a group that nobody described.
      const bool is_described = !of.description.empty() && of.description != "undefined";
      json.object([&] {
        json.key("name").text(readable_line(rank_.text(name)));
        json.key("dtype").text(readable_line(rank_.text(dtype)));
        json.key("group").text(readable_line(is_described ? of.description : of.name));
        json.key("members").number(of.size >= 0 ? of.size
                                                : static_cast<std::int64_t>(of.ranks.size()));
        sum_into(json, row->second);
      });
    });
  }

  void write_steps(PageJson& json) {
    std::vector<std::pair<std::uint32_t, CollectiveSum*>> rows;
    rows.reserve(steps_.size());
    for (auto& [place, sum] : steps_) rows.emplace_back(place, &sum);
    rows.resize(std::min(rows.size(), kMostCommunicationRows));
    json.key("steps").list(rows, [&](const auto& row) {
      const RankStep& step = rank_.steps[row.first];
      json.object([&] {
        json.key("step").number(step.number);
        json.key("begin").number(step.begin_ns - first_ns_);
        json.key("length").number(step.end_ns - step.begin_ns);
        sum_into(json, *row.second);
      });
    });
  }

  const RankSummary& rank_;
  const Nanos first_ns_;
  CollectiveSum all_;
  std::map<KindKey, CollectiveSum> kinds_;
  std::map<std::uint32_t, CollectiveSum> steps_;  // by place in RankSummary::steps
};

}  // namespace

bool has_communication(const Trace& trace) {
  if (!trace.collectives().empty()) return true;
  const ProcessTable& processes = trace.processes();
  for (std::size_t i = 0; i < processes.size(); ++i)
    if (processes.rank[i] >= 0) return true;
  return false;
}

std::string communication_json(const TraceAnswers& answers) {
  PageJson json;
  const std::vector<RankSummary> ranks = summarise_ranks(answers.trace());
  json.key("ranks").list(ranks, [&](const RankSummary& rank) {
    json.object([&] { RankCommunication(rank, answers.trace().first_ns()).write(json); });
  });
  return json.done();
}

}  // namespace sonde::detail
