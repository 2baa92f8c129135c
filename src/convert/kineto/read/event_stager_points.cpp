// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Events that have one time: instants, allocations, counters.

#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "convert/json/json_number.h"
#include "convert/json/json_text.h"
#include "convert/kineto/read/event_stager.h"

namespace sonde {

namespace {

// The value of a counter. JSON has no numbers for NaN and infinities, so Sonde writes them as
// texts.
std::optional<double> counter_value(std::string_view raw) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (raw == "\"NaN\"") return std::numeric_limits<double>::quiet_NaN();
  if (raw == "\"inf\"") return kInfinite;
  if (raw == "\"-inf\"") return -kInfinite;
  return to_double(raw);
}

constexpr std::string_view kMemory = "[memory]";
constexpr std::string_view kOutOfMemory = "[OutOfMemory]";

}  // namespace

void EventStager::stage_point() {
  if (!needs_time()) return;
  if (stage_allocation()) return;
  const auto row = static_cast<std::uint32_t>(staged_->instants.size());
  auto instant = row_of_args<InstantRow>();
  instant.time_ns = event_.time;
  instant.track = TrackId(track(false));
  instant.name = StringId(event_.name);
  instant.category = StringId(category_text());
  if (event_.scope == "\"g\"") instant.scope = InstantScope::Global;
  if (event_.scope == "\"p\"") instant.scope = InstantScope::Process;
  staged_->instants.push_back(instant);
  stage_phase(row);
  stage_extras(TableKind::Instants, row);
  using Kind = StagedWindowPart::Kind;
  if (event_.pid == "\"Traces\"" && event_.name_text.starts_with("Iteration Start: ")) {
    staged_->window_parts.push_back({Kind::IterationStart, row, staged_->events});
  } else if (event_.pid == "\"\"" && event_.name_text == "Record Window End") {
    staged_->window_parts.push_back({Kind::WindowEnd, row, staged_->events});
  }
}

// Keeps the phase of instants that have another one.
void EventStager::stage_phase(std::uint32_t instant) {
  static constexpr char kKey[kJsonPadding] = "ph";
  static constexpr char kPhases[kJsonPadding] = R"("I""n""P""R")";
  const char* letter = std::strchr(kPhases, event_.phase);
  if (letter == nullptr) return;
  staged_->extras.push_back({TableKind::Instants, true, instant, staged_->texts.id_of({kKey, 2}),
                             staged_->values.id_of({letter - 1, 3})});
}

bool EventStager::stage_allocation() {
  const bool failed = event_.name_text == kOutOfMemory;
  if (!failed && event_.name_text != kMemory) return false;
  if (!left_.has(ArgKey::AllocatedBytes) || !event_[ArgKey::AllocatedBytes].is_integer) {
    return false;
  }
  const auto row = static_cast<std::uint32_t>(staged_->allocations.size());
  auto allocation = row_of_args<AllocationRow>();
  allocation.time_ns = event_.time;
  allocation.track = TrackId(track(false));
  if (failed) allocation.flags = AllocationFlags::kOutOfMemory;
  // Kineto writes it for everything that has no end.
  drop_if(ArgKey::Finished, "false");
  staged_->allocations.push_back(allocation);
  stage_extras(TableKind::Allocations, row);
  return true;
}

// Adds one row per value. An event with a value that is not a number is kept whole.
void EventStager::stage_counter() {
  if (!needs_time()) return;
  const auto first = static_cast<std::uint32_t>(staged_->counters.size());
  CounterRow counter;
  counter.time_ns = event_.time;
  counter.track = TrackId(track(false));
  counter.name = StringId(event_.name);
  counter.category = StringId(category_text());
  const bool whole = for_each_member(event_.args, [&](std::string_view key, std::string_view raw) {
    const std::optional<double> value = counter_value(raw);
    if (!value) return false;
    counter.value = *value;
    counter.series = key == event_.name_text ? StringId() : StringId(staged_->texts.id_of(key));
    staged_->counters.push_back(counter);
    return true;
  });
  if (!whole || staged_->counters.size() == first) {
    staged_->counters.resize(first);
    return stage_unknown();
  }
  // All arguments were values.
  left_ = {};
  parser_.forget_unknown_args();
  stage_extras(TableKind::Counters, first);
}

}  // namespace sonde
