// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/page_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "view/page.h"
#include "view/timeline/span_details.h"
#include "view/timeline/tiles.h"
#include "view/timeline/trace_json.h"
#include "view/timeline/view_json.h"
#include "view/timeline/views.h"

namespace sonde::detail {
namespace {

constexpr std::uint32_t kCurveBuckets = 4096;
constexpr Nanos kMoments = 64;
constexpr Nanos kFewMoments = 8;
constexpr std::size_t kManyMemoryEvents = 200'000;
constexpr std::uint32_t kNotKept = 0xffffffff;

void put_number(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

class PageData {
 public:
  PageData(const TraceAnswers& answers, const PageDataOptions& options)
      : answers_(answers),
        trace_(answers.trace()),
        index_(answers.index()),
        times_(index_.times()),
        options_(options),
        curves_(curves(trace_)),
        name_of_(trace_.strings().size() + 1, kNotKept) {}

  std::string make() {
    choose_spans();
    add_spans();
    add_flows();
    add_copies();
    header();
    const std::string head = json_.done();
    const auto bytes = static_cast<std::uint32_t>(head.size());
    std::string out(sizeof(bytes), '\0');
    std::memcpy(out.data(), &bytes, sizeof(bytes));
    out += head;
    for (const Column& column : columns_) out += *column.bytes;
    return out;
  }

 private:
  struct Column {
    std::string_view name;
    const std::string* bytes;
  };

  void numbers(std::string_view key, std::array<std::int64_t, 2> pair) {
    json_.key(key).list(pair, [&](std::int64_t value) { json_.number(value); });
  }

  std::uint64_t count_before(Nanos end) const {
    std::uint64_t count = 0;
    for (std::uint32_t span = 0; span < trace_.spans().size(); ++span)
      count += is_within(span, end) ? 1U : 0U;
    return count;
  }
  bool is_within(std::uint32_t span, Nanos end) const {
    return times_.begin(span) < end &&
           (times_.end(span) > options_.from || times_.begin(span) >= options_.from);
  }

  // All spans, or those of as much time as fits.
  void choose_spans() {
    const auto all = static_cast<std::uint32_t>(trace_.spans().size());
    end_ = later(index_.length_ns(), 1);
    is_cut_ = all > options_.most_spans;
    if (is_cut_) {
      Nanos low = options_.from;
      while (low + 1 < end_) {
        const Nanos middle = low + (end_ - low) / 2;
        (count_before(middle) <= options_.most_spans ? low : end_) = middle;
      }
      end_ = low;
    }
    place_of_.assign(all, kNotKept);
    for (std::uint32_t span = 0; span < all; ++span) {
      if (is_cut_ && !is_within(span, end_)) continue;
      place_of_[span] = static_cast<std::uint32_t>(kept_.size());
      kept_.push_back(span);
    }
  }

  void add_spans() {
    spans_of_track_.assign(index_.tracks(), 0);
    std::vector<std::uint32_t> row_of(trace_.spans().size());
    for (std::uint32_t track = 0; track < index_.tracks(); ++track)
      for (std::uint32_t row = 0; row < index_.rows(track); ++row)
        for (const std::uint32_t span : index_.lane(track, row)) row_of[span] = row;
    std::uint32_t track_before = kNotKept;
    std::uint32_t span_before = 0;
    Nanos start_before = 0;
    for (const std::uint32_t span : kept_) {
      const std::uint32_t track = index_.track_of(SpanId(span));
      ++spans_of_track_[track];
      if (track != track_before) start_before = 0;
      track_before = track;
      put_number(start_, static_cast<std::uint64_t>(times_.begin(span) - start_before));
      start_before = times_.begin(span);
      put_number(length_, static_cast<std::uint64_t>(times_.length(span)));
      put_number(name_, name_number(trace_.spans().name[SpanId(span)]));
      put_number(row_, row_of[span]);
      put_number(facts_, facts_number(SpanId(span)));
      add_look(SpanId(span));
      if (is_cut_) put_number(rows_, span - span_before);
      span_before = span;
    }
  }

  void add_look(SpanId span) {
    const SpanKind kind = trace_.spans().kind[span];
    std::uint32_t look = static_cast<std::uint32_t>(span_class(kind));
    if ((trace_.spans().flags[span] & SpanFlags::kUnfinished) != 0) look |= kUnfinishedClass;
    look_ += static_cast<char>(look);
    if (!is_launched(kind)) return;
    const SpanId launch = trace_.spans().launch[span];
    const bool is_known = launch.valid() && place_of_[launch.value()] != kNotKept;
    put_number(launch_, is_known ? place_of_[launch.value()] + std::uint64_t{1} : 0);
  }

  std::uint32_t name_number(StringId name) {
    std::uint32_t& number = name_of_[name.valid() ? name.index() : name_of_.size() - 1];
    if (number == kNotKept) {
      number = static_cast<std::uint32_t>(names_.size());
      names_.push_back(label_text(trace_.string(name)));
    }
    return number;
  }

  std::uint32_t facts_number(SpanId span) {
    std::string facts = span_facts(answers_, span);
    if (facts == "{}") return 0;
    const auto [found, is_new] = fact_numbers_.try_emplace(
        std::move(facts), static_cast<std::uint32_t>(fact_numbers_.size() + 1));
    if (is_new) fact_texts_.push_back(&found->first);
    return found->second;
  }

  void add_flows() {
    const FlowTable& table = trace_.flows();
    for (std::size_t i = 0; i < table.size(); ++i) {
      const SpanId from = table.from_span[i];
      const SpanId to = table.to_span[i];
      if (!from.valid() || !to.valid() || table.kind[i] == FlowKind::CpuToGpu) continue;
      if (place_of_[from.value()] == kNotKept || place_of_[to.value()] == kNotKept) continue;
      put_number(flows_, place_of_[from.value()]);
      put_number(flows_, place_of_[to.value()]);
      put_number(flows_, static_cast<std::uint64_t>(table.kind[i]));
    }
  }

  void add_copies() {
    const CopyTable& table = trace_.copies();
    for (std::size_t i = 0; i < table.size(); ++i) {
      const SpanId span = table.span[i];
      if (!span.valid() || table.bytes[i] <= 0 || place_of_[span.value()] == kNotKept) continue;
      put_number(copies_, place_of_[span.value()]);
      put_number(copies_, static_cast<std::uint64_t>(table.bytes[i]));
    }
  }

  void header() {
    json_.key("trace").json(trace_json(answers_, curves_, spans_of_track_));
    json_.key("at").text(options_.at);
    if (is_cut_) numbers("cut", {options_.from, end_});
    json_.key("kept").number(static_cast<std::int64_t>(kept_.size()));
    json_.key("names").list(names_, [&](const std::string& name) { json_.text(name); });
    json_.key("facts").list(fact_texts_, [&](const std::string* facts) { json_.json(*facts); });
    json_.key("kinds").list(kept_kinds(), [&](std::string_view kind) { json_.text(kind); });
    views();
    curve_values_into();
    moments();
    columns_ = {{"start", &start_}, {"length", &length_}, {"name", &name_},     {"look", &look_},
                {"row", &row_},     {"facts", &facts_},   {"launch", &launch_}, {"flows", &flows_},
                {"spans", &rows_},  {"copies", &copies_}};
    json_.key("columns").object([&] {
      std::size_t at = 0;
      for (const Column& column : columns_) {
        numbers(column.name,
                {static_cast<std::int64_t>(at), static_cast<std::int64_t>(column.bytes->size())});
        at += column.bytes->size();
      }
    });
  }

  // What each SpanClass is called.
  static std::vector<std::string_view> kept_kinds() {
    std::vector<std::string_view> out;
    for (int i = 0; i <= static_cast<int>(SpanClass::Foreign); ++i)
      out.push_back(to_string(static_cast<SpanClass>(i)));
    return out;
  }

  void views() {
    json_.key("views").object([&] {
      for (const std::string_view name : view_names(answers_))
        if (Result<std::string> view = view_json(answers_, name)) json_.key(name).json(*view);
    });
  }

  // What was alive in memory at some moments, for each device.
  void moments() {
    const std::vector<DeviceMemory>& devices = answers_.memory().devices;
    std::vector<std::size_t> numbers_of(devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) numbers_of[i] = i;
    json_.key("moments").list(numbers_of, [&](std::size_t device) {
      const bool is_long = devices[device].events.size() > kManyMemoryEvents;
      const Nanos count = is_long ? kFewMoments : kMoments;
      std::vector<Nanos> times;
      for (Nanos i = 1; i <= count; ++i) times.push_back(index_.length_ns() / count * i);
      json_.list(times, [&](Nanos at) {
        const Result<std::string> moment = memory_moment_json(answers_, device, at);
        json_.json(moment ? *moment : "null");
      });
    });
  }

  // Curves at a fixed number of moments. Zooming in shows no more.
  void curve_values_into() {
    const Nanos end = std::max<Nanos>(index_.length_ns(), 1);
    json_.key("curve_end").number(end);
    json_.key("curves").list(curves_, [&](const Curve& curve) {
      json_.object([&] {
        const std::vector<float> values = curve_values(answers_, curve, 0, end, kCurveBuckets);
        json_.key("values").list(values,
                                 [&](float value) { json_.real(std::round(value * 1e3) / 1e3); });
        if (curve.kind == CurveKind::Busy)
          json_.key("gaps").json(gaps_json(answers_, curve, 0, end, kCurveBuckets));
      });
    });
  }

  const TraceAnswers& answers_;
  const Trace& trace_;
  const TimelineIndex& index_;
  const SpanTimes& times_;
  const PageDataOptions& options_;
  const std::vector<Curve> curves_;
  Nanos end_ = 0;
  bool is_cut_ = false;
  std::vector<std::uint32_t> kept_;      // spans
  std::vector<std::uint32_t> place_of_;  // of each span in kept_
  std::vector<std::uint32_t> spans_of_track_;
  std::vector<std::uint32_t> name_of_;  // of each text, its place in names_
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> fact_numbers_;
  std::vector<const std::string*> fact_texts_;
  std::string start_, length_, name_, look_, row_, facts_, launch_, flows_, rows_, copies_;
  std::vector<Column> columns_;
  PageJson json_;
};

}  // namespace

std::string page_data(const TraceAnswers& answers, const PageDataOptions& options) {
  return PageData(answers, options).make();
}

}  // namespace sonde::detail
