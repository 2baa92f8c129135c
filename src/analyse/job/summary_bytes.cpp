// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A summary as bytes:
//
//   8  "SONDESUM"
//   4  version
//   8  FNV-1a of all that follows
//   …  the members of RankSummary in their order: numbers little-endian, texts and lists after their
//      length as a varint, times in lists as they are

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/bytes.h"
#include "sonde/analyse/rank_summary.h"

namespace sonde {
namespace {

constexpr char kMagic[8] = {'S', 'O', 'N', 'D', 'E', 'S', 'U', 'M'};
constexpr std::uint32_t kSummaryVersion = 5;
constexpr std::size_t kHeaderBytes = sizeof(kMagic) + sizeof(std::uint32_t) + sizeof(std::uint64_t);
// Sums and differences of times stay within 64 bits.
constexpr Nanos kLatest = std::numeric_limits<Nanos>::max() / 2;

std::uint64_t fnv1a(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

bool is_time(Nanos time_ns) {
  return time_ns >= -kLatest && time_ns <= kLatest;
}
bool is_interval(Nanos begin_ns, Nanos end_ns) {
  return is_time(begin_ns) && is_time(end_ns) && begin_ns <= end_ns;
}

class SummaryWriter {
 public:
  std::vector<std::uint8_t> write(const RankSummary& summary) {
    head(summary);
    list(summary.texts, [this](const std::string& text) { out_.string(text); });
    list(summary.groups, [this](const RankGroup& group) {
      out_.string(group.name);
      out_.string(group.description);
      out_.write(static_cast<std::uint8_t>(group.is_assumed));
      out_.write(group.size);
      list(group.ranks, [this](std::int32_t rank) { out_.write(rank); });
    });
    list(summary.kinds, [this](const CollectiveKind& kind) {
      out_.write(kind.name);
      out_.write(kind.dtype);
      out_.write(kind.group);
      out_.write(static_cast<std::uint8_t>(kind.of));
      out_.write(kind.source);
      out_.write(kind.destination);
      out_.write(kind.in_elements);
      out_.write(kind.out_elements);
    });
    list(summary.collectives, [this](const RankCollective& one) {
      out_.write(one.start_ns);
      out_.write(one.end_ns);
      out_.write(one.key);
      out_.write(one.hidden_ns);
      out_.write(one.kind);
      out_.write(one.step);
      out_.write(one.flags);
    });
    list(summary.steps, [this](const RankStep& step) {
      out_.write(step.number);
      out_.write(step.begin_ns);
      out_.write(step.end_ns);
    });
    list(summary.activities, [this](const RankActivity& one) {
      out_.write(one.begin_ns);
      out_.write(one.end_ns);
      out_.write(one.name);
      out_.write(one.op);
      out_.write(one.range);
      out_.write(static_cast<std::uint8_t>(one.kind));
    });
    device_work(summary);
    return framed();
  }

 private:
  void head(const RankSummary& summary) {
    out_.string(summary.source);
    out_.write(summary.rank);
    out_.write(summary.world_size);
    out_.write(summary.local_rank);
    out_.string(summary.host);
    out_.string(summary.job);
    out_.write(summary.pid);
    out_.write(summary.first_ns);
    out_.write(summary.last_ns);
    out_.write(summary.clock_error_ns);
    out_.write(summary.lost);
    out_.write(static_cast<std::uint8_t>(summary.is_truncated));
    out_.write(summary.records_without_work);
    const RankDeviceTime& device = summary.device;
    for (const Nanos value : {device.kernel_ns, device.idle_ns, device.compute_ns,
                              device.non_compute_ns, device.host_wait_ns, device.kernel_wait_ns,
                              device.other_idle_ns, device.communication_ns, device.overlapped_ns})
      out_.write(value);
    for (const Nanos value : summary.running_ns) out_.write(value);
    const RankLaunches& launches = summary.launches;
    all(launches.count, launches.call_ns, launches.device_ns, launches.delay_ns,
        launches.short_kernels, launches.slow_calls, launches.delayed);
  }

  void device_work(const RankSummary& summary) {
    list(summary.kernels, [this](const RankKernel& one) {
      out_.write(one.name);
      out_.write(static_cast<std::uint8_t>(one.type));
      out_.write(one.count);
      all(one.sum_ns, one.least_ns, one.most_ns, one.squares);
    });
    list(summary.streams, [this](const RankStream& one) {
      all(one.device, one.stream, one.host_wait_ns, one.kernel_wait_ns, one.other_idle_ns);
      all(one.changes, one.queued, one.squares, one.least_queued, one.most_queued, one.full_ns);
    });
    list(summary.copies, [this](const RankCopies& one) {
      all(one.name, one.count, one.bytes, one.sum_ns, one.sum, one.squares, one.least, one.most);
      list(one.series, [this](double value) { out_.write(value); });
    });
    list(summary.sequences, [this](const RankSequence& one) {
      all(one.op, one.count, one.device_ns, one.host_ns);
      list(one.kernels, [this](std::uint32_t name) { out_.write(name); });
    });
  }

  template <typename... Values>
  void all(const Values&... values) {
    (out_.write(values), ...);
  }

  template <typename T, typename Put>
  void list(const std::vector<T>& items, Put put) {
    out_.varint(items.size());
    for (const T& item : items) put(item);
  }

  std::vector<std::uint8_t> framed() const {
    ByteWriter whole;
    whole.raw(kMagic, sizeof(kMagic));
    whole.write(kSummaryVersion);
    whole.write(fnv1a(out_.bytes()));
    whole.raw(out_.bytes().data(), out_.bytes().size());
    return whole.take();
  }

  ByteWriter out_;
};

class SummaryReader {
 public:
  explicit SummaryReader(std::span<const std::uint8_t> bytes) : in_(bytes) {}

  bool read(RankSummary& summary) {
    head(summary);
    list(summary.texts, 1, [this] { return std::string(in_.string()); });
    list(summary.groups, 4, [this] { return group(); });
    list(summary.kinds, 37, [this] { return kind(); });
    list(summary.collectives, 44, [this] { return collective(); });
    list(summary.steps, 24, [this] { return step(); });
    list(summary.activities, 29, [this] { return activity(); });
    list(summary.kernels, 45, [this] { return kernel(); });
    list(summary.streams, 84, [this] { return stream(); });
    list(summary.copies, 61, [this] { return copies(); });
    list(summary.sequences, 29, [this] { return sequence(); });
    return in_.ok() && in_.at_end() && holds(summary);
  }

 private:
  void head(RankSummary& summary) {
    summary.source = in_.string();
    summary.rank = in_.read<std::int32_t>();
    summary.world_size = in_.read<std::int32_t>();
    summary.local_rank = in_.read<std::int32_t>();
    summary.host = in_.string();
    summary.job = in_.string();
    summary.pid = in_.read<std::int64_t>();
    summary.first_ns = in_.read<Nanos>();
    summary.last_ns = in_.read<Nanos>();
    summary.clock_error_ns = in_.read<std::int64_t>();
    summary.lost = in_.read<std::uint64_t>();
    summary.is_truncated = in_.read<std::uint8_t>() != 0;
    summary.records_without_work = in_.read<std::uint64_t>();
    RankDeviceTime& device = summary.device;
    for (Nanos* const value :
         {&device.kernel_ns, &device.idle_ns, &device.compute_ns, &device.non_compute_ns,
          &device.host_wait_ns, &device.kernel_wait_ns, &device.other_idle_ns,
          &device.communication_ns, &device.overlapped_ns})
      *value = in_.read<Nanos>();
    for (Nanos& value : summary.running_ns) value = in_.read<Nanos>();
    RankLaunches& launches = summary.launches;
    all(launches.count, launches.call_ns, launches.device_ns, launches.delay_ns,
        launches.short_kernels, launches.slow_calls, launches.delayed);
  }

  template <typename... Values>
  void all(Values&... values) {
    ((values = in_.read<Values>()), ...);
  }

  // No list is longer than its bytes allow.
  template <typename T, typename Get>
  void list(std::vector<T>& items, std::size_t least_bytes, Get get) {
    const std::uint64_t count = in_.varint();
    if (count > in_.remaining() / least_bytes) return in_.fail();
    items.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count && in_.ok(); ++i) items.push_back(get());
  }

  RankGroup group() {
    RankGroup group;
    group.name = in_.string();
    group.description = in_.string();
    group.is_assumed = in_.read<std::uint8_t>() != 0;
    group.size = in_.read<std::int32_t>();
    list(group.ranks, sizeof(std::int32_t), [this] { return in_.read<std::int32_t>(); });
    return group;
  }
  CollectiveKind kind() {
    CollectiveKind kind;
    kind.name = in_.read<std::uint32_t>();
    kind.dtype = in_.read<std::uint32_t>();
    kind.group = in_.read<std::uint32_t>();
    const auto of = in_.read<std::uint8_t>();
    if (of >= kCollectiveClasses) in_.fail();
    kind.of = in_.ok() ? static_cast<CollectiveClass>(of) : CollectiveClass::Other;
    kind.source = in_.read<std::int32_t>();
    kind.destination = in_.read<std::int32_t>();
    kind.in_elements = in_.read<std::int64_t>();
    kind.out_elements = in_.read<std::int64_t>();
    return kind;
  }
  RankCollective collective() {
    RankCollective one;
    one.start_ns = in_.read<Nanos>();
    one.end_ns = in_.read<Nanos>();
    one.key = in_.read<std::uint64_t>();
    one.hidden_ns = in_.read<std::int64_t>();
    one.kind = in_.read<std::uint32_t>();
    one.step = in_.read<std::uint32_t>();
    one.flags = in_.read<std::uint32_t>();
    return one;
  }
  RankStep step() {
    RankStep step;
    step.number = in_.read<std::int64_t>();
    step.begin_ns = in_.read<Nanos>();
    step.end_ns = in_.read<Nanos>();
    return step;
  }
  RankActivity activity() {
    RankActivity one;
    one.begin_ns = in_.read<Nanos>();
    one.end_ns = in_.read<Nanos>();
    one.name = in_.read<std::uint32_t>();
    one.op = in_.read<std::uint32_t>();
    one.range = in_.read<std::uint32_t>();
    const auto kind = in_.read<std::uint8_t>();
    if (kind >= kActivityKinds) in_.fail();
    one.kind = in_.ok() ? static_cast<ActivityKind>(kind) : ActivityKind::Unmarked;
    return one;
  }

  RankKernel kernel() {
    RankKernel one;
    one.name = in_.read<std::uint32_t>();
    const auto type = in_.read<std::uint8_t>();
    if (type >= kWorkTypes) in_.fail();
    one.type = in_.ok() ? static_cast<WorkType>(type) : WorkType::Computation;
    all(one.count, one.sum_ns, one.least_ns, one.most_ns, one.squares);
    return one;
  }
  RankStream stream() {
    RankStream one;
    all(one.device, one.stream, one.host_wait_ns, one.kernel_wait_ns, one.other_idle_ns);
    all(one.changes, one.queued, one.squares, one.least_queued, one.most_queued, one.full_ns);
    return one;
  }
  RankCopies copies() {
    RankCopies one;
    all(one.name, one.count, one.bytes, one.sum_ns, one.sum, one.squares, one.least, one.most);
    list(one.series, sizeof(double), [this] { return in_.read<double>(); });
    return one;
  }
  RankSequence sequence() {
    RankSequence one;
    all(one.op, one.count, one.device_ns, one.host_ns);
    list(one.kernels, sizeof(std::uint32_t), [this] { return in_.read<std::uint32_t>(); });
    return one;
  }

  static bool are_finite(std::initializer_list<double> values) {
    return std::all_of(values.begin(), values.end(), [](double one) { return std::isfinite(one); });
  }

  static bool holds_device_work(const RankSummary& summary) {
    for (const RankKernel& one : summary.kernels)
      if (one.count == 0 || !are_finite({one.squares})) return false;
    for (const RankStream& one : summary.streams)
      if (!are_finite({one.queued, one.squares})) return false;
    for (const RankCopies& one : summary.copies) {
      if (one.count == 0 || !are_finite({one.sum, one.squares, one.least, one.most})) return false;
      for (const double value : one.series)
        if (!std::isfinite(value)) return false;
    }
    return true;
  }

  static bool holds(const RankSummary& summary) {
    if (!is_interval(summary.first_ns, summary.last_ns)) return false;
    for (const CollectiveKind& kind : summary.kinds)
      if (kind.group >= summary.groups.size()) return false;
    for (const RankCollective& one : summary.collectives) {
      if (one.kind >= summary.kinds.size() || !is_interval(one.start_ns, one.end_ns)) return false;
      if (one.step >= summary.steps.size() && one.step != RankCollective::kNoStep) return false;
      if (one.hidden_ns < 0 || one.hidden_ns > one.duration_ns()) return false;
    }
    for (const RankStep& step : summary.steps)
      if (!is_interval(step.begin_ns, step.end_ns)) return false;
    if (!holds_device_work(summary)) return false;
    Nanos before_ns = -kLatest;
    for (const RankActivity& one : summary.activities) {
      if (!is_interval(one.begin_ns, one.end_ns) || one.begin_ns < before_ns) return false;
      before_ns = one.end_ns;
      if (one.kind == ActivityKind::Collective && one.name >= summary.collectives.size())
        return false;
    }
    return true;
  }

  ByteReader in_;
};

}  // namespace

std::vector<std::uint8_t> encode(const RankSummary& summary) {
  return SummaryWriter().write(summary);
}

Result<RankSummary> decode_rank_summary(std::span<const std::uint8_t> bytes,
                                        const std::string& name) {
  ByteReader in(bytes);
  const auto magic = in.bytes(sizeof(kMagic));
  const auto version = in.read<std::uint32_t>();
  const auto checksum = in.read<std::uint64_t>();
  if (!in.ok() || std::memcmp(magic.data(), kMagic, sizeof(kMagic)) != 0)
    return Failure(ErrorCode::Corrupt, name + ": is not a summary of a rank");
  if (version != kSummaryVersion)
    return Failure(ErrorCode::TooNew,
                   name + ": is a summary of another version of Sonde; delete it");
  const auto rest = bytes.subspan(kHeaderBytes);
  RankSummary summary;
  if (fnv1a(rest) != checksum || !SummaryReader(rest).read(summary))
    return Failure(ErrorCode::Corrupt, name + ": is damaged; delete it");
  return summary;
}

}  // namespace sonde
