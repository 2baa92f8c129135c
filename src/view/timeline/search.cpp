// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/search.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/readable.h"
#include "base/sum.h"
#include "base/utf8.h"
#include "view/page.h"
#include "view/timeline/span_details.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostSorted = 1'000'000;
constexpr std::size_t kMostHits = 5000;
constexpr std::size_t kLongestHitName = 300;

// `needle` is in lower case.
bool contains_lower(std::string_view text, std::string_view needle) {
  const auto same = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  };
  return std::search(text.begin(), text.end(), needle.begin(), needle.end(), same) != text.end();
}

bool contains_all(std::string_view text, const std::vector<std::string>& needles) {
  return std::all_of(needles.begin(), needles.end(),
                     [&](const std::string& needle) { return contains_lower(text, needle); });
}

// For each text of the trace, whether it contains all words.
std::vector<std::uint8_t> matching_names(const Trace& trace,
                                         const std::vector<std::string>& words) {
  std::vector<std::uint8_t> out(trace.strings().size() + 1, words.empty() ? 1 : 0);
  if (words.empty()) return out;
  for (std::size_t i = 0; i + 1 < out.size(); ++i)
    out[i] = contains_all(trace.string(StringId(i)), words) ? 1 : 0;
  return out;
}

std::array<bool, 256> matching_kinds(const std::vector<std::string>& kinds) {
  std::array<bool, 256> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto kind = static_cast<SpanKind>(i);
    out[i] = std::all_of(kinds.begin(), kinds.end(), [&](const std::string& word) {
      return to_string(kind) == word || to_string(span_class(kind)) == word;
    });
  }
  return out;
}

class Searcher {
 public:
  Searcher(const TraceAnswers& answers, const Query& query)
      : answers_(answers),
        trace_(answers.trace()),
        query_(query),
        names_(matching_names(trace_, query.names)),
        kinds_(matching_kinds(query.kinds)) {}

  Found run() {
    // Names first: most of 100 million spans need no further check.
    const auto count = static_cast<std::uint32_t>(trace_.spans().size());
    const StringId* const name = trace_.spans().name.data();
    const std::uint8_t* const matches = names_.data();
    const std::size_t none = names_.size() - 1;
    if (name == nullptr) {
      for (std::uint32_t i = 0; matches[none] != 0 && i < count; ++i) consider(i);
    } else {
      for (std::uint32_t i = 0; i < count; ++i)
        if (matches[std::min<std::size_t>(name[i].value(), none)] != 0) consider(i);
    }
    const SpanTimes& times = answers_.index().times();
    const std::size_t kept = std::min(out_.first.size(), kMostHits);
    const auto earlier = [&](SpanId a, SpanId b) {
      const Nanos at = times.begin(a.value());
      const Nanos bt = times.begin(b.value());
      return at != bt ? at < bt : a < b;
    };
    std::partial_sort(out_.first.begin(), out_.first.begin() + static_cast<std::ptrdiff_t>(kept),
                      out_.first.end(), earlier);
    out_.first.resize(kept);
    return std::move(out_);
  }

 private:
  // A span whose name fits.
  void consider(std::uint32_t i) {
    const Nanos length_ns = answers_.index().times().length(i);
    if (length_ns < query_.least_ns || length_ns > query_.most_ns) return;
    if (!query_.kinds.empty() && !kinds_[static_cast<std::uint8_t>(trace_.spans().kind[SpanId(i)])])
      return;
    if (!query_.arguments.empty() && !has_arguments(SpanId(i))) return;
    ++out_.count;
    add_to(out_.total_ns, length_ns);
    if (out_.first.size() < kMostSorted) out_.first.push_back(SpanId(i));
  }
  // The facts of a span as text. Calls with the same inputs are checked once.
  bool has_arguments(SpanId span) {
    const ArgumentListId list = trace_.spans().arguments[span];
    if (!list.valid()) return contains_all(span_facts(answers_, span), query_.arguments);
    const auto [found, is_new] = by_list_.try_emplace(list.value(), false);
    if (is_new) found->second = contains_all(span_facts(answers_, span), query_.arguments);
    return found->second;
  }

  const TraceAnswers& answers_;
  const Trace& trace_;
  const Query& query_;
  std::vector<std::uint8_t> names_;
  std::array<bool, 256> kinds_;
  std::unordered_map<std::uint32_t, bool> by_list_;
  Found out_;
};

}  // namespace

Found search(const TraceAnswers& answers, const Query& query) {
  return Searcher(answers, query).run();
}

std::string search_json(const TraceAnswers& answers, const Found& found) {
  const SpanTimes& times = answers.index().times();
  PageJson json;
  json.key("count").number(static_cast<std::int64_t>(found.count));
  json.key("total").number(found.total_ns);
  json.key("hits").list(found.first, [&](SpanId span) {
    json.object([&] {
      json.key("id").number(span.value());
      json.key("name").text(
          readable_line(first_whole(answers.trace().name(span), kLongestHitName)));
      json.key("track").number(answers.index().track_of(span));
      json.key("start").number(times.begin(span.value()));
      json.key("length").number(times.length(span.value()));
      json.key("class").number(static_cast<int>(span_class(answers.trace().spans().kind[span])));
    });
  });
  return json.done();
}

}  // namespace sonde::detail
