// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A small LibTorch training loop with known changes, for bench/diff_runs.py.
//
//   bench_diff_training OUTPUT.sonde [WIDTH [EXTRA [MEMORY]]]
//
// WIDTH is the inner size of one product of matrices, 256 unless given: 264 makes that operator 3 %
// slower, 282 10 %. EXTRA products more are made in each step. MEMORY percent more are held.

#include <sonde/profiler.h>
#include <sonde/torch.h>
#include <torch/torch.h>

#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  const auto number = [&](int place, long otherwise) {
    return argc > place ? std::strtol(argv[place], nullptr, 10) : otherwise;
  };
  constexpr int kSteps = 14;
  constexpr int kProducts = 12;
  torch::set_num_threads(1);
  torch::manual_seed(1);
  const torch::Tensor left = torch::randn({256, number(2, 256)});
  const torch::Tensor right = torch::randn({number(2, 256), 256});
  const torch::Tensor held = torch::zeros({(100 + number(4, 0)) * 16384});
  torch::Tensor weights = torch::randn({256, 64}, torch::requires_grad());
  torch::optim::SGD optimizer({weights}, 0.001);
  sonde::Profiler prof(
      {.output = argv[1],
       .record = {.record_shapes = true, .profile_memory = true},
       .schedule = sonde::schedule({.wait = 1, .warmup = 1, .active = 11, .repeat = 1})});
  prof.start();
  for (int step = 0; step < kSteps; ++step) {
    const torch::Tensor copy = held.clone();
    torch::Tensor value = torch::zeros({256, 256});
    for (long i = 0; i < kProducts + number(3, 0); ++i)
      value = torch::mm(left, right) + value * 0.5;
    const torch::Tensor loss = torch::tanh(torch::linear(value, weights.t())).pow(2).mean();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    prof.step();
  }
  prof.stop();
  return 0;
}
