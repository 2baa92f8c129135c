// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Single events and averages in PyTorch's format.

#include <string>

#include "analyse/table/text.h"
#include "base/format.h"
#include "sonde/analyse/averages.h"
#include "sonde/analyse/events.h"

namespace sonde {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

// Microseconds with as many digits as needed, and no decimal point if there are no decimals.
std::string microseconds(Nanos time_ns) {
  return format_text("{}", static_cast<double>(time_ns) / 1000);
}

const char* truth(bool value) {
  return value ? "True" : "False";
}

}  // namespace

std::string to_string(const FunctionEvent& event, std::string_view use_device) {
  const std::string_view device = use_device.empty() ? "None" : use_device;
  std::string children;
  for (const FunctionEvent child : event.children()) {
    if (!children.empty()) children += ", ";
    children += std::to_string(child.id());
  }
  const std::string shapes = event.input_shapes();
  return format_text(
      "<FunctionEvent id={} name={} overload_name={} device_type=DeviceType.{} node_id=-1 "
      "cpu_time={} start_us={} end_us={} cpu_children=[{}] {}_time={} name={} thread={} "
      "input_shapes={} cpu_memory_usage={} {}_memory_usage={} is_async={} is_remote=False "
      "seq_nr={} is_legacy=False>",
      event.id(), event.name(), event.overload_name(), upper(to_string(event.device_type())),
      detail::time_text(event.cpu_total_us()), microseconds(event.start_ns()),
      microseconds(event.end_ns()), children, device, detail::time_text(event.device_total_us()),
      event.name(), event.thread(), shapes.empty() ? "[]" : shapes, event.cpu_memory_bytes(),
      device, event.device_memory_bytes(), truth(event.is_async()), event.sequence_number());
}

std::string to_string(const EventAverage& row, std::string_view use_device) {
  const std::string_view device = use_device.empty() ? "cuda" : use_device;
  const double count = row.count == 0 ? 1.0 : static_cast<double>(row.count);
  return format_text(
      "<FunctionEventAvg key={} self_cpu_time={} cpu_time={}  self_{}_time={} {}_time={} "
      "input_shapes={} cpu_memory_usage={} {}_memory_usage={}>",
      row.key, detail::time_text(row.self_cpu_us), detail::time_text(row.cpu_total_us / count),
      device, detail::time_text(row.self_device_us), device,
      detail::time_text(row.device_total_us / count), row.input_shapes, row.cpu_memory_bytes,
      device, row.device_memory_bytes);
}

}  // namespace sonde
