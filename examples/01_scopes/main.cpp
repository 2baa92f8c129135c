// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A first example: mark work, record it, and find it again.

#include <sonde/profiler.h>
#include <sonde/record.h>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

// A scope lasts from its line to the closing brace. This one is named after the function. An
// argument is a key and a value; the value is evaluated only while something records.
std::vector<double> load(int size) {
  SONDE_FUNCTION("size", size, SONDE_CATEGORY, "io");
  std::vector<double> values;
  for (int i = 0; i < size; ++i) values.push_back(1.0 / (i + 1));
  SONDE_INSTANT("loaded");  // a moment
  return values;
}

// Scopes nest and may be anywhere in a function.
double total(const std::vector<double>& values) {
  SONDE_SCOPE("total");
  double sum = 0;
  {
    SONDE_SCOPE("add");
    for (const double value : values) sum += value;
  }
  SONDE_COUNTER("sum", sum);  // a value over time
  return sum;
}

void work(const std::string& who) {
  for (int round = 0; round < 3; ++round) {
    // Names made at run time go through record_function; SONDE_SCOPE takes only literals.
    const sonde::record_function range(who + " round " + std::to_string(round), "round", round);
    const std::vector<double> values = load(100'000);
    // The same around a call.
    sonde::recorded("check", [&] { return total(values) > 0; });
  }
}

}  // namespace

int main() {
  // Without a profiler, every mark above costs one load and one branch.
  sonde::Profiler prof({.output = "01_scopes.sonde"});
  prof.start();
  std::thread helper(work, "helper");  // all threads are recorded
  work("main");
  helper.join();
  prof.stop();

  // close() waits until the file is complete; the destructor would do so too.
  if (const auto closed = prof.close(); !closed) {
    std::cerr << closed.error().message << "\n";
    return 1;
  }
  const auto trace = prof.trace();
  if (!trace) {
    std::cerr << trace.error().message << "\n";
    return 1;
  }
  std::cout << trace->spans().size() << " spans in " << prof.path() << "\n"
            << "now type: sonde events " << prof.path() << "\n";
  return trace->spans().size() == 30 ? 0 : 1;  // 2 threads, 3 rounds, 5 scopes
}
