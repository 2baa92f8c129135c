// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much slower a training step of realistic size becomes: a ResNet-18 and a transformer block,
// step by step with and without recording in turn.
//
//   build/release/bin/bench_torch_step [rounds, default 15] [resnet|transformer, default both]

#include <torch/torch.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "bench/measure.h"
#include "bench/torch_observers.h"

namespace sonde::bench {
namespace {

namespace nn = ::torch::nn;
using ::torch::Tensor;

nn::Conv2d conv(int from, int to, int kernel, int stride) {
  return nn::Conv2d(
      nn::Conv2dOptions(from, to, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BlockImpl : nn::Module {
  BlockImpl(int from, int to, int stride) {
    body = register_module(
        "body", nn::Sequential(conv(from, to, 3, stride), nn::BatchNorm2d(to), nn::ReLU(),
                               conv(to, to, 3, 1), nn::BatchNorm2d(to)));
    if (stride == 1 && from == to) return;
    shortcut =
        register_module("shortcut", nn::Sequential(conv(from, to, 1, stride), nn::BatchNorm2d(to)));
  }
  Tensor forward(const Tensor& x) {
    return ::torch::relu(body->forward(x) + (shortcut ? shortcut->forward(x) : x));
  }
  nn::Sequential body{nullptr};
  nn::Sequential shortcut{nullptr};
};
TORCH_MODULE(Block);

// ResNet-18 for images of 32 x 32: its first layer has a small kernel and there is no pooling.
nn::Sequential resnet18() {
  nn::Sequential net(conv(3, 64, 3, 1), nn::BatchNorm2d(64), nn::ReLU());
  int from = 64;
  for (const int to : {64, 128, 256, 512}) {
    net->push_back(Block(from, to, to == 64 ? 1 : 2));
    net->push_back(Block(to, to, 1));
    from = to;
  }
  net->push_back(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions(1)));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(512, 10));
  return net;
}

using Step = std::function<void()>;

Step resnet_step() {
  auto net = resnet18();
  auto optimizer = std::make_shared<::torch::optim::SGD>(
      net->parameters(), ::torch::optim::SGDOptions(0.01).momentum(0.9));
  const Tensor images = ::torch::randn({4, 3, 32, 32});
  const Tensor labels = ::torch::randint(0, 10, {4});
  return [net, optimizer, images, labels]() mutable {
    optimizer->zero_grad();
    ::torch::nn::functional::cross_entropy(net->forward(images), labels).backward();
    optimizer->step();
  };
}

// One encoder layer as wide as the base model of "Attention is all you need": 512, 8 heads, 2048.
Step transformer_step() {
  nn::TransformerEncoderLayer layer(
      nn::TransformerEncoderLayerOptions(512, 8).dim_feedforward(2048));
  auto optimizer = std::make_shared<::torch::optim::Adam>(layer->parameters());
  const Tensor tokens = ::torch::randn({32, 4, 512});
  return [layer, optimizer, tokens]() mutable {
    optimizer->zero_grad();
    layer->forward(tokens).square().mean().backward();
    optimizer->step();
  };
}

// CPU time of the whole process, which includes the drainer. What a profiler does once when it
// starts is not included.
double step_ms(Observer& observer, const Step& step) {
  observer.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double before = process_cpu_ns();
  step();
  const double after = process_cpu_ns();
  observer.stop();
  observer.forget();
  return (after - before) / 1e6;
}

void print_row(const std::string& name, std::vector<double> times, std::vector<double> ratios) {
  std::sort(times.begin(), times.end());
  std::sort(ratios.begin(), ratios.end());
  std::printf("%-26s %9.2f %9.2f %9.4f\n", name.c_str(), times.front(), times[times.size() / 2],
              ratios[ratios.size() / 2]);
}

// Each recorded step is compared with the mean of the unrecorded ones before and after it.
void compare(const char* title, const Step& step, int rounds) {
  const std::vector<std::unique_ptr<Observer>> observers = all_observers();
  std::vector<std::vector<double>> times(observers.size());
  std::vector<std::vector<double>> ratios(observers.size());
  for (int i = 0; i < 3; ++i) step();
  const auto events = static_cast<unsigned long long>(count_events(step));
  double before = step_ms(*observers[0], step);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < observers.size(); ++i) {
      const double watched = step_ms(*observers[i], step);
      const double after = step_ms(*observers[0], step);
      times[i].push_back(watched);
      ratios[i].push_back(watched / ((before + after) / 2));
      before = after;
    }
  }
  std::printf("\n%s: %llu events\n%-26s %9s %9s %9s\n", title, events, "milliseconds a step",
              "least", "median", "ratio");
  for (std::size_t i = 0; i < observers.size(); ++i) {
    print_row(observers[i]->name(), times[i], ratios[i]);
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace sonde::bench

int main(int argc, char** argv) {
  using namespace sonde::bench;  // NOLINT(google-build-using-namespace)
  sonde::bench::explain_if_asked(argc, argv,
                                 "bench_torch_step [ROUNDS, default 15 [resnet|transformer|both]]");
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  const char* which = argc > 2 ? argv[2] : "both";
  at::set_num_threads(1);
  ::torch::manual_seed(1);
  if (std::strcmp(which, "transformer") != 0) {
    compare("ResNet-18, batch of 4 images of 32 x 32, forward, backward, SGD", resnet_step(),
            rounds);
  }
  if (std::strcmp(which, "resnet") != 0) {
    compare("Transformer layer 512 wide, 4 x 32 tokens, forward, backward, Adam",
            transformer_step(), rounds);
  }
  return 0;
}
