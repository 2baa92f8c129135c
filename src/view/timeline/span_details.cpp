// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/span_details.h"

#include <algorithm>
#include <string_view>

#include "base/readable.h"
#include "base/sum.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostLaunches = 64;

class SpanDetails {
 public:
  SpanDetails(const TraceAnswers& answers, SpanId span)
      : answers_(answers),
        trace_(answers.trace()),
        index_(answers.index()),
        spans_(trace_.spans()),
        span_(span) {}

  std::string make() {
    place(span_);
    json_.key("kind").text(to_string(spans_.kind[span_]));
    json_.key("class").number(static_cast<int>(span_class(spans_.kind[span_])));
    json_.key("flags").number(spans_.flags[span_]);
    json_.key("self").number(self_ns());
    json_.key("known").json(span_facts(answers_, span_));
    numbers();
    step_key("previous", index_.neighbour(span_, -1));
    step_key("next", index_.neighbour(span_, 1));
    step_key("child", first_child());
    links();
    return json_.done();
  }

 private:
  void place(SpanId span) {
    json_.key("id").number(span.value());
    json_.key("name").text(readable_line(trace_.name(span)));
    json_.key("track").number(index_.track_of(span));
    json_.key("row").number(index_.row_of(span));
    json_.key("start").number(index_.times().begin(span.value()));
    json_.key("length").number(index_.times().length(span.value()));
  }

  // -1: there is none.
  void step_key(std::string_view key, SpanId span) {
    json_.key(key).number(span.valid() ? span.value() : -1);
  }

  SpanId first_child() const {
    const SpanId next(span_.value() + 1);
    return next.index() < spans_.size() && spans_.parent[next] == span_ ? next : SpanId();
  }

  // Self time; children follow their parent on its track.
  Nanos self_ns() const {
    Nanos self = spans_.duration_ns[span_];
    Nanos reached = spans_.start_ns[span_];
    const std::uint32_t end = rows_end(trace_, span_);
    for (std::uint32_t row = span_.value() + 1; row < end; ++row) {
      if (spans_.parent[SpanId(row)] != span_) continue;
      const Nanos from = std::max(reached, spans_.start_ns[SpanId(row)]);
      const Nanos to = std::min(trace_.end_ns(SpanId(row)), trace_.end_ns(span_));
      self -= std::max<Nanos>(to - from, 0);
      reached = std::max(reached, to);
    }
    return self;
  }

  void numbers() {
    json_.key("numbers").object([&] {
      if (spans_.correlation[span_] != 0)
        json_.key("Correlation").number(spans_.correlation[span_]);
      if (spans_.external_id[span_] != 0)
        json_.key("External id").number(spans_.external_id[span_]);
      if (spans_.sequence_number[span_] >= 0)
        json_.key("Sequence number").number(spans_.sequence_number[span_]);
    });
  }

  void link(std::string_view how, SpanId span) {
    if (!span.valid() || span == span_) return;
    linked_.push_back({how, span});
  }

  void links() {
    link("parent", spans_.parent[span_]);
    link("launched by", spans_.launch[span_]);
    if (spans_.launch[span_].valid()) link("operator", operator_of(spans_.launch[span_]));
    for (const std::uint32_t row : answers_.rows().flows_from.of(span_))
      if (trace_.flows().kind[row] != FlowKind::CpuToGpu)
        link(is_gradient(row) ? "backward" : "leads to", trace_.flows().to_span[row]);
    for (const std::uint32_t row : answers_.rows().flows_to.of(span_))
      if (trace_.flows().kind[row] != FlowKind::CpuToGpu)
        link(is_gradient(row) ? "forward" : "follows", trace_.flows().from_span[row]);
    launches();
    json_.key("links").list(linked_, [&](const auto& one) {
      json_.object([&] {
        json_.key("how").text(one.first);
        place(one.second);
      });
    });
  }

  bool is_gradient(std::uint32_t flow) const {
    return trace_.flows().kind[flow] == FlowKind::ForwardBackward;
  }

  // The innermost operator around a call.
  SpanId operator_of(SpanId call) const {
    SpanId at = spans_.parent[call];
    while (at.valid() && !is_operator(spans_.kind[at])) at = spans_.parent[at];
    return at;
  }

  void launches() {
    if (is_on_device(spans_.kind[span_])) return;
    const std::span<const Launch> below = answers_.launches().below(span_);
    Nanos device_ns = 0;
    for (const Launch& launch : below) add_to(device_ns, spans_.duration_ns[launch.work]);
    json_.key("launched").number(static_cast<std::int64_t>(below.size()));
    json_.key("device").number(device_ns);
    for (const Launch& launch : below.first(std::min(below.size(), kMostLaunches)))
      link("launches", launch.work);
  }

  const TraceAnswers& answers_;
  const Trace& trace_;
  const TimelineIndex& index_;
  const SpanTable& spans_;
  const SpanId span_;
  std::vector<std::pair<std::string_view, SpanId>> linked_;
  PageJson json_;
};

}  // namespace

std::string span_details(const TraceAnswers& answers, SpanId span) {
  return SpanDetails(answers, span).make();
}

}  // namespace sonde::detail
