// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the names and sizes of kernels and calls show: slow kinds of kernels, too little work for a
// device, memory from the driver, compilation.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/report/findings.h"
#include "analyse/report/host_work.h"
#include "base/format.h"
#include "base/text.h"
#include "sonde/analyse/patterns.h"

namespace sonde::detail {
namespace {

constexpr double kLeftInDataCentres = 1.0 / 5;
constexpr double kLeftElsewhere = 1.0 / 2;
constexpr std::int32_t kFirstWithTensorFloat = 8;
// Less of the kernels' time is not worth a remark.
constexpr double kLeastOfKernels = 0.1;

// Products of 32-bit floats on the ordinary units, as cuBLAS and CUTLASS name them.
bool is_simt_product(std::string_view name) {
  if (has_any(name, {"f32f32_f32f32_f32"})) return has_any(name, {"ffma"});
  if (has_any(name, {"tensorop", "tf32", "s1688", "s16816", "xmma"})) return false;
  return has_any(name, {"sgemm", "simt_s"});
}

// cuDNN's conversions between the two layouts of images.
bool converts_layout(std::string_view name) {
  return has_any(name, {"nchwToNhwc", "nhwcToNchw", "NchwToNhwc", "NhwcToNchw"});
}

// Which names of the trace have a property.
std::vector<bool> names_that(const Trace& trace, bool (*holds)(std::string_view)) {
  std::vector<bool> by_name(trace.strings().size());
  for (std::size_t i = 0; i < by_name.size(); ++i) by_name[i] = holds(trace.string(StringId(i)));
  return by_name;
}

bool any_of_names(const std::vector<bool>& names) {
  return std::find(names.begin(), names.end(), true) != names.end();
}

// Steady device work with such names.
template <typename Visit>
void for_kernels(const ReportData& data, bool (*holds)(std::string_view), Visit visit) {
  const std::vector<bool> names = names_that(data.trace, holds);
  if (!any_of_names(names)) return;
  for (const DeviceWork& device : data.work) {
    for (const Work& work : device.work) {
      const StringId name = data.trace.spans().name[work.span];
      if (name.valid() && names[name.index()] && data.steady.has(work.begin_ns)) visit(work);
    }
  }
}

bool has_tensor_float(const Trace& trace) {
  const DeviceTable& devices = trace.devices();
  bool found = false;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices.compute_major[i] < 0) continue;
    if (devices.compute_major[i] < kFirstWithTensorFloat) return false;
    found = true;
  }
  return found;
}

void simt_products(const ReportData& data, Report& report) {
  if (!has_tensor_float(data.trace)) return;
  const double left = left_on_tensor_cores(data.trace);
  Evidence seen(data);
  Changes changes(data.program());
  for_kernels(data, is_simt_product, [&](const Work& work) {
    seen.add(work.span, data.trace.spans().track[work.span], work.begin_ns, work.end_ns);
    changes.scale(work.span, left_on_tensor_cores(data.trace, work.span, left));
  });
  if (seen.empty()) return;
  add_simulated(data, report,
                {.id = std::string(id(Pattern::Fp32MatMul)),
                 .title = "Matrix products do not use tensor cores",
                 .detail = format_text("Kernels for products of 32-bit floats ran on the ordinary "
                                       "units: {}. The saving assumes that tensor cores take {} of "
                                       "the time.",
                                       seen.lengths(), left < 0.3 ? "a fifth" : "half"),
                 .advice = "If TF32 is precise enough, allow it "
                           "(torch.backends.cuda.matmul.allow_tf32 = True), or use bfloat16 "
                           "(torch.autocast).",
                 .command = "sonde table TRACE --sort-by self_device_time_total"},
                seen, seen.total_ns(), changes);
}

void layouts(const ReportData& data, Report& report) {
  Evidence seen(data);
  Changes changes(data.program());
  for_kernels(data, converts_layout, [&](const Work& work) {
    seen.add(work.span, data.trace.spans().track[work.span], work.begin_ns, work.end_ns);
    changes.scale(work.span, 0);
  });
  if (seen.empty()) return;
  add_simulated(
      data, report,
      {.id = "layout_conversions",
       .title = "Images are converted from one layout to another around convolutions",
       .detail = format_text("cuDNN converted between NCHW and NHWC: {}.", seen.lengths()),
       .advice = "Keep model and images in channels-last: "
                 "model.to(memory_format=torch.channels_last), and the same for inputs.",
       .command = "sonde table TRACE --sort-by self_device_time_total"},
      seen, seen.total_ns(), changes);
}

void memory_from_driver(const ReportData& data, Report& report) {
  const std::vector<bool> names = names_that(data.trace, asks_driver_for_memory);
  if (data.steady.rule == StepRule::None || !any_of_names(names)) return;
  Evidence seen(data);
  Changes changes(data.program());
  for (const SpanId span : data.trace.all_spans()) {
    const StringId name = data.trace.spans().name[span];
    if (!is_call(data.trace.spans().kind[span]) || !name.valid() || !names[name.index()]) continue;
    if (!data.steady.has(data.trace.spans().start_ns[span])) continue;
    seen.add(span, data.trace.spans().track[span], data.trace.spans().start_ns[span],
             data.trace.end_ns(span));
    changes.remove(span);
  }
  if (seen.empty()) return;
  add_simulated(
      data, report,
      {.id = "memory_from_driver",
       .title = "Steady steps allocate memory from the driver",
       .detail = format_text("Calls that allocate or free device memory: {}. PyTorch's allocator "
                             "makes them only when its cache does not suffice.",
                             seen.lengths()),
       .advice = "Do not call torch.cuda.empty_cache() in the loop. Keep sizes the same from step "
                 "to step, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. If memory is "
                 "nearly full, the allocator frees its cache and tries again: use less of it.",
       .command = "sonde memory TRACE"},
      seen, seen.total_ns(), changes);
}

void compilation(const ReportData& data, Report& report) {
  const std::vector<bool> names = names_that(data.trace, compiles);
  if (data.steady.rule == StepRule::None || !any_of_names(names)) return;
  Evidence seen(data);
  Changes changes(data.program());
  Nanos until_ns = data.trace.first_ns();
  TrackId thread;
  for (const SpanId span : data.trace.all_spans()) {
    const StringId name = data.trace.spans().name[span];
    if (!name.valid() || !names[name.index()]) continue;
    const TrackId track = data.trace.spans().track[span];
    const bool is_inside = track == thread && data.trace.end_ns(span) <= until_ns;
    if (is_inside || !data.steady.has(data.trace.spans().start_ns[span])) continue;
    seen.add(span, track, data.trace.spans().start_ns[span], data.trace.end_ns(span));
    changes.remove(span);
    until_ns = data.trace.end_ns(span);
    thread = track;
  }
  if (seen.empty()) return;
  add_simulated(data, report,
                {.id = "recompilation",
                 .title = "Code is compiled again in steady steps",
                 .detail = format_text("torch.compile compiled: {}.", seen.lengths()),
                 .advice = "See why with TORCH_LOGS=recompiles. Mark sizes that change as dynamic "
                           "(torch._dynamo.mark_dynamic), or pad them.",
                 .command = "sonde graphs TRACE"},
                seen, seen.total_ns(), changes);
}

std::int32_t multiprocessors(const Trace& trace) {
  const DeviceTable& devices = trace.devices();
  std::int32_t least = 0;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices.multiprocessors[i] > 0)
      least = least == 0 ? devices.multiprocessors[i] : std::min(least, devices.multiprocessors[i]);
  return least;
}

// Kernels with fewer blocks than half of the multiprocessors leave most of them without work.
void small_grids(const ReportData& data, Report& report) {
  const std::int32_t wanted = multiprocessors(data.trace);
  const KernelTable& kernels = data.trace.kernels();
  if (wanted <= 0) return;
  Evidence seen(data);
  Nanos all_ns = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const SpanId span = kernels.span[i];
    if (!span.valid() || !data.steady.has(data.trace.spans().start_ns[span])) continue;
    const double blocks = static_cast<double>(kernels.grid_x[i]) *
                          static_cast<double>(kernels.grid_y[i]) *
                          static_cast<double>(kernels.grid_z[i]);
    all_ns += data.trace.spans().duration_ns[span];
    if (blocks <= 0 || 2 * blocks > static_cast<double>(wanted)) continue;
    seen.add(span, data.trace.spans().track[span], data.trace.spans().start_ns[span],
             data.trace.end_ns(span));
  }
  const bool is_much =
      static_cast<double>(seen.total_ns()) >= kLeastOfKernels * static_cast<double>(all_ns);
  if (seen.empty() || !is_much) return;
  add_known(report,
            {.id = "small_grids",
             .title = "Kernels are too small to fill the device",
             .detail = format_text("{} of the kernels' time is in kernels with blocks for at most "
                                   "half of the device's {} multiprocessors: {}.",
                                   share_text(seen.total_ns(), all_ns), wanted, seen.lengths()),
             .advice = "A larger batch would do more work in about the same time.",
             .command = "sonde table TRACE --sort-by self_device_time_total"},
            seen, seen.total_ns(), 0);
}

}  // namespace

double left_on_tensor_cores(const Trace& trace) {
  const DeviceTable& devices = trace.devices();
  double left = kLeftInDataCentres;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices.compute_major[i] >= 0 && devices.compute_major[i] != 9 &&
        devices.compute_major[i] != 10 && devices.compute_minor[i] != 0)
      left = kLeftElsewhere;
  return left;
}

double left_on_tensor_cores(const Trace& trace, SpanId kernel, double left) {
  return trace.spans().duration_ns[kernel] < kShortestProductNs ? 1 : left;
}

void find_in_kernels(const ReportData& data, Report& report) {
  simt_products(data, report);
  layouts(data, report);
  memory_from_driver(data, report);
  compilation(data, report);
  small_grids(data, report);
}

}  // namespace sonde::detail
