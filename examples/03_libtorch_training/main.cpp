// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A small LibTorch training job, profiled: a convolution and a transformer block over pictures that
// another thread prepares. To profile it, it links Sonde::torch and has a Profiler; a ModuleScope
// names the module that operators belong to. The rest is an ordinary training job.

#include <sonde/profiler.h>
#include <sonde/record.h>
#include <sonde/torch.h>
#include <torch/torch.h>

#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace {

constexpr int kSteps = 8;
constexpr int kBatch = 16;
constexpr int kClasses = 10;

struct Batch {
  torch::Tensor pictures;
  torch::Tensor labels;
};

// Prepares batches ahead of the training loop, one at a time.
class Loader {
 public:
  Loader() : worker_([this] { work(); }) {}
  ~Loader() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  Batch next() {
    SONDE_SCOPE("wait for a batch");
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_.has_value(); });
    Batch batch = *std::exchange(ready_, std::nullopt);
    changed_.notify_all();
    return batch;
  }

 private:
  static Batch make() {
    SONDE_SCOPE("make a batch");
    return {torch::randn({kBatch, 3, 16, 16}), torch::randint(0, kClasses, {kBatch})};
  }
  void work() {
    while (true) {
      Batch batch = make();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return done_ || !ready_.has_value(); });
      if (done_) return;
      ready_ = std::move(batch);
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Batch> ready_;
  bool done_ = false;
  std::thread worker_;  // last: it uses the members above
};

struct Net : torch::nn::Module {
  Net() {
    patches =
        register_module("patches", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 64, 4).stride(4)));
    block = register_module(
        "block", torch::nn::TransformerEncoderLayer(
                     torch::nn::TransformerEncoderLayerOptions(64, 4).dim_feedforward(128)));
    head = register_module("head", torch::nn::Linear(64, kClasses));
  }

  torch::Tensor forward(const torch::Tensor& pictures) {
    const sonde::torch::ModuleScope scope(*this);
    const torch::Tensor tokens = patches(pictures).flatten(2).permute({2, 0, 1});
    return torch::log_softmax(head(block(tokens).mean(0)), 1);
  }

  torch::nn::Conv2d patches{nullptr};
  torch::nn::TransformerEncoderLayer block{nullptr};
  torch::nn::Linear head{nullptr};
};

float train(Net& net, torch::optim::Optimizer& optimizer, const Batch& batch) {
  optimizer.zero_grad();
  const torch::Tensor loss = torch::nll_loss(net.forward(batch.pictures), batch.labels);
  {
    SONDE_SCOPE("backward");
    loss.backward();
  }
  SONDE_SCOPE("optimizer");
  optimizer.step();
  return loss.item<float>();
}

// Checks what the recording must contain: the example is also a test.
bool is_complete(const sonde::KeyAverages& averages) {
  bool mm = false;
  bool batches = false;
  for (const sonde::EventAverage& row : averages) {
    mm = mm || (row.key == "aten::addmm" && row.flops > 0);
    batches = batches || row.key == "make a batch";
  }
  return mm && batches;
}

}  // namespace

int main() {
  torch::manual_seed(1);
  Net net;
  torch::optim::AdamW optimizer(net.parameters());
  Loader loader;

  sonde::Profiler prof(
      {.output = "03_libtorch_training.sonde",
       .record = {.record_shapes = true,
                  .profile_memory = true,
                  .with_stack = true,
                  .with_flops = true,
                  .with_modules = true},
       .schedule = sonde::schedule({.wait = 1, .warmup = 1, .active = 4, .repeat = 1})});
  prof.start();
  for (int step = 0; step < kSteps; ++step) {
    const float loss = train(net, optimizer, loader.next());
    std::printf("step %d: loss %.3f\n", step, static_cast<double>(loss));
    prof.step();
  }
  prof.stop();

  const sonde::KeyAverages averages = prof.key_averages();
  std::cout << *averages.table({.sort_by = "self_cpu_time_total", .row_limit = 12});
  const std::string exported = "03_libtorch_training.pt.trace.json.gz";
  const std::string stacks = "03_libtorch_training.stacks";
  for (const auto& written :
       {prof.export_chrome_trace(exported), prof.export_stacks(stacks, "self_cpu_time_total")}) {
    if (written) continue;
    std::cerr << written.error().message << "\n";
    return 1;
  }
  std::cout << exported << ": for ui.perfetto.dev or chrome://tracing\n";
  std::cout << stacks << ": for flame graphs\n";
  return is_complete(averages) ? 0 : 1;
}
