// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The keys of events and of their arguments that Sonde has columns for, and Kineto's categories.

#include <cstdint>
#include <string_view>

#include "sonde/trace/tables_gen.h"

namespace sonde {

// Among the metadata: what Sonde's ledger had when it wrote the file.
inline constexpr std::string_view kLedgerKey = "sonde_ledger";

enum class EventKey : std::uint8_t {
  Phase,
  Category,
  Name,
  Pid,
  Tid,
  Time,
  Duration,
  Args,
  Id,
  Scope,
  BindingPoint,
  Unknown,
};

// Keys as they stand in the text, which must be padded as json_text.h asks.
EventKey event_key(std::string_view raw);

// In the order in which Kineto's categories use them.
enum class ArgKey : std::uint8_t {
  // any span
  ExternalId,
  Correlation,
  SequenceNumber,
  ForwardThread,
  RecordFunctionId,
  EventIndex,
  CallStack,
  ModuleHierarchy,
  InputDims,
  InputStrides,
  InputType,
  ConcreteInputs,
  Finished,
  EndThread,
  OverloadName,
  SourceFile,
  SourceLine,
  SourceFunction,
  PythonId,
  PythonParentId,
  PythonModuleId,
  PythonThread,
  CallbackId,
  // device work
  Queued,
  Device,
  Context,
  Stream,
  Registers,
  SharedMemory,
  BlocksPerSm,
  WarpsPerSm,
  Grid,
  Block,
  OccupancyPercent,
  Occupancy,
  GraphId,
  GraphNodeId,
  Priority,
  Channel,
  ChannelType,
  CapturedBy,
  CopyBytes,
  Bandwidth,
  FromDevice,
  InDevice,
  ToDevice,
  FromContext,
  InContext,
  ToContext,
  SyncKindText,
  WaitOnStream,
  WaitOnCorrelation,
  WaitOnEvent,
  EventId,
  // memory
  DeviceTypeNumber,
  DeviceNumber,
  Address,
  AllocatedBytes,
  TotalAllocated,
  TotalReserved,
  // metadata rows
  NameText,
  Labels,
  SortIndex,
  TidNumber,
  // communication
  CollectiveName,
  DataType,
  InElements,
  OutElements,
  InSplit,
  OutSplit,
  RankStart,
  RankStride,
  GroupSize,
  GroupName,
  GroupDescription,
  GroupRanks,
  Rank,
  DestinationRank,
  SourceRank,
  CollectiveSequence,
  CommsId,
  IsAsync,
  InputAddresses,
  OutputAddresses,
  Count,
  Unknown = Count,
};
inline constexpr std::size_t kArgKeys = static_cast<std::size_t>(ArgKey::Count);

ArgKey arg_key(std::string_view raw);
std::string_view text_of(ArgKey key);

// A set of argument keys.
class ArgKeySet {
 public:
  constexpr ArgKeySet() = default;
  template <typename... Keys>
  constexpr explicit ArgKeySet(Keys... keys) {
    (add(keys), ...);
  }
  constexpr void add(ArgKey key) { bits_[word(key)] |= bit(key); }
  constexpr void remove(ArgKey key) { bits_[word(key)] &= ~bit(key); }
  constexpr bool has(ArgKey key) const { return (bits_[word(key)] & bit(key)) != 0; }
  constexpr bool has_any(const ArgKeySet& of) const {
    return ((bits_[0] & of.bits_[0]) | (bits_[1] & of.bits_[1])) != 0;
  }
  constexpr bool empty() const { return (bits_[0] | bits_[1]) == 0; }
  constexpr void remove_all(const ArgKeySet& of) {
    bits_[0] &= ~of.bits_[0];
    bits_[1] &= ~of.bits_[1];
  }
  // All from `first` to `last`.
  static constexpr ArgKeySet range(ArgKey first, ArgKey last) {
    ArgKeySet set;
    for (auto i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
      set.add(static_cast<ArgKey>(i));
    }
    return set;
  }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t w = 0; w < 2; ++w) {
      for (std::uint64_t left = bits_[w]; left != 0; left &= left - 1) {
        visit(static_cast<ArgKey>(64 * w + static_cast<std::size_t>(__builtin_ctzll(left))));
      }
    }
  }

 private:
  static constexpr std::size_t word(ArgKey key) { return static_cast<std::size_t>(key) / 64; }
  static constexpr std::uint64_t bit(ArgKey key) {
    return std::uint64_t{1} << (static_cast<unsigned>(key) % 64);
  }
  std::uint64_t bits_[2] = {0, 0};
};
static_assert(kArgKeys <= 128);

// What a category means. Names that only old versions wrote are known too, and are then foreign:
// the text must be kept.
struct Category {
  SpanKind kind = SpanKind::Other;
  bool is_foreign = true;
  bool on_device = false;  // pid is a device and tid a stream
};
Category category_of(std::string_view text);
FlowKind flow_kind_of(std::string_view category);

}  // namespace sonde
