// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/record_options.h"

#include <iterator>

#include "trace/known_names.h"

namespace sonde {
namespace {

constexpr RecordFlag kFlags[] = {
    {&RecordOptions::profile_memory, &sonde_request::profile_memory, "memory", "profile_memory",
     "Record allocations and frees"},
    {&RecordOptions::with_stack, &sonde_request::with_stack, "stack", "with_stack",
     "Record the stack of each operator: lines of Python, C++ or TorchScript"},
    {&RecordOptions::record_shapes, &sonde_request::record_shapes, "shapes", "record_shapes",
     "Record the shapes and types of inputs"},
    {&RecordOptions::with_modules, &sonde_request::with_modules, "modules", "with_modules",
     "Record the module of each operator: from Python, TorchScript and ModuleScope"},
    {&RecordOptions::with_flops, &sonde_request::with_flops, "flops", "with_flops",
     "Estimate FLOPs; implies --shapes"},
    {&RecordOptions::with_native_stack, &sonde_request::with_native_stack, "native-stack",
     kNativeStacksKey, "Record what Python's lines call natively, too; implies --stack"},
};

constexpr std::pair<GpuLevel, std::string_view> kGpuLevels[] = {
    {GpuLevel::Linked, "linked"}, {GpuLevel::Lean, "lean"}, {GpuLevel::Full, "full"}};
constexpr std::string_view kGpuPrefix = "gpu=";

void append_word(std::string& text, std::string_view word) {
  if (!text.empty()) text += ',';
  text += word;
}

Result<void> set_word(RecordOptions& options, std::string_view word) {
  if (word.starts_with(kGpuPrefix)) {
    SONDE_TRY(options.gpu_level, gpu_level_named(word.substr(kGpuPrefix.size())));
    return {};
  }
  for (const RecordFlag& flag : kFlags) {
    if (word != flag.word) continue;
    options.*flag.member = true;
    return {};
  }
  return Failure(ErrorCode::Invalid,
                 "unknown word \"" + std::string(word) + "\" for what to record");
}

// The level that records what either of them does.
GpuLevel more_of(GpuLevel a, GpuLevel b) {
  if (a == GpuLevel::Full || b == GpuLevel::Full) return GpuLevel::Full;
  return a == GpuLevel::Lean ? b : a;
}

}  // namespace

std::span<const RecordFlag> record_flags() {
  return kFlags;
}

std::string record_text(const RecordOptions& options) {
  std::string text;
  for (const RecordFlag& flag : kFlags) {
    if (options.*flag.member) append_word(text, flag.word);
  }
  for (const auto& [level, name] : kGpuLevels) {
    if (level != options.gpu_level || level == RecordOptions().gpu_level) continue;
    append_word(text, std::string(kGpuPrefix) + std::string(name));
  }
  return text;
}

Result<RecordOptions> record_options_from(std::string_view text) {
  RecordOptions options;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    SONDE_TRY_VOID(set_word(options, text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return options;
}

Result<GpuLevel> gpu_level_named(std::string_view name) {
  for (const auto& [level, known] : kGpuLevels) {
    if (name == known) return level;
  }
  return Failure(ErrorCode::Invalid,
                 "unknown level \"" + std::string(name) + "\"; use linked, lean or full");
}

std::vector<std::pair<std::string, std::string>> record_metadata(const RecordOptions& options) {
  std::vector<std::pair<std::string, std::string>> metadata;
  const bool has_stacks = options.with_stack || options.with_native_stack;
  for (const RecordFlag& flag : kFlags) {
    const bool is_stack = flag.member == &RecordOptions::with_stack;
    if (is_stack ? has_stacks : options.*flag.member) metadata.emplace_back(flag.metadata_key, "1");
  }
  if (options.numbered_events) metadata.emplace_back(kNumberedEventsKey, "1");
  if (options.overloads_in_names) metadata.emplace_back(kOverloadsInNamesKey, "1");
  return metadata;
}

void add_to(RecordOptions& options, const RecordOptions& more) {
  for (const RecordFlag& flag : kFlags) options.*flag.member |= more.*flag.member;
  options.gpu_level = more_of(options.gpu_level, more.gpu_level);
}

sonde_request plugin_request(const RecordOptions& options) {
  sonde_request request = {};
  request.size = sizeof(request);
  for (const RecordFlag& flag : kFlags)
    request.*flag.plugin_member = static_cast<std::uint8_t>(options.*flag.member ? 1 : 0);
  request.gpu_level = static_cast<std::uint8_t>(options.gpu_level);
  return request;
}

std::string_view activity_name(Activity activity) {
  static constexpr std::string_view kNames[] = {"cpu", "xpu", "cuda", "hpu", "mtia", "privateuse1"};
  const auto number = static_cast<std::size_t>(activity);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

}  // namespace sonde
