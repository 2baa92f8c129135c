// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/graphs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analyse/events/event_data.h"
#include "analyse/graphs/graph_names.h"
#include "analyse/time/launches.h"
#include "base/big_vector.h"
#include "base/sum.h"

namespace sonde {
namespace detail {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

// What a span's time belongs to: a region, or an operator outside.
struct Owner {
  enum class Kind : std::uint8_t { Nobody, Overhead, Region, Outside };
  Kind kind = Kind::Nobody;
  std::uint32_t row = kNone;
};

// What is known about the spans around a span.
struct Place {
  SpanId span;     // whose place it is
  SpanId counted;  // the innermost span around it whose time counts
  SpanId frame;    // the running compiled frame, if no graph of it runs
  Owner owner;
  bool in_op = false;
};

class Coverage {
 public:
  explicit Coverage(const Trace& trace)
      : trace_(trace), spans_(trace.spans()), marks_(trace), launches_(trace) {}

  GraphCoverage run() {
    find_graphs_of_frames();
    owner_of_.assign(spans_.size(), Owner());
    for (std::size_t track = 0; track < trace_.tracks().size(); ++track)
      walk(trace_.track_spans(TrackId(track)));
    walk(trace_.track_spans(TrackId()));
    for (const Launch& launch : launches_.all()) add_work(launch);
    finish();
    return std::move(result_);
  }

 private:
  using RegionKey = std::tuple<GraphKind, std::uint32_t, std::uint32_t, bool>;

  // Finds which frames have visible graphs, and which frame's graph a gradient belongs to.
  void find_graphs_of_frames() {
    calls_graphs_.assign(spans_.size(), 0);
    BigVector<std::uint32_t> frame_of(spans_.size(), kNone);  // the innermost, itself included
    for (const SpanId span : trace_.all_spans()) {
      const SpanId parent = spans_.parent[span];
      if (parent.valid()) frame_of[span.index()] = frame_of[parent.index()];
      const GraphMark mark = marks_.of(span);
      if (mark == GraphMark::Frame) frame_of[span.index()] = span.value();
      if (mark != GraphMark::GraphCall) continue;
      shows_all_graphs_ = shows_all_graphs_ || is_inductor_call(trace_.name(span));
      const SpanId frame(frame_of[span.index()]);
      if (!frame.valid()) continue;
      calls_graphs_[frame.index()] = 1;
      if (spans_.sequence_number[span] >= 0)
        frame_of_sequence_[{process_of(span), spans_.sequence_number[span]}] =
            spans_.name[frame].value();
    }
  }

  std::uint32_t process_of(SpanId span) const {
    const TrackId track = spans_.track[span];
    return track.valid() ? trace_.tracks().process[track].value() : kNone;
  }

  void walk(IdRange<SpanId> of_track) {
    std::vector<Place> open;  // of the open spans, innermost last
    for (const SpanId span : of_track) {
      const bool nests = (spans_.flags[span] & SpanFlags::kAsync) == 0;
      if (!nests || is_on_device(spans_.kind[span])) continue;
      const SpanId parent = spans_.parent[span];
      while (!open.empty() && open.back().span != parent &&
             trace_.end_ns(open.back().span) <= spans_.start_ns[span]) {
        open.pop_back();
      }
      auto around = open.rend();
      if (parent.valid()) {
        around = std::find_if(open.rbegin(), open.rend(),
                              [&](const Place& place) { return place.span == parent; });
      }
      open.push_back(place_of(span, around != open.rend() ? *around : Place()));
      owner_of_[span.index()] = open.back().owner;
    }
  }

  Place place_of(SpanId span, Place place) {
    place.span = span;
    const GraphMark mark = marks_.of(span);
    switch (mark) {
      case GraphMark::Wrapper:
        return place;
      case GraphMark::None:
        return op_at(span, place);
      case GraphMark::Guards:
      case GraphMark::Overhead:
        if (mark == GraphMark::Guards) add_guard(span);
        return counted(span, place, {Owner::Kind::Overhead, kNone});
      case GraphMark::Frame:
        return frame_at(span, place);
      default:
        return graph_at(span, mark, place);
    }
  }

  Place op_at(SpanId span, Place place) {
    if (place.in_op) return place;  // counts for the operator that called it
    place.in_op = true;
    if (place.owner.kind == Owner::Kind::Region) {
      ++result_.regions[place.owner.row].share.ops;
      return place;
    }
    ++result_.outside.ops;
    const std::uint32_t row = outside_row(spans_.name[span], place.frame);
    OutsideOp& op = result_.outside_ops[row];
    ++op.count;
    keep_longest(op.longest, span);
    return counted(span, place, {Owner::Kind::Outside, row});
  }

  Place frame_at(SpanId span, Place place) {
    if (place.frame.valid()) breaks_[{spans_.name[place.frame], spans_.name[span]}].push_back(span);
    place.frame = span;
    place.in_op = false;
    if (shows_all_graphs_ || calls_graphs_[span.index()] != 0)
      return counted(span, place, {Owner::Kind::Overhead, kNone});
    return call(span, place, {GraphKind::Compiled, spans_.name[span].value(), kNone, false});
  }

  Place graph_at(SpanId span, GraphMark mark, Place place) {
    const RegionKey key = key_of(span, mark, place);
    const bool is_part = place.owner.kind == Owner::Kind::Region &&
                         result_.regions[place.owner.row].kind == std::get<0>(key);
    if (is_part) return place;
    place.in_op = false;
    return call(span, place, key);
  }

  RegionKey key_of(SpanId span, GraphMark mark, const Place& place) const {
    const std::uint32_t name = spans_.name[span].value();
    switch (mark) {
      case GraphMark::GraphCall:
        return {GraphKind::Compiled, place.frame.valid() ? spans_.name[place.frame].value() : name,
                kNone, false};
      case GraphMark::GradientCall: {
        const auto found =
            frame_of_sequence_.find({process_of(span), spans_.sequence_number[span]});
        const bool is_known = found != frame_of_sequence_.end();
        return {GraphKind::Compiled, is_known ? found->second : name, kNone, is_known};
      }
      case GraphMark::CudaGraph:
        return {GraphKind::CudaGraph, name,
                place.owner.kind == Owner::Kind::Region ? place.owner.row : kNone, false};
      case GraphMark::Marked:
        return {GraphKind::Marked, name, kNone, false};
      default:
        return {GraphKind::TorchScript, name, kNone, false};
    }
  }

  Place call(SpanId span, const Place& place, const RegionKey& key) {
    const auto [found, is_new] =
        region_rows_.try_emplace(key, static_cast<std::uint32_t>(result_.regions.size()));
    if (is_new) {
      GraphRegion region;
      region.kind = std::get<0>(key);
      region.name = region_name(key);
      result_.regions.push_back(std::move(region));
    }
    GraphRegion& region = result_.regions[found->second];
    ++region.calls;
    keep_longest(region.longest, span);
    return counted(span, place, {Owner::Kind::Region, found->second});
  }

  std::string region_name(const RegionKey& key) const {
    const auto& [kind, name, within, is_gradient] = key;
    std::string text(frame_name(trace_.string(StringId(name))));
    if (is_gradient) text += " backward";
    if (within != kNone) text = result_.regions[within].name + ": " + text;
    return text;
  }

  // From here on, the time counts for the owner and not for the span around it.
  Place counted(SpanId span, Place place, Owner owner) {
    const Nanos duration_ns = spans_.duration_ns[span];
    if (place.counted.valid()) add_host_time(place.owner, -duration_ns);
    add_host_time(owner, duration_ns);
    place.counted = span;
    place.owner = owner;
    return place;
  }

  void add_host_time(const Owner& owner, Nanos time_ns) {
    switch (owner.kind) {
      case Owner::Kind::Region:
        add_to(result_.regions[owner.row].share.host_ns, time_ns);
        break;
      case Owner::Kind::Outside:
        add_to(result_.outside_ops[owner.row].host_ns, time_ns);
        break;
      case Owner::Kind::Overhead:
        add_to(result_.overhead.host_ns, time_ns);
        break;
      case Owner::Kind::Nobody:
        break;
    }
  }

  void add_guard(SpanId span) {
    ++result_.overhead.guard_checks;
    add_to(result_.overhead.guard_ns, spans_.duration_ns[span]);
  }

  std::uint32_t outside_row(StringId name, SpanId frame) {
    const StringId broken = frame.valid() ? spans_.name[frame] : StringId();
    const auto [found, is_new] = outside_rows_.try_emplace(
        {name, broken}, static_cast<std::uint32_t>(result_.outside_ops.size()));
    if (is_new) {
      OutsideOp op;
      op.name = name.valid() ? std::string(trace_.string(name)) : "(call not recorded)";
      op.broken = frame_name(trace_.string(broken));
      result_.outside_ops.push_back(std::move(op));
    }
    return found->second;
  }

  void keep_longest(SpanId& longest, SpanId span) const {
    if (!longest.valid() || spans_.duration_ns[span] > spans_.duration_ns[longest]) longest = span;
  }

  void add_work(const Launch& launch) {
    Owner owner = launch.host.valid() ? owner_of_[launch.host.index()] : Owner();
    if (owner.kind != Owner::Kind::Region) without_call_ += launch.host.valid() ? 0 : 1;
    if (owner.kind == Owner::Kind::Nobody || owner.kind == Owner::Kind::Overhead) {
      const StringId name = launch.host.valid() ? spans_.name[launch.host] : StringId();
      owner = {Owner::Kind::Outside, outside_row(name, SpanId())};
    }
    GraphShare& share =
        owner.kind == Owner::Kind::Region ? result_.regions[owner.row].share : result_.outside;
    const Nanos duration_ns = spans_.duration_ns[launch.work];
    ++share.device_pieces;
    add_to(share.device_ns, duration_ns);
    if (is_triton_kernel(trace_.name(launch.work))) ++share.triton_kernels;
    if (owner.kind == Owner::Kind::Outside)
      add_to(result_.outside_ops[owner.row].device_ns, duration_ns);
  }

  void finish() {
    for (const GraphRegion& region : result_.regions) {
      result_.inside.ops += region.share.ops;
      add_to(result_.inside.host_ns, region.share.host_ns);
      result_.inside.device_pieces += region.share.device_pieces;
      result_.inside.triton_kernels += region.share.triton_kernels;
      add_to(result_.inside.device_ns, region.share.device_ns);
    }
    for (const OutsideOp& op : result_.outside_ops) add_to(result_.outside.host_ns, op.host_ns);
    for (auto& [both, frames] : breaks_) {
      const std::uint64_t count = frames.size();
      result_.breaks.push_back({std::string(frame_name(trace_.string(both.first))),
                                std::string(frame_name(trace_.string(both.second))), count,
                                std::move(frames)});
    }
    sort();
    say_what_is_missing();
  }

  void sort() {
    const auto largest_first = [](auto& rows, auto key) {
      std::stable_sort(rows.begin(), rows.end(),
                       [&](const auto& a, const auto& b) { return key(a) > key(b); });
    };
    largest_first(result_.regions, [](const GraphRegion& region) { return region.share.host_ns; });
    largest_first(result_.breaks, [](const GraphBreak& one) { return one.count; });
    largest_first(result_.outside_ops,
                  [](const OutsideOp& op) { return std::pair(op.host_ns, op.device_ns); });
  }

  void say_what_is_missing() {
    if (launches_.all().empty())
      result_.missing.emplace_back("the trace has no device work: only host times are shown");
    if (without_call_ > 0)
      result_.missing.push_back(std::to_string(without_call_) +
                                " kernels, copies or fills name no call: they count as outside");
    const bool has_whole_frames =
        std::any_of(result_.regions.begin(), result_.regions.end(), [&](const GraphRegion& region) {
          return region.kind == GraphKind::Compiled &&
                 marks_.of(region.longest) == GraphMark::Frame;
        });
    if (has_whole_frames)
      result_.missing.emplace_back(
          "some compiled frames do not show their graphs: everything that ran in them counts as "
          "inside");
  }

  const Trace& trace_;
  const SpanTable& spans_;
  const GraphMarks marks_;
  const Launches launches_;
  GraphCoverage result_;
  bool shows_all_graphs_ = false;         // then a frame without visible graphs has none
  BigVector<std::uint8_t> calls_graphs_;  // by span
  BigVector<Owner> owner_of_;             // by span
  std::map<RegionKey, std::uint32_t> region_rows_;
  std::map<std::pair<StringId, StringId>, std::uint32_t> outside_rows_;
  std::map<std::pair<StringId, StringId>, std::vector<SpanId>> breaks_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> frame_of_sequence_;
  std::uint64_t without_call_ = 0;
};

}  // namespace
}  // namespace detail

std::string_view to_string(GraphKind kind) noexcept {
  switch (kind) {
    case GraphKind::Compiled:
      return "compiled";
    case GraphKind::TorchScript:
      return "torchscript";
    case GraphKind::CudaGraph:
      return "cuda_graph";
    case GraphKind::Marked:
      return "marked";
  }
  return "unknown";
}

GraphCoverage graph_coverage(const Trace& trace) {
  return detail::Coverage(trace).run();
}

}  // namespace sonde
