// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/dynamo.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "analyse/events/event_data.h"
#include "base/format.h"

namespace sonde::dynamo {
namespace {

// Whether PyTorch counts it here. It counts neither device calls nor device work.
bool is_counted(const EventList& events, const FunctionEvent& event) {
  return event.span().valid() && is_pytorch_operator(events.trace().spans().kind[event.span()]);
}

// The result of a walk over the events by start time.
struct Walk {
  double captured_us = 0;
  double total_us = 0;
  std::int64_t captured_ops = 0;
  std::int64_t total_ops = 0;
  std::int64_t regions = 0;
  std::vector<std::size_t> missing;

  explicit Walk(const EventList& events) {
    Nanos last_op_end_ns = std::numeric_limits<Nanos>::min();
    Nanos region_end_ns = std::numeric_limits<Nanos>::min();
    for (const FunctionEvent event : events) {
      if (!is_counted(events, event)) continue;
      if (event.name() == kRegionName) {
        region_end_ns = event.end_ns();
        ++regions;
        --total_ops;  // PyTorch's rule: the region once came with an operator
        continue;
      }
      if (event.start_ns() < last_op_end_ns) continue;  // inside the previous one
      last_op_end_ns = event.end_ns();
      if (event.end_ns() <= region_end_ns) {
        ++captured_ops;
        captured_us += event.cpu_total_us();
      } else {
        missing.push_back(event.index());
      }
      ++total_ops;
      total_us += event.cpu_total_us();
    }
    --total_ops;  // also PyTorch's rule
  }
};

std::string share(double part) {
  return format_text("{:>4}", format_text("{:.0f}%", part * 100));
}

ProfileMetrics divided(const ProfileMetrics& a, const ProfileMetrics& by) {
  return {a.microseconds / std::max(1.0, by.microseconds),
          a.operators / std::max(1.0, by.operators), a.fusions / std::max(1.0, by.fusions), 0};
}

}  // namespace

ProfileMetrics& ProfileMetrics::operator+=(const ProfileMetrics& other) noexcept {
  microseconds += other.microseconds;
  operators += other.operators;
  fusions += other.fusions;
  return *this;
}

ProfileMetrics operator+(const ProfileMetrics& a, const ProfileMetrics& b) noexcept {
  return {a.microseconds + b.microseconds, a.operators + b.operators, a.fusions + b.fusions, 0};
}

ProfileMetrics operator/(const ProfileMetrics& a, const ProfileMetrics& b) noexcept {
  return divided(a, b);
}

ProfileMetrics operator/(const ProfileMetrics& a, std::int64_t divisor) noexcept {
  const auto by = static_cast<double>(divisor);
  return divided(a, {by, by, by, 0});
}

std::vector<double> ProfileMetrics::tocsv() const {
  return {operators, microseconds};
}

std::string to_string(const ProfileMetrics& metrics) {
  return share(metrics.operators) + " ops " + share(metrics.microseconds) + " time";
}

ProfileResult& ProfileResult::operator+=(const ProfileResult& other) noexcept {
  captured += other.captured;
  total += other.total;
  unique_graphs += other.unique_graphs;
  return *this;
}

std::vector<double> ProfileResult::tocsv() const {
  std::vector<double> row = {static_cast<double>(unique_graphs),
                             static_cast<double>(captured.graphs), captured.operators,
                             total.operators};
  for (const double share_of : percent().tocsv()) row.push_back(share_of);
  return row;
}

std::string to_string(const ProfileResult& result) {
  return format_text("{:2} graphs {:2} graph calls {:4}/{:4} = {}", result.unique_graphs,
                     result.captured.graphs, result.captured.operators, result.total.operators,
                     to_string(result.percent()));
}

ProfileResult profile_result(const EventList& events, std::int64_t unique_graphs) {
  const Walk walk(events);
  const auto captured_ops = static_cast<double>(walk.captured_ops);
  const auto total_ops = static_cast<double>(walk.total_ops);
  ProfileResult result;
  result.captured = {walk.captured_us, captured_ops,
                     captured_ops - static_cast<double>(walk.regions), walk.regions};
  result.total = {walk.total_us, total_ops, total_ops - 1, 0};
  result.unique_graphs = unique_graphs;
  return result;
}

std::vector<std::size_t> missing_ops(const EventList& events) {
  return Walk(events).missing;
}

std::string missing_line(const std::vector<std::string>& stack) {
  constexpr std::size_t kShown = 3;
  const auto has = [](const std::string& frame, std::string_view text) {
    return frame.find(text) != std::string::npos;
  };
  std::vector<std::string_view> shown;
  for (const std::string& frame : stack) {
    if (has(frame, "/torch/autograd/profiler.py")) return {};
    if (!has(frame, "<built-in") && !has(frame, "site-packages/torch/")) shown.push_back(frame);
  }
  std::string line = "MISSING ";
  for (std::size_t i = shown.size() - std::min(shown.size(), kShown); i < shown.size(); ++i) {
    if (line.back() != ' ') line += " >> ";
    line += shown[i];
  }
  return line;
}

std::vector<std::string> missing_lines(const EventList& events) {
  std::vector<std::string> lines;
  std::set<std::string> said;
  for (const std::size_t event : missing_ops(events)) {
    std::string line = missing_line(events[event].stack());
    if (!line.empty() && said.insert(line).second) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace sonde::dynamo
