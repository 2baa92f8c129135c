// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A trace as a profile for pprof, Parca, Pyroscope and Speedscope: what each path of calls cost.
//
// A path is a recorded stack, then the spans from the outermost to the innermost, then the kernel
// that was launched there. Each sample has four values: nanoseconds of the host that no span inside
// covers, nanoseconds of the device, bytes that were allocated, and how often the path ran.

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "base/output_file.h"
#include "sonde/export.h"

namespace sonde {
namespace {

constexpr std::uint32_t kNoNode = 0xffffffff;

// Fields of pprof's profile.proto.
constexpr protozero::pbf_tag_type kSampleType = 1;
constexpr protozero::pbf_tag_type kSample = 2;
constexpr protozero::pbf_tag_type kLocation = 4;
constexpr protozero::pbf_tag_type kFunction = 5;
constexpr protozero::pbf_tag_type kStringTable = 6;
constexpr protozero::pbf_tag_type kTimeNanos = 9;
constexpr protozero::pbf_tag_type kDurationNanos = 10;
constexpr protozero::pbf_tag_type kDefaultSampleType = 14;

struct Node {
  std::uint32_t parent = kNoNode;
  std::uint32_t place = 0;
  std::array<std::int64_t, 4> values{};  // host ns, device ns, bytes, count
};

// Where code is: a name, and for frames a file and line.
struct Place {
  std::string_view name;
  std::string_view file;
  std::int32_t line = 0;
};

class PathTree {
 public:
  explicit PathTree(const Trace& trace) : trace_(trace) {
    of_stack_.resize(trace.stacks().size(), kNoNode);
    of_span_.resize(trace.spans().size(), kNoNode);
    add_host();
    add_device();
    add_memory();
  }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Place>& places() const { return places_; }

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t place) {
    const std::uint64_t key = std::uint64_t{parent} << 32U | place;
    const auto [at, is_new] = children_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({parent, place, {}});
    return at->second;
  }
  std::uint32_t place_of_name(StringId name) {
    const auto [at, is_new] = names_.try_emplace(name, static_cast<std::uint32_t>(places_.size()));
    if (is_new) places_.push_back({trace_.string(name), {}, 0});
    return at->second;
  }
  std::uint32_t place_of_frame(FrameId frame) {
    const auto [at, is_new] =
        frames_.try_emplace(frame, static_cast<std::uint32_t>(places_.size()));
    if (is_new)
      places_.push_back({trace_.string(trace_.frames().function[frame]),
                         trace_.string(trace_.frames().file[frame]),
                         std::max(0, trace_.frames().line[frame])});
    return at->second;
  }
  // Callers come before the stacks that refer to them.
  std::uint32_t node_of_stack(StackId stack) {
    if (!stack.valid()) return kNoNode;
    std::vector<StackId> unknown;
    for (StackId at = stack; at.valid() && of_stack_[at.index()] == kNoNode;
         at = trace_.stacks().parent[at])
      unknown.push_back(at);
    for (auto at = unknown.rbegin(); at != unknown.rend(); ++at) {
      const StackId parent = trace_.stacks().parent[*at];
      const std::uint32_t around = parent.valid() ? of_stack_[parent.index()] : kNoNode;
      of_stack_[at->index()] = child(around, place_of_frame(trace_.stacks().frame[*at]));
    }
    return of_stack_[stack.index()];
  }

  void add_host() {
    const SpanTable& spans = trace_.spans();
    std::vector<Nanos> covered_until(spans.size());
    for (const SpanId span : trace_.all_spans()) {
      covered_until[span.index()] = spans.start_ns[span];
      if (is_on_device(spans.kind[span])) continue;
      const SpanId parent = spans.parent[span];
      const std::uint32_t around =
          parent.valid() ? of_span_[parent.index()] : node_of_stack(spans.stack[span]);
      const std::uint32_t node = child(around, place_of_name(spans.name[span]));
      of_span_[span.index()] = node;
      nodes_[node].values[0] += spans.duration_ns[span];
      ++nodes_[node].values[3];
      if (!parent.valid()) continue;
      Nanos& covered = covered_until[parent.index()];
      const Nanos until = std::min(trace_.end_ns(span), trace_.end_ns(parent));
      const Nanos begin = std::max(spans.start_ns[span], covered);
      if (until > begin) nodes_[of_span_[parent.index()]].values[0] -= until - begin;
      covered = std::max(covered, until);
    }
  }
  void add_device() {
    const SpanTable& spans = trace_.spans();
    for (const SpanId work : trace_.all_spans()) {
      if (!is_device_work(spans.kind[work])) continue;
      const SpanId launch = spans.launch[work];
      const std::uint32_t around = launch.valid() ? of_span_[launch.index()] : kNoNode;
      const std::uint32_t node = child(around, place_of_name(spans.name[work]));
      nodes_[node].values[1] += spans.duration_ns[work];
      ++nodes_[node].values[3];
    }
  }
  void add_memory() {
    const AllocationTable& allocations = trace_.allocations();
    for (std::size_t i = 0; i < allocations.size(); ++i) {
      const SpanId span = allocations.span[i];
      if (allocations.bytes[i] <= 0 || !span.valid() || of_span_[span.index()] == kNoNode) continue;
      nodes_[of_span_[span.index()]].values[2] += allocations.bytes[i];
    }
  }

  const Trace& trace_;
  std::vector<Node> nodes_;
  std::vector<Place> places_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::unordered_map<StringId, std::uint32_t> names_;
  std::unordered_map<FrameId, std::uint32_t> frames_;
  std::vector<std::uint32_t> of_stack_;
  std::vector<std::uint32_t> of_span_;
};

// The table of texts. The first is empty.
class Texts {
 public:
  std::int64_t operator()(std::string_view text) {
    const auto [at, is_new] = numbers_.try_emplace(std::string(text), order_.size() + 1);
    if (is_new) order_.push_back(&at->first);
    return text.empty() && is_new ? empty(at) : static_cast<std::int64_t>(at->second);
  }
  void write(protozero::pbf_writer& out) const {
    out.add_string(kStringTable, "");
    for (const std::string* const text : order_) out.add_string(kStringTable, *text);
  }

 private:
  using Numbers = std::unordered_map<std::string, std::size_t>;
  std::int64_t empty(Numbers::iterator at) {
    order_.pop_back();
    at->second = 0;
    return 0;
  }
  Numbers numbers_;
  std::vector<const std::string*> order_;
};

void write_sample_type(protozero::pbf_writer& out, std::int64_t type, std::int64_t unit) {
  protozero::pbf_writer written(out, kSampleType);
  written.add_int64(1, type);
  written.add_int64(2, unit);
}

// Location i and function i are place i - 1: ids begin with 1.
void write_places(protozero::pbf_writer& out, const std::vector<Place>& places, Texts& texts) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    {
      protozero::pbf_writer function(out, kFunction);
      function.add_uint64(1, i + 1);
      function.add_int64(2, texts(places[i].name));
      function.add_int64(3, texts(places[i].name));
      function.add_int64(4, texts(places[i].file));
    }
    protozero::pbf_writer location(out, kLocation);
    location.add_uint64(1, i + 1);
    protozero::pbf_writer line(location, 4);
    line.add_uint64(1, i + 1);
    line.add_int64(2, places[i].line);
  }
}

void write_samples(protozero::pbf_writer& out, const std::vector<Node>& nodes) {
  std::vector<std::uint64_t> path;
  for (const Node& node : nodes) {
    if (std::all_of(node.values.begin(), node.values.end(), [](auto value) { return value == 0; }))
      continue;
    path.clear();
    path.push_back(node.place + 1);
    for (std::uint32_t at = node.parent; at != kNoNode; at = nodes[at].parent)
      path.push_back(nodes[at].place + 1);
    protozero::pbf_writer sample(out, kSample);
    sample.add_packed_uint64(1, path.begin(), path.end());
    sample.add_packed_int64(2, node.values.begin(), node.values.end());
  }
}

}  // namespace

Result<void> export_pprof(const Trace& trace, const std::string& path) {
  const PathTree tree(trace);
  Texts texts;
  std::string profile;
  protozero::pbf_writer out(profile);
  write_sample_type(out, texts("cpu"), texts("nanoseconds"));
  write_sample_type(out, texts("device"), texts("nanoseconds"));
  write_sample_type(out, texts("allocated"), texts("bytes"));
  write_sample_type(out, texts("calls"), texts("count"));
  write_samples(out, tree.nodes());
  write_places(out, tree.places(), texts);
  out.add_int64(kTimeNanos, trace.first_ns());
  out.add_int64(kDurationNanos, trace.last_ns() - trace.first_ns());
  out.add_int64(kDefaultSampleType, texts("cpu"));
  texts.write(out);
  return write_file_whole(path, profile);
}

}  // namespace sonde
