// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses the format of a file.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/output_file.h"
#include "sonde/view/memory_timeline.h"
#include "sonde/view/trace_page.h"
#include "view/compressed.h"

namespace sonde {
namespace {

Result<void> write_compressed(const std::string& path, std::string_view text) {
  SONDE_TRY(const std::vector<std::uint8_t> bytes, detail::compressed(text));
  return write_file_whole(path, std::span<const std::uint8_t>(bytes));
}

}  // namespace

Result<std::string> memory_page(const MemoryProfile& profile, const DeviceMemory& device) {
  TracePageOptions options;
  options.at = "view=memory&device=" + to_string(device.device);
  return trace_page(profile.trace, "memory", options);
}

Result<void> export_memory_timeline(const MemoryProfile& profile, const DeviceMemory& device,
                                    const std::string& path) {
  if (path.ends_with(".html")) {
    SONDE_TRY(const std::string page, memory_page(profile, device));
    return write_file_whole(path, page);
  }
  if (path.ends_with(".svg")) return write_file_whole(path, memory_svg(profile, device));
  if (path.ends_with("raw.json.gz")) return write_compressed(path, memory_events_json(device));
  if (path.ends_with(".gz")) return write_compressed(path, memory_series_json(device));
  return write_file_whole(path, memory_series_json(device));
}

Result<void> export_memory_timeline(const Trace& trace, const std::string& path,
                                    std::string_view device) {
  const MemoryProfile profile = memory_profile(trace);
  SONDE_TRY(const DeviceMemory* const found, profile.find(device));
  return export_memory_timeline(profile, *found, path);
}

}  // namespace sonde
