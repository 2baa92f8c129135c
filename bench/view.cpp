// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the index of the timeline costs, and how long its answers take, in CPU time of one thread.
//
//   build/release/bin/bench_view 10                             10 million drawn spans
//   build/release/bin/bench_view 10 made.sonde                  writes them, for view_browser.py
//   build/release/bin/bench_view trace.json.gz 10               a real trace, repeated to as many
//   build/release/bin/bench_view trace.json.gz 10 made.sonde    writes them
//
// 64 tracks: threads with spans nested up to 12 deep, and streams with kernels one after the other.
// A query is a picture of 60 rows and 1,600 pixels, at places drawn by lot. As bytes, it is what
// the server answers: all tiles that the picture touches, up to 2,048 pixels.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/repeat.h"
#include "sonde/open.h"
#include "sonde/trace/builder.h"
#include "view/timeline/area.h"
#include "view/timeline/search.h"
#include "view/timeline/tiles.h"
#include "view/timeline/timeline_index.h"

namespace sonde::bench {
namespace {

constexpr int kTracks = 64;
constexpr std::uint32_t kRowsShown = 60;
constexpr Nanos kPixels = 1600;

class DrawnTrace {
 public:
  Trace make(std::size_t wanted) {
    for (int i = 0; i < 2000; ++i)
      names_.push_back(builder_.intern("aten::name_" + std::to_string(i)));
    const ProcessId process = builder_.processes().push_back({});
    builder_.spans().start_ns.reserve(wanted + 100'000);
    for (int i = 0; i < kTracks; ++i) {
      TrackRow row;
      row.process = process;
      row.id = i;
      if (i % 4 == 3) {
        row.kind = TrackKind::Stream;
        row.device_index = 0;
      }
      track_ = builder_.tracks().push_back(row);
      const std::size_t end = wanted / kTracks * static_cast<std::size_t>(i + 1);
      at_ = 0;
      i % 4 == 3 ? stream(end) : thread(end);
    }
    return *std::move(builder_).build();
  }

 private:
  std::size_t size() const { return row_count_; }
  Nanos below(Nanos most) {
    return static_cast<Nanos>(random_() % static_cast<std::uint64_t>(most));
  }

  void add(Nanos start, Nanos length, SpanKind kind, int depth) {
    SpanRow span;
    span.track = track_;
    span.kind = kind;
    span.start_ns = start;
    span.duration_ns = length;
    span.name = names_[static_cast<std::size_t>(depth * 150 + below(150))];
    builder_.spans().push_back(span);
    ++row_count_;
  }

  void thread(std::size_t end) {
    while (size() < end) {
      nest(0, end);
      at_ += 2000 + below(2'000'000);
    }
  }
  void nest(int depth, std::size_t end) {
    const Nanos begin = at_;
    at_ += 50 + below(300);
    if (depth >= 11 || (depth >= 3 && below(10) < 3) || size() >= end) {
      at_ += 200 + below(12'000);
    } else {
      const Nanos children = depth == 0   ? 4
                             : depth == 1 ? 8 + below(40)
                             : depth == 2 ? 2 + below(10)
                                          : 1 + below(4);
      for (Nanos i = 0; i < children; ++i) {
        nest(depth + 1, end);
        at_ += below(100) == 0 ? 1000 + below(20'000) : 20 + below(600);
      }
    }
    at_ += 30;
    add(begin, at_ - begin, SpanKind::CpuOp, depth);
  }
  void stream(std::size_t end) {
    while (size() < end) {
      const Nanos length = 400 + below(3000);
      add(at_, length, SpanKind::Kernel, 12);
      at_ += length + (below(2000) == 0 ? 900'000 : below(1200));
    }
  }

  TraceBuilder builder_;
  std::mt19937_64 random_{11};
  std::vector<StringId> names_;
  TrackId track_;
  std::size_t row_count_ = 0;
  Nanos at_ = 0;
};

struct Quantiles {
  double half = 0;
  double most = 0;  // of 95 %
};
Quantiles quantiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values[values.size() * 95 / 100]};
}

// The tiles that cover the picture, as a page asks for them.
std::string request_for(const std::vector<std::uint32_t>& tracks, int level, Nanos from) {
  const Nanos width = detail::kTileBuckets << level;
  std::vector<std::uint32_t> words = {static_cast<std::uint32_t>(level),
                                      static_cast<std::uint32_t>(from / width), 2,
                                      static_cast<std::uint32_t>(tracks.size())};
  words.insert(words.end(), tracks.begin(), tracks.end());
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words[0])};
}

void measure_queries(const detail::TimelineIndex& index) {
  std::mt19937_64 random(5);
  std::printf("%14s %10s %10s %12s %18s\n", "picture of", "p50 ms", "p95 ms", "rectangles",
              "as bytes, p95 ms");
  for (Nanos length = index.length_ns(); length > 1000; length /= 8) {
    int level = 0;
    while ((Nanos{2} << level) * kPixels <= length) ++level;
    std::vector<double> times;
    std::vector<double> times_of_bytes;
    std::size_t rects = 0;
    std::vector<detail::Rect> out;
    for (int i = 0; i < 60; ++i) {
      const Nanos width = Nanos{1} << level;
      const Nanos from = static_cast<Nanos>(random() % static_cast<std::uint64_t>(std::max<Nanos>(
                                                           1, index.length_ns() - length))) /
                         width * width;
      std::vector<std::uint32_t> tracks;
      std::uint32_t rows = 0;
      for (auto track = static_cast<std::uint32_t>(random() % std::max(1U, index.tracks() * 3 / 4));
           track < index.tracks() && rows < kRowsShown; ++track) {
        tracks.push_back(track);
        rows += index.rows(track);
      }
      const double start = process_cpu_ns();
      std::size_t drawn = 0;
      for (const std::uint32_t track : tracks) {
        out.clear();
        index.add_rects(track, level, from, from + width * kPixels, out);
        drawn += out.size();
      }
      const double found = process_cpu_ns();
      static_cast<void>(detail::tiles(index, request_for(tracks, level, from)));
      times_of_bytes.push_back((process_cpu_ns() - found) / 1e6);
      times.push_back((found - start) / 1e6);
      rects = std::max(rects, drawn);
    }
    const Quantiles all = quantiles(times);
    std::printf("%11.3f ms %10.3f %10.3f %12zu %18.3f\n", static_cast<double>(length) / 1e6,
                all.half, all.most, rects, quantiles(times_of_bytes).most);
  }
}

int run(const Trace& trace, const char* query, const char* path) {
  if (path != nullptr) return save_trace(trace, path) ? 0 : 1;
  const double start = process_cpu_ns();
  const detail::TimelineIndex index(trace, 1);
  const double built = process_cpu_ns();
  const auto spans = static_cast<double>(trace.spans().size());
  std::printf("%.1f M spans: index %.2f s of CPU, %.2f bytes a span\n", spans / 1e6,
              (built - start) / 1e9, static_cast<double>(index.memory_bytes()) / spans);
  measure_queries(index);
  const detail::TraceAnswers answers(trace, "drawn");
  std::vector<std::uint32_t> tracks;
  for (std::uint32_t i = 0; i < index.tracks(); ++i) tracks.push_back(i);
  static_cast<void>(answers.launches());
  const double before_area = process_cpu_ns();
  const std::size_t rows = detail::area(answers, tracks, 0, index.length_ns()).rows.size();
  const double before_search = process_cpu_ns();
  const std::uint64_t found = detail::search(answers, *detail::parse_query(query)).count;
  const double end = process_cpu_ns();
  std::printf("area of everything: %.0f ms of CPU, %zu names; search: %.0f ms, %llu found\n",
              (before_search - before_area) / 1e6, rows, (end - before_search) / 1e6,
              static_cast<unsigned long long>(found));
  return 0;
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  using namespace sonde;
  const bool is_drawn = argc < 3 || std::atof(argv[1]) > 0;
  const double millions = argc > 1 ? std::atof(argv[is_drawn ? 1 : 2]) : 10;
  if (!(millions > 0)) {
    std::fprintf(stderr, "usage: bench_view [TRACE] MILLIONS [FILE.sonde]\n");
    return 2;
  }
  const int file = is_drawn ? 2 : 3;
  const char* path = argc > file ? argv[file] : nullptr;
  const auto wanted = static_cast<std::size_t>(millions * 1e6);
  if (is_drawn) return bench::run(bench::DrawnTrace().make(wanted), "name_77 dur > 1us", path);
  const Result<Trace> trace = open_trace(argv[1]);
  if (!trace) {
    std::fprintf(stderr, "%s\n", trace.error().message.c_str());
    return 1;
  }
  return bench::run(bench::repeat(*trace, wanted / std::max<std::size_t>(1, trace->spans().size())),
                    "mm dur > 1us", path);
}
