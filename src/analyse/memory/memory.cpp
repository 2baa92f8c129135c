// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/memory.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "analyse/flags.h"
#include "analyse/memory/events.h"
#include "analyse/memory/memory_data.h"
#include "base/parallel.h"

namespace sonde {
namespace {

constexpr std::array<std::string_view, kMemoryCategories> kCategoryNames = {
    "parameter",  "optimizer_state", "input",           "temporary",
    "activation", "gradient",        "autograd_detail", "unknown"};

bool has_gradients(const std::vector<MemoryCategory>& categories) {
  return std::find(categories.begin(), categories.end(), MemoryCategory::Gradient) !=
         categories.end();
}

std::vector<std::string> what_is_missing(const Trace& trace, bool has_operators, bool has_tensors,
                                         bool has_model) {
  std::vector<std::string> missing;
  if (trace.allocations().empty()) {
    missing.emplace_back("no allocations were recorded: record with profile_memory (--memory)");
    return missing;
  }
  if (!has_operators) {
    missing.emplace_back("the trace has no operators, so it does not show what blocks were for");
  } else if (!has_tensors) {
    missing.emplace_back(
        "the trace does not show which tensors were passed to operators: categories are guessed "
        "from the lifetimes of blocks, or from shapes for blocks held before and after recording");
  } else if (!has_model) {
    missing.emplace_back(
        "the trace has neither gradients nor parameters that the program told of: one of them is "
        "needed to find categories");
  }
  if (trace.windows().size() > 1) {
    missing.emplace_back("recording was paused: blocks freed in a pause count as still held");
  }
  return missing;
}

}  // namespace

std::string_view to_string(MemoryCategory category) noexcept {
  return kCategoryNames[static_cast<std::size_t>(category)];
}

std::string to_string(const MemoryDevice& device) {
  std::string text(to_string(device.type));
  if (device.index >= 0) text += ':' + std::to_string(device.index);
  return text;
}

Result<MemoryDevice> parse_memory_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  MemoryDevice device;
  bool good = false;
  for (int number = 0; number < 256 && !good; ++number) {
    device.type = static_cast<DeviceType>(number);
    good = is_known(device.type) && to_string(device.type) == type;
  }
  if (good && colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
    good = read.ec == std::errc() && read.ptr == digits.data() + digits.size() && device.index >= 0;
  } else if (device.type != DeviceType::Cpu) {
    device.index = 0;
  }
  if (device.type == DeviceType::Cpu) device.index = -1;
  if (good) return device;
  return Failure(ErrorCode::Invalid,
                 "'" + std::string(text) + "' is not a device; write cpu, cuda:0 or the like");
}

Result<const DeviceMemory*> MemoryProfile::find(std::string_view name) const& {
  if (devices.empty()) {
    const bool asked = detail::has_flag(trace, "profile_memory");
    return Failure(ErrorCode::Invalid, asked
                                           ? "no allocations were recorded"
                                           : "profile_memory=True required for memory profiling.");
  }
  if (name.empty()) {
    const auto is_no_host = [](const DeviceMemory& device) {
      return device.device.type != DeviceType::Cpu;
    };
    const auto found = std::find_if(devices.begin(), devices.end(), is_no_host);
    return found != devices.end() ? &*found : &devices.front();
  }
  SONDE_TRY(const MemoryDevice wanted, parse_memory_device(name));
  std::string known;
  for (const DeviceMemory& device : devices) {
    if (device.device == wanted) return &device;
    known += (known.empty() ? "" : ", ") + to_string(device.device);
  }
  return Failure(ErrorCode::Invalid,
                 "no memory of " + std::string(name) + " was recorded; recorded devices: " + known);
}

MemoryProfile memory_profile(const Trace& trace) {
  MemoryProfile profile;
  profile.trace = trace;
  detail::FollowedBlocks followed;
  detail::Flow flow;
  constexpr std::size_t kFewSpans = 65536;  // for which a thread is not worth starting
  parallel_for(
      2,
      [&](std::size_t task) {
        if (task == 0) {
          followed = detail::follow_blocks(trace);
        } else {
          flow = detail::find_leaves(trace);
        }
      },
      trace.spans().size() < kFewSpans ? 1 : 0);
  detail::trace_flow(trace, followed, flow);
  profile.has_tensors = !followed.uses_by_span.empty();
  std::vector<MemoryCategory> categories = profile.has_tensors
                                               ? detail::categorise(trace, followed, flow)
                                               : detail::guess_categories(trace, followed, flow);
  if (!profile.has_tensors) detail::add_unseen_tensors(trace, followed, flow, categories);
  const bool has_model =
      has_gradients(categories) || std::find(followed.told.begin(), followed.told.end(),
                                             MemoryCategory::Parameter) != followed.told.end();
  profile.missing = what_is_missing(trace, !flow.leaves.empty(), profile.has_tensors, has_model);
  profile.devices = detail::list_events(trace, std::move(followed), flow, categories);
  return profile;
}

}  // namespace sonde
