// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// `torch._dynamo.profiler`: how much of a program runs in captured graphs. A graph is any callable
// that represents one, such as a compiled module. Wrap each once. Its calls are then marked while
// something records.
//
//   auto forward = sonde::dynamo::insert_profiling(
//       [&](at::Tensor x) { return module.forward({x}); });
//   sonde::dynamo::Profiler prof;
//   prof.start();
//   train(forward);
//   std::cout << to_string(prof.results()) << "\n";
//
// With TORCHDYNAMO_PRINT_MISSING=1 in the environment, results() reports where operators outside
// graphs were called from, one line each, through the message handler of sonde/profiler.h.

#include <cstdint>
#include <utility>

#include "sonde/analyse/dynamo.h"
#include "sonde/profiler.h"
#include "sonde/record.h"

namespace sonde::dynamo {

// Whether TORCHDYNAMO_PRINT_MISSING is 1.
bool should_print_missing();

class Profiler {
 public:
  // Records only host operators; with stacks if should_print_missing().
  Profiler();

  void start() { prof_.start(); }
  void stop() { prof_.stop(); }
  sonde::Profiler& prof() noexcept { return prof_; }

  // Stops. Counts the graphs that were wrapped since the last results() of any profiler.
  ProfileResult results();

 private:
  sonde::Profiler prof_;
};

// Adds one graph to the next results().
void count_graph() noexcept;

// `graph` with its calls marked.
template <typename Graph>
auto insert_profiling(Graph graph) {
  count_graph();
  return [graph = std::move(graph)](auto&&... args) mutable -> decltype(auto) {
    const record_function region(kRegionName);
    return graph(std::forward<decltype(args)>(args)...);
  };
}

}  // namespace sonde::dynamo
