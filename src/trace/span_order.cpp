// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/span_order.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>

#include "base/parallel.h"

namespace sonde {

namespace {

// Threads are not worth starting for few spans.
unsigned threads_for(const SpanTable& spans) {
  return spans.size() < 65536 ? 1 : 0;
}

// Spans without a track come last.
std::size_t bucket_of(TrackId track, std::size_t tracks) {
  return track.valid() ? track.index() : tracks;
}

// Rows that are read at once.
constexpr std::size_t kRowsAtOnce = 1024;

bool in_order(const SpanTable& spans, std::size_t first, std::size_t last) {
  if (first >= last) return true;
  std::array<TrackId, kRowsAtOnce> tracks{};
  std::array<Nanos, kRowsAtOnce> starts_ns{};
  std::array<Nanos, kRowsAtOnce> durations_ns{};
  const std::size_t before = first > 0 ? first - 1 : 0;
  TrackId track = spans.track[before];
  Nanos start_ns = spans.start_ns[before];
  Nanos duration_ns = spans.duration_ns[before];
  for (std::size_t at = first; at < last; at += kRowsAtOnce) {
    const std::size_t rows = std::min(kRowsAtOnce, last - at);
    spans.track.read(at, rows, tracks.data());
    spans.start_ns.read(at, rows, starts_ns.data());
    spans.duration_ns.read(at, rows, durations_ns.data());
    for (std::size_t i = 0; i < rows; ++i) {
      if (tracks[i] < track) return false;
      if (tracks[i] == track &&
          (starts_ns[i] < start_ns || (starts_ns[i] == start_ns && durations_ns[i] > duration_ns)))
        return false;
      track = tracks[i];
      start_ns = starts_ns[i];
      duration_ns = durations_ns[i];
    }
  }
  return true;
}

bool in_order(const SpanTable& spans) {
  constexpr std::size_t kRowsOfTask = 65536;
  std::atomic<bool> all{true};
  parallel_for((spans.size() + kRowsOfTask - 1) / kRowsOfTask, [&](std::size_t block) {
    const std::size_t first = block * kRowsOfTask;
    if (!all.load(std::memory_order_relaxed)) return;
    if (!in_order(spans, first, std::min(spans.size(), first + kRowsOfTask))) all = false;
  });
  return all;
}

// begin[t] is where the spans of track t begin; one more bucket for those without a track.
std::vector<std::uint32_t> count_tracks(const TraceTables& tables) {
  const std::size_t tracks = tables.tracks.size();
  std::vector<std::uint32_t> begin(tracks + 2, 0);
  if (!tables.spans.track.materialised())
    begin[tracks + 1] = static_cast<std::uint32_t>(tables.spans.size());
  tables.spans.track.visit_stretches([&](std::size_t, const TrackId* track, std::size_t rows) {
    for (std::size_t i = 0; i < rows;) {
      const std::size_t first = i;
      while (i < rows && track[i] == track[first]) ++i;
      begin[bucket_of(track[first], tracks) + 1] += static_cast<std::uint32_t>(i - first);
    }
  });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  return begin;
}

// order[new row] = old row.
std::vector<std::uint32_t> sorted_order(const TraceTables& tables,
                                        const std::vector<std::uint32_t>& begin) {
  const SpanTable& spans = tables.spans;
  std::vector<std::uint32_t> order(spans.size());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    order[next[bucket_of(spans.track[i], tables.tracks.size())]++] = static_cast<std::uint32_t>(i);
  }
  // The old row decides last. That makes the order total and the sort stable.
  const auto before = [&spans](std::uint32_t a, std::uint32_t b) {
    if (const Nanos gap = spans.start_ns[a] - spans.start_ns[b]; gap != 0) return gap < 0;
    if (const Nanos more = spans.duration_ns[a] - spans.duration_ns[b]; more != 0) return more > 0;
    return a < b;
  };
  const auto sort_bucket = [&](std::size_t bucket) {
    const auto first = order.begin() + begin[bucket];
    const auto last = order.begin() + begin[bucket + 1];
    if (!std::is_sorted(first, last, before)) std::sort(first, last, before);
  };
  parallel_for(begin.size() - 1, sort_bucket, threads_for(spans));
  return order;
}

template <typename T>
void reorder(Column<T>& column, const std::vector<std::uint32_t>& order) {
  if (!column.materialised()) return;
  Column<T> sorted(column.null_value());
  if (column.packs()) sorted.pack();
  sorted.reserve(order.size());
  for (const std::uint32_t row : order) sorted.push_back(column[row]);
  column = std::move(sorted);
}

void follow(Column<SpanId>& column, const std::vector<std::uint32_t>& new_row) {
  column.change_stretches([&new_row](std::size_t, SpanId* values, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      if (values[i].valid()) values[i] = SpanId(new_row[values[i].index()]);
    }
    return true;
  });
}

void follow_extras(ExtraTable& extras, const std::vector<std::uint32_t>& new_row) {
  for (std::size_t i = 0; i < extras.size(); ++i) {
    const std::uint32_t row = extras.of_row[i];
    if (extras.of_table[i] == TableKind::Spans && row != SpanId::kInvalid) {
      extras.of_row.set(i, new_row[row]);
    }
  }
}

void follow_all(TraceTables& tables, const std::vector<std::uint32_t>& new_row) {
  tables.visit_tables([&new_row](const char*, auto& table) {
    table.visit_columns([&new_row](const char*, auto& column) {
      using Column = std::remove_reference_t<decltype(column)>;
      if constexpr (std::is_same_v<typename Column::ValueType, SpanId>) follow(column, new_row);
    });
  });
  follow_extras(tables.extras, new_row);
}

struct PlainParents {
  SpanId* parents;
  SpanId get(std::uint32_t row) const { return parents[row]; }
  void set(std::uint32_t row, SpanId parent) const { parents[row] = parent; }
};
struct PackedParents {
  Column<SpanId>& parents;
  SpanId get(std::uint32_t row) const { return parents[row]; }
  void set(std::uint32_t row, SpanId parent) const { parents.set(row, parent); }
};

// A span that may be the parent of the next one.
struct Open {
  SpanId span;
  Nanos end_ns;
};

// `open` holds candidates with rising starts and falling ends. A later candidate that reaches as
// far as an earlier one is the better parent for everything that follows, so the earlier one is
// dropped. Each span is pushed and popped once, whatever overlaps.
template <typename Parents>
void find_parents_on(const SpanTable& spans, Parents& parents, std::uint32_t first,
                     std::uint32_t last) {
  std::array<std::uint16_t, kRowsAtOnce> flags{};
  std::array<Nanos, kRowsAtOnce> starts_ns{};
  std::array<Nanos, kRowsAtOnce> durations_ns{};
  std::vector<Open> open;
  for (std::uint32_t at = first; at < last;) {
    const auto rows = static_cast<std::uint32_t>(std::min<std::size_t>(kRowsAtOnce, last - at));
    spans.flags.read(at, rows, flags.data());
    spans.start_ns.read(at, rows, starts_ns.data());
    spans.duration_ns.read(at, rows, durations_ns.data());
    for (std::uint32_t i = 0; i < rows; ++i) {
      if ((flags[i] & SpanFlags::kAsync) != 0) continue;
      const Nanos start = starts_ns[i];
      const Nanos end = start + durations_ns[i];
      while (!open.empty() && (open.back().end_ns <= start || open.back().end_ns < end)) {
        open.pop_back();
      }
      const std::uint32_t row = at + i;
      if (!open.empty() && !parents.get(row).valid()) parents.set(row, open.back().span);
      open.push_back({SpanId(row), end});
    }
    at += rows;
  }
}

}  // namespace

std::vector<std::uint32_t> order_spans(TraceTables& tables) {
  const std::vector<std::uint32_t> begin = count_tracks(tables);
  if (in_order(tables.spans)) return begin;
  const std::vector<std::uint32_t> order = sorted_order(tables, begin);
  tables.spans.visit_columns([&order](const char*, auto& column) { reorder(column, order); });
  std::vector<std::uint32_t> new_row(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) new_row[order[i]] = static_cast<std::uint32_t>(i);
  follow_all(tables, new_row);
  return begin;
}

void find_parents(TraceTables& tables, const std::vector<std::uint32_t>& track_begin) {
  SpanTable& spans = tables.spans;
  if (spans.empty()) return;
  const auto find_all = [&](auto parents, unsigned threads) {
    const auto find_on_track = [&](std::size_t track) {
      if (tables.tracks.kind[track] != TrackKind::Thread) return;
      find_parents_on(spans, parents, track_begin[track], track_begin[track + 1]);
    };
    parallel_for(tables.tracks.size(), find_on_track, threads);
  };
  // A packed column takes values from one thread at a time. Recordings have most parents already.
  if (spans.parent.packs()) {
    find_all(PackedParents{spans.parent}, 1);
  } else {
    find_all(PlainParents{spans.parent.mutable_data()}, threads_for(spans));
  }
}

}  // namespace sonde
