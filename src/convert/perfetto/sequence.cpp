// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/perfetto/sequence.h"

#include <algorithm>
#include <cmath>

namespace sonde::detail {

namespace {

using Packet = protozero::pbf_builder<PacketField>;

// The sequence's clock continues from here. Both clocks of the system show the same time.
void add_snapshot(Packet& packet, Nanos first_ns) {
  protozero::pbf_builder<SnapshotField> snapshot(packet, PacketField::ClockSnapshot);
  for (const std::uint32_t id : {kBoottime, kRealtime, kSequenceClock}) {
    protozero::pbf_builder<ClockField> clock(snapshot, SnapshotField::Clocks);
    clock.add_uint32(ClockField::Id, id);
    clock.add_uint64(ClockField::Timestamp, static_cast<std::uint64_t>(first_ns));
    if (id == kSequenceClock) clock.add_bool(ClockField::IsIncremental, true);
  }
}

void add_defaults(Packet& packet, std::uint64_t track_uuid) {
  protozero::pbf_builder<DefaultsField> defaults(packet, PacketField::Defaults);
  defaults.add_uint32(DefaultsField::TimestampClockId, kSequenceClock);
  protozero::pbf_builder<EventDefaultsField> event(defaults, DefaultsField::TrackEventDefaults);
  event.add_uint64(EventDefaultsField::TrackUuid, track_uuid);
}

}  // namespace

void Interner::add(std::uint64_t iid, std::string_view text, std::string& added) const {
  protozero::pbf_builder<InternedField> data(added);
  protozero::pbf_builder<InternedEntry> entry(data, field_);
  entry.add_uint64(InternedEntry::Iid, iid);
  entry.add_string(InternedEntry::Text, text.data(), text.size());
}

PerfettoSequence::PerfettoSequence(std::string& out, std::uint32_t id, std::uint64_t track_uuid,
                                   Nanos first_ns)
    : out_(out), id_(id), last_ns_(first_ns) {
  protozero::pbf_builder<TraceField> trace(out_);
  Packet packet(trace, TraceField::Packet);
  packet.add_uint32(PacketField::SequenceId, id_);
  packet.add_uint32(PacketField::SequenceFlags, kStateCleared);
  add_defaults(packet, track_uuid);
  add_snapshot(packet, first_ns);
}

void PerfettoSequence::write(Nanos time_ns) {
  time_ns = std::max(time_ns, last_ns_);
  protozero::pbf_builder<TraceField> trace(out_);
  Packet packet(trace, TraceField::Packet);
  packet.add_uint64(PacketField::Timestamp, static_cast<std::uint64_t>(time_ns - last_ns_));
  packet.add_uint32(PacketField::SequenceId, id_);
  if (!interned_.empty()) packet.add_message(PacketField::InternedData, interned_);
  packet.add_message(PacketField::TrackEvent, event_);
  last_ns_ = time_ns;
}

EventBuilder::EventBuilder(PerfettoSequence& sequence, EventType type)
    : sequence_(sequence), bytes_(sequence.event_), interned_(sequence.interned_), event_(bytes_) {
  bytes_.clear();
  interned_.clear();
  event_.add_enum(EventField::Type, static_cast<std::int32_t>(type));
}

void EventBuilder::counter(double value) {
  constexpr double kExact = 1e15;
  const bool is_integer = std::abs(value) < kExact && value == std::nearbyint(value);
  if (is_integer) {
    event_.add_int64(EventField::CounterValue, static_cast<std::int64_t>(value));
  } else {
    event_.add_double(EventField::DoubleCounterValue, value);
  }
}

void EventBuilder::add_annotation(std::uint64_t name_iid, std::int64_t value) {
  Annotation annotation(event_, EventField::DebugAnnotations);
  annotation.add_uint64(AnnotationField::NameIid, name_iid);
  annotation.add_int64(AnnotationField::IntValue, value);
}

void EventBuilder::add_annotation(std::uint64_t name_iid, std::uint64_t value) {
  Annotation annotation(event_, EventField::DebugAnnotations);
  annotation.add_uint64(AnnotationField::NameIid, name_iid);
  annotation.add_uint64(AnnotationField::UintValue, value);
}

void EventBuilder::add_annotation(std::uint64_t name_iid, double value) {
  Annotation annotation(event_, EventField::DebugAnnotations);
  annotation.add_uint64(AnnotationField::NameIid, name_iid);
  annotation.add_double(AnnotationField::DoubleValue, value);
}

void EventBuilder::add_annotation(std::uint64_t name_iid, bool value) {
  Annotation annotation(event_, EventField::DebugAnnotations);
  annotation.add_uint64(AnnotationField::NameIid, name_iid);
  annotation.add_bool(AnnotationField::BoolValue, value);
}

}  // namespace sonde::detail
