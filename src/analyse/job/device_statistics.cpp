// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the devices of a rank ran, with the definitions of HTA (docs/jobs.md): kernels, streams and
// their queues, copies, launches, and what operators launch.

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "analyse/job/rank_view.h"
#include "base/sum.h"
#include "trace/known_names.h"

namespace sonde::detail {
namespace {

constexpr Nanos kKernelWaitNs = 30'000;
constexpr std::int64_t kFullQueue = 1024;
constexpr Nanos kSlowCallNs = 50'000;
constexpr Nanos kDelayedNs = 100'000;
constexpr std::size_t kFewestInSequence = 3;
constexpr std::size_t kMostInSequence = 64;
constexpr std::size_t kMostSequences = 20;

struct TypedWork : Work {
  WorkType type;
};

class DeviceStatistics {
 public:
  DeviceStatistics(const RankView& view, SummaryTexts& texts, RankSummary& summary)
      : view_(view), trace_(view.trace), texts_(texts), summary_(summary) {}

  void run() {
    add(view_.kernels, WorkType::Computation);
    add(view_.communication, WorkType::Communication);
    add(view_.copies, WorkType::Memory);
    std::stable_sort(work_.begin(), work_.end(), [](const TypedWork& a, const TypedWork& b) {
      return std::tuple(a.begin_ns, a.span) < std::tuple(b.begin_ns, b.span);
    });
    find_running();
    find_kernels();
    find_streams();
    find_copies();
    find_launches();
    find_sequences();
  }

 private:
  void add(const std::vector<Work>& work, WorkType type) {
    for (const Work& one : work) work_.push_back({{one.begin_ns, one.end_ns, one.span}, type});
  }
  std::uint32_t name_of(SpanId span) const { return texts_.place(trace_.spans().name[span]); }
  static Nanos length_of(const Work& work) { return work.end_ns - work.begin_ns; }

  // The call that launched it; invalid if there is none or one for many.
  SpanId call_of(SpanId work) const {
    const SpanId call = trace_.spans().launch[work];
    const bool is_one =
        call.valid() && is_call(trace_.spans().kind[call]) && !launches_graph(trace_.name(call));
    return is_one ? call : SpanId();
  }

  // Which types run at the same time.
  void find_running() {
    std::vector<std::tuple<Nanos, unsigned, int>> edges;
    edges.reserve(work_.size() * 2);
    for (const TypedWork& one : work_) {
      edges.emplace_back(one.begin_ns, static_cast<unsigned>(one.type), 1);
      edges.emplace_back(one.end_ns, static_cast<unsigned>(one.type), -1);
    }
    std::sort(edges.begin(), edges.end());
    std::array<int, kWorkTypes> running{};
    Nanos since_ns = 0;
    for (const auto& [time_ns, type, change] : edges) {
      unsigned types = 0;
      for (unsigned t = 0; t < kWorkTypes; ++t)
        if (running[t] > 0) types |= 1U << t;
      if (types != 0) add_to(summary_.running_ns[types], time_ns - since_ns);
      since_ns = time_ns;
      running[type] += change;
    }
  }

  void find_kernels() {
    std::map<std::pair<std::uint32_t, WorkType>, RankKernel> kernels;
    for (const TypedWork& one : work_) {
      const std::uint32_t name = name_of(one.span);
      const Nanos ns = length_of(one);
      const auto [found, is_new] = kernels.try_emplace({name, one.type});
      RankKernel& kernel = found->second;
      if (is_new) kernel = {name, one.type, 0, 0, ns, ns, 0};
      ++kernel.count;
      add_to(kernel.sum_ns, ns);
      kernel.least_ns = std::min(kernel.least_ns, ns);
      kernel.most_ns = std::max(kernel.most_ns, ns);
      kernel.squares += static_cast<double>(ns) * static_cast<double>(ns);
    }
    for (const auto& [key, kernel] : kernels) summary_.kernels.push_back(kernel);
    std::stable_sort(summary_.kernels.begin(), summary_.kernels.end(),
                     [](const RankKernel& a, const RankKernel& b) { return a.sum_ns > b.sum_ns; });
  }

  void find_streams() {
    std::map<std::pair<std::int32_t, std::int64_t>, std::vector<const TypedWork*>> streams;
    for (const TypedWork& one : work_) {
      const TrackId track = trace_.spans().track[one.span];
      streams[{trace_.tracks().device_index[track], trace_.tracks().id[track]}].push_back(&one);
    }
    for (const auto& [key, work] : streams) {
      RankStream stream;
      std::tie(stream.device, stream.stream) = key;
      find_gaps(work, stream);
      find_queue(work, stream);
      summary_.streams.push_back(stream);
    }
  }

  void find_gaps(const std::vector<const TypedWork*>& work, RankStream& stream) const {
    for (std::size_t i = 1; i < work.size(); ++i) {
      const Nanos before_ns = work[i - 1]->end_ns;
      const Nanos gap_ns = work[i]->begin_ns - before_ns;
      if (gap_ns <= 0) continue;
      const SpanId call = trace_.spans().launch[work[i]->span];
      const bool waits_for_host = call.valid() && trace_.spans().start_ns[call] > before_ns;
      add_to(waits_for_host           ? stream.host_wait_ns
             : gap_ns < kKernelWaitNs ? stream.kernel_wait_ns
                                      : stream.other_idle_ns,
             gap_ns);
    }
  }

  // One more when the call begins, one less when the work begins.
  void find_queue(const std::vector<const TypedWork*>& work, RankStream& stream) const {
    std::vector<std::pair<Nanos, int>> changes;
    for (const TypedWork* const one : work) {
      const SpanId call = call_of(one->span);
      if (!call.valid()) continue;
      changes.emplace_back(trace_.spans().start_ns[call], 1);
      changes.emplace_back(one->begin_ns, -1);
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t length = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      length += changes[i].second;
      ++stream.changes;
      stream.queued += static_cast<double>(length);
      stream.squares += static_cast<double>(length) * static_cast<double>(length);
      stream.least_queued = std::min(stream.least_queued, length);
      stream.most_queued = std::max(stream.most_queued, length);
      if (length >= kFullQueue && i + 1 < changes.size())
        add_to(stream.full_ns, changes[i + 1].first - changes[i].first);
    }
  }

  // "Memcpy HtoD (Pageable -> Device)" is one of "Memcpy HtoD".
  static std::string_view kind_of(std::string_view name) {
    if (name.starts_with("Memset")) return "Memset";
    if (!name.starts_with("Memcpy")) return "Memcpy Unknown";
    return name.substr(0, std::string_view("Memcpy DtoH").size());
  }

  void find_copies() {
    const CopyTable& table = trace_.copies();
    std::map<std::uint32_t, std::int64_t> bytes_of;
    for (std::size_t row = 0; row < table.size(); ++row)
      if (table.span[row].valid()) bytes_of[table.span[row].value()] = table.bytes[row];
    std::map<std::string_view, RankCopies> kinds;
    for (const Work& one : view_.copies) {
      const std::string_view kind = kind_of(trace_.name(one.span));
      const auto known = bytes_of.find(one.span.value());
      const std::int64_t bytes =
          known == bytes_of.end() ? 0 : std::max<std::int64_t>(known->second, 0);
      const Nanos ns = std::max<Nanos>(length_of(one), 1);
      const double gb_per_s = static_cast<double>(bytes) / static_cast<double>(ns);
      const auto [found, is_new] = kinds.try_emplace(kind);
      RankCopies& copies = found->second;
      if (is_new) {
        copies.name = texts_.place(kind);
        copies.least = gb_per_s;
        copies.series.assign(kSeriesParts, 0);
      }
      ++copies.count;
      add_to(copies.bytes, bytes);
      add_to(copies.sum_ns, ns);
      copies.sum += gb_per_s;
      copies.squares += gb_per_s * gb_per_s;
      copies.least = std::min(copies.least, gb_per_s);
      copies.most = std::max(copies.most, gb_per_s);
      add_to_series(one, gb_per_s, copies.series);
    }
    for (auto& [kind, copies] : kinds) summary_.copies.push_back(std::move(copies));
  }

  // Adds the copy's part of each part of the recording.
  void add_to_series(const Work& copy, double gb_per_s, std::vector<double>& series) const {
    const auto parts = static_cast<double>(series.size());
    const auto length =
        static_cast<double>(std::max<Nanos>(summary_.last_ns - summary_.first_ns, 1));
    const auto place = [&](Nanos time_ns) {
      return std::clamp(static_cast<double>(time_ns - summary_.first_ns) / length * parts, 0.0,
                        parts);
    };
    const double from = place(copy.begin_ns);
    const double to = place(copy.end_ns);
    for (auto i = static_cast<std::size_t>(from); i < series.size(); ++i) {
      const auto begin = static_cast<double>(i);
      if (begin >= to) break;
      series[i] += gb_per_s * (std::min(to, begin + 1) - std::max(from, begin));
    }
  }

  void find_launches() {
    RankLaunches& sum = summary_.launches;
    for (const TypedWork& one : work_) {
      const SpanId call = call_of(one.span);
      if (!call.valid()) continue;
      const Nanos call_ns = trace_.spans().duration_ns[call];
      const Nanos delay_ns = std::max<Nanos>(one.begin_ns - trace_.end_ns(call), 0);
      ++sum.count;
      add_to(sum.call_ns, call_ns);
      add_to(sum.device_ns, length_of(one));
      add_to(sum.delay_ns, delay_ns);
      if (length_of(one) < call_ns) ++sum.short_kernels;
      if (call_ns > kSlowCallNs) ++sum.slow_calls;
      if (delay_ns > kDelayedNs) ++sum.delayed;
    }
  }

  // The outermost operator around what launched it.
  SpanId operator_of(SpanId work) const {
    SpanId outermost;
    SpanId span = trace_.spans().launch[work];
    for (int depth = 0; span.valid() && depth < 256; ++depth) {
      if (is_operator(trace_.spans().kind[span])) outermost = span;
      span = trace_.spans().parent[span];
    }
    return outermost;
  }

  void find_sequences() {
    std::map<std::uint32_t, std::vector<const TypedWork*>> launched;  // by operator
    for (const TypedWork& one : work_) {
      const SpanId op = operator_of(one.span);
      if (op.valid()) launched[op.value()].push_back(&one);
    }
    std::map<std::vector<std::uint32_t>, RankSequence> sequences;  // by operator and kernels
    for (const auto& [row, work] : launched) {
      if (work.size() < kFewestInSequence || work.size() > kMostInSequence) continue;
      const SpanId op(row);
      std::vector<std::uint32_t> key = {name_of(op)};
      Nanos device_ns = 0;
      for (const TypedWork* const one : work) {
        key.push_back(name_of(one->span));
        add_to(device_ns, length_of(*one));
      }
      RankSequence& sequence = sequences[key];
      ++sequence.count;
      add_to(sequence.device_ns, device_ns);
      add_to(sequence.host_ns, trace_.spans().duration_ns[op]);
    }
    for (auto& [key, sequence] : sequences) {
      sequence.op = key.front();
      sequence.kernels.assign(key.begin() + 1, key.end());
      summary_.sequences.push_back(std::move(sequence));
    }
    std::stable_sort(summary_.sequences.begin(), summary_.sequences.end(),
                     [](const RankSequence& a, const RankSequence& b) {
                       return std::tuple(a.count, a.device_ns) > std::tuple(b.count, b.device_ns);
                     });
    if (summary_.sequences.size() > kMostSequences) summary_.sequences.resize(kMostSequences);
  }

  const RankView& view_;
  const Trace& trace_;
  SummaryTexts& texts_;
  RankSummary& summary_;
  std::vector<TypedWork> work_;  // by begin
};

}  // namespace

void find_device_work(const RankView& view, SummaryTexts& texts, RankSummary& summary) {
  DeviceStatistics(view, texts, summary).run();
}

}  // namespace sonde::detail
