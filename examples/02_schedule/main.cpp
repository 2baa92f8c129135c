// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Records some steps of a training loop and prints each cycle as it ends.
//
// The program teaches a perceptron of two layers to decide whether a point is inside a circle. A
// schedule records two cycles of three steps: wait 5, warm up 1, record 3, twice.

#include <sonde/profiler.h>
#include <sonde/record.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kInputs = 2;
constexpr int kHidden = 32;
constexpr int kBatch = 256;
constexpr double kRate = 0.5;

struct Sample {
  double input[kInputs];
  double label;
};

struct Model {
  double weight1[kHidden][kInputs];
  double bias1[kHidden] = {};
  double weight2[kHidden];
  double bias2 = 0;
};

struct Activations {
  double hidden[kHidden];
  double output;
};

Model random_model(std::mt19937& random) {
  std::normal_distribution<double> normal;
  Model model;
  for (auto& row : model.weight1) {
    for (double& weight : row) weight = normal(random);
  }
  for (double& weight : model.weight2) weight = normal(random) / std::sqrt(kHidden);
  return model;
}

std::vector<Sample> load_batch(std::mt19937& random) {
  SONDE_FUNCTION();
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Sample> batch(kBatch);
  for (Sample& sample : batch) {
    for (double& input : sample.input) input = uniform(random);
    sample.label = std::hypot(sample.input[0], sample.input[1]) < 0.7 ? 1 : 0;
  }
  return batch;
}

std::vector<Activations> forward(const Model& model, const std::vector<Sample>& batch) {
  SONDE_FUNCTION();
  std::vector<Activations> result(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    double sum = model.bias2;
    for (int h = 0; h < kHidden; ++h) {
      double in = model.bias1[h];
      for (int k = 0; k < kInputs; ++k) in += model.weight1[h][k] * batch[i].input[k];
      result[i].hidden[h] = std::tanh(in);
      sum += model.weight2[h] * result[i].hidden[h];
    }
    result[i].output = 1 / (1 + std::exp(-sum));
  }
  return result;
}

double cross_entropy(const std::vector<Sample>& batch, const std::vector<Activations>& results) {
  SONDE_FUNCTION();
  double loss = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const double right = batch[i].label > 0.5 ? results[i].output : 1 - results[i].output;
    loss -= std::log(right + 1e-12);
  }
  return loss / static_cast<double>(batch.size());
}

Model backward(const Model& model, const std::vector<Sample>& batch,
               const std::vector<Activations>& results) {
  SONDE_FUNCTION();
  Model gradient = {};
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const double error = (results[i].output - batch[i].label) / kBatch;
    gradient.bias2 += error;
    for (int h = 0; h < kHidden; ++h) {
      const double hidden = results[i].hidden[h];
      const double inner = error * model.weight2[h] * (1 - hidden * hidden);
      gradient.weight2[h] += error * hidden;
      gradient.bias1[h] += inner;
      for (int k = 0; k < kInputs; ++k) gradient.weight1[h][k] += inner * batch[i].input[k];
    }
  }
  return gradient;
}

void descend(Model& model, const Model& gradient) {
  SONDE_FUNCTION();
  for (int h = 0; h < kHidden; ++h) {
    for (int k = 0; k < kInputs; ++k) model.weight1[h][k] -= kRate * gradient.weight1[h][k];
    model.bias1[h] -= kRate * gradient.bias1[h];
    model.weight2[h] -= kRate * gradient.weight2[h];
  }
  model.bias2 -= kRate * gradient.bias2;
}

double train(Model& model, std::mt19937& random) {
  const std::vector<Sample> batch = load_batch(random);
  const std::vector<Activations> results = forward(model, batch);
  const double loss = cross_entropy(batch, results);
  descend(model, backward(model, batch, results));
  SONDE_COUNTER("loss", loss);
  return loss;
}

// Called when a cycle has ended, inside step().
void print_cycle(sonde::Profiler& prof) {
  const sonde::Result<sonde::Trace> trace = prof.trace();
  if (!trace) {
    std::fprintf(stderr, "%s\n", trace.error().message.c_str());
    return;
  }
  struct Row {
    std::int64_t calls = 0;
    std::int64_t total_ns = 0;
  };
  std::map<std::string, Row> rows;
  for (const sonde::SpanId span : trace->all_spans()) {
    Row& row = rows[std::string(trace->name(span))];
    ++row.calls;
    row.total_ns += trace->spans().duration_ns[span];
  }
  std::printf("a cycle ended before step %lld\n", static_cast<long long>(prof.step_num()));
  for (const auto& [name, row] : rows) {
    std::printf("  %-18s %3lld calls  %10.1f us\n", name.c_str(), static_cast<long long>(row.calls),
                static_cast<double>(row.total_ns) / 1000);
  }
}

}  // namespace

int main() {
  int cycles = 0;
  sonde::Profiler prof({
      .output = "02_schedule.sonde",
      .schedule = sonde::schedule({.wait = 5, .warmup = 1, .active = 3, .repeat = 2}),
      .on_trace_ready =
          [&](sonde::Profiler& ready) {
            ++cycles;
            print_cycle(ready);
          },
  });

  std::mt19937 random(1);
  Model model = random_model(random);
  double first_loss = 0;
  double loss = 0;
  prof.start();
  for (int step = 0; step < 300; ++step) {
    loss = train(model, random);
    if (step == 0) first_loss = loss;
    prof.step();
  }
  prof.stop();

  std::printf("loss %.3f, then %.3f; both cycles are in %s\n", first_loss, loss,
              prof.path().c_str());
  return prof.status() && cycles == 2 && loss < first_loss / 2 ? 0 : 1;
}
