// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/critical_path.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyse/simulate/program.h"
#include "base/sum.h"

namespace sonde {
namespace {

using detail::Changes;
using detail::Graph;
using detail::GraphNode;
using detail::kNoNode;
using detail::PathPart;
using detail::Program;
using detail::Replay;

// What an entry counts: a kind and a name, on any thread or stream.
struct PathKey {
  PathKind kind;
  std::uint32_t name;
  bool operator==(const PathKey&) const = default;
};
struct PathKeyHash {
  std::size_t operator()(const PathKey& key) const noexcept {
    return std::hash<std::uint64_t>()(std::uint64_t{key.name} << 8 |
                                      static_cast<std::uint64_t>(key.kind));
  }
};

// Part of one thread's recorded time, with the innermost span in it.
struct OwnStretch {
  PathKey key;
  SpanId span;  // invalid: outside all spans
  Nanos begin_ns;
  Nanos end_ns;
};

// Splits the recorded time of one thread by innermost span. Ask in time order.
class OwnTimeReader {
 public:
  OwnTimeReader(const Trace& trace, TrackId thread) : trace_(trace) {
    const IdRange<SpanId> rows = trace.track_spans(thread);
    next_ = rows.empty() ? 0 : rows[0].value();
    last_ = next_ + static_cast<std::uint32_t>(rows.size());
  }

  template <typename Visit>
  void read(Nanos begin_ns, Nanos end_ns, Visit visit) {
    advance(begin_ns);
    Nanos at_ns = begin_ns;
    while (at_ns < end_ns) {
      const Nanos starts_ns = next_ < last_ ? trace_.spans().start_ns[next_] : end_ns;
      const Nanos ends_ns = open_.empty() ? end_ns : trace_.end_ns(open_.back());
      const Nanos until_ns = std::min({starts_ns, ends_ns, end_ns});
      if (until_ns > at_ns) visit(OwnStretch{key(), span(), at_ns, until_ns});
      at_ns = std::max(at_ns, until_ns);
      if (at_ns < end_ns) advance(at_ns);
    }
  }

 private:
  // Opens and closes spans up to that time.
  void advance(Nanos time_ns) {
    for (; next_ < last_ && trace_.spans().start_ns[next_] <= time_ns; ++next_) {
      const SpanId span(next_);
      const SpanKind kind = trace_.spans().kind[span];
      if ((trace_.spans().flags[span] & SpanFlags::kAsync) != 0 || kind == SpanKind::TraceSpan ||
          kind == SpanKind::Step || is_launched(kind))
        continue;
      close(trace_.spans().start_ns[span]);
      open_.push_back(span);
    }
    close(time_ns);
  }
  void close(Nanos time_ns) {
    while (!open_.empty() && trace_.end_ns(open_.back()) <= time_ns) open_.pop_back();
  }
  SpanId span() const { return open_.empty() ? SpanId() : open_.back(); }
  PathKey key() const {
    if (open_.empty()) return {PathKind::Outside, StringId::kInvalid};
    const SpanKind kind = trace_.spans().kind[open_.back()];
    const PathKind of = is_operator(kind) ? PathKind::Operator
                        : is_call(kind)   ? PathKind::Call
                                          : PathKind::Span;
    return {of, trace_.spans().name[open_.back()].value()};
  }

  const Trace& trace_;
  std::uint32_t next_ = 0;
  std::uint32_t last_ = 0;
  std::vector<SpanId> open_;
};

class PathReader {
 public:
  PathReader(const Program& program, const Replay& times)
      : program_(program), trace_(program.trace()), times_(times) {
    const GraphNode last = program.last_node(times);
    if (last != kNoNode) parts_ = path_to(program.graph(), times, last);
  }

  const std::vector<PathPart>& parts() const { return parts_; }

  // Calls visit(key, span, track, recorded begin, recorded end, time on the path) for each part.
  // The span of a delay, and of time outside all spans, is invalid.
  template <typename Visit>
  void read(Visit visit) {
    std::unordered_map<std::uint32_t, OwnTimeReader> readers;
    GraphNode before = kNoNode;
    for (const PathPart& part : parts_) {
      const TrackId track = program_.track(part.node);
      if (before != kNoNode && part.delay_ns != 0)
        visit(delay_key(before, part.node), SpanId(), track, 0, 0, part.delay_ns);
      before = part.node;
      const SpanId work = program_.work(part.node);
      if (work.valid()) {
        const bool copies = is_copy(trace_.spans().kind[work]);
        visit(
            PathKey{copies ? PathKind::Copy : PathKind::Kernel, trace_.spans().name[work].value()},
            work, track, 0, 0, times_.duration_ns[part.node]);
        continue;
      }
      read_stint(readers.try_emplace(track.value(), trace_, track).first->second, part.node, track,
                 visit);
    }
  }

 private:
  // If a stint was shortened, all its parts are shortened in proportion.
  template <typename Visit>
  void read_stint(OwnTimeReader& reader, GraphNode node, TrackId track, Visit visit) {
    const Graph& graph = program_.graph();
    const auto recorded = static_cast<double>(graph.duration_ns(node));
    const auto left = static_cast<double>(times_.duration_ns[node]);
    if (recorded <= 0) return;
    Nanos given_ns = 0;
    reader.read(graph.begin_ns(node), graph.end_ns(node), [&](const OwnStretch& one) {
      const double until = static_cast<double>(one.end_ns - graph.begin_ns(node)) / recorded * left;
      const Nanos time_ns = static_cast<Nanos>(until) - given_ns;
      given_ns += time_ns;
      visit(one.key, one.span, track, one.begin_ns, one.end_ns, time_ns);
    });
  }

  PathKey delay_key(GraphNode from, GraphNode to) const {
    const bool from_work = program_.work(from).valid();
    if (program_.work(to).valid())
      return {from_work ? PathKind::NextWork : PathKind::Launch, StringId::kInvalid};
    if (from_work) return {PathKind::Return, StringId::kInvalid};
    const bool same = program_.track(from) == program_.track(to);
    return {same ? PathKind::Outside : PathKind::WakeUp, StringId::kInvalid};
  }

  const Program& program_;
  const Trace& trace_;
  const Replay& times_;
  std::vector<PathPart> parts_;
};

struct PathSum {
  Nanos time_ns = 0;
  std::uint64_t count = 0;
  std::uint32_t track = TrackId::kInvalid;
  bool is_on_several = false;
  Nanos until_ns = 0;  // where the last part ended
};
using PathSums = std::unordered_map<PathKey, PathSum, PathKeyHash>;

std::string lane_text(const Trace& trace, TrackId track) {
  const TrackTable& tracks = trace.tracks();
  if (tracks.kind[track] == TrackKind::Thread) {
    const std::string_view name = trace.string(tracks.name[track]);
    return name.empty() ? "thread " + std::to_string(tracks.id[track]) : std::string(name);
  }
  return "device " + std::to_string(tracks.device_index[track]) + ", stream " +
         std::to_string(tracks.id[track]);
}

std::vector<std::pair<PathKey, PathSum>> sorted(const PathSums& sums) {
  std::vector<std::pair<PathKey, PathSum>> all(sums.begin(), sums.end());
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tuple(-a.second.time_ns, a.first.kind, a.first.name) <
           std::tuple(-b.second.time_ns, b.first.kind, b.first.name);
  });
  return all;
}

std::string entry_text(const Trace& trace, const PathKey& key) {
  const std::string_view name = trace.string(StringId(key.name));
  return name.empty() ? std::string(to_string(key.kind)) : std::string(name);
}

PathSums sums_of(const Trace& trace, PathReader& reader) {
  PathSums sums;
  std::vector<std::uint8_t> counted(trace.spans().size());
  reader.read([&](const PathKey& key, SpanId span, TrackId track, Nanos begin_ns, Nanos end_ns,
                  Nanos time_ns) {
    PathSum& sum = sums[key];
    detail::add_to(sum.time_ns, time_ns);
    // The path may enter one span many times: between the calls inside it, and between launches.
    const bool goes_on = key.kind == PathKind::Outside && sum.count > 0 &&
                         sum.track == track.value() && sum.until_ns == begin_ns && end_ns > 0;
    const bool is_new =
        span.valid() ? !std::exchange(counted[span.index()], std::uint8_t{1}) : !goes_on;
    sum.count += is_new ? 1 : 0;
    sum.is_on_several |= sum.track != TrackId::kInvalid && sum.track != track.value();
    sum.track = track.value();
    sum.until_ns = end_ns;
  });
  return sums;
}

class PathMaker {
 public:
  explicit PathMaker(const Trace& trace) : trace_(trace), program_(trace) {}

  CriticalPath make(std::size_t mended) {
    const Replay times = replay(program_.graph());
    PathReader reader(program_, times);
    const PathSums sums = sums_of(trace_, reader);
    CriticalPath out;
    out.length_ns = program_.recorded_ns();
    for (const auto& [key, sum] : sorted(sums)) {
      const std::string where = sum.is_on_several ? "" : lane_text(trace_, TrackId(sum.track));
      PathEntry entry{key.kind,  std::string(trace_.string(StringId(key.name))),
                      where,     sum.time_ns,
                      sum.count, -1,
                      ""};
      if (out.entries.size() < mended) mend(reader, key, entry);
      out.entries.push_back(std::move(entry));
    }
    out.by_thread = by_thread(reader);
    return out;
  }

 private:
  // Delays cannot be removed.
  static bool is_work(PathKind kind) { return kind <= PathKind::Copy; }

  void mend(PathReader& reader, const PathKey& key, PathEntry& entry) const {
    if (!is_work(key.kind)) return;
    Changes changes(program_);
    if (key.kind == PathKind::Kernel || key.kind == PathKind::Copy) {
      for (const PathPart& part : reader.parts()) {
        const SpanId work = program_.work(part.node);
        if (work.valid() && trace_.spans().name[work].value() == key.name) changes.scale(work, 0);
      }
    } else {
      reader.read(
          [&](const PathKey& other, SpanId, TrackId track, Nanos begin_ns, Nanos end_ns, Nanos) {
            if (other == key) changes.cut(track, begin_ns, end_ns);
          });
    }
    const Replay after = program_.replayed(changes);
    entry.without_ns = program_.length_ns(after);
    PathReader next(program_, after);
    const auto entries = sorted(sums_of(trace_, next));
    const auto other = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& one) { return !(one.first == key); });
    if (other != entries.end()) entry.next = entry_text(trace_, other->first);
  }

  std::vector<std::pair<std::string, Nanos>> by_thread(PathReader& reader) const {
    std::map<std::uint32_t, Nanos> sums;
    reader.read([&](const PathKey&, SpanId, TrackId track, Nanos, Nanos, Nanos time_ns) {
      detail::add_to(sums[track.value()], time_ns);
    });
    std::vector<std::pair<std::string, Nanos>> out;
    out.reserve(sums.size());
    for (const auto& [track, time_ns] : sums)
      out.emplace_back(lane_text(trace_, TrackId(track)), time_ns);
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return out;
  }

  const Trace& trace_;
  const Program program_;
};

}  // namespace

std::string_view to_string(PathKind kind) noexcept {
  switch (kind) {
    case PathKind::Operator:
      return "operator";
    case PathKind::Call:
      return "device call";
    case PathKind::Span:
      return "span";
    case PathKind::Outside:
      return "outside all spans";
    case PathKind::Kernel:
      return "kernel";
    case PathKind::Copy:
      return "copy or fill";
    case PathKind::Launch:
      return "from launch to begin";
    case PathKind::NextWork:
      return "between device work";
    case PathKind::Return:
      return "return from waiting";
    case PathKind::WakeUp:
      return "from thread to thread";
  }
  return "other";
}

CriticalPath critical_path(const Trace& trace, std::size_t mended) {
  return PathMaker(trace).make(mended);
}

}  // namespace sonde
