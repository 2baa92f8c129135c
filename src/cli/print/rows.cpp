// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/print/rows.h"

#include <string>
#include <string_view>

#include "base/format.h"
#include "base/text.h"
#include "cli/print/csv.h"
#include "cli/print/json_writer.h"

namespace sonde::cli {
namespace {

// PyTorch's name of a device type.
std::string device_name(DeviceType type) {
  std::string name(to_string(type));
  if (type == DeviceType::PrivateUse1) return "DeviceType.PrivateUse1";
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return "DeviceType." + name;
}

// To the nanosecond. Further digits are rounding errors of sums.
std::string rounded_text(double microseconds) {
  return format_text("{:.3f}", microseconds + 0.0);
}

std::string joined_stack(const std::vector<std::string>& stack) {
  std::string text;
  for (const std::string& frame : stack) {
    if (!text.empty()) text += ';';
    text += frame;
  }
  return text;
}

// Passes every column of a row to a sink, which writes it in its format.
template <typename Sink>
void visit_row(const EventAverage& row, const ExtraFigures* extra, bool with_shapes, Sink& sink) {
  sink.text("key", row.key);
  sink.number("count", row.count);
  sink.microseconds("cpu_total", row.cpu_total_us);
  sink.microseconds("self_cpu", row.self_cpu_us);
  sink.microseconds("device_total", row.device_total_us);
  sink.microseconds("self_device", row.self_device_us);
  sink.number("flops", row.flops);
  sink.number("cpu_memory", row.cpu_memory_bytes);
  sink.number("self_cpu_memory", row.self_cpu_memory_bytes);
  sink.number("device_memory", row.device_memory_bytes);
  sink.number("self_device_memory", row.self_device_memory_bytes);
  sink.text("device_type", device_name(row.device_type));
  sink.flag("is_async", row.is_async);
  sink.flag("is_user_annotation", row.is_user_annotation);
  sink.json("input_shapes", with_shapes ? row.input_shapes : std::string("[]"));
  sink.text("overload_name", row.overload_name);
  sink.stack("stack", row.stack);
  if (extra == nullptr) return;
  sink.time("p50", extra->p50_ns);
  sink.time("p95", extra->p95_ns);
  sink.time("max", extra->max_ns);
  sink.number("launches", extra->launches);
  sink.time("device_union", extra->device_union_ns);
  sink.real("flops_per_second", extra->flops_per_second);
}

// The same for an event, with the keys that PyTorch's users know; `index` and `parent_index` are
// positions in the list.
template <typename Sink>
void visit_event(FunctionEvent event, Sink& sink) {
  sink.number("id", event.id());
  sink.text("name", event.name());
  sink.time("start", event.start_ns());
  sink.time("end", event.end_ns());
  sink.number("thread", event.thread());
  sink.number("fwd_thread", event.forward_thread());
  sink.number("seq", event.sequence_number());
  sink.number("scope", static_cast<int>(event.scope()));
  if (event.has_parent()) {
    sink.number("parent", event.parent().id());
  } else {
    sink.null("parent");
  }
  sink.microseconds("self_cpu", event.self_cpu_us());
  sink.microseconds("device_total", event.device_total_us());
  sink.microseconds("self_device", event.self_device_us());
  sink.kernels("kernels", event);
  sink.number("flops", event.flops());
  sink.flag("is_async", event.is_async());
  sink.text("device_type", device_name(event.device_type()));
  sink.number("cpu_mem", event.cpu_memory_bytes());
  sink.number("dev_mem", event.device_memory_bytes());
  sink.json("input_shapes", event.input_shapes());
  const std::string arguments = event.arguments();
  sink.json("args", arguments.empty() ? "{}" : arguments);
  sink.number("index", event.index());
  if (event.has_parent()) {
    sink.number("parent_index", event.parent().index());
  } else {
    sink.null("parent_index");
  }
}

class JsonSink {
 public:
  explicit JsonSink(JsonWriter& json) : json_(json) {}
  void text(std::string_view key, std::string_view value) { json_.key(key).value(value); }
  template <typename T>
  void number(std::string_view key, T value) {
    json_.key(key).value(value);
  }
  void real(std::string_view key, double value) {
    json_.key(key).embed(format_text("{:.6g}", value));
  }
  void time(std::string_view key, Nanos value) { json_.key(key).microseconds(value); }
  void microseconds(std::string_view key, double value) {
    json_.key(key).embed(rounded_text(value));
  }
  void flag(std::string_view key, bool value) { json_.key(key).value(value); }
  void null(std::string_view key) { json_.key(key).null(); }
  void json(std::string_view key, std::string_view value) { json_.key(key).embed(value); }
  void stack(std::string_view key, const std::vector<std::string>& frames) {
    json_.key(key).begin_array();
    for (const std::string& frame : frames) json_.value(std::string_view(frame));
    json_.end_array();
  }
  // Each as [name, device, microseconds].
  void kernels(std::string_view key, FunctionEvent event) {
    json_.key(key).begin_array();
    for (std::size_t i = 0; i < event.kernel_count(); ++i) {
      const FunctionEvent kernel = event.kernel(i);
      json_.begin_array();
      json_.value(kernel.name());
      json_.value(kernel.device_index());
      json_.microseconds(kernel.end_ns() - kernel.start_ns());
      json_.end_array();
    }
    json_.end_array();
  }

 private:
  JsonWriter& json_;
};

class CsvSink {
 public:
  CsvSink(Output& out, bool header) : out_(out), header_(header) { out_.for_programs(); }
  void text(std::string_view key, std::string_view value) { cell(key, csv_cell(value)); }
  template <typename T>
  void number(std::string_view key, T value) {
    cell(key, std::to_string(value));
  }
  void real(std::string_view key, double value) { cell(key, format_text("{:.6g}", value)); }
  void time(std::string_view key, Nanos value) { cell(key, microseconds_text(value)); }
  void microseconds(std::string_view key, double value) { cell(key, rounded_text(value)); }
  void flag(std::string_view key, bool value) { cell(key, value ? "true" : "false"); }
  void null(std::string_view key) { cell(key, ""); }
  void json(std::string_view key, std::string_view value) { cell(key, csv_cell(value)); }
  void stack(std::string_view key, const std::vector<std::string>& frames) {
    cell(key, csv_cell(joined_stack(frames)));
  }
  void kernels(std::string_view key, FunctionEvent event) {
    cell(key, std::to_string(event.kernel_count()));
  }
  void end() { out_.line(""); }

 private:
  void cell(std::string_view key, std::string_view value) {
    if (!first_) out_.write(",");
    first_ = false;
    out_.write(header_ ? key : value);
  }

  Output& out_;
  bool header_;
  bool first_ = true;
};

const ExtraFigures* extra_of(const ShownRows& rows, std::size_t row) {
  return rows.extra.empty() ? nullptr : &rows.extra[row];
}

}  // namespace

void write_rows_json(const ShownRows& rows, Output& out) {
  JsonWriter json(out);
  json.begin_array();
  for (const std::size_t row : rows.order) {
    json.begin_object();
    JsonSink sink(json);
    visit_row(rows.averages[row], extra_of(rows, row), rows.with_shapes, sink);
    json.end_object();
  }
  json.end_array();
  out.line("");
}

void write_rows_csv(const ShownRows& rows, Output& out) {
  const ExtraFigures none;
  CsvSink header(out, true);
  visit_row(EventAverage(), rows.extra.empty() ? nullptr : &none, rows.with_shapes, header);
  header.end();
  for (const std::size_t row : rows.order) {
    CsvSink sink(out, false);
    visit_row(rows.averages[row], extra_of(rows, row), rows.with_shapes, sink);
    sink.end();
  }
}

void write_events_json(const EventList& events, Output& out) {
  JsonWriter json(out);
  json.begin_array();
  for (const FunctionEvent event : events) {
    if (!out.ok()) return;
    json.begin_object();
    JsonSink sink(json);
    visit_event(event, sink);
    json.end_object();
  }
  json.end_array();
  out.line("");
}

void write_events_csv(const EventList& events, Output& out) {
  if (events.empty()) return;
  CsvSink header(out, true);
  visit_event(events[0], header);
  header.end();
  for (const FunctionEvent event : events) {
    if (!out.ok()) return;
    CsvSink sink(out, false);
    visit_event(event, sink);
    sink.end();
  }
}

}  // namespace sonde::cli
