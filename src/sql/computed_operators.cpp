// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `operators` and `kernel_stats`: spans added up by name.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/cpp_names.h"
#include "base/median.h"
#include "sonde/analyse/events.h"
#include "sql/computed.h"
#include "sql/span_fields.h"

namespace sonde::sql {
namespace {

constexpr std::uint32_t kNoGroup = 0xffffffff;

struct Totals {
  std::uint32_t older = kNoGroup;  // the next group of the same name
  std::int64_t name = 0;
  SpanKind kind = SpanKind::Scope;
  std::int32_t device = -1;
  std::int64_t count = 0;
  Nanos total_ns = 0;
  Nanos min_ns = std::numeric_limits<Nanos>::max();  // no group stays without spans
  Nanos max_ns = std::numeric_limits<Nanos>::min();

  void add(Nanos duration_ns) {
    min_ns = std::min(min_ns, duration_ns);
    max_ns = std::max(max_ns, duration_ns);
    total_ns += duration_ns;
    ++count;
  }
};

// Spans with the same name, kind and device. Few groups share a name.
class Groups {
 public:
  // Of the kinds that are wanted; all devices are one unless `by_device`.
  Groups(const Trace& trace, bool by_device, bool (*is_wanted)(SpanKind))
      : trace_(trace), by_device_(by_device), newest_(trace.strings().size() + 1, kNoGroup) {
    for (std::size_t kind = 0; kind < wanted_.size(); ++kind)
      wanted_[kind] = is_wanted(static_cast<SpanKind>(kind));
    for_each([&](SpanId, std::uint32_t group, Nanos duration) { totals_[group].add(duration); });
  }

  const std::vector<Totals>& totals() const { return totals_; }

  // The group of each span; kNoGroup: none. Few questions need it.
  const std::vector<std::uint32_t>& of_span() {
    if (of_span_.empty()) {
      of_span_.resize(trace_.spans().size(), kNoGroup);
      for_each([&](SpanId span, std::uint32_t group, Nanos) { of_span_[span.index()] = group; });
    }
    return of_span_;
  }

 private:
  // Calls visit(span, group, duration), for blocks of packed columns at once.
  template <typename Visit>
  void for_each(Visit&& visit) {
    const SpanTable& spans = trace_.spans();
    std::array<SpanKind, detail::kPackedRows> kind;
    std::array<StringId, detail::kPackedRows> name;
    std::array<Nanos, detail::kPackedRows> duration;
    for (std::size_t first = 0; first < spans.size(); first += kind.size()) {
      const std::size_t rows = std::min(kind.size(), spans.size() - first);
      spans.kind.read(first, rows, kind.data());
      spans.name.read(first, rows, name.data());
      spans.duration_ns.read(first, rows, duration.data());
      for (std::size_t i = 0; i < rows; ++i) {
        if (!wanted_[static_cast<std::uint8_t>(kind[i])]) continue;
        const SpanId span(first + i);
        visit(span, find(name[i], kind[i], by_device_ ? device_of(span) : -1), duration[i]);
      }
    }
  }

  std::uint32_t find(StringId name_id, SpanKind kind, std::int32_t device) {
    const std::int64_t name = name_id.valid() ? std::int64_t{name_id.value()} : -1;
    std::uint32_t& newest = newest_[static_cast<std::size_t>(name + 1)];
    for (std::uint32_t i = newest; i != kNoGroup; i = totals_[i].older)
      if (totals_[i].kind == kind && totals_[i].device == device) return i;
    totals_.push_back({.older = newest, .name = name, .kind = kind, .device = device});
    return newest = static_cast<std::uint32_t>(totals_.size() - 1);
  }

  std::int32_t device_of(SpanId span) const {
    const TrackId track = trace_.spans().track[span];
    return track.valid() ? trace_.tracks().device_index[track] : -1;
  }

  const Trace& trace_;
  bool by_device_;
  std::array<bool, 256> wanted_{};
  std::vector<Totals> totals_;
  std::vector<std::uint32_t> of_span_;
  std::vector<std::uint32_t> newest_;  // group of each name; that of no name comes first
};

void add_totals(ComputedPart& part, const Groups& groups) {
  auto& name = part.name("name", "");
  auto& kind = part.kind("kind", "As in spans");
  auto& count = part.integer("count", "How often it ran");
  auto& total = part.nanos("total_ns", "All durations added up");
  auto& average = part.nanos("average_ns", "");
  auto& least = part.nanos("min_ns", "");
  auto& most = part.nanos("max_ns", "");
  for (const Totals& row : groups.totals()) {
    name.push_back(row.name < 0 ? std::int64_t{StringId::kInvalid} : row.name);
    kind.push_back(static_cast<std::int64_t>(row.kind));
    count.push_back(row.count);
    total.push_back(row.total_ns);
    average.push_back(row.total_ns / std::max<std::int64_t>(1, row.count));
    least.push_back(row.min_ns);
    most.push_back(row.max_ns);
  }
}

void fill_self_times(const Trace& trace, Groups& groups, std::vector<std::int64_t>& out) {
  out.resize(groups.totals().size());
  const std::vector<std::int64_t> self = self_times(trace);
  const std::vector<std::uint32_t>& of_span = groups.of_span();
  for (std::size_t span = 0; span < self.size(); ++span)
    if (of_span[span] != kNoGroup) out[of_span[span]] += self[span];
}

// Calls visit(group, duration) for each kernel, copy or fill and each group of the spans around its
// launch. If a span is inside another of the same group, the group comes once.
template <typename Visit>
void for_each_launcher(const Trace& trace, Groups& groups, Visit&& visit) {
  std::vector<std::uint32_t> seen;
  const std::vector<std::uint32_t>& of_span = groups.of_span();
  const SpanTable& spans = trace.spans();
  for (const SpanId work : trace.all_spans()) {
    if (!is_device_work(spans.kind[work])) continue;
    seen.clear();
    for (SpanId at = spans.launch[work]; at.valid(); at = spans.parent[at]) {
      const std::uint32_t group = of_span[at.index()];
      if (group == kNoGroup || std::find(seen.begin(), seen.end(), group) != seen.end()) continue;
      seen.push_back(group);
      visit(group, spans.duration_ns[work]);
    }
  }
}

// The value in the middle, by group.
std::vector<std::int64_t> medians(const Trace& trace, Groups& groups) {
  std::vector<std::vector<Nanos>> durations(groups.totals().size());
  const std::vector<std::uint32_t>& of_span = groups.of_span();
  for (std::size_t span = 0; span < of_span.size(); ++span)
    if (of_span[span] != kNoGroup)
      durations[of_span[span]].push_back(trace.spans().duration_ns[span]);
  std::vector<std::int64_t> result;
  result.reserve(durations.size());
  for (std::vector<Nanos>& all : durations) result.push_back(median(all));
  return result;
}

std::int64_t as_nanos(double microseconds) {
  return std::llround(microseconds * 1000);
}

}  // namespace

Part operators_part(Source& source) {
  ComputedPart part(source);
  const Trace& trace = part.trace();
  const auto groups =
      std::make_shared<Groups>(trace, false, [](SpanKind kind) { return !is_on_device(kind); });
  add_totals(part, *groups);
  part.later("self_ns", "What no span inside covers", "ns",
             [&trace, groups](auto& column) { fill_self_times(trace, *groups, column.numbers); });
  part.later("device_ns", "Durations of the device work that was launched in it", "ns",
             [&trace, groups](auto& column) {
               column.numbers.resize(groups->totals().size());
               for_each_launcher(trace, *groups, [&](std::uint32_t group, Nanos duration) {
                 column.numbers[group] += duration;
               });
             });
  part.later("launches", "Kernels, copies and fills that were launched in it", "",
             [&trace, groups](auto& column) {
               column.numbers.resize(groups->totals().size());
               for_each_launcher(trace, *groups,
                                 [&](std::uint32_t group, Nanos) { ++column.numbers[group]; });
             });
  return part.finish(groups->totals().size());
}

Part kernel_stats_part(Source& source) {
  ComputedPart part(source);
  const Trace& trace = part.trace();
  const auto groups =
      std::make_shared<Groups>(trace, true, [](SpanKind kind) { return is_device_work(kind); });
  add_totals(part, *groups);
  part.later("median_ns", "The median duration", "ns",
             [&trace, groups](auto& column) { column.numbers = medians(trace, *groups); });
  auto& device = part.integer("device_index", "");
  auto& share = part.real("share", "Of all device work of the trace, from 0 to 1");
  auto& brief = part.text("short_name", "The name without namespaces, templates and arguments");
  Nanos all_ns = 0;
  for (const Totals& row : groups->totals()) all_ns += row.total_ns;
  for (const Totals& row : groups->totals()) {
    device.push_back(row.device < 0 ? kNull : row.device);
    share.push_back(all_ns == 0 ? NAN
                                : static_cast<double>(row.total_ns) / static_cast<double>(all_ns));
    brief.push_back(row.name < 0
                        ? std::string()
                        : short_cpp_name(trace.string(StringId(static_cast<int>(row.name)))));
  }
  return part.finish(groups->totals().size());
}

Part key_averages_part(Source& source) {
  ComputedPart part(source);
  auto& name = part.text("name", "");
  auto& device = part.text("device_type", "cpu, cuda, …");
  auto& annotation = part.integer("is_annotation", "0 or 1");
  auto& count = part.integer("count", "How often it ran");
  auto& host = part.nanos("cpu_time_ns", "");
  auto& self_host = part.nanos("self_cpu_time_ns", "");
  auto& on_device = part.nanos("device_time_ns", "");
  auto& self_device = part.nanos("self_device_time_ns", "");
  auto& memory = part.bytes("cpu_memory_bytes", "");
  auto& device_memory = part.bytes("device_memory_bytes", "");
  auto& flops = part.integer("flops", "");
  const KeyAverages averages = function_events(part.trace()).key_averages();
  for (const EventAverage& row : averages) {
    name.push_back(row.key);
    device.emplace_back(to_string(row.device_type));
    annotation.push_back(row.is_user_annotation ? 1 : 0);
    count.push_back(static_cast<std::int64_t>(row.count));
    host.push_back(as_nanos(row.cpu_total_us));
    self_host.push_back(as_nanos(row.self_cpu_us));
    on_device.push_back(as_nanos(row.device_total_us));
    self_device.push_back(as_nanos(row.self_device_us));
    memory.push_back(row.cpu_memory_bytes);
    device_memory.push_back(row.device_memory_bytes);
    flops.push_back(static_cast<std::int64_t>(row.flops));
  }
  return part.finish(averages.size());
}

}  // namespace sonde::sql
