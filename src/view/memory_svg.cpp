// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A memory timeline as one picture: bytes by category, stacked, over time.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/text.h"
#include "sonde/view/memory_timeline.h"

namespace sonde {
namespace {

constexpr int kWidth = 960;
constexpr int kHeight = 420;
constexpr int kLeft = 80;
constexpr int kRight = 20;
constexpr int kTop = 44;
constexpr int kBottom = 64;
constexpr int kPlotWidth = kWidth - kLeft - kRight;
constexpr int kPlotHeight = kHeight - kTop - kBottom;

constexpr std::array<std::string_view, kMemoryCategories> kColours = {
    "#2e7d4f", "#d9a21b", "#3c4650", "#a58bd6", "#e0603f", "#2f5fc4", "#7fa8e8", "#aab2bb"};

// The time that is drawn, without long quiet periods at the ends.
struct Range {
  Nanos from_ns;
  Nanos to_ns;

  double x_of(Nanos time_ns) const {
    const double part = static_cast<double>(std::max(time_ns, from_ns) - from_ns) /
                        static_cast<double>(to_ns - from_ns);
    return kLeft + kPlotWidth * std::min(part, 1.0);
  }
};

Range range_of(const MemoryProfile& profile, const DeviceMemory& device) {
  const Nanos first_ns = profile.trace.first_ns();
  const Nanos last_ns = std::max(profile.trace.last_ns(), first_ns + 1);
  const auto begun =
      std::find_if(device.events.begin(), device.events.end(),
                   [](const MemoryEvent& event) { return event.time_ns != kBeforeRecording; });
  if (begun == device.events.end()) return {first_ns, last_ns};
  const Nanos begun_ns = (*begun).time_ns;
  const Nanos busy_ns = device.events.back().time_ns - begun_ns;
  if (busy_ns <= 0 || busy_ns > (last_ns - first_ns) / 5 * 3) return {first_ns, last_ns};
  return {begun_ns - busy_ns / 20, device.events.back().time_ns + busy_ns / 20};
}

// The bytes of each column of the picture: at its highest moment, else as they were before.
std::vector<BytesByCategory> columns_of(const DeviceMemory& device, const Range& range) {
  std::vector<BytesByCategory> columns(kPlotWidth);
  std::vector<std::int64_t> most(kPlotWidth, -1);
  std::size_t at = 0;
  BytesByCategory last{};
  const auto go_to = [&](std::size_t column) {
    for (; at < column; ++at) {
      if (most[at] < 0) columns[at] = last;
    }
  };
  MemoryRun run(device);
  while (run.next()) {
    const double x = range.x_of(run.event().time_ns) - kLeft;
    const auto column = static_cast<std::size_t>(std::min(x, kPlotWidth - 1.0));
    go_to(column);
    if (run.live_bytes() > most[column]) {
      most[column] = run.live_bytes();
      columns[column] = run.by_category();
    }
    last = run.by_category();
  }
  go_to(kPlotWidth);
  return columns;
}

double y_of(std::int64_t bytes, std::int64_t most) {
  return kTop + kPlotHeight * (1.0 - static_cast<double>(bytes) / static_cast<double>(most));
}

// The smallest round number of bytes of which a few reach `most`.
std::int64_t round_step(std::int64_t most) {
  std::int64_t unit = 1;
  while (most / unit >= std::int64_t{1024} * 6 && unit < (std::int64_t{1} << 50)) unit *= 1024;
  for (const std::int64_t step : {1, 2, 5, 10, 20, 50, 100, 200, 500})
    if (most / (step * unit) < 7) return step * unit;
  return unit * 1024;
}

// A line along `heights` from left to right, or back, with points only where it bends.
std::string edge(const std::vector<std::int64_t>& heights, std::int64_t most, bool back) {
  std::string out;
  const std::size_t count = heights.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t x = back ? count - 1 - i : i;
    const bool begins = i == 0 || heights[back ? x + 1 : x - 1] != heights[x];
    const bool ends = i + 1 == count || heights[back ? x - 1 : x + 1] != heights[x];
    const int left = kLeft + static_cast<int>(x);
    if (begins) out += format_text(" {},{:.1f}", back ? left + 1 : left, y_of(heights[x], most));
    if (ends) out += format_text(" {},{:.1f}", back ? left : left + 1, y_of(heights[x], most));
  }
  return out;
}

std::string areas(const std::vector<BytesByCategory>& columns, std::int64_t most) {
  std::string out;
  std::vector<std::int64_t> below(columns.size(), 0);
  for (std::size_t category = 0; category < kMemoryCategories; ++category) {
    std::vector<std::int64_t> above = below;
    for (std::size_t x = 0; x < columns.size(); ++x)
      above[x] += std::max<std::int64_t>(columns[x][category], 0);
    if (above != below) {
      out += format_text("<polygon fill=\"{}\" points=\"{}{}\"><title>{}</title></polygon>\n",
                         kColours[category], edge(above, most, false).substr(1),
                         edge(below, most, true), to_string(static_cast<MemoryCategory>(category)));
    }
    below = std::move(above);
  }
  return out;
}

// The smallest of 1, 2, 5, 10, … nanoseconds of which a few reach `length_ns`.
Nanos round_time(Nanos length_ns) {
  Nanos unit = 1;
  while (length_ns / unit > 80) unit *= 10;
  for (const Nanos step : {1, 2, 5})
    if (length_ns / (step * unit) <= 8) return step * unit;
  return unit * 10;
}

std::string axes(const Range& range, Nanos start_ns, std::int64_t most) {
  std::string out;
  const std::int64_t step = round_step(most);
  for (std::int64_t bytes = 0; bytes <= most; bytes += step) {
    const double y = y_of(bytes, most);
    out += format_text(
        "<line class=\"grid\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        kLeft, y, kWidth - kRight, y, kLeft - 8, y + 4,
        bytes_text(static_cast<std::uint64_t>(bytes)));
  }
  const Nanos tick_ns = round_time(range.to_ns - range.from_ns);
  const Nanos first_ns = (range.from_ns - start_ns + tick_ns - 1) / tick_ns * tick_ns;
  for (Nanos at = first_ns; at <= range.to_ns - start_ns; at += tick_ns) {
    out += format_text("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       range.x_of(start_ns + at), kTop + kPlotHeight + 18, duration_text(at));
  }
  return out;
}

std::string peak_mark(const Range& range, const DeviceMemory& device) {
  if (device.peak.event == kNoEventNumber) return {};
  const double x = range.x_of(device.peak.time_ns);
  const bool right = x > kLeft + kPlotWidth / 2.0;
  return format_text(
      "<line class=\"peak\" x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\"/>"
      "<text class=\"peak\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">peak {}</text>\n",
      x, kTop - 4, x, kTop + kPlotHeight, right ? x - 6 : x + 6, kTop - 6, right ? "end" : "start",
      bytes_text(static_cast<std::uint64_t>(device.peak.live_bytes)));
}

std::string legend(const DeviceMemory& device) {
  std::array<bool, kMemoryCategories> used{};
  for (const MemoryEvent& event : device.events) used[static_cast<std::size_t>(event.to)] = true;
  std::string out;
  int x = kLeft;
  for (std::size_t category = 0; category < kMemoryCategories; ++category) {
    if (!used[category]) continue;
    const std::string_view name = to_string(static_cast<MemoryCategory>(category));
    out += format_text(
        "<rect x=\"{}\" y=\"{}\" width=\"11\" height=\"11\" rx=\"2\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        x, kHeight - 24, kColours[category], x + 16, kHeight - 14, name);
    x += 16 + static_cast<int>(name.size()) * 7 + 16;
  }
  return out;
}

}  // namespace

std::string memory_svg(const MemoryProfile& profile, const DeviceMemory& device) {
  const Range range = range_of(profile, device);
  const std::vector<BytesByCategory> columns = columns_of(device, range);
  const std::int64_t most = std::max<std::int64_t>(device.peak.live_bytes, 1);
  return format_text(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
             "height=\"{1}\" font-family=\"system-ui, DejaVu Sans, sans-serif\" "
             "font-size=\"12\">\n",
             kWidth, kHeight) +
         "<style>text{fill:#48525e}.title{font-size:15px;font-weight:600;fill:#1d2126}"
         ".grid{stroke:#e3e7ec}.peak{stroke:#c0392b;stroke-dasharray:4 3}"
         "text.peak{stroke:none;fill:#c0392b}</style>\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" +
         format_text("<text class=\"title\" x=\"{}\" y=\"22\">Memory of {}</text>\n", kLeft,
                     to_string(device.device)) +
         axes(range, profile.trace.first_ns(), most) + areas(columns, most) +
         peak_mark(range, device) + legend(device) + "</svg>\n";
}

}  // namespace sonde
