// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A page that draws a memory timeline on its own: memory_page.html with the data in it.

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sonde/analyse/memory_report.h"
#include "sonde/view/memory_timeline.h"
#include "view/compressed.h"
#include "view/memory_columns.h"
#include "view/memory_page_html.h"
#include "view/page.h"

namespace sonde {
namespace {

constexpr std::size_t kMostEvents = std::size_t{1} << 21;
constexpr std::size_t kMostStepsDrawn = 1000;

// Each column begins at a multiple of 8 bytes.
template <typename T>
void append_column(std::string& out, const std::vector<T>& values) {
  const std::size_t bytes = values.size() * sizeof(T);
  const std::size_t begin = out.size();
  out.resize(begin + (bytes + 7) / 8 * 8);
  if (bytes > 0) std::memcpy(out.data() + begin, values.data(), bytes);
}

std::string signed_bytes(std::int64_t bytes) {
  return bytes_text(bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes));
}

// Shown above the picture.
std::vector<std::pair<std::string, std::string>> facts(const MemoryProfile& profile,
                                                       const DeviceMemory& device) {
  std::vector<std::pair<std::string, std::string>> out;
  const MemoryMoment peak = memory_moment(profile, device, device.peak.event);
  out.emplace_back("peak", signed_bytes(peak.live_bytes));
  out.emplace_back("at", duration_text(peak.time_ns - profile.trace.first_ns()));
  if (peak.unseen_bytes > 0) out.emplace_back("held before", signed_bytes(peak.unseen_bytes));
  if (peak.reserved_bytes > 0) out.emplace_back("reserved", signed_bytes(peak.reserved_bytes));
  out.emplace_back("events", count_text(device.events.size()));
  return out;
}

void add_steps(detail::PageJson& meta, const MemoryProfile& profile, const DeviceMemory& device) {
  std::vector<StepMemory> steps = memory_by_step(profile, device);
  if (steps.size() > kMostStepsDrawn) steps.clear();
  const Nanos start_ns = profile.trace.first_ns();
  meta.key("steps").list(steps, [&](const StepMemory& step) {
    meta.list(std::array{step.step, step.start_ns - start_ns, step.end_ns - start_ns},
              [&](std::int64_t value) { meta.number(value); });
  });
}

std::string meta_text(const MemoryProfile& profile, const DeviceMemory& device,
                      const detail::MemoryColumns& columns) {
  const Nanos start_ns = profile.trace.first_ns();
  const bool has_peak = device.peak.event != kNoEventNumber;
  BytesByCategory used{};
  for (const MemoryEvent& event : device.events) used[static_cast<std::size_t>(event.to)] = 1;
  std::vector<std::string_view> names;
  names.reserve(kMemoryCategories);
  for (std::size_t i = 0; i < kMemoryCategories; ++i)
    names.push_back(to_string(static_cast<MemoryCategory>(i)));
  detail::PageJson meta;
  const auto text = [&meta](std::string_view value) { meta.text(value); };
  const auto number = [&meta](std::int64_t value) { meta.number(value); };
  meta.key("title").text("Memory of " + to_string(device.device));
  meta.key("facts").list(facts(profile, device), [&](const auto& fact) {
    meta.list(std::array<std::string_view, 2>{fact.first, fact.second}, text);
  });
  meta.key("missing").list(profile.missing, text);
  meta.key("categories").list(names, text);
  meta.key("used").list(used, number);
  meta.key("at_peak").list(device.peak.by_category, number);
  meta.key("peak_bytes").number(device.peak.live_bytes);
  const bool in_time = has_peak && device.peak.time_ns != kBeforeRecording;
  meta.key("peak_ns").number(in_time ? device.peak.time_ns - start_ns : 0);
  meta.key("peak_event").number(static_cast<std::int64_t>(columns.peak_event));
  meta.key("length_ns").number(profile.trace.last_ns() - start_ns);
  add_steps(meta, profile, device);
  meta.key("out_of_memory").list(device.out_of_memory, [&](AllocationId row) {
    meta.list(std::array{profile.trace.allocations().time_ns[row] - start_ns,
                         profile.trace.allocations().bytes[row]},
              number);
  });
  meta.key("events").number(static_cast<std::int64_t>(columns.time_ns.size()));
  meta.key("blocks").number(static_cast<std::int64_t>(columns.block_bytes.size()));
  meta.key("changes").number(static_cast<std::int64_t>(columns.change.size()));
  meta.key("ops").list(columns.ops, text);
  return meta.done();
}

}  // namespace

Result<std::string> memory_page(const MemoryProfile& profile, const DeviceMemory& device) {
  const detail::MemoryColumns columns = detail::memory_columns(profile, device, kMostEvents);
  std::string data;
  append_column(data, columns.time_ns);
  append_column(data, columns.block_bytes);
  append_column(data, columns.change);
  append_column(data, columns.block);
  append_column(data, columns.block_op);
  append_column(data, columns.kind);
  SONDE_TRY(const std::vector<std::uint8_t> packed, detail::compressed(data));
  std::string page = detail::kMemoryPage;
  // The data first: marks in names must not be replaced.
  detail::replace_mark(page, "{{DATA}}", detail::base64(packed));
  detail::replace_mark(page, "{{META}}", meta_text(profile, device, columns));
  return page;
}

}  // namespace sonde
