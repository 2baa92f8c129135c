// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/tiles.h"

#include <bit>
#include <cstring>

namespace sonde::detail {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kMostTiles = 8192;
constexpr std::size_t kMostRects = 4'000'000;

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

template <typename Value>
void append_words(std::string& out, const std::vector<Rect>& rects, Value value) {
  const std::size_t begin = out.size();
  out.resize(begin + rects.size() * 4);
  char* at = out.data() + begin;
  for (const Rect& rect : rects) {
    const auto word = value(rect);
    static_assert(sizeof(word) == 4);
    std::memcpy(at, &word, 4);
    at += 4;
  }
}

void append_tile(const Trace& trace, const std::vector<Rect>& rects, std::string& out) {
  append_words(out, rects, [](const Rect& rect) { return rect.begin; });
  append_words(out, rects, [](const Rect& rect) { return rect.end; });
  append_words(out, rects, [](const Rect& rect) { return rect.span; });
  append_words(out, rects,
               [&](const Rect& rect) { return trace.spans().name[SpanId(rect.span)].value(); });
  append_words(out, rects, [](const Rect& rect) { return rect.count; });
  append_words(out, rects, [&](const Rect& rect) { return look_of(trace, rect); });
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
