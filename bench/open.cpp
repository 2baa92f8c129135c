// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What opening a recording costs: a file of operators with shapes and allocations is recorded, then
// each command of the program is run on it, cold, as a process of its own.
//
//   build/release/bin/bench_open FOLDER [OPERATORS, default 1000000 [PLAIN_SPANS, default 0]]
//
// The recordings stay in FOLDER and are used again by the next run: delete them yourself.
//
// For every command: wall time, processor time, the kernel's share of it, peak memory, and the same
// for each operator or span. The first row is what decompressing the events takes by itself. The
// table of many plain spans is measured if asked for.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "bench/measure.h"
#include "collect/session.h"
#include "file/block_file.h"
#include "sonde/record.h"
#include "sonde/source/op.h"
#include "sonde/source/op_inputs.h"

extern char** environ;

namespace sonde::bench {
namespace {

constexpr int kOpsPerStep = 1000;
constexpr int kShapes = 2000;  // as a training loop has
constexpr int kNames = 40;

// The drainer shares the cores with us. What it has no time for would be lost.
void let_the_drainer_follow(const std::string& path) {
  std::error_code error;
  std::uintmax_t size = 0;
  for (std::uintmax_t now = 1; now != size && !error;) {
    size = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    now = std::filesystem::file_size(path, error);
  }
}

void allocate(std::uint64_t address, std::int64_t bytes, std::int64_t total) {
  const sonde_allocation row = {sizeof(row), address, bytes, total, 0, 0, 0, -1};
  sonde_allocated(&row);
}

class Operators {
 public:
  Operators() {
    for (int i = 0; i < kNames; ++i) {
      const std::string name = "aten::operator_" + std::to_string(i);
      names_.at(static_cast<std::size_t>(i)) = sonde_name(name.data(), name.size());
    }
    dtype_ = sonde_name("float", 5);
  }

  void run(std::int64_t number) {
    const sonde_op op = {sizeof(op), names_.at(static_cast<std::size_t>(number % kNames)),
                         0,          -1,
                         0,          static_cast<std::uint64_t>(number + 1)};
    if (sonde_op_begin(&op) == 0) return;
    inputs_.clear();
    const std::int64_t rows = 1 + number * 7 % kShapes;
    for (const std::int64_t columns : {512, 1024}) {
      const std::int64_t sizes[] = {rows, columns};
      const std::int64_t strides[] = {columns, 1};
      inputs_.tensor(dtype_, sizes, 2, strides, 2);
    }
    inputs_.scalar("1");
    sonde_op_inputs(inputs_.words(), inputs_.word_count());
    const auto address = 0x7f0000000000 + static_cast<std::uint64_t>(number % 4096) * 4096;
    allocate(address, rows * 4, rows * 4);
    allocate(address, -rows * 4, 0);
    sonde_end();
  }

 private:
  std::array<std::uint32_t, kNames> names_{};
  std::uint32_t dtype_ = 0;
  OpInputs inputs_;
};

Result<std::unique_ptr<Session>> begin(const std::string& path) {
  SessionOptions options;
  options.output = path;
  options.budget_bytes = std::uint64_t{1} << 30;
  options.crash_safe = false;
  SONDE_TRY(auto session, Session::open(std::move(options)));
  SONDE_TRY_VOID(session->begin_window(0));
  return session;
}

Result<void> record_operators(const std::string& path, std::int64_t count) {
  SONDE_TRY(const auto session, begin(path));
  Operators operators;
  for (std::int64_t done = 0; done < count;) {
    const record_function step("ProfilerStep#" + std::to_string(done / kOpsPerStep));
    for (int i = 0; i < kOpsPerStep && done < count; ++i) operators.run(done++);
    if (done % 500'000 == 0) let_the_drainer_follow(path);
  }
  session->end_window();
  return session->close();
}

Result<void> record_spans(const std::string& path, std::int64_t count) {
  SONDE_TRY(const auto session, begin(path));
  for (std::int64_t i = 0; i < count; i += 4) {
    SONDE_SCOPE("outer");
    for (int k = 0; k < 3; ++k) {
      SONDE_SCOPE("inner");
    }
    if (i % 8'000'000 == 0) let_the_drainer_follow(path);
  }
  session->end_window();
  return session->close();
}

void forget_cached(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ::fdatasync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

struct Cost {
  bool ok = false;
  double wall_s = 0;
  double user_s = 0;
  double kernel_s = 0;
  double peak_bytes = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

Cost cost_of_child(pid_t pid, double before) {
  int status = 0;
  rusage usage{};
  ::wait4(pid, &status, 0, &usage);
  return {.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0,
          .wall_s = (now_ns() - before) / 1e9,
          .user_s = seconds(usage.ru_utime),
          .kernel_s = seconds(usage.ru_stime),
          .peak_bytes = static_cast<double>(usage.ru_maxrss) * 1024};
}

Cost run_program(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const double before = now_ns();
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return {};
  return cost_of_child(pid, before);
}

// What no reader of all events can do without: reading their blocks and decompressing them, on all
// cores.
bool decompress(const std::string& path) {
  const Result<BlockFile> file = BlockFile::open(path);
  if (!file) return false;
  std::atomic<bool> all{true};
  parallel_for(file->blocks().size(), [&](std::size_t i) {
    thread_local std::vector<std::uint8_t> scratch;
    const BlockFile::Block& block = file->blocks()[i];
    if (block.kind == BlockKind::Events && !file->payload(block, scratch)) all = false;
  });
  return all;
}

void print_cost(const std::string& what, const Cost& cost, std::int64_t rows) {
  if (!cost.ok) {
    std::printf("%-32s failed\n", what.c_str());
    return;
  }
  const double cpu = cost.user_s + cost.kernel_s;
  const auto count = static_cast<double>(rows);
  std::printf("%-32s %8.3f %8.3f %6.0f %% %9.1f %9.1f %9.1f\n", what.c_str(), cost.wall_s, cpu,
              cpu > 0 ? 100 * cost.kernel_s / cpu : 0, cost.peak_bytes / 1e6,
              cost.wall_s * 1e9 / count, cost.peak_bytes / count);
}

void measure_floor(const std::string& path, std::int64_t rows) {
  forget_cached(path);
  const double before = now_ns();
  const pid_t pid = ::fork();
  if (pid == 0) std::_Exit(decompress(path) ? 0 : 1);
  print_cost("(events decompressed alone)", cost_of_child(pid, before), rows);
}

void measure(const std::string& path, std::int64_t rows, const std::vector<std::string>& command) {
  static const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "sonde").string();
  std::vector<std::string> arguments = {program, command.front(), path};
  arguments.insert(arguments.end(), command.begin() + 1, command.end());
  forget_cached(path);
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + word;
  print_cost(text, run_program(arguments), rows);
}

void print_head(const std::string& path, const std::string& what) {
  std::printf("\n%s: %.1f MB\n%-32s %8s %8s %8s %9s %9s %9s\n", what.c_str(),
              static_cast<double>(std::filesystem::file_size(path)) / 1e6, "", "wall s", "CPU s",
              "kernel", "peak MB", "ns each", "B each");
}

// In a process of its own: what a program is charged for includes the peak of whoever started it.
bool recorded(Result<void> (*record)(const std::string&, std::int64_t), const std::string& path,
              std::int64_t count) {
  if (std::filesystem::exists(path)) return true;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const Result<void> done = record(path, count);
    if (!done) std::fprintf(stderr, "bench_open: %s\n", done.error().message.c_str());
    std::_Exit(done ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && status == 0;
}

int run(const std::string& folder, std::int64_t operators, std::int64_t spans) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // also into a file: a run may be stopped
  if (operators > 0) {
    const std::string path = folder + "/operators_" + std::to_string(operators) + ".sonde";
    if (!recorded(record_operators, path, operators)) return 1;
    print_head(path, std::to_string(operators) + " operators with shapes, " +
                         std::to_string(2 * operators) + " allocation events");
    measure_floor(path, operators);
    const std::string step = std::to_string(operators / kOpsPerStep / 2);
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"info"},
                                               {"table"},
                                               {"table", "--group-by-input-shape"},
                                               {"memory"},
                                               {"report"},
                                               {"table", "--steps", step + ".." + step}})
      measure(path, operators, command);
  }
  if (spans > 0) {
    const std::string path = folder + "/spans_" + std::to_string(spans) + ".sonde";
    if (!recorded(record_spans, path, spans)) return 1;
    print_head(path, std::to_string(spans) + " plain spans");
    measure_floor(path, spans);
    measure(path, spans, {"info"});
    measure(path, spans, {"table"});
  }
  return 0;
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  sonde::bench::explain_if_asked(
      argc, argv, "bench_open FOLDER [OPERATORS, default 1000000 [PLAIN_SPANS, default 0]]");
  if (argc < 2) {
    std::fprintf(stderr, "bench_open: name a folder for the recordings\n");
    return 2;
  }
  return sonde::bench::run(argv[1], argc > 2 ? std::atoll(argv[2]) : 1'000'000,
                           argc > 3 ? std::atoll(argv[3]) : 0);
}
