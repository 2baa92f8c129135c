// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the collectives of a rank in any form: kernels with PyTorch's description, bare kernels of
// NCCL, or ranges on threads of the host (gloo).

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "analyse/job/process_groups.h"
#include "analyse/job/rank_view.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

constexpr std::uint32_t kNoRow = 0xffffffff;
// A host thread that begins a collective first waits until the device hands over the data.
constexpr Nanos kHeadNs = 200'000;
constexpr std::int64_t kThreadsOfAPool = 4;

// Records that are not a communication themselves.
bool is_bookkeeping(std::string_view name) {
  for (const std::string_view other : {"wait", "init", "startCoalescing", "endCoalescing"})
    if (name == other) return true;
  return false;
}

struct FoundCollective {
  RankCollective record;
  Nanos launch_ns = 0;
  std::uint32_t row = kNoRow;  // of the table of collectives
  std::string_view recorded_name;
  StringId dtype;
  std::int64_t elements = -1;  // if there is no row
  TrackId track;
};

class CollectiveScan {
 public:
  CollectiveScan(const RankView& view, SummaryTexts& texts, RankSummary& summary)
      : view_(view),
        trace_(view.trace),
        rows_(view.trace.collectives()),
        texts_(texts),
        summary_(summary),
        listed_(summary.groups.size()) {}

  void run() {
    sort_rows();
    for (const std::uint32_t row : kernel_rows_) add_kernel(rows_.span[row], row);
    for (const Work& work : view_.communication)
      if (!row_of_.contains(work.span.value())) add_kernel(work.span, kNoRow);
    const bool on_device = !found_.empty() || !view_.kernels.empty();
    if (view_.host_collectives.empty() || !found_.empty()) add_records_without_work(on_device);
    add_host_collectives();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const FoundCollective& a, const FoundCollective& b) {
                       return a.launch_ns < b.launch_ns;
                     });
    pool_threads();
    for (FoundCollective& one : found_) {
      one.record.kind = kind_of(one);
      one.record.step = step_at(one.launch_ns);
      one.record.hidden_ns = view_.computing.within_ns(one.record.start_ns, one.record.end_ns);
      summary_.collectives.push_back(one.record);
    }
  }

 private:
  void sort_rows() {
    for (std::uint32_t row = 0; row < rows_.size(); ++row) {
      const SpanId span = rows_.span[row];
      if (!span.valid() || is_bookkeeping(trace_.string(rows_.name[row]))) continue;
      const TrackId track = trace_.spans().track[span];
      if (!track.valid() || trace_.tracks().process[track] != view_.process) continue;
      row_of_.emplace(span.value(), row);
      (is_device_work(trace_.spans().kind[span]) ? kernel_rows_ : host_rows_).push_back(row);
    }
  }

  // The description of the call that launched a kernel.
  std::uint32_t record_of(SpanId kernel) const {
    SpanId span = trace_.spans().launch[kernel];
    for (int depth = 0; span.valid() && depth < 64; ++depth) {
      const auto found = row_of_.find(span.value());
      if (found != row_of_.end()) return found->second;
      span = trace_.spans().parent[span];
    }
    return kNoRow;
  }

  void add_kernel(SpanId kernel, std::uint32_t row) {
    const std::uint32_t record = record_of(kernel);
    if (record != kNoRow) {
      const auto [found, is_new] = by_record_.try_emplace(record, found_.size());
      if (!is_new) return extend(found_[found->second].record, kernel);
    }
    const SpanId launch = trace_.spans().launch[kernel];
    FoundCollective one = timed(kernel);
    if (record != kNoRow) {
      one.launch_ns = trace_.spans().start_ns[rows_.span[record]];
    } else if (launch.valid()) {
      one.launch_ns = trace_.spans().start_ns[launch];
    }
    one.row = row != kNoRow ? row : record;
    one.recorded_name =
        one.row != kNoRow ? trace_.string(rows_.name[one.row]) : trace_.name(kernel);
    found_.push_back(one);
  }

  void extend(RankCollective& record, SpanId kernel) const {
    record.start_ns = std::min(record.start_ns, trace_.spans().start_ns[kernel]);
    record.end_ns = std::max(record.end_ns, trace_.end_ns(kernel));
  }

  FoundCollective timed(SpanId span) const {
    FoundCollective one;
    one.record.start_ns = trace_.spans().start_ns[span];
    one.record.end_ns = trace_.end_ns(span);
    if ((trace_.spans().flags[span] & SpanFlags::kUnfinished) != 0)
      one.record.flags |= RankCollective::kUnfinished;
    one.launch_ns = one.record.start_ns;
    one.track = trace_.spans().track[span];
    return one;
  }

  // Coalesced calls share a kernel. A kernel that never ended was not recorded.
  void add_records_without_work(bool on_device) {
    for (const std::uint32_t row : host_rows_) {
      if (by_record_.contains(row)) continue;
      FoundCollective one = timed(rows_.span[row]);
      one.row = row;
      one.recorded_name = trace_.string(rows_.name[row]);
      one.record.flags |= RankCollective::kUnfinished;
      if (on_device) ++summary_.records_without_work;
      found_.push_back(one);
    }
  }

  void add_host_collectives() {
    Calls calls = launches_of_host_collectives();
    for (const SpanId span : view_.host_collectives) {
      FoundCollective one = timed(span);
      one.record.start_ns = arrival(span);
      one.record.flags |= RankCollective::kOnHost;
      one.recorded_name = trace_.name(span);
      for (const OpArgumentId argument : trace_.arguments(span)) {
        if (trace_.op_arguments().kind[argument] != ArgumentKind::Tensor) continue;
        one.dtype = trace_.op_arguments().dtype[argument];
        one.elements = elements(argument);
        break;
      }
      one.launch_ns = launch_of(one, calls);
      found_.push_back(one);
    }
  }

  // After the first waits for the device: only then is the data there.
  Nanos arrival(SpanId span) const {
    Nanos ready_ns = trace_.spans().start_ns[span];
    const Nanos end_ns = trace_.end_ns(span);
    const IdRange<SpanId> of_track = trace_.track_spans(trace_.spans().track[span]);
    const auto size = static_cast<std::uint32_t>(of_track.size());
    for (std::uint32_t at = span.value() - of_track[0].value() + 1; at < size; ++at) {
      const SpanId inner = of_track[at];
      const Nanos begin_ns = trace_.spans().start_ns[inner];
      if (begin_ns >= end_ns || begin_ns - ready_ns > kHeadNs) break;
      if (is_call(trace_.spans().kind[inner]) && waits_for_device(trace_.name(inner)))
        ready_ns = std::min(end_ns, std::max(ready_ns, trace_.end_ns(inner)));
    }
    return ready_ns;
  }

  std::int64_t elements(OpArgumentId argument) const {
    const OpArgumentTable& table = trace_.op_arguments();
    if (table.dims_count[argument] < 0) return -1;
    std::int64_t product = 1;
    for (std::int32_t i = 0; i < table.dims_count[argument]; ++i) {
      const DimId dim(table.dims_first[argument].value() + static_cast<std::uint32_t>(i));
      if (__builtin_mul_overflow(product, trace_.dims().value[dim], &product)) return -1;
    }
    return product;
  }

  // The calls behind ranges on other threads, by name and size, each in order of time. Threads may
  // take up work in another order than they were given it.
  using Calls = std::map<std::pair<std::string_view, std::int64_t>, std::vector<Nanos>>;
  Calls launches_of_host_collectives() const {
    Calls calls;
    if (view_.host_collectives.empty()) return calls;
    for (const TrackId thread : view_.threads) {
      for (const SpanId span : trace_.track_spans(thread)) {
        if (!is_operator(trace_.spans().kind[span])) continue;
        const std::string_view name = trace_.name(span);
        if (!name.starts_with("c10d::")) continue;
        calls[{collective_name(name), first_elements(span)}].push_back(
            trace_.spans().start_ns[span]);
      }
    }
    for (auto& [key, times] : calls) std::sort(times.rbegin(), times.rend());
    return calls;
  }

  std::int64_t first_elements(SpanId span) const {
    for (const OpArgumentId argument : trace_.arguments(span))
      if (trace_.op_arguments().kind[argument] == ArgumentKind::Tensor) return elements(argument);
    return -1;
  }

  static Nanos launch_of(const FoundCollective& one, Calls& calls) {
    const std::string_view name = collective_name(one.recorded_name);
    auto found = calls.find({name, one.elements});
    if (found == calls.end()) found = calls.find({name, name == "barrier" ? 1 : -1});
    if (found == calls.end() || found->second.empty()) return one.launch_ns;
    const Nanos called_ns = found->second.back();  // the earliest that is left
    if (called_ns > one.launch_ns) return one.launch_ns;
    found->second.pop_back();
    return called_ns;
  }

  // Threads that run collectives of the same kind belong to one group.
  void pool_threads() {
    std::map<std::pair<std::string, std::int64_t>, std::uint32_t> first_thread;
    for (const FoundCollective& one : found_) {
      if (one.row != kNoRow && has_group(one.row)) continue;
      const std::uint32_t track = one.track.value();
      pool_.try_emplace(track, track);
      if ((one.record.flags & RankCollective::kOnHost) == 0) continue;
      on_host_ = true;
      // Without sizes, the calls of several groups look alike.
      if (one.elements < 0 && listed_ > 1) continue;
      const auto [found, is_new] = first_thread.try_emplace(
          {std::string(collective_name(one.recorded_name)), one.elements}, track);
      if (!is_new) pool_[root(track)] = root(found->second);
    }
    std::map<std::uint32_t, std::int64_t> least_id;  // of each pool
    for (const auto& [track, parent] : pool_) {
      const std::int64_t id = trace_.tracks().id[track];
      const auto [found, is_new] = least_id.try_emplace(root(track), id);
      if (!is_new) found->second = std::min(found->second, id);
    }
    std::vector<std::pair<std::int64_t, std::uint32_t>> order;
    order.reserve(least_id.size());
    for (const auto& [pool, id] : least_id) order.emplace_back(id, pool);
    std::sort(order.begin(), order.end());
    number_pools(order);
  }

  // Joins pools whose threads have neighbouring numbers, because they were probably made together.
  // There are no more groups than the metadata lists. On the host, each has the same number of
  // threads.
  void number_pools(const std::vector<std::pair<std::int64_t, std::uint32_t>>& order) {
    const bool is_each_a_thread = on_host_ && order.size() == pool_.size();
    if (is_each_a_thread && listed_ > 0 && order.size() % listed_ == 0) {
      const std::size_t threads = order.size() / listed_;
      for (std::size_t i = 0; i < order.size(); ++i)
        pool_number_[order[i].second] = static_cast<std::uint32_t>(i / threads);
      return;
    }
    std::vector<std::pair<std::int64_t, std::size_t>> steps;  // to the pool before
    for (std::size_t i = 1; i < order.size(); ++i)
      steps.emplace_back(order[i].first - order[i - 1].first, i);
    std::sort(steps.begin(), steps.end());
    const std::size_t joins = listed_ == 0 || order.size() <= listed_ ? 0 : order.size() - listed_;
    std::vector<bool> is_joined(order.size(), false);
    for (std::size_t i = 0; i < joins; ++i) is_joined[steps[i].second] = true;
    for (const auto& [step, i] : steps)
      if (listed_ == 0 && on_host_ && step <= kThreadsOfAPool) is_joined[i] = true;
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && !is_joined[i]) ++number;
      pool_number_[order[i].second] = number;
    }
  }

  std::uint32_t root(std::uint32_t track) {
    while (pool_[track] != track) track = pool_[track] = pool_[pool_[track]];
    return track;
  }

  bool has_group(std::uint32_t row) const {
    return !trace_.string(rows_.group_name[row]).empty() ||
           !trace_.string(rows_.group_ranks[row]).empty() || rows_.group_size[row] > 0;
  }

  std::uint32_t group_of(const FoundCollective& one) {
    if (one.row == kNoRow || !has_group(one.row))
      return pool_group(pool_number_[root(one.track.value())]);
    const std::tuple key(rows_.group_name[one.row].value(), rows_.group_ranks[one.row].value(),
                         rows_.rank_start[one.row], rows_.group_size[one.row]);
    const auto [found, is_new] = group_by_row_.try_emplace(key, 0);
    if (is_new) found->second = recorded_group(one.row);
    return found->second;
  }

  std::uint32_t recorded_group(std::uint32_t row) {
    RankGroup group;
    group.name = trace_.string(rows_.group_name[row]);
    group.description = trace_.string(rows_.group_description[row]);
    for (std::size_t i = 0; i < listed_; ++i)
      if (!group.name.empty() && summary_.groups[i].name == group.name)
        return static_cast<std::uint32_t>(i);
    group.ranks = rank_list(trace_.string(rows_.group_ranks[row]));
    if (group.ranks.empty()) group.ranks = spread(row);
    group.size = small(rows_.group_size[row]);
    return add_group(std::move(group));
  }

  std::vector<std::int32_t> spread(std::uint32_t row) const {
    std::vector<std::int32_t> ranks;
    const std::int64_t start = rows_.rank_start[row];
    const std::int64_t stride = std::max<std::int64_t>(rows_.rank_stride[row], 1);
    const std::int64_t size = rows_.group_size[row];
    if (start < 0 || start > INT32_MAX || size < 1 || size > 1'000'000 || stride > INT32_MAX)
      return ranks;
    if (start + stride * (size - 1) > INT32_MAX) return ranks;
    for (std::int64_t i = 0; i < size; ++i)
      ranks.push_back(static_cast<std::int32_t>(start + stride * i));
    return ranks;
  }

  // Groups are created one after the other, and so are their threads and streams.
  std::uint32_t pool_group(std::uint32_t number) {
    const auto [found, is_new] = group_by_pool_.try_emplace(number, 0);
    if (!is_new) return found->second;
    if (number < listed_) {
      summary_.groups[number].is_assumed |= listed_ > 1;
      return found->second = number;
    }
    RankGroup group;
    group.name = "unnamed " + std::to_string(number);
    group.is_assumed = true;
    return found->second = add_group(std::move(group));
  }

  std::uint32_t add_group(RankGroup group) {
    summary_.groups.push_back(std::move(group));
    return static_cast<std::uint32_t>(summary_.groups.size() - 1);
  }

  // The step during which it was launched; steps are in the order of time.
  std::uint32_t step_at(Nanos launch_ns) const {
    const auto after = std::upper_bound(
        summary_.steps.begin(), summary_.steps.end(), launch_ns,
        [](Nanos time_ns, const RankStep& step) { return time_ns < step.begin_ns; });
    if (after == summary_.steps.begin() || launch_ns >= std::prev(after)->end_ns)
      return RankCollective::kNoStep;
    return static_cast<std::uint32_t>(std::prev(after) - summary_.steps.begin());
  }

  std::uint32_t kind_of(FoundCollective& one) {
    CollectiveKind kind;
    const std::string_view name = collective_name(one.recorded_name);
    kind.name = texts_.place(name);
    kind.of = collective_class(name);
    kind.group = group_of(one);
    kind.dtype = texts_.place(one.dtype);
    kind.in_elements = one.elements;
    if (one.row != kNoRow) describe(one, kind);
    const auto key = std::tuple(kind.name, kind.dtype, kind.group, kind.source, kind.destination,
                                kind.in_elements, kind.out_elements);
    const auto [found, is_new] =
        kinds_.try_emplace(key, static_cast<std::uint32_t>(summary_.kinds.size()));
    if (is_new) summary_.kinds.push_back(kind);
    return found->second;
  }

  void describe(FoundCollective& one, CollectiveKind& kind) {
    const std::uint32_t row = one.row;
    kind.dtype = texts_.place(rows_.dtype[row]);
    kind.in_elements = rows_.in_elements[row];
    kind.out_elements = rows_.out_elements[row];
    kind.source = small(rows_.source_rank[row]);
    kind.destination = small(rows_.destination_rank[row]);
    if (kind.of == CollectiveClass::FromRoot || kind.of == CollectiveClass::ToRoot) {
      const std::vector<std::int32_t>& ranks = summary_.groups[kind.group].ranks;
      const std::int64_t root = rows_.rank[row];
      if (root >= 0 && static_cast<std::size_t>(root) < ranks.size())
        kind.source = ranks[static_cast<std::size_t>(root)];
    }
    if (kind.of == CollectiveClass::Send && kind.source < 0) kind.source = summary_.rank;
    if (kind.of == CollectiveClass::Receive && kind.destination < 0)
      kind.destination = summary_.rank;
    if (rows_.comms_id[row] != 0) {
      one.record.key = rows_.comms_id[row];
      one.record.flags |= RankCollective::kHasId;
    } else if (rows_.sequence_number[row] >= 0) {
      one.record.key = static_cast<std::uint64_t>(rows_.sequence_number[row]);
      one.record.flags |= RankCollective::kHasSequence;
    }
  }

  static std::int32_t small(std::int64_t rank) {
    return rank >= 0 && rank <= INT32_MAX ? static_cast<std::int32_t>(rank) : -1;
  }

  const RankView& view_;
  const Trace& trace_;
  const CollectiveTable& rows_;
  SummaryTexts& texts_;
  RankSummary& summary_;
  bool on_host_ = false;                                     // some are on threads
  const std::size_t listed_;                                 // groups that the metadata lists
  std::unordered_map<std::uint32_t, std::uint32_t> row_of_;  // by span
  std::unordered_map<std::uint32_t, std::size_t> by_record_;
  std::vector<std::uint32_t> kernel_rows_;
  std::vector<std::uint32_t> host_rows_;
  std::vector<FoundCollective> found_;
  std::map<std::uint32_t, std::uint32_t> pool_;  // a forest over tracks
  std::map<std::uint32_t, std::uint32_t> pool_number_;
  std::map<std::uint32_t, std::uint32_t> group_by_pool_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t>, std::uint32_t>
      group_by_row_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t, std::int32_t,
                      std::int64_t, std::int64_t>,
           std::uint32_t>
      kinds_;
};

}  // namespace

void find_collectives(const RankView& view, SummaryTexts& texts, RankSummary& summary) {
  CollectiveScan(view, texts, summary).run();
}

}  // namespace sonde::detail
