// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The view of collectives: what was sent, how long it took, and how much of that nothing hid.

#include <algorithm>
#include <map>
#include <tuple>

#include "analyse/sum.h"
#include "base/readable.h"
#include "sonde/analyse/rank_summary.h"
#include "view/page.h"
#include "view/timeline/view_json.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostCommunicationRows = 1000;

// Calls of one name, type and group, or those of one step.
struct CollectiveSum {
  std::uint64_t count = 0;
  std::int64_t bytes = 0;  // of those whose size is known
  Nanos total_ns = 0;
  Nanos hidden_ns = 0;
  Nanos most_ns = -1;
  Nanos longest_at_ns = 0;

  void add(const RankCollective& call, std::int64_t call_bytes) {
    ++count;
    add_to(bytes, std::max<std::int64_t>(call_bytes, 0));
    add_to(total_ns, call.duration_ns());
    add_to(hidden_ns, call.hidden_ns);
    if (call.duration_ns() <= most_ns) return;
    most_ns = call.duration_ns();
    longest_at_ns = call.start_ns;
  }
};

class RankCommunication {
 public:
  RankCommunication(const RankSummary& rank, Nanos first_ns) : rank_(rank), first_ns_(first_ns) {
    for (const RankCollective& call : rank.collectives) add(call);
  }

  void write(PageJson& json) const {
    json.key("rank").number(rank_.rank);
    json.key("world").number(rank_.world_size);
    json.key("calls").number(static_cast<std::int64_t>(rank_.collectives.size()));
    write_kinds(json);
    write_steps(json);
  }

 private:
  void add(const RankCollective& call) {
    const CollectiveKind& kind = rank_.kinds[call.kind];
    const std::int64_t bytes =
        collective_bytes(rank_.text(kind.dtype), std::max(kind.in_elements, kind.out_elements));
    kinds_[{kind.name, kind.dtype, kind.group}].add(call, bytes);
    if (call.step != RankCollective::kNoStep) steps_[call.step].add(call, bytes);
  }

  void sum_into(PageJson& json, const CollectiveSum& sum) const {
    json.key("count").number(static_cast<std::int64_t>(sum.count));
    json.key("bytes").number(sum.bytes);
    json.key("ns").number(sum.total_ns);
    json.key("hidden").number(sum.hidden_ns);
    json.key("most").number(sum.most_ns);
    json.key("longest_at").number(sum.longest_at_ns - first_ns_);
  }

  void write_kinds(PageJson& json) const {
    using Row = std::pair<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, CollectiveSum>;
    std::vector<Row> rows(kinds_.begin(), kinds_.end());
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      return a.second.total_ns > b.second.total_ns;
    });
    rows.resize(std::min(rows.size(), kMostCommunicationRows));
    json.key("rows").list(rows, [&](const Row& row) {
      const auto& [name, dtype, group] = row.first;
      const RankGroup& of = rank_.groups[group];
      json.object([&] {
        json.key("name").text(readable_line(rank_.text(name)));
        json.key("dtype").text(readable_line(rank_.text(dtype)));
        json.key("group").text(readable_line(of.description.empty() ? of.name : of.description));
        json.key("members").number(of.size >= 0 ? of.size
                                                : static_cast<std::int64_t>(of.ranks.size()));
        sum_into(json, row.second);
      });
    });
  }

  void write_steps(PageJson& json) const {
    std::vector<std::pair<std::uint32_t, CollectiveSum>> rows(steps_.begin(), steps_.end());
    rows.resize(std::min(rows.size(), kMostCommunicationRows));
    json.key("steps").list(rows, [&](const auto& row) {
      const RankStep& step = rank_.steps[row.first];
      json.object([&] {
        json.key("step").number(step.number);
        json.key("begin").number(step.begin_ns - first_ns_);
        json.key("length").number(step.end_ns - step.begin_ns);
        sum_into(json, row.second);
      });
    });
  }

  const RankSummary& rank_;
  const Nanos first_ns_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, CollectiveSum> kinds_;
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
