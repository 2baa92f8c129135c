// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Figures that PyTorch does not have. docs/metrics.md defines them.

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analyse/table/averages_data.h"

namespace sonde::detail {
namespace {

// Device work that belongs to a row.
struct Work {
  std::uint32_t row;
  std::uint32_t event;
  Nanos begin_ns;
  Nanos end_ns;
};

bool comes_before(const Work& a, const Work& b) {
  return std::tie(a.row, a.begin_ns, a.event) < std::tie(b.row, b.begin_ns, b.event);
}
bool is_same(const Work& a, const Work& b) {
  return a.row == b.row && a.event == b.event;
}

// Device work of each row: for device events the events themselves, for host events what they or
// events inside them launched. Annotations are not work.
std::vector<Work> work_of_rows(const EventData& data,
                               const std::vector<std::uint32_t>& row_of_event) {
  std::vector<Work> all;
  const auto add = [&](std::uint32_t row, std::uint32_t event) {
    all.push_back({row, event, data.begin_ns[event], data.end_ns[event]});
  };
  for (std::uint32_t event = 0; event < data.size(); ++event) {
    if (data.has(event, kEventDevice)) {
      if (!data.has(event, kEventAnnotation)) add(row_of_event[event], event);
      continue;
    }
    for (std::uint32_t i = 0; i < data.kernels_count[event]; ++i) {
      const std::uint32_t kernel = data.kernels[data.kernels_first[event] + i];
      for (std::uint32_t at = event; at != kNoEvent; at = data.parent[at]) {
        add(row_of_event[at], kernel);
      }
    }
  }
  std::sort(all.begin(), all.end(), comes_before);
  all.erase(std::unique(all.begin(), all.end(), is_same), all.end());
  return all;
}

void add_device_figures(std::vector<ExtraFigures>& figures, const std::vector<Work>& all) {
  std::uint32_t row = kNoEvent;
  Nanos reached_ns = 0;  // the end of what was counted for this row
  for (const Work& work : all) {
    if (work.row != row) {
      row = work.row;
      reached_ns = work.begin_ns;
    }
    ExtraFigures& of_row = figures[row];
    ++of_row.launches;
    const Nanos from_ns = std::max(work.begin_ns, reached_ns);
    if (work.end_ns <= from_ns) continue;
    of_row.device_union_ns += work.end_ns - from_ns;
    reached_ns = work.end_ns;
  }
}

// The smallest value that at least that part of all does not exceed.
Nanos quantile(const std::vector<Nanos>& sorted, double part) {
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void add_quantiles(std::vector<ExtraFigures>& figures, const EventData& data,
                   const std::vector<std::uint32_t>& row_of_event) {
  std::vector<std::vector<Nanos>> durations(figures.size());
  for (std::size_t event = 0; event < data.size(); ++event) {
    durations[row_of_event[event]].push_back(data.duration_ns(event));
  }
  for (std::size_t row = 0; row < figures.size(); ++row) {
    std::vector<Nanos>& of_row = durations[row];
    if (of_row.empty()) continue;
    std::sort(of_row.begin(), of_row.end());
    figures[row].p50_ns = quantile(of_row, 0.5);
    figures[row].p95_ns = quantile(of_row, 0.95);
    figures[row].max_ns = of_row.back();
  }
}

void add_rates(std::vector<ExtraFigures>& figures, const EventData& data,
               const std::vector<std::uint32_t>& row_of_event) {
  std::vector<double> flops(figures.size());
  std::vector<double> host_us(figures.size());
  for (std::size_t event = 0; event < data.size(); ++event) {
    flops[row_of_event[event]] += static_cast<double>(data.flops_of(event));
    host_us[row_of_event[event]] += data.cpu_total_us(event);
  }
  for (std::size_t row = 0; row < figures.size(); ++row) {
    const auto device_us = static_cast<double>(figures[row].device_union_ns) / 1000.0;
    const double time_us = device_us > 0 ? device_us : host_us[row];
    if (time_us > 0) figures[row].flops_per_second = flops[row] * 1e6 / time_us;
  }
}

}  // namespace

std::vector<ExtraFigures> extra_figures(const EventData& data, std::size_t rows,
                                        const std::vector<std::uint32_t>& row_of_event) {
  std::vector<ExtraFigures> figures(rows);
  add_quantiles(figures, data, row_of_event);
  add_device_figures(figures, work_of_rows(data, row_of_event));
  add_rates(figures, data, row_of_event);
  return figures;
}

}  // namespace sonde::detail
