// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/snapshot/read_snapshot.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "convert/snapshot/pickle.h"
#include "convert/snapshot/stacks.h"

namespace sonde {
namespace {

constexpr std::size_t kMostDevices = 1024;
// Greater sizes or times are meaningless, and sums and nanoseconds would not fit.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kLastTimeUs = std::int64_t{1} << 52;

enum class Action : std::uint8_t { Alloc, Free, Reserve, Unreserve, OutOfMemory, Remark, Unknown };

Action action_named(std::string_view name) {
  if (name == "alloc") return Action::Alloc;
  if (name == "free_completed" || name == "free") return Action::Free;
  if (name == "segment_alloc" || name == "segment_map") return Action::Reserve;
  if (name == "segment_free" || name == "segment_unmap") return Action::Unreserve;
  if (name == "oom") return Action::OutOfMemory;
  if (name == "free_requested" || name == "snapshot") return Action::Remark;
  return Action::Unknown;
}

struct Entry {
  Action action;
  Nanos time_ns;
  std::uint64_t address;
  std::int64_t bytes;
  PickleRef frames;
};

// The state at the end, from the segments of a device.
struct Standing {
  std::int64_t reserved_bytes = 0;
  std::int64_t active_bytes = 0;
  std::int64_t unused_bytes = 0;
  std::int64_t largest_unused_bytes = 0;
  std::int64_t segments = 0;
  std::vector<PickleRef> active;
};

class SnapshotReader {
 public:
  SnapshotReader(TraceBuilder builder, const Pickle& pickle, std::size_t bytes,
                 const std::string& path)
      : builder_(std::move(builder)),
        stacks_(builder_),
        root_(pickle.root()),
        path_(path),
        items_left_(bytes) {}

  Result<Trace> run() {
    const PickleRef segments = root_.is_list() ? root_ : root_["segments"];
    if (!segments.is_list()) {
      return Failure(ErrorCode::Invalid,
                     path_ + ": is a pickle, but not a memory snapshot: it has no segments");
    }
    process_ = builder_.processes().push_back({});
    for (const PickleRef segment : segments) {
      if (!may_look_at_more()) break;
      stand(segment);
    }
    const PickleRef histories = root_["device_traces"];
    for (std::size_t i = 0; i < std::min(histories.size(), kMostDevices); ++i) {
      standing_[static_cast<std::int32_t>(i)];
      read_history(static_cast<std::int32_t>(i), histories[i]);
    }
    find_times();
    for (auto& [device, standing] : standing_) write_device(device, standing);
    read_annotations();
    finish();
    return std::move(builder_).build();
  }

 private:
  static bool fits(std::int64_t bytes) { return bytes >= 0 && bytes <= kMostBytes; }
  static bool is_time(std::int64_t time_us) { return time_us >= 0 && time_us <= kLastTimeUs; }

  // Each item took a byte of the file. Only a malicious file, which shares values to cause work,
  // has more.
  bool may_look_at_more() {
    if (items_left_ == 0) {
      ++undecodable_;
      return false;
    }
    --items_left_;
    return true;
  }

  void stand(const PickleRef& segment) {
    const std::int64_t device = segment["device"].integer();
    const std::int64_t total = segment["total_size"].integer();
    if (device < 0 || device >= static_cast<std::int64_t>(kMostDevices) || !fits(total)) {
      ++undecodable_;
      return;
    }
    Standing& standing = standing_[static_cast<std::int32_t>(device)];
    if (!fits(standing.reserved_bytes + total)) return;
    standing.reserved_bytes += total;
    ++standing.segments;
    std::uint64_t address = static_cast<std::uint64_t>(segment["address"].integer());
    for (const PickleRef block : segment["blocks"]) {
      if (!may_look_at_more()) return;
      const std::int64_t size = block["size"].integer();
      if (!fits(size) || !fits(standing.active_bytes + size) ||
          !fits(standing.unused_bytes + size)) {
        ++undecodable_;
        continue;
      }
      // In older snapshots the address of a block has to be computed.
      if (!block["address"].valid()) addresses_[block.identity()] = address;
      address += static_cast<std::uint64_t>(size);
      if (block["state"].text() == "inactive") {
        standing.unused_bytes += size;
        standing.largest_unused_bytes = std::max(standing.largest_unused_bytes, size);
      } else {
        standing.active_bytes += size;
        standing.active.push_back(block);
      }
    }
  }

  std::uint64_t address_of(const PickleRef& block) const {
    if (const PickleRef address = block["address"]; address.valid())
      return static_cast<std::uint64_t>(address.integer());
    const auto found = addresses_.find(block.identity());
    return found == addresses_.end() ? 0 : found->second;
  }

  void read_history(std::int32_t device, const PickleRef& history) {
    std::vector<Entry>& entries = history_[device];
    for (const PickleRef item : history) {
      if (!may_look_at_more()) return;
      const Action action = action_named(item["action"].text());
      const std::int64_t bytes = item["size"].integer();
      const PickleRef time = item["time_us"];
      const auto is_odd = [](const PickleRef& value) {
        return value.valid() && !value.is_integer();
      };
      if (action == Action::Unknown || is_odd(item["size"]) || !fits(bytes) || is_odd(time) ||
          !is_time(time.integer())) {
        ++undecodable_;
        continue;
      }
      if (action == Action::Remark) continue;
      has_times_ = has_times_ || time.valid();
      // Without times, only the order is known.
      const Nanos time_ns =
          time.valid() ? time.integer() * 1000 : static_cast<Nanos>(entries.size() + 1);
      entries.push_back({action, time_ns, static_cast<std::uint64_t>(item["addr"].integer()), bytes,
                         item["frames"]});
    }
  }

  void find_times() {
    first_ns_ = std::numeric_limits<Nanos>::max();
    for (const auto& [device, entries] : history_) {
      for (const Entry& entry : entries) {
        first_ns_ = std::min(first_ns_, entry.time_ns);
        last_ns_ = std::max(last_ns_, entry.time_ns);
      }
    }
    if (first_ns_ > last_ns_) first_ns_ = last_ns_;
  }

  void write_device(std::int32_t device, const Standing& standing) {
    const std::vector<Entry>& entries = history_[device];
    TrackRow track;
    track.process = process_;
    track.kind = TrackKind::Other;
    track.device_index = device;
    track.name = builder_.intern("cuda:" + std::to_string(device) + " allocator");
    AllocationRow row;
    row.track = builder_.tracks().push_back(track);
    row.device_type = DeviceType::Cuda;
    row.device_index = device;
    Totals totals = totals_before(entries, standing);
    write_older_blocks(entries, standing, row);
    for (const Entry& entry : entries) {
      totals.add(entry);
      if (entry.action == Action::Reserve || entry.action == Action::Unreserve) continue;
      row.time_ns = entry.time_ns;
      row.address = entry.address;
      row.bytes = entry.action == Action::Free ? -entry.bytes : entry.bytes;
      row.total_allocated_bytes = totals.allocated;
      row.total_reserved_bytes = totals.reserved;
      row.flags = entry.action == Action::OutOfMemory ? AllocationFlags::kOutOfMemory : 0;
      row.stack = stacks_.stack(entry.frames);
      builder_.allocations().push_back(row);
    }
    remark(device, "segments", standing.segments);
    remark(device, "reserved_bytes", standing.reserved_bytes);
    remark(device, "unused_bytes", standing.unused_bytes);
    remark(device, "largest_unused_bytes", standing.largest_unused_bytes);
  }

  struct Totals {
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
    // Sums of invalid values may wrap.
    void add(const Entry& entry) {
      const auto bytes = static_cast<std::uint64_t>(entry.bytes);
      const auto change = [](std::int64_t& total, std::uint64_t by) {
        total = static_cast<std::int64_t>(static_cast<std::uint64_t>(total) + by);
      };
      if (entry.action == Action::Alloc) change(allocated, bytes);
      if (entry.action == Action::Free) change(allocated, 0 - bytes);
      if (entry.action == Action::Reserve) change(reserved, bytes);
      if (entry.action == Action::Unreserve) change(reserved, 0 - bytes);
    }
  };

  // The totals before the history are those at the end minus the history.
  static Totals totals_before(const std::vector<Entry>& entries, const Standing& standing) {
    Totals sum;
    for (const Entry& entry : entries) sum.add(entry);
    const auto less = [](std::int64_t a, std::int64_t b) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) -
                                       static_cast<std::uint64_t>(b));
    };
    return {less(standing.active_bytes, sum.allocated),
            less(standing.reserved_bytes, sum.reserved)};
  }

  void write_older_blocks(const std::vector<Entry>& entries, const Standing& standing,
                          AllocationRow row) {
    std::unordered_set<std::uint64_t> born;
    for (const Entry& entry : entries) {
      if (entry.action == Action::Alloc) born.insert(entry.address);
    }
    for (const PickleRef block : standing.active) {
      row.address = address_of(block);
      if (born.contains(row.address)) continue;
      row.time_ns = first_ns_;
      row.bytes = block["size"].integer();
      row.stack = stacks_.stack(block["frames"]);
      builder_.allocations().push_back(row);
    }
  }

  void remark(std::int32_t device, std::string_view what, std::int64_t value) {
    MetadataRow row;
    row.process = process_;
    row.key = builder_.intern("cuda:" + std::to_string(device) + " " + std::string(what));
    row.value = builder_.intern(std::to_string(value));
    builder_.metadata().push_back(row);
  }

  void read_annotations() {
    const PickleRef all = root_["external_annotations"];
    if (all.size() == 0) return;
    TrackRow track;
    track.process = process_;
    track.kind = TrackKind::Other;
    track.name = builder_.intern("annotations");
    const TrackId line = builder_.tracks().push_back(track);
    std::map<std::string_view, std::vector<Nanos>> open;
    for (const PickleRef item : all) {
      if (!may_look_at_more()) return;
      const std::string_view name = item["name"].text();
      if (!is_time(item["time_us"].integer())) continue;
      const Nanos time_ns = item["time_us"].integer() * 1000;
      std::vector<Nanos>& begun = open[name];
      if (item["stage"].text() == "START") {
        begun.push_back(time_ns);
      } else if (!begun.empty()) {
        SpanRow span;
        span.start_ns = begun.back();
        span.duration_ns = std::max<Nanos>(time_ns - begun.back(), 0);
        span.name = builder_.intern(name);
        span.track = line;
        span.kind = SpanKind::UserAnnotation;
        builder_.spans().push_back(span);
        begun.pop_back();
      }
    }
  }

  void finish() {
    WindowRow window;
    window.process = process_;
    window.start_ns = first_ns_;
    window.end_ns = last_ns_;
    builder_.windows().push_back(window);
    if (undecodable_ > 0) {
      builder_.add_ledger(LedgerKind::Undecodable, undecodable_, path_,
                          "invalid entries of the snapshot");
    }
    if (last_ns_ == 0) {
      builder_.add_ledger(LedgerKind::Note, 1, path_, "the snapshot has no history");
    } else if (!has_times_) {
      builder_.add_ledger(LedgerKind::Note, 1, path_,
                          "the snapshot has no times; its entries are placed a nanosecond apart");
    }
  }

  TraceBuilder builder_;
  SnapshotStacks stacks_;
  const PickleRef root_;
  const std::string& path_;
  ProcessId process_;
  std::map<std::int32_t, Standing> standing_;
  std::map<std::int32_t, std::vector<Entry>> history_;
  std::map<std::uint32_t, std::uint64_t> addresses_;  // of blocks without one in the file
  Nanos first_ns_ = 0;
  Nanos last_ns_ = 0;
  bool has_times_ = false;
  std::uint64_t undecodable_ = 0;
  std::size_t items_left_;
};

}  // namespace

Result<Trace> read_snapshot(std::span<const std::uint8_t> bytes, const std::string& path,
                            TraceBuilder builder, std::uint64_t most_memory) {
  SONDE_TRY(const Pickle pickle, Pickle::read(bytes, path, most_memory));
  return SnapshotReader(std::move(builder), pickle, bytes.size(), path).run();
}

}  // namespace sonde
