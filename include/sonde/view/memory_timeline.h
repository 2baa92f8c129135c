// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The memory of a trace over time, as files.
//
//   SONDE_TRY_VOID(export_memory_timeline(trace, "memory.html"));               // to look at
//   SONDE_TRY_VOID(export_memory_timeline(trace, "memory.raw.json.gz", "cuda:0"));  // PyTorch's
//
// The suffixes and contents are PyTorch's, except for two: the page is an interactive drawing in
// one file that needs no network, and `.svg` is a picture for a document.

#include <string>
#include <string_view>

#include "sonde/analyse/memory.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// The suffix chooses the format: `.html`; `.svg`; `raw.json.gz` for every event; other `.gz` for
// times and bytes by category, compressed; anything else for the same as plain JSON. `device` is
// "cuda:0" or similar; "" means the first that is not the host, else the host. The file appears
// complete or not at all.
Result<void> export_memory_timeline(const Trace& trace, const std::string& path,
                                    std::string_view device = "");
// The same, for a device of an existing profile.
Result<void> export_memory_timeline(const MemoryProfile& profile, const DeviceMemory& device,
                                    const std::string& path);

// The texts of those files. PyTorch's `[[times in us], [[0, bytes of each category], …]]`.
std::string memory_series_json(const DeviceMemory& device);
// PyTorch's `[[time in ns, action, signed bytes, category], …]`; a new version is two of them.
std::string memory_events_json(const DeviceMemory& device);
std::string memory_svg(const MemoryProfile& profile, const DeviceMemory& device);
Result<std::string> memory_page(const MemoryProfile& profile, const DeviceMemory& device);

}  // namespace sonde
