// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads big JSON traces, and compares with only parsing or inflating the same bytes.
//
//   build/release/bin/bench_read_json TRACE.json[.gz] [folder, default .]
//                                     [millions of events, default 1 4 10]
//
// The trace is repeated in a temporary file, each time later and with other ids, until it has that
// many events.

#include <malloc.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/big_vector.h"
#include "base/file.h"
#include "base/gzip_writer.h"
#include "bench/measure.h"
#include "convert/gunzip.h"
#include "convert/json/json_bytes.h"
#include "convert/json/json_text.h"
#include "sonde/open.h"

namespace {

using namespace sonde;  // NOLINT(google-build-using-namespace)

// Numbers that differ from one repetition to the next.
constexpr std::array<std::string_view, 8> kIds = {
    "External id",        "correlation",    "id", "Ev Idx", "Python id", "Python parent id",
    "Record function id", "Sequence number"};
constexpr std::uint64_t kIdStep = 1'000'000;

// An event as text with holes.
struct Pattern {
  struct Hole {
    std::size_t at;       // in the text, where the number was removed
    std::uint64_t value;  // nanoseconds for times
    bool is_time;
  };
  std::string text;
  std::vector<Hole> holes;
};

std::optional<Pattern::Hole> hole_of(std::string_view key, std::string_view value) {
  const bool is_time = key == "ts";
  if (!is_time && std::find(kIds.begin(), kIds.end(), key) == kIds.end()) return std::nullopt;
  std::string digits(value);
  std::erase(digits, '.');
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  return Pattern::Hole{0, std::stoull(digits), is_time};
}

void add_holes(Pattern& pattern, std::string_view object, const char*& copied) {
  for_each_member(object, [&](std::string_view key, std::string_view value) {
    if (key == "args") {
      add_holes(pattern, value, copied);
    } else if (auto hole = hole_of(key, value)) {
      pattern.text.append(copied, value.begin());
      hole->at = pattern.text.size();
      pattern.holes.push_back(*hole);
      copied = value.end();
    }
    return true;
  });
}

void append_time(std::string& out, std::uint64_t nanos) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%llu.%03llu",
                static_cast<unsigned long long>(nanos / 1000),
                static_cast<unsigned long long>(nanos % 1000));
  out += text.data();
}

// The events of a trace that can be repeated, and the text around them.
class Repeater {
 public:
  explicit Repeater(std::string_view text) {
    const std::size_t begin = text.find('[', text.find("\"traceEvents\""));
    head_ = text.substr(0, begin + 1);
    const char* failed_at = nullptr;
    const char* end = value_end(text.data() + begin, text.data() + text.size(), &failed_at);
    tail_ =
        std::string_view(end - 1, static_cast<std::size_t>(text.data() + text.size() - end + 1));
    const std::string_view events(text.data() + begin,
                                  static_cast<std::size_t>(end - text.data()) - begin);
    for_each_element(events, [this](std::string_view event) {
      const bool once = event.find("\"ph\": \"M\"") != std::string_view::npos ||
                        event.find("\"pid\": \"") != std::string_view::npos;
      (once ? once_ : patterns_).push_back(pattern_of(event));
      return true;
    });
  }

  std::uint64_t write(const std::string& path, std::uint64_t events) const {
    Result<AppendFile> file = AppendFile::create(path);
    if (!file) std::abort();
    std::string out(head_);
    std::uint64_t written = 0;
    std::string_view separator;
    for (std::uint64_t k = 0; written < events; ++k) {
      for (const Pattern& pattern : patterns_) {
        out += separator;
        append(out, pattern, k);
        separator = ",\n  ";
        ++written;
      }
      if (out.size() > 4'000'000) flush(*file, out);
    }
    for (const Pattern& pattern : once_) {
      out += separator;
      append(out, pattern, 0);
    }
    out += tail_;
    flush(*file, out);
    return written + once_.size();
  }

 private:
  static Pattern pattern_of(std::string_view event) {
    Pattern pattern;
    const char* copied = event.data();
    add_holes(pattern, event, copied);
    pattern.text.append(copied, event.data() + event.size());
    return pattern;
  }

  static void append(std::string& out, const Pattern& pattern, std::uint64_t k) {
    constexpr std::uint64_t kPeriodNs = 100'000'000;  // longer than the repeated part
    std::size_t copied = 0;
    for (const Pattern::Hole& hole : pattern.holes) {
      out.append(pattern.text, copied, hole.at - copied);
      copied = hole.at;
      if (hole.is_time) {
        append_time(out, hole.value + k * kPeriodNs);
      } else {
        out += std::to_string(hole.value + k * kIdStep);
      }
    }
    out.append(pattern.text, copied);
  }

  static void flush(AppendFile& file, std::string& out) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(out.data()), out.size());
    if (!file.append(bytes)) std::abort();
    out.clear();
  }

  std::string head_;
  std::string tail_;
  std::vector<Pattern> patterns_;
  std::vector<Pattern> once_;
};

void compress(const std::string& from, const std::string& to) {
  const Result<PaddedBytes> text = PaddedBytes::map_file(from);
  Result<AppendFile> file = AppendFile::create(to);
  if (!text || !file) std::abort();
  GzipStream stream;
  GzipCompressor compressor;
  CompressedBlock block;
  bool good = static_cast<bool>(file->append(GzipStream::head()));
  for (std::size_t at = 0; at < text->text().size(); at += 1 << 20) {
    good = good && compressor.compress(text->text().substr(at, 1 << 20), block) &&
           file->append(stream.add(block));
  }
  if (!good || !file->append(stream.end())) std::abort();
}

struct Memory {
  double events = 0;
  double arguments = 0;
};

Memory memory_of(const Trace& trace) {
  Memory memory;
  trace.tables().visit_tables([&memory](const char* name, const auto& table) {
    const std::string_view table_name(name);
    const bool of_arguments =
        table_name == "dims" || table_name == "op_arguments" || table_name == "argument_lists";
    table.visit_columns([&](const char* column_name, const auto& column) {
      const bool is_argument = of_arguments || std::string_view(column_name) == "arguments";
      (is_argument ? memory.arguments : memory.events) +=
          static_cast<double>(column.memory_bytes());
    });
  });
  memory.events += static_cast<double>(trace.strings().byte_size());
  return memory;
}

// The best of some runs, by the clock and by CPU time. CPU time says more while others use the
// machine.
struct Cost {
  double seconds = 1e30;
  double cpu_seconds = 1e30;
  double kernel_seconds = 0;  // part of these
};

double kernel_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_stime.tv_usec) / 1e6;
}

Cost best_of(int runs, const std::function<void()>& body,
             const std::function<void()>& prepare = {}) {
  Cost best;
  for (int i = 0; i < runs; ++i) {
    if (prepare) prepare();
    const double before = bench::now_ns();
    const double cpu_before = bench::process_cpu_ns();
    const double kernel_before = kernel_seconds();
    body();
    best.seconds = std::min(best.seconds, (bench::now_ns() - before) / 1e9);
    const double cpu_seconds = (bench::process_cpu_ns() - cpu_before) / 1e9;
    if (cpu_seconds >= best.cpu_seconds) continue;
    best.cpu_seconds = cpu_seconds;
    best.kernel_seconds = kernel_seconds() - kernel_before;
  }
  return best;
}

void print(const char* what, Cost cost, double bytes, double events, const Cost* reference) {
  std::printf("  %-43s %7.3f s %6.3f GB/s %6.2f M events/s, CPU %6.3f s (kernel %.3f)", what,
              cost.seconds, bytes / cost.seconds / 1e9, events / cost.seconds / 1e6,
              cost.cpu_seconds, cost.kernel_seconds);
  if (reference != nullptr) {
    std::printf("   %5.2f x, by CPU %5.2f x", reference->seconds / cost.seconds,
                reference->cpu_seconds / cost.cpu_seconds);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// The last text that simdjson could take: its tape alone has eight times the size of the text. A
// larger text is compared with as many bytes of this one, parsed repeatedly.
using SmallText = std::optional<simdjson::padded_string>;

Cost parse_dom(std::string_view text, double events, SmallText& small) {
  const auto size = static_cast<double>(text.size());
  simdjson::dom::parser parser;
  bool parsed = false;
  Cost first;
  if (text.size() < 0xffffffff) {
    simdjson::padded_string padded(text);
    first = best_of(1, [&] { parsed = parser.parse(padded).error() == simdjson::SUCCESS; });
    if (parsed) small.emplace(std::move(padded));
  }
  if (!small) return {};
  if (parsed) print("simdjson DOM, first, with its memory", first, size, events, nullptr);
  const auto whole_times = std::max<std::size_t>(1, text.size() / small->size());
  const auto parse_all = [&] {
    for (std::size_t i = 0; i < whole_times; ++i) {
      if (parser.parse(*small).error() != simdjson::SUCCESS) std::abort();
    }
  };
  if (!parsed) best_of(1, [&] { parsed = parser.parse(*small).error() == simdjson::SUCCESS; });
  Cost again = best_of(3, parse_all);
  const double scale = size / static_cast<double>(whole_times * small->size());
  again.seconds *= scale;
  again.cpu_seconds *= scale;
  print(whole_times == 1 ? "simdjson DOM, again in the same memory"
                         : "simdjson DOM, of the smaller text in turns",
        again, size, events, nullptr);
  return again;
}

// The state of memory that a reader asks for.
enum class Pages {
  Fresh,  // every page must be cleared, as in a new process
  Kept,   // memory of the last run is reused, as by simdjson's parser
};

// Fresh: returns what the allocator kept to the system, then touches memory once and returns that
// too. So a reader gets fresh pages that the system has at hand. A virtual machine that gives free
// memory to its host gets it back at ten times the cost of clearing it, which says nothing about a
// reader.
void prepare_memory(Pages pages, double bytes) {
  if (pages == Pages::Kept) return;
  ::malloc_trim(0);
  std::vector<char> memory;
  reserve_filled(memory, static_cast<std::size_t>(bytes));
}

// From now on, the allocator returns nothing to the system.
void keep_pages() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, -1);
}

void let_pages_go() {
  ::mallopt(M_MMAP_MAX, 65536);
  ::mallopt(M_TRIM_THRESHOLD, 128 << 10);
  ::malloc_trim(0);
}

struct Reading {
  const char* what;
  unsigned threads;
  Pages pages = Pages::Fresh;
};

void open(const std::string& path, const Reading& reading, double bytes, double events,
          const Cost* reference, int runs) {
  std::optional<Trace> trace;
  auto rss_before = bench::status_bytes("VmRSS");
  const auto read = [&] {
    Result<Trace> opened = open_trace(path, {.threads = reading.threads});
    if (!opened || !opened->ledger().empty()) std::abort();
    trace = *std::move(opened);
  };
  const auto prepare = [&] {
    trace.reset();
    prepare_memory(reading.pages, 0.75 * bytes);
    bench::reset_peak_rss();
    rss_before = bench::status_bytes("VmRSS");
  };
  const bool keeps = reading.pages == Pages::Kept;
  if (keeps) {
    keep_pages();
    read();
  }
  const Cost cost = best_of(runs, read, prepare);
  print(reading.what, cost, bytes, events, reference);
  if (trace && !keeps) {
    const Memory memory = memory_of(*trace);
    std::printf("  %-44s %8.1f and %.1f for arguments; peak RSS %.0f MiB more\n",
                "  bytes an event", memory.events / events, memory.arguments / events,
                static_cast<double>(bench::status_bytes("VmHWM") - rss_before) / 1048576.0);
  }
  trace.reset();
  if (keeps) let_pages_go();
}

void measure(const Repeater& repeater, const std::string& folder, double millions,
             SmallText& small) {
  const std::string path = folder + "/bench_read_json." + std::to_string(::getpid()) + ".json";
  const std::string packed = path + ".gz";
  const auto events =
      static_cast<double>(repeater.write(path, static_cast<std::uint64_t>(millions * 1e6)));
  compress(path, packed);
  Cost dom;
  double size = 0;
  {
    const Result<PaddedBytes> text = PaddedBytes::map_file(path);
    if (!text) std::abort();
    size = static_cast<double>(text->text().size());
    std::printf("%.0f events, %.0f MB\n", events, size / 1e6);
    dom = parse_dom(text->text(), events, small);
  }
  const int runs = millions > 5 ? 3 : 7;
  const auto open_text = [&](const Reading& reading) {
    open(path, reading, size, events, &dom, runs);
  };
  open_text({"open_trace, one thread, in fresh memory", 1});
  open_text({"open_trace, one thread, in the same memory", 1, Pages::Kept});
  open_text({"open_trace, two threads, in fresh memory", 2});
  open_text({"open_trace, two threads, in the same memory", 2, Pages::Kept});
  Cost inflating;
  {
    const Result<PaddedBytes> bytes = PaddedBytes::map_file(packed);
    if (!bytes) std::abort();
    inflating = best_of(runs, [&] {
      if (!gunzip(bytes->bytes())) std::abort();
    });
    print("inflating alone", inflating, size, events, nullptr);
  }
  open(packed, {"open_trace of .gz, one thread", 1}, size, events, &inflating, runs);
  open(packed, {"open_trace of .gz, two threads", 2}, size, events, &inflating, runs);
  ::unlink(path.c_str());
  ::unlink(packed.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  sonde::bench::explain_if_asked(
      argc, argv, "bench_read_json TRACE [FOLDER, default . [MILLIONS of events...]]");
  if (argc < 2) {
    std::fprintf(stderr, "which trace?\n");
    return 2;
  }
  const Result<PaddedBytes> file = PaddedBytes::map_file(argv[1]);
  if (!file) {
    std::fprintf(stderr, "%s\n", file.error().message.c_str());
    return 1;
  }
  std::optional<Gunzipped> gunzipped;
  if (is_gzip(file->bytes())) {
    Result<Gunzipped> text = gunzip(file->bytes());
    if (!text) return 1;
    gunzipped.emplace(*std::move(text));
  }
  const Repeater repeater(gunzipped ? gunzipped->text.text() : file->text());
  const std::string folder = argc > 2 ? argv[2] : ".";
  SmallText small;
  if (argc <= 3) {
    for (const double millions : {1.0, 4.0, 10.0}) measure(repeater, folder, millions, small);
  }
  for (int i = 3; i < argc; ++i) measure(repeater, folder, std::atof(argv[i]), small);
  return 0;
}
