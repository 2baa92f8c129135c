// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What recording costs an operator of LibTorch: tiny operators, watched by all observers of
// torch_observers.h, in one run.
//
//   build/release/bin/bench_torch_ops [rounds, default 15] [operators, default 20000]

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "bench/measure.h"
#include "bench/torch_observers.h"

namespace sonde::bench {
namespace {

double thread_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// The tensors that the loops work on, made once.
struct Tensors {
  at::Tensor a = at::ones({1});
  at::Tensor b = at::ones({1});
  at::Tensor out = at::empty({1});
  at::Tensor weight = at::ones({1}).requires_grad_(true);
};
Tensors& tensors() {
  static auto* made = new Tensors;
  return *made;
}

void add_into() {
  at::add_out(tensors().out, tensors().a, tensors().b);
}
void add() {
  at::add(tensors().a, tensors().b);
}
void add_with_grad() {
  at::add(tensors().weight, tensors().b);
}

struct Case {
  const char* name;
  void (*op)();
};
constexpr Case kCases[] = {
    {"out = a + b, nothing allocated", &add_into},
    {"a + b", &add},
    {"a + b, one of them with a gradient", &add_with_grad},
};

// Nanoseconds per event: the loop itself in its thread's CPU time, and what follows in the
// process's, because the drainer works too.
struct Sample {
  double loop = 0;
  double loop_and_others = 0;
  double stop = 0;
  double answer = 0;
};

Sample measure(Observer& observer, const Case& what, int ops, double events) {
  observer.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // lets pages be prepared
  for (int i = 0; i < ops / 20; ++i) what.op();
  const double process_before = process_cpu_ns();
  const double before = thread_cpu_ns();
  for (int i = 0; i < ops; ++i) what.op();
  const double after = thread_cpu_ns();
  const double process_after = process_cpu_ns();
  observer.stop();
  const double stopped = process_cpu_ns();
  observer.answer();
  const double answered = process_cpu_ns();
  observer.forget();
  return {(after - before) / events, (process_after - process_before) / events,
          (stopped - process_after) / events, (answered - stopped) / events};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// One observer's samples, and how far they are above a run without observer just before.
class Column {
 public:
  void add(const Sample& sample, const Sample& base) {
    loop_.push_back(sample.loop);
    added_.push_back(sample.loop - base.loop);
    stop_.push_back(sample.stop);
    answer_.push_back(sample.answer);
    whole_.push_back(sample.loop_and_others + sample.stop + sample.answer - base.loop_and_others);
  }
  double added() const { return median(added_); }
  double least() const { return *std::min_element(loop_.begin(), loop_.end()); }
  double whole() const { return median(whole_); }
  void print(const std::string& name, const Column& base, const Column& floor) const {
    std::printf("%-26s %8.1f %8.1f %8.1f %7.2f %9.1f %9.1f %9.1f\n", name.c_str(), least(),
                least() - base.least(), added(), floor.added() > 0 ? added() / floor.added() : 0,
                median(stop_), median(answer_), whole());
  }

 private:
  std::vector<double> loop_, added_, stop_, answer_, whole_;
};

constexpr std::size_t kFloor = 2;  // in all_observers()

void run_case(const Case& what, int rounds, int ops) {
  const std::vector<std::unique_ptr<Observer>> observers = all_observers();
  what.op();
  const double events_each = static_cast<double>(count_events(what.op));
  std::printf("\n%s: %.0f events each\n", what.name, events_each);
  std::printf("%-26s %8s %8s %8s %7s %9s %9s %9s\n", "nanoseconds an event", "least", "added",
              "median", "/floor", "stop", "table", "in all");
  std::vector<Column> columns(observers.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < observers.size(); ++i) {
      // The machine's speed changes from second to second, so each run is compared with one just
      // before it.
      const Sample base = measure(*observers[0], what, ops, ops * events_each);
      columns[i].add(measure(*observers[i], what, ops, ops * events_each), base);
    }
  }
  for (std::size_t i = 0; i < observers.size(); ++i) {
    columns[i].print(observers[i]->name(), columns[0], columns[kFloor]);
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  sonde::bench::explain_if_asked(argc, argv,
                                 "bench_torch_ops [ROUNDS, default 15 [OPERATORS, default 20000]]");
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const int ops = argc > 2 ? std::atoi(argv[2]) : 20'000;
  at::set_num_threads(1);
  for (const auto& what : sonde::bench::kCases) sonde::bench::run_case(what, rounds, ops);
  return 0;
}
