// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `operators` and `kernel_stats`: spans added up by name.

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "base/cpp_names.h"
#include "sonde/analyse/events.h"
#include "sql/computed.h"
#include "sql/span_fields.h"

namespace sonde::sql {
namespace {

struct Totals {
  std::int64_t name = 0;
  SpanKind kind = SpanKind::Scope;
  std::int32_t device = -1;
  std::int64_t count = 0;
  Nanos total_ns = 0;
  Nanos min_ns = 0;
  Nanos max_ns = 0;

  void add(Nanos duration_ns) {
    min_ns = count == 0 ? duration_ns : std::min(min_ns, duration_ns);
    max_ns = count == 0 ? duration_ns : std::max(max_ns, duration_ns);
    total_ns += duration_ns;
    ++count;
  }
};

constexpr std::uint32_t kNoGroup = 0xffffffff;

// Spans with the same name, kind and device. Most names have one of each: the group that was used
// last for a name is tried first.
struct Groups {
  std::vector<Totals> totals;
  std::vector<std::uint32_t> of_span;  // kNoGroup: in none

  std::uint32_t find(std::int64_t name, SpanKind kind, std::int32_t device) {
    std::uint32_t& recent = last_[static_cast<std::size_t>(name) + 1];
    if (recent != kNoGroup && totals[recent].kind == kind && totals[recent].device == device)
      return recent;
    const std::uint64_t key = (static_cast<std::uint64_t>(name) << 32) ^
                              (static_cast<std::uint64_t>(kind) << 24) ^
                              static_cast<std::uint64_t>(device + 1);
    const auto [at, is_new] = others_.try_emplace(key, static_cast<std::uint32_t>(totals.size()));
    if (is_new) totals.push_back({.name = name, .kind = kind, .device = device});
    return recent = at->second;
  }
  explicit Groups(const Trace& trace) : last_(trace.strings().size() + 1, kNoGroup) {}

 private:
  std::vector<std::uint32_t> last_;  // by name, that of no name first
  std::unordered_map<std::uint64_t, std::uint32_t> others_;
};

std::int64_t name_of(const Trace& trace, SpanId span) {
  const StringId name = trace.spans().name[span];
  return name.valid() ? std::int64_t{name.value()} : -1;
}

std::int32_t device_of(const Trace& trace, SpanId span) {
  const TrackId track = trace.spans().track[span];
  return track.valid() ? trace.tracks().device_index[track] : -1;
}

template <typename Wanted>
std::shared_ptr<Groups> grouped(const Trace& trace, bool by_device, Wanted&& wanted) {
  auto groups = std::make_shared<Groups>(trace);
  groups->of_span.resize(trace.spans().size(), kNoGroup);
  const SpanTable& spans = trace.spans();
  for (const SpanId span : trace.all_spans()) {
    const SpanKind kind = spans.kind[span];
    if (!wanted(kind)) continue;
    const std::uint32_t group =
        groups->find(name_of(trace, span), kind, by_device ? device_of(trace, span) : -1);
    groups->of_span[span.index()] = group;
    groups->totals[group].add(spans.duration_ns[span]);
  }
  return groups;
}

void add_totals(ComputedPart& part, const Groups& groups) {
  auto& name = part.name("name", "");
  auto& kind = part.kind("kind", "As in spans");
  auto& count = part.integer("count", "How often it ran");
  auto& total = part.nanos("total_ns", "All durations added up");
  auto& average = part.nanos("average_ns", "");
  auto& least = part.nanos("min_ns", "");
  auto& most = part.nanos("max_ns", "");
  for (const Totals& row : groups.totals) {
    name.push_back(row.name < 0 ? std::int64_t{StringId::kInvalid} : row.name);
    kind.push_back(static_cast<std::int64_t>(row.kind));
    count.push_back(row.count);
    total.push_back(row.total_ns);
    average.push_back(row.total_ns / std::max<std::int64_t>(1, row.count));
    least.push_back(row.min_ns);
    most.push_back(row.max_ns);
  }
}

void fill_self_times(const Trace& trace, const Groups& groups, std::vector<std::int64_t>& out) {
  out.resize(groups.totals.size());
  const std::vector<std::int64_t> self = self_times(trace);
  for (std::size_t span = 0; span < self.size(); ++span)
    if (groups.of_span[span] != kNoGroup) out[groups.of_span[span]] += self[span];
}

// Calls visit(group, duration) for each piece of device work and each group of the spans around its
// launch, once for each even if a span is inside another of its name.
template <typename Visit>
void for_each_launcher(const Trace& trace, const Groups& groups, Visit&& visit) {
  std::vector<std::uint32_t> seen;
  const SpanTable& spans = trace.spans();
  for (const SpanId work : trace.all_spans()) {
    if (!is_device_work(spans.kind[work])) continue;
    seen.clear();
    for (SpanId at = spans.launch[work]; at.valid(); at = spans.parent[at]) {
      const std::uint32_t group = groups.of_span[at.index()];
      if (group == kNoGroup || std::find(seen.begin(), seen.end(), group) != seen.end()) continue;
      seen.push_back(group);
      visit(group, spans.duration_ns[work]);
    }
  }
}

// The value in the middle, by group.
std::vector<std::int64_t> medians(const Trace& trace, const Groups& groups) {
  std::vector<std::vector<Nanos>> durations(groups.totals.size());
  for (std::size_t span = 0; span < groups.of_span.size(); ++span)
    if (groups.of_span[span] != kNoGroup)
      durations[groups.of_span[span]].push_back(trace.spans().duration_ns[span]);
  std::vector<std::int64_t> result;
  for (std::vector<Nanos>& all : durations) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    result.push_back(*middle);
  }
  return result;
}

std::int64_t as_nanos(double microseconds) {
  return std::llround(microseconds * 1000);
}

}  // namespace

Part operators_part(Source& source) {
  ComputedPart part(source);
  const Trace& trace = part.trace();
  const auto groups = grouped(trace, false, [](SpanKind kind) { return !is_on_device(kind); });
  add_totals(part, *groups);
  part.later("self_ns", "What no span inside covers", "ns",
             [&trace, groups](auto& column) { fill_self_times(trace, *groups, column.numbers); });
  part.later("device_ns", "Durations of the device work that was launched in it", "ns",
             [&trace, groups](auto& column) {
               column.numbers.resize(groups->totals.size());
               for_each_launcher(trace, *groups, [&](std::uint32_t group, Nanos duration) {
                 column.numbers[group] += duration;
               });
             });
  part.later("launches", "Kernels, copies and fills that were launched in it", "",
             [&trace, groups](auto& column) {
               column.numbers.resize(groups->totals.size());
               for_each_launcher(trace, *groups,
                                 [&](std::uint32_t group, Nanos) { ++column.numbers[group]; });
             });
  return part.finish(groups->totals.size());
}

Part kernel_stats_part(Source& source) {
  ComputedPart part(source);
  const Trace& trace = part.trace();
  const auto groups = grouped(trace, true, [](SpanKind kind) { return is_device_work(kind); });
  add_totals(part, *groups);
  part.later("median_ns", "The duration in the middle", "ns",
             [&trace, groups](auto& column) { column.numbers = medians(trace, *groups); });
  auto& device = part.integer("device_index", "");
  auto& share = part.real("share", "Of all device work of the trace, from 0 to 1");
  auto& brief = part.text("short_name", "The name without namespaces, templates and arguments");
  Nanos all_ns = 0;
  for (const Totals& row : groups->totals) all_ns += row.total_ns;
  for (const Totals& row : groups->totals) {
    device.push_back(row.device < 0 ? kNull : row.device);
    share.push_back(all_ns == 0 ? NAN
                                : static_cast<double>(row.total_ns) / static_cast<double>(all_ns));
    brief.push_back(row.name < 0
                        ? std::string()
                        : short_cpp_name(trace.string(StringId(static_cast<int>(row.name)))));
  }
  return part.finish(groups->totals.size());
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
