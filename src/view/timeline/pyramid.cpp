// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/pyramid.h"

#include <algorithm>
#include <array>
#include <bit>

namespace sonde::detail {
namespace {

using Lane = std::span<const std::uint32_t>;

constexpr double kSpansPerCell = 16;
constexpr std::size_t kTopCells = 64;
constexpr int kBucketBits = 31;        // so that the number of a bucket fits
constexpr std::ptrdiff_t kAhead = 12;  // cells whose times are fetched while others are added

int bits_of(Nanos time_ns) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<Nanos>(time_ns, 0))));
}

// The narrowest bucket of which about one in 16 spans begins a new one. Spans begin in bursts with
// idle hours between them, so the gaps between spans decide and not the length of the trace.
int base_level(Lane lane, const SpanTimes& times) {
  std::array<double, 64> count{};
  std::array<double, 64> sum_ns{};
  for (std::size_t i = 1; i < lane.size(); ++i) {
    const Nanos gap_ns = times.begin(lane[i]) - times.begin(lane[i - 1]);
    const auto bits = static_cast<std::size_t>(bits_of(gap_ns));
    count[bits] += 1;
    sum_ns[bits] += static_cast<double>(gap_ns);
  }
  const int least = std::max(0, bits_of(times.begin(lane.back())) - kBucketBits);
  double short_ns = 0;  // of gaps shorter than the bucket
  double longer = 0;    // how many are not
  for (const double of_bits : count) longer += of_bits;
  for (int level = 0; level < kMostLevel; ++level) {
    short_ns += sum_ns[static_cast<std::size_t>(level)];
    longer -= count[static_cast<std::size_t>(level)];
    const double cells = longer + short_ns / static_cast<double>(Nanos{1} << level);
    if (level >= least && cells <= static_cast<double>(lane.size()) / kSpansPerCell) return level;
  }
  return kMostLevel;
}

// Collects cells of one level in the order of time.
class Cells {
 public:
  Cells(int level, const SpanTimes& times) : width_ns_(Nanos{1} << level), times_(times) {}

  void add(const Cell& cell) {
    const Nanos length_ns = times_.length(cell.longest);
    const bool alone = length_ns >= width_ns_;
    if (alone || was_alone_ || out_.back().bucket != cell.bucket) {
      out_.push_back(cell);
      longest_ns_ = length_ns;
    } else {
      out_.back().busy_ns += cell.busy_ns;
      if (length_ns > longest_ns_) {
        longest_ns_ = length_ns;
        out_.back().longest = cell.longest;
      }
    }
    was_alone_ = alone;
  }
  std::vector<Cell> take() {
    out_.shrink_to_fit();
    return std::move(out_);
  }

 private:
  const Nanos width_ns_;
  const SpanTimes& times_;
  std::vector<Cell> out_;
  Nanos longest_ns_ = 0;
  bool was_alone_ = true;
};

std::vector<Cell> base_cells(Lane lane, const SpanTimes& times, int level) {
  Cells cells(level, times);
  for (std::uint32_t i = 0; i < lane.size(); ++i) {
    const auto bucket = static_cast<std::uint32_t>(times.begin(lane[i]) >> level);
    cells.add({bucket, i, lane[i], static_cast<float>(times.length(lane[i]))});
  }
  return cells.take();
}

std::vector<Cell> coarser(const std::vector<Cell>& fine, const SpanTimes& times, int level) {
  Cells cells(level, times);
  for (const Cell& cell : fine)
    cells.add({cell.bucket >> 1, cell.first, cell.longest, cell.busy_ns});
  return cells.take();
}

std::uint8_t cover_of(float busy_ns, float length_ns) {
  const float part = length_ns > 0 ? busy_ns * 255.0F / length_ns : 255.0F;
  return static_cast<std::uint8_t>(std::clamp(part, 1.0F, 255.0F));
}

// Places in the tile that begins at `from_ns`. A float of a difference times a power of two: the
// browser computes the same bits.
class TileScale {
 public:
  TileScale(Nanos from_ns, int level)
      : from_ns_(from_ns), buckets_per_ns_(1.0F / static_cast<float>(Nanos{1} << level)) {}
  float operator()(Nanos time_ns) const {
    return static_cast<float>(time_ns - from_ns_) * buckets_per_ns_;
  }
  float length(float ns) const { return ns * buckets_per_ns_; }

 private:
  Nanos from_ns_;
  float buckets_per_ns_;
};

// The spans themselves, where buckets are narrower than the cells.
void add_spans(Lane lane, const SpanTimes& times, int level, Nanos from, Nanos to,
               std::uint16_t row, std::vector<Rect>& out) {
  const TileScale place(from, level);
  const Nanos bucket_ns = Nanos{1} << level;
  const auto found =
      std::lower_bound(lane.begin(), lane.end(), from,
                       [&](std::uint32_t span, Nanos at) { return times.begin(span) < at; });
  auto i = static_cast<std::size_t>(found - lane.begin());
  if (i > 0 && times.end(lane[i - 1]) > from) --i;
  const auto fetch_ahead = [&] {
    const std::size_t ahead = i + kAhead;
    if (ahead < lane.size()) times.prefetch(lane[ahead]);
  };
  while (i < lane.size()) {
    fetch_ahead();
    const Nanos begin = times.begin(lane[i]);
    if (begin >= to) break;
    Nanos end = times.end(lane[i]);
    Rect rect{place(begin), 0, lane[i], 1, row, 255};
    Nanos longest_ns = end - begin;
    float busy_ns = static_cast<float>(longest_ns);
    const Nanos edge = later(begin >> level << level, bucket_ns);
    ++i;
    for (; longest_ns < bucket_ns && i < lane.size(); ++i) {
      fetch_ahead();
      const Nanos length_ns = times.length(lane[i]);
      if (times.begin(lane[i]) >= edge || length_ns >= bucket_ns) break;
      end = times.end(lane[i]);
      busy_ns += static_cast<float>(length_ns);
      ++rect.count;
      if (length_ns > longest_ns) {
        longest_ns = length_ns;
        rect.span = lane[i];
      }
    }
    rect.end = place(end);
    if (rect.count > 1) rect.cover = cover_of(busy_ns, static_cast<float>(end - begin));
    out.push_back(rect);
  }
}

}  // namespace

LanePyramid::LanePyramid(std::span<const std::uint32_t> lane, const SpanTimes& times) {
  if (lane.size() < kFewSpans) return;
  base_ = base_level(lane, times);
  levels_.push_back(base_cells(lane, times, base_));
  while (levels_.back().size() > kTopCells) {
    const int level = base_ + static_cast<int>(levels_.size());
    if (level > kMostLevel) break;
    levels_.push_back(coarser(levels_.back(), times, level));
  }
}

void LanePyramid::add_rects(std::span<const std::uint32_t> lane, const SpanTimes& times, int level,
                            Nanos from, Nanos to, std::uint16_t row, std::vector<Rect>& out) const {
  if (levels_.empty() || level < base_)
    add_spans(lane, times, level, from, to, row, out);
  else
    add_cells(lane, times, level, from, to, row, out);
}

void LanePyramid::add_cells(std::span<const std::uint32_t> lane, const SpanTimes& times, int level,
                            Nanos from, Nanos to, std::uint16_t row, std::vector<Rect>& out) const {
  const int up = std::min(level - base_, static_cast<int>(levels_.size()) - 1);
  const std::vector<Cell>& cells = levels_[static_cast<std::size_t>(up)];
  const int shift = base_ + up;
  const TileScale place(from, level);
  auto cell = std::lower_bound(cells.begin(), cells.end(), from >> shift,
                               [](const Cell& c, Nanos bucket) { return c.bucket < bucket; });
  const auto count_of = [&](std::vector<Cell>::const_iterator at) {
    const auto next = at + 1;
    return (next == cells.end() ? static_cast<std::uint32_t>(lane.size()) : next->first) -
           at->first;
  };
  // A short span begins somewhere in its bucket. Its own times are elsewhere in memory, and what
  // they would add is less than a bucket.
  const auto width_ns = static_cast<float>(Nanos{1} << shift);
  const auto is_long = [&](const Cell& at) { return at.busy_ns >= width_ns; };
  if (cell != cells.begin() && count_of(cell - 1) == 1 && times.end((cell - 1)->longest) > from)
    --cell;
  for (; cell != cells.end(); ++cell) {
    if (cells.end() - cell > kAhead && is_long(*(cell + kAhead)))
      times.prefetch((cell + kAhead)->longest);
    const Nanos begin = static_cast<Nanos>(cell->bucket) << shift;
    if (begin >= to) break;
    Rect rect{place(begin), 0, cell->longest, count_of(cell), row, 255};
    if (rect.count == 1 && is_long(*cell)) {
      rect.begin = place(times.begin(cell->longest));
      rect.end = place(times.end(cell->longest));
    } else if (rect.count == 1) {
      rect.end = rect.begin + place.length(cell->busy_ns);
    } else {
      rect.end = place(later(begin, Nanos{1} << shift));
      rect.cover = cover_of(cell->busy_ns, static_cast<float>(Nanos{1} << shift));
    }
    out.push_back(rect);
  }
}

std::size_t LanePyramid::memory_bytes() const {
  std::size_t bytes = sizeof(*this) + levels_.capacity() * sizeof(std::vector<Cell>);
  for (const std::vector<Cell>& cells : levels_) bytes += cells.capacity() * sizeof(Cell);
  return bytes;
}

}  // namespace sonde::detail
