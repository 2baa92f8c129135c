// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The views that are tables: operators, kernels, modules.

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>

#include "base/readable.h"
#include "base/sum.h"
#include "base/utf8.h"
#include "sonde/analyse/module_time.h"
#include "view/page.h"
#include "view/timeline/view_json.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostTableRows = 2000;
constexpr std::size_t kLongestCell = 2000;
constexpr std::size_t kMostOperatorsOfKernel = 4;

std::string cell(std::string_view text) {
  return readable_line(first_whole(text, kLongestCell));
}

std::int64_t nanoseconds(double microseconds) {
  return static_cast<std::int64_t>(std::clamp(microseconds * 1000 + 0.5, -9e18, 9e18));
}

// Whether the name is that of a kernel that computes on tensor cores: those of cuBLAS, cuDNN and
// CUTLASS say which instructions they use.
bool names_tensor_cores(std::string_view name) {
  constexpr std::string_view kSigns[] = {"884",      "1688", "16816",    "16832", "xmma",
                                         "wgmma",    "hmma", "imma",     "gmma",  "qgmma",
                                         "tensorop", "_tc_", "mma_sync", "umma"};
  const bool is_matrix =
      name.find("gemm") != std::string_view::npos || name.find("conv") != std::string_view::npos ||
      name.find("cutlass") != std::string_view::npos ||
      name.find("fmha") != std::string_view::npos || name.find("flash") != std::string_view::npos ||
      name.find("nvjet") != std::string_view::npos;
  const bool is_scalar = name.find("ffma") != std::string_view::npos ||
                         name.find("dfma") != std::string_view::npos ||
                         name.find("simt") != std::string_view::npos;
  if (!is_matrix || is_scalar) return false;
  if (name.find("nvjet") != std::string_view::npos || name.find("flash") != std::string_view::npos)
    return true;
  return std::any_of(std::begin(kSigns), std::end(kSigns), [&](std::string_view sign) {
    return name.find(sign) != std::string_view::npos;
  });
}

struct KernelRow {
  StringId name;
  SpanClass of = SpanClass::Kernel;
  std::uint64_t count = 0;
  Nanos total_ns = 0;
  Nanos least_ns = 0;
  Nanos most_ns = 0;
  SpanId longest;
  double blocks_per_sm = 0;  // weighted by time, as occupancy is
  double occupancy = 0;
  double known = 0;                          // weight of kernels whose occupancy is known
  std::map<std::uint32_t, Nanos> operators;  // by name
};

class KernelTableMaker {
 public:
  explicit KernelTableMaker(const TraceAnswers& answers)
      : trace_(answers.trace()), spans_(trace_.spans()) {}

  std::vector<KernelRow> make() {
    for (const SpanId span : trace_.all_spans())
      if (is_device_work(spans_.kind[span])) add(span);
    const KernelTable& kernels = trace_.kernels();
    for (std::size_t i = 0; i < kernels.size(); ++i)
      if (kernels.span[i].valid()) add_occupancy(kernels, i);
    std::stable_sort(rows_.begin(), rows_.end(), [](const KernelRow& a, const KernelRow& b) {
      return a.total_ns > b.total_ns;
    });
    return std::move(rows_);
  }

 private:
  KernelRow& row_of(SpanId span) {
    const auto [found, is_new] =
        places_.try_emplace(spans_.name[span].value(), static_cast<std::uint32_t>(rows_.size()));
    if (is_new) {
      rows_.emplace_back();
      rows_.back().name = spans_.name[span];
      rows_.back().of = span_class(spans_.kind[span]);
      rows_.back().least_ns = spans_.duration_ns[span];
    }
    return rows_[found->second];
  }

  void add(SpanId span) {
    KernelRow& row = row_of(span);
    const Nanos duration_ns = spans_.duration_ns[span];
    ++row.count;
    add_to(row.total_ns, duration_ns);
    row.least_ns = std::min(row.least_ns, duration_ns);
    if (duration_ns >= row.most_ns) row.longest = span;
    row.most_ns = std::max(row.most_ns, duration_ns);
    SpanId at = spans_.launch[span];
    while (at.valid() && !is_operator(spans_.kind[at])) at = spans_.parent[at];
    if (at.valid()) add_to(row.operators[spans_.name[at].value()], duration_ns);
  }

  void add_occupancy(const KernelTable& kernels, std::size_t i) {
    if (kernels.occupancy_percent[i] < 0 && kernels.blocks_per_sm[i] < 0) return;
    KernelRow& row = row_of(kernels.span[i]);
    const auto weight =
        static_cast<double>(std::max<Nanos>(spans_.duration_ns[kernels.span[i]], 1));
    row.known += weight;
    row.blocks_per_sm += weight * std::max(0.0, kernels.blocks_per_sm[i]);
    row.occupancy += weight * std::max(0.0, kernels.occupancy_percent[i]);
  }

  const Trace& trace_;
  const SpanTable& spans_;
  std::vector<KernelRow> rows_;
  std::unordered_map<std::uint32_t, std::uint32_t> places_;  // by name
};

std::vector<std::string> operators_of(const Trace& trace, const KernelRow& row) {
  std::vector<std::pair<Nanos, std::uint32_t>> sorted;
  sorted.reserve(row.operators.size());
  for (const auto& [name, ns] : row.operators) sorted.emplace_back(-ns, name);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> out;
  for (const auto& [ns, name] : sorted) {
    if (out.size() == kMostOperatorsOfKernel) break;
    out.push_back(cell(trace.string(StringId(name))));
  }
  return out;
}

}  // namespace

std::string operators_json(const TraceAnswers& answers, const GroupBy& by) {
  const KeyAverages averages = answers.events().key_averages(by);
  std::vector<std::size_t> order(averages.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double a_us = averages[a].self_cpu_us + averages[a].self_device_us;
    return a_us > averages[b].self_cpu_us + averages[b].self_device_us;
  });
  PageJson json;
  json.key("device").text(answers.events().use_device());
  json.key("total").number(static_cast<std::int64_t>(averages.size()));
  order.resize(std::min(order.size(), kMostTableRows));
  json.key("rows").list(order, [&](std::size_t i) {
    const EventAverage& row = averages[i];
    json.object([&] {
      json.key("name").text(cell(row.key));
      json.key("shapes").text(cell(row.input_shapes));
      json.key("stack").list(row.stack, [&](const std::string& frame) { json.text(cell(frame)); });
      json.key("device").text(to_string(row.device_type));
      json.key("count").number(static_cast<std::int64_t>(row.count));
      json.key("self_host").number(nanoseconds(row.self_cpu_us));
      json.key("host").number(nanoseconds(row.cpu_total_us));
      json.key("self_device").number(nanoseconds(row.self_device_us));
      json.key("on_device").number(nanoseconds(row.device_total_us));
      json.key("host_bytes").number(row.self_cpu_memory_bytes);
      json.key("device_bytes").number(row.self_device_memory_bytes);
      json.key("flops").real(static_cast<double>(row.flops));
    });
  });
  return json.done();
}

std::string kernels_json(const TraceAnswers& answers) {
  std::vector<KernelRow> rows = KernelTableMaker(answers).make();
  PageJson json;
  json.key("total").number(static_cast<std::int64_t>(rows.size()));
  rows.resize(std::min(rows.size(), kMostTableRows));
  json.key("rows").list(rows, [&](const KernelRow& row) {
    json.object([&] {
      json.key("name").text(cell(answers.trace().string(row.name)));
      json.key("class").number(static_cast<int>(row.of));
      json.key("count").number(static_cast<std::int64_t>(row.count));
      json.key("ns").number(row.total_ns);
      json.key("least").number(row.least_ns);
      json.key("most").number(row.most_ns);
      json.key("longest").number(row.longest.valid() ? row.longest.value() : -1);
      json.key("blocks_per_sm").real(row.known > 0 ? row.blocks_per_sm / row.known : -1);
      json.key("occupancy").real(row.known > 0 ? row.occupancy / row.known : -1);
      json.key("tensor_cores").boolean(names_tensor_cores(answers.trace().string(row.name)));
      json.key("operators").list(operators_of(answers.trace(), row), [&](const std::string& name) {
        json.text(name);
      });
    });
  });
  return json.done();
}

std::string modules_json(const TraceAnswers& answers) {
  std::vector<ModuleTime> modules = module_times(answers.trace(), &answers.memory());
  PageJson json;
  json.key("total").number(static_cast<std::int64_t>(modules.size()));
  modules.resize(std::min(modules.size(), kMostTableRows));
  json.key("rows").list(modules, [&](const ModuleTime& module) {
    json.object([&] {
      json.key("name").text(cell(module.name));
      json.key("parent").number(module.parent);
      json.key("depth").number(module.depth);
      json.key("calls").number(static_cast<std::int64_t>(module.calls));
      json.key("host").number(module.host_ns);
      json.key("device").number(module.device_ns);
      json.key("launches").number(static_cast<std::int64_t>(module.launches));
      json.key("allocated").number(module.allocated_bytes);
      json.key("kept").number(module.kept_bytes);
      json.key("longest").number(module.longest.valid() ? module.longest.value() : -1);
    });
  });
  return json.done();
}

}  // namespace sonde::detail
