// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/work_recorder.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "sonde/source/op.h"

namespace sonde::cuda {
namespace {

std::string demangled(const char* mangled) {
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &failed), std::free);
  return failed == 0 && text != nullptr ? text.get() : mangled;
}

const char* memory_name(std::uint8_t kind) {
  static constexpr const char* kNames[] = {"Unknown",       "Pageable",      "Pinned",
                                           "Device",        "Array",         "Managed",
                                           "Device Static", "Managed Static"};
  return kind < std::size(kNames) ? kNames[kind] : "Unknown";
}

const char* wait_name(std::uint8_t kind) {
  static constexpr const char* kNames[] = {"Unknown", "Event Sync", "Stream Wait Event",
                                           "Stream Sync", "Context Sync"};
  return kind < std::size(kNames) ? kNames[kind] : "Unknown";
}

const char* overhead_name(std::uint32_t kind) {
  static constexpr const char* kNames[] = {"Buffer Flush",
                                           "Instrumentation",
                                           "Resource",
                                           "Runtime Triggered Module Loading",
                                           "Lazy Function Loading",
                                           "Command Buffer Full",
                                           "Activity Buffer Request",
                                           "UVM Activity Init"};
  if (kind == 1) return "Driver Compiler";
  const std::uint32_t index = (kind >> 16) - 1;
  return kind >= 0x10000 && index < std::size(kNames) ? kNames[index] : "Unknown";
}

}  // namespace

std::string copy_name(const sonde_copy& copy) {
  static constexpr const char* kKinds[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                           "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
  constexpr std::uint8_t kMemset = 11;
  if (copy.kind == kMemset)
    return std::string("Memset (") + memory_name(copy.destination_kind) + ")";
  return std::string("Memcpy ") + (copy.kind < std::size(kKinds) ? kKinds[copy.kind] : "Unknown") +
         " (" + memory_name(copy.source_kind) + " -> " + memory_name(copy.destination_kind) + ")";
}

// Looked up by address, and checked against the text: a library may have been unloaded.
std::uint32_t WorkRecorder::kernel_name(const char* mangled) {
  if (mangled == nullptr) mangled = "unknown";
  Name& name = names_[mangled];
  if (name.number != 0 && name.mangled == mangled) return name.number;
  name.mangled = mangled;
  const std::string text = demangled(mangled);
  name.number = sonde_name(text.data(), text.size());
  return name.number;
}

void WorkRecorder::note_device(const sonde_device_span& span) {
  if (span.device_index < 0) return;
  const auto index = static_cast<std::size_t>(span.device_index);
  if (devices_.size() <= index) devices_.resize(index + 1);
  devices_[index] = true;
  device_of_context_[span.context] = span.device_index;
}

std::vector<std::int16_t> WorkRecorder::take_devices() {
  std::vector<std::int16_t> found;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i]) found.push_back(static_cast<std::int16_t>(i));
  }
  devices_.clear();
  return found;
}

void WorkRecorder::add(const Activity& activity) {
  sonde_device_span span = activity.span;
  const auto named = [this](const std::string& text) {
    std::uint32_t& number = texts_[text];
    if (number == 0) number = sonde_name(text.data(), text.size());
    return number;
  };
  switch (activity.type) {
    case Activity::Type::Kernel:
      note_device(span);
      span.name = kernel_name(activity.kernel_name);
      sonde_kernel_ran(&span, &activity.kernel);
      break;
    case Activity::Type::Copy:
    case Activity::Type::Fill:
      note_device(span);
      span.name = named(copy_name(activity.copy));
      sonde_copy_ran(&span, &activity.copy);
      break;
    case Activity::Type::Overhead:
      span.name = named(overhead_name(activity.overhead_kind));
      sonde_device_ran(&span);
      break;
    case Activity::Type::EventRecorded: {
      const std::uint64_t id =
          activity.event_sync_id != 0 ? activity.event_sync_id : activity.sync.event_id;
      events_[{span.context, id}] = {span.stream, span.correlation};
      break;
    }
    case Activity::Type::Wait:
      waits_.push_back(activity);
      break;
    case Activity::Type::Memory:
      sonde_device_allocated(&activity.memory);
      break;
    case Activity::Type::Call:
    case Activity::Type::Tag:
      break;
  }
}

void WorkRecorder::add_wait(const Activity& wait) {
  constexpr std::uint8_t kEvent = 1;
  constexpr std::uint8_t kStreamWaitEvent = 2;
  sonde_device_span span = wait.span;
  sonde_sync sync = wait.sync;
  const auto device = device_of_context_.find(span.context);
  span.device_index = device != device_of_context_.end() ? device->second : std::int16_t{0};
  if (sync.kind == kEvent || sync.kind == kStreamWaitEvent) {
    const std::uint64_t id = wait.event_sync_id != 0 ? wait.event_sync_id : sync.event_id;
    const auto event = events_.find({span.context, id});
    if (event != events_.end()) {
      sync.wait_on_stream = event->second.stream;
      sync.wait_on_correlation = event->second.correlation;
    }
  } else {
    sync.event_id = 0xffffffff;
  }
  const char* const text = wait_name(sync.kind);
  span.name = sonde_name(text, std::strlen(text));
  sonde_sync_ran(&span, &sync);
}

void WorkRecorder::flush() {
  for (const Activity& wait : waits_) add_wait(wait);
  waits_.clear();
  // Events that nobody waited for. In long runs they must not pile up.
  constexpr std::size_t kMostEvents = 1 << 16;
  if (events_.size() > kMostEvents) events_.clear();
}

}  // namespace sonde::cuda
