// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The numbers of the fields that Sonde writes, from the messages in Perfetto's
// protos/perfetto/trace. They are part of its file format and do not change.

#include <cstdint>

namespace sonde::detail {

using Tag = std::uint32_t;

// trace.proto
enum class TraceField : Tag { Packet = 1 };

// trace_packet.proto
enum class PacketField : Tag {
  ClockSnapshot = 6,
  Timestamp = 8,
  SequenceId = 10,  // trusted_packet_sequence_id
  TrackEvent = 11,
  InternedData = 12,
  SequenceFlags = 13,
  Defaults = 59,  // trace_packet_defaults
  TrackDescriptor = 60,
};
inline constexpr std::uint32_t kStateCleared = 1;  // SEQ_INCREMENTAL_STATE_CLEARED

// trace_packet_defaults.proto, track_event.proto
enum class DefaultsField : Tag { TrackEventDefaults = 11, TimestampClockId = 58 };
enum class EventDefaultsField : Tag { TrackUuid = 11 };

// clock_snapshot.proto
enum class SnapshotField : Tag { Clocks = 1 };
enum class ClockField : Tag { Id = 1, Timestamp = 2, IsIncremental = 3 };
inline constexpr std::uint32_t kRealtime = 1;
inline constexpr std::uint32_t kBoottime = 6;
inline constexpr std::uint32_t kSequenceClock = 64;  // the first that a sequence may define

// track_descriptor.proto and the messages in it
enum class TrackField : Tag {
  Uuid = 1,
  Name = 2,
  Process = 3,
  Thread = 4,
  ParentUuid = 5,
  Counter = 8
};
enum class ProcessField : Tag { Pid = 1, Name = 6, Labels = 8 };
enum class ThreadField : Tag { Pid = 1, Tid = 2, Name = 5 };
enum class CounterField : Tag { Unit = 3 };
inline constexpr std::uint32_t kUnitBytes = 3;

// track_event.proto
enum class EventField : Tag {
  CategoryIids = 3,
  DebugAnnotations = 4,
  Type = 9,
  NameIid = 10,
  TrackUuid = 11,
  CounterValue = 30,
  DoubleCounterValue = 44,
  FlowIds = 47,
  TerminatingFlowIds = 48,
};
enum class EventType : std::int32_t { SliceBegin = 1, SliceEnd = 2, Instant = 3, Counter = 4 };

// debug_annotation.proto
enum class AnnotationField : Tag {
  NameIid = 1,
  BoolValue = 2,
  UintValue = 3,
  IntValue = 4,
  DoubleValue = 5,
  StringValueIid = 17,
};

// interned_data.proto; all entries have the same form
enum class InternedField : Tag {
  EventCategories = 1,
  EventNames = 2,
  AnnotationNames = 3,
  AnnotationStrings = 29,
};
enum class InternedEntry : Tag { Iid = 1, Text = 2 };

}  // namespace sonde::detail
