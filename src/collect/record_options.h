// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The options of sonde/profile/record_options.h in other forms: as text, as PyTorch's metadata, and
// for plugins. To add an option, add a member and a row of record_flags().

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sonde/profile/record_options.h"
#include "sonde/result.h"
#include "sonde/source/plugin.h"

namespace sonde {

struct RecordFlag {
  bool RecordOptions::* member;
  std::uint8_t sonde_request::* plugin_member;
  const char* word;  // in record_text(); with two dashes it is an option of `sonde run`
  std::string_view metadata_key;  // PyTorch's
  const char* help;
};

// In the order of PyTorch's metadata.
std::span<const RecordFlag> record_flags();

// The options without the activities, which depend on the program: "shapes,stack,gpu=full"; empty
// for the defaults.
std::string record_text(const RecordOptions& options);
Result<RecordOptions> record_options_from(std::string_view text);
Result<GpuLevel> gpu_level_named(std::string_view name);

// The flags that are set, as metadata keys and JSON values.
std::vector<std::pair<std::string, std::string>> record_metadata(const RecordOptions& options);

// Adds what `more` asks for, except its activities.
void add_to(RecordOptions& options, const RecordOptions& more);

sonde_request plugin_request(const RecordOptions& options);

// "cuda".
std::string_view activity_name(Activity activity);

}  // namespace sonde
