// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LibTorch programs with a switch: a fault that a report should find, and the same program without
// it. bench/switches.py compares what a report promises with what mending gives.
//
//   build/release/bin/bench_switches                      lists them
//   build/release/bin/bench_switches loader on out.sonde  runs one, recorded if a file is given
//
// Prints the median and the mean step, and what the thread had of the processor in a step, all in
// microseconds.

#include <sonde/profiler.h>
#include <sonde/record.h>
#include <time.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr int kSteps = 40;
constexpr int kBatch = 32;

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// What this thread had of the processor. On a busy machine it says what the clock would on an idle
// one, as long as the thread waits for nobody.
double thread_us() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// Work of a fixed amount, without operators: about a millisecond each.
void compute(int amount) {
  volatile std::uint32_t state = 1;
  for (int i = 0; i < amount * 500'000; ++i) state = state * 1664525U + 1013904223U;
}

torch::nn::Sequential mlp(int layers = 4, int width = 256) {
  torch::nn::Sequential net;
  for (int i = 0; i < layers; ++i) {
    net->push_back(torch::nn::Linear(width, width));
    net->push_back(torch::nn::ReLU());
  }
  return net;
}

// What a step of training computes.
class Training {
 public:
  explicit Training(torch::nn::Sequential net = mlp())
      : net_(std::move(net)), optimizer_(net_->parameters(), 0.01) {}
  void step(const torch::Tensor& input, bool fill_gradients = false) {
    if (fill_gradients) {
      for (torch::Tensor& parameter : net_->parameters())
        if (parameter.grad().defined()) parameter.mutable_grad().zero_();
    } else {
      optimizer_.zero_grad();
    }
    net_->forward(input).pow(2).mean().backward();
    optimizer_.step();
  }

 private:
  torch::nn::Sequential net_;
  torch::optim::SGD optimizer_;
};

// Some milliseconds of decoding on one core, without operators.
torch::Tensor load(int width = 256) {
  SONDE_SCOPE("load_batch");
  std::vector<float> values(static_cast<std::size_t>(kBatch) * static_cast<std::size_t>(width));
  std::uint32_t state = 1;
  for (int round = 0; round < 120; ++round) {
    for (float& value : values) {
      state = state * 1664525U + 1013904223U;
      value += static_cast<float>(state >> 8) * 1e-8F;
    }
  }
  return torch::from_blob(values.data(), {kBatch, width}).clone();
}

using Step = std::function<void(int)>;

Step loader(bool fault) {
  auto training = std::make_shared<Training>();
  if (fault) return [training](int) { training->step(load()); };
  auto next = std::make_shared<std::future<torch::Tensor>>(
      std::async(std::launch::async, [] { return load(); }));
  return [training, next](int) {
    const torch::Tensor batch = next->get();
    *next = std::async(std::launch::async, [] { return load(); });
    training->step(batch);
  };
}

Step elements(bool fault) {
  const torch::Tensor values = torch::rand({512});
  return [values, fault](int) {
    torch::Tensor sum = torch::zeros({});
    if (fault) {
      for (int i = 0; i < 512; ++i) sum = sum + values[i] * 2;
    } else {
      sum = (values * 2).sum();
    }
    Training().step(torch::rand({kBatch, 256}));
  };
}

Step gradients(bool fault) {
  auto training = std::make_shared<Training>(mlp(24, 64));
  return [training, fault](int) { training->step(torch::ones({kBatch, 64}), fault); };
}

Step clones(bool fault) {
  auto training = std::make_shared<Training>();
  return [training, fault](int) {
    torch::Tensor input = torch::rand({kBatch, 256});
    const torch::Tensor big = torch::ones({1024, 1024});
    for (int i = 0; i < 4; ++i) input = input + (fault ? big.clone() : big)[i].slice(0, 0, 256);
    training->step(input);
  };
}

Step logging(bool fault) {
  auto training = std::make_shared<Training>();
  auto log = std::make_shared<std::ofstream>("/dev/null");
  return [training, log, fault](int number) {
    training->step(torch::ones({kBatch, 256}));
    if (!fault) return;
    SONDE_SCOPE("write_log");
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += std::to_string(number * i) + "\n";
    *log << text << std::flush;
  };
}

Step unmarked(bool fault) {
  auto training = std::make_shared<Training>();
  return [training, fault](int) {
    training->step(torch::ones({kBatch, 256}));
    if (fault) compute(3);
  };
}

Step checkpoints(bool fault) {
  auto training = std::make_shared<Training>();
  return [training, fault](int number) {
    training->step(torch::ones({kBatch, 256}));
    if (fault && number % 10 == 9) {
      SONDE_SCOPE("save checkpoint");
      compute(30);
    }
  };
}

Step bias(bool fault) {
  torch::nn::Sequential net;
  for (int i = 0; i < 3; ++i) {
    net->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 16, 3).padding(1).bias(fault)));
    net->push_back(torch::nn::BatchNorm2d(16));
  }
  auto training = std::make_shared<Training>(net);
  return [training](int) { training->step(torch::ones({8, 16, 32, 32})); };
}

// The same parameters, updated one by one or as one piece of memory that holds them all.
Step optimizer(bool fault) {
  auto net = mlp(24, 48);
  std::int64_t size = 0;
  for (const torch::Tensor& one : net->parameters()) size += one.numel();
  const torch::Tensor values = torch::empty({size});
  const torch::Tensor gradients = torch::zeros({size});
  std::int64_t at = 0;
  for (torch::Tensor& one : net->parameters()) {
    const auto place = [&](const torch::Tensor& all) {
      return all.narrow(0, at, one.numel()).view(one.sizes());
    };
    place(values).copy_(one.detach());
    one.set_data(place(values));
    one.mutable_grad() = place(gradients);
    at += one.numel();
  }
  return [net, values, gradients, fault](int) mutable {
    const torch::NoGradGuard guard;
    gradients.zero_();
    {
      const torch::AutoGradMode with_gradients(true);
      net->forward(torch::ones({kBatch, 48})).pow(2).mean().backward();
    }
    if (fault) {
      for (torch::Tensor& one : net->parameters()) one.add_(one.grad(), -0.01);
    } else {
      values.add_(gradients, -0.01);
    }
  };
}

// A decode loop that indexes once a round. Both versions are the same: there is nothing to find.
Step nothing(bool /*fault*/) {
  auto net = mlp();
  return [net](int) mutable {
    const torch::NoGradGuard guard;
    torch::Tensor state = torch::ones({1, 256});
    for (int i = 0; i < 30; ++i) state = net->forward(state.select(0, 0).unsqueeze(0));
  };
}

struct Program {
  const char* name;
  Step (*make)(bool fault);
};
constexpr Program kPrograms[] = {
    {"loader", loader},           {"elements", elements}, {"gradients", gradients},
    {"clones", clones},           {"logging", logging},   {"unmarked", unmarked},
    {"checkpoints", checkpoints}, {"bias", bias},         {"optimizer", optimizer},
    {"nothing", nothing},
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

int run(const Program& program, bool fault, const char* file) {
  torch::manual_seed(1);
  torch::set_num_threads(1);
  const Step step = program.make(fault);
  std::optional<sonde::Profiler> prof;
  if (file != nullptr)
    prof.emplace(sonde::ProfilerOptions{.output = file, .record = {.record_shapes = true}});
  for (int i = 0; i < 5; ++i) step(i);
  if (prof) prof->start();
  std::vector<double> lengths;
  const double begin = now_us();
  const double begin_cpu = thread_us();
  for (int i = 0; i < kSteps; ++i) {
    const double before = now_us();
    step(i);
    lengths.push_back(now_us() - before);
    if (prof) prof->step();
  }
  const double mean = (now_us() - begin) / kSteps;
  const double mean_cpu = (thread_us() - begin_cpu) / kSteps;
  if (prof) prof->stop();
  std::printf("%.1f %.1f %.1f\n", median(lengths), mean, mean_cpu);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (const Program& program : kPrograms) {
    if (argc < 3) std::printf("%s\n", program.name);
    if (argc >= 3 && std::strcmp(argv[1], program.name) == 0)
      return run(program, std::strcmp(argv[2], "on") == 0, argc > 3 ? argv[3] : nullptr);
  }
  return argc < 3 ? 0 : 1;
}
