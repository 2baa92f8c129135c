// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/tiles.h"

#include <bit>
#include <cstring>

namespace sonde::detail {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kMostTiles = 8192;
constexpr std::size_t kMostRects = 4'000'000;
constexpr std::size_t kRectsAhead =
    16;  // rectangles whose spans are fetched while others are written

struct TileRequest {
  std::uint32_t level = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::vector<std::uint32_t> tracks;
};

Result<TileRequest> parse_tile_request(std::string_view bytes) {
  const Failure wrong(ErrorCode::Invalid, "this is not a request for tiles");
  if (bytes.size() < 16 || bytes.size() % 4 != 0) return wrong;
  std::vector<std::uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  TileRequest out{words[0], words[1], words[2], {words.begin() + 4, words.end()}};
  if (out.level > kMostLevel || out.tracks.size() != words[3]) return wrong;
  if (std::uint64_t{out.count} * out.tracks.size() > kMostTiles)
    return Failure(ErrorCode::Invalid, "too many tiles in one request");
  return out;
}

std::uint32_t look_of(const Trace& trace, const Rect& rect) {
  const SpanId span(rect.span);
  std::uint32_t of = static_cast<std::uint32_t>(span_class(trace.spans().kind[span]));
  if ((trace.spans().flags[span] & SpanFlags::kUnfinished) != 0) of |= kUnfinishedClass;
  return rect.row | std::uint32_t{rect.cover} << 16 | of << 24;
}

// Has the memory of a value brought closer before it is read, where it has an address.
template <typename T>
class Prefetch {
 public:
  explicit Prefetch(const Column<T>& column)
      : values_(column.packs() || !column.materialised() ? nullptr : column.data()) {}
  void operator()(std::uint32_t row) const {
    if (values_ != nullptr) __builtin_prefetch(values_ + row);
  }

 private:
  const T* values_;
};

// Puts a word for each rectangle at `to`, and returns where they end.
template <typename Value>
char* put_words(char* to, const std::vector<Rect>& rects, Value value) {
  for (const Rect& rect : rects) {
    const auto word = value(rect);
    static_assert(sizeof(word) == 4);
    std::memcpy(to, &word, 4);
    to += 4;
  }
  return to;
}

void append_tile(const Trace& trace, const std::vector<Rect>& rects, std::string& out) {
  const SpanTable& spans = trace.spans();
  const std::size_t begin = out.size();
  const std::size_t column = rects.size() * 4;
  out.resize(begin + 6 * column);
  char* at = out.data() + begin;
  at = put_words(at, rects, [](const Rect& rect) { return rect.begin; });
  at = put_words(at, rects, [](const Rect& rect) { return rect.end; });
  at = put_words(at, rects, [](const Rect& rect) { return rect.span; });
  // What the spans are lies all over memory.
  const Prefetch name_of(spans.name);
  const Prefetch kind_of(spans.kind);
  const Prefetch flags_of(spans.flags);
  char* const names = at;
  char* const looks = names + 2 * column;
  for (std::size_t i = 0; i < rects.size(); ++i) {
    if (i + kRectsAhead < rects.size()) {
      const std::uint32_t ahead = rects[i + kRectsAhead].span;
      name_of(ahead);
      kind_of(ahead);
      flags_of(ahead);
    }
    const std::uint32_t name = spans.name[rects[i].span].value();
    const std::uint32_t look = look_of(trace, rects[i]);
    std::memcpy(names + 4 * i, &name, 4);
    std::memcpy(looks + 4 * i, &look, 4);
  }
  put_words(names + column, rects, [](const Rect& rect) { return rect.count; });
}

}  // namespace

Result<std::string> tiles(const TimelineIndex& index, std::string_view request) {
  SONDE_TRY(const TileRequest asked, parse_tile_request(request));
  const auto last = static_cast<std::uint64_t>(index.length_ns() >> asked.level) / kTileBuckets;
  std::string out;
  std::vector<Rect> rects;
  std::size_t total = 0;
  for (const std::uint32_t track : asked.tracks) {
    if (track >= index.tracks()) continue;
    for (std::uint32_t i = 0; i < asked.count; ++i) {
      const std::uint64_t tile = std::uint64_t{asked.first} + i;
      rects.clear();
      if (tile <= last) {
        const Nanos from = static_cast<Nanos>(tile) * kTileBuckets << asked.level;
        index.add_rects(track, static_cast<int>(asked.level), from,
                        later(from, kTileBuckets << asked.level), rects);
      }
      total += rects.size();
      if (total > kMostRects)
        return Failure(ErrorCode::Invalid, "too much for one request: ask for fewer tracks");
      const std::uint32_t head[4] = {track, asked.level, static_cast<std::uint32_t>(tile),
                                     static_cast<std::uint32_t>(rects.size())};
      out.append(reinterpret_cast<const char*>(head), sizeof(head));
      append_tile(index.trace(), rects, out);
    }
  }
  return out;
}

}  // namespace sonde::detail
