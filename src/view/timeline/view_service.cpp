// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/view_service.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "view/page.h"
#include "view/timeline/area.h"
#include "view/timeline/search.h"
#include "view/timeline/span_details.h"
#include "view/timeline/tiles.h"
#include "view/timeline/trace_json.h"
#include "view/timeline/view_json.h"
#include "view/timeline/views.h"

namespace sonde::detail {
namespace {

constexpr std::uint32_t kMostBuckets = 16'384;
constexpr std::size_t kMostNames = 65'536;
constexpr std::string_view kBytes = "application/octet-stream";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// The path and the values after the question mark.
class Target {
 public:
  explicit Target(std::string_view target)
      : path_(target.substr(0, target.find('?'))),
        query_(path_.size() < target.size() ? target.substr(path_.size() + 1) : "") {}

  std::string_view path() const { return path_; }
  std::string text(std::string_view key) const {
    std::string_view rest = query_;
    while (!rest.empty()) {
      const std::string_view pair = rest.substr(0, rest.find('&'));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      if (pair.substr(0, pair.find('=')) == key && pair.size() > key.size())
        return percent_decoded(pair.substr(key.size() + 1));
    }
    return {};
  }
  // -1 if it is not a whole number that is at least 0.
  std::int64_t number(std::string_view key) const {
    const std::string value = text(key);
    std::int64_t out = -1;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
    return error == std::errc() && end == value.data() + value.size() && out >= 0 ? out : -1;
  }

 private:
  std::string_view path_;
  std::string_view query_;
};

std::vector<std::uint32_t> numbers_in(std::string_view bytes) {
  std::vector<std::uint32_t> out(bytes.size() / 4);
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * 4);
  return out;
}

ViewAnswer failed(int status, const std::string& message) {
  PageJson json;
  json.key("error").text(message);
  return {status, "application/json", json.done()};
}

ViewAnswer answer_with(Result<std::string> result, std::string_view type = "application/json") {
  if (result) return {200, type, *std::move(result)};
  return failed(result.error().code == ErrorCode::NotFound ? 404 : 400, result.error().message);
}

std::string names_json(const Trace& trace, std::string_view body) {
  std::vector<std::uint32_t> ids = numbers_in(body);
  ids.resize(std::min(ids.size(), kMostNames));
  PageJson json;
  json.key("names").list(
      ids, [&](std::uint32_t id) { json.text(label_text(trace.string(StringId(id)))); });
  return json.done();
}

struct Stretch {
  Nanos from = 0;
  Nanos to = 0;
  bool is_valid(Nanos length_ns) const {
    return from >= 0 && to > from && from <= length_ns && to / 4 <= length_ns + (1 << 20);
  }
};

Stretch stretch_of(const Target& target) {
  return {target.number("from"), target.number("to")};
}

ViewAnswer curve_answer(const TraceAnswers& answers, const std::vector<Curve>& curves,
                        const Target& target) {
  const auto id = static_cast<std::uint64_t>(target.number("id"));
  const std::int64_t buckets = target.number("n");
  const Stretch stretch = stretch_of(target);
  if (id >= curves.size() || buckets < 1 || buckets > kMostBuckets ||
      !stretch.is_valid(answers.index().length_ns()))
    return failed(400, "there is no such curve, or nothing of it there");
  const auto parts = static_cast<std::uint32_t>(buckets);
  if (target.path() == "/api/gaps")
    return {200, "application/json",
            gaps_json(answers, curves[id], stretch.from, stretch.to, parts)};
  const std::vector<float> values =
      curve_values(answers, curves[id], stretch.from, stretch.to, parts);
  return {200, kBytes,
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float))};
}

ViewAnswer area_answer(const TraceAnswers& answers, const Target& target, std::string_view body) {
  const Stretch stretch = stretch_of(target);
  if (stretch.from < 0 || stretch.to <= stretch.from) return failed(400, "this is no area");
  std::vector<std::uint32_t> tracks = numbers_in(body);
  std::sort(tracks.begin(), tracks.end());
  tracks.erase(std::unique(tracks.begin(), tracks.end()), tracks.end());
  return {200, "application/json",
          area_json(answers, area(answers, tracks, stretch.from, stretch.to))};
}

ViewAnswer search_answer(const TraceAnswers& answers, const Target& target) {
  const Result<Query> query = parse_query(target.text("q"));
  if (!query) return failed(400, query.error().message);
  return {200, "application/json", search_json(answers, search(answers, *query))};
}

}  // namespace

ViewService::ViewService(const Trace& trace, std::string name, std::vector<PageView> more,
                         bool is_job)
    : answers_(trace, std::move(name), std::move(more), is_job),
      curves_(curves(trace)),
      trace_json_(trace_json(answers_, curves_)) {}

bool ViewService::is_slow(std::string_view target) {
  const std::string_view path = Target(target).path();
  return path != "/api/tiles" && path != "/api/names" && path != "/api/trace";
}

ViewAnswer ViewService::answer(std::string_view asked, std::string_view body) const {
  const Target target(asked);
  const std::string_view path = target.path();
  if (path == "/api/trace") return {200, "application/json", trace_json_};
  if (path == "/api/tiles") return answer_with(tiles(answers_.index(), body), kBytes);
  if (path == "/api/names") return {200, "application/json", names_json(answers_.trace(), body)};
  if (path == "/api/area") return area_answer(answers_, target, body);
  if (path == "/api/search") return search_answer(answers_, target);
  if (path == "/api/curve" || path == "/api/gaps") return curve_answer(answers_, curves_, target);
  if (path == "/api/moment")
    return answer_with(memory_moment_json(
        answers_, static_cast<std::size_t>(target.number("device")), target.number("at")));
  if (path == "/api/view") return answer_with(view_json(answers_, target.text("name")));
  if (path == "/api/span") {
    const std::int64_t id = target.number("id");
    if (id < 0 || static_cast<std::uint64_t>(id) >= answers_.trace().spans().size())
      return failed(404, "there is no such span");
    return {200, "application/json",
            span_details(answers_, SpanId(static_cast<std::uint32_t>(id)))};
  }
  return failed(404, "there is nothing here");
}

}  // namespace sonde::detail
