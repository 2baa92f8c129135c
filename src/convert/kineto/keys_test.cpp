// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every key that is written is read back into its column. The trace is drawn from the table of
// keys, so a key added to the schema is covered as well.

#include <gtest/gtest.h>

#include <concepts>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/file.h"
#include "convert/kineto/keys_gen.h"
#include "convert/testing/read_text.h"
#include "sonde/export.h"
#include "sonde/open.h"
#include "sonde/trace/builder.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using testing::TempDir;

// Rows with a value in every column that has a key. Values differ where the column allows it.
class KeyedRows {
 public:
  explicit KeyedRows(TraceBuilder& builder) : builder_(builder) {
    process = builder.processes().push_back(filled<ProcessRow>({.pid = 1}));
    thread = builder.tracks().push_back(filled<TrackRow>({.process = process, .id = 2}));
    other_thread = builder.tracks().push_back(filled<TrackRow>({.process = process, .id = 3}));
    stream = builder.tracks().push_back(filled<TrackRow>(
        {.process = process, .kind = TrackKind::Stream, .id = 7, .device_index = 0}));
    call = add_span(SpanKind::CudaRuntime, thread);
    builder.spans().correlation.set(call, 55);
  }

  SpanId add_span(SpanKind kind, TrackId track, std::string_view name = {}) {
    SpanRow row;
    row.name = builder_.intern(name.empty() ? "span " + std::to_string(++last_) : name);
    row.kind = kind;
    row.track = track;
    row.start_ns = 1'000'000 + 1000 * ++last_;
    row.duration_ns = 1000;
    return builder_.spans().push_back(row);
  }

  template <typename Row>
  Row filled(Row row = {}) {
    if constexpr (std::same_as<Row, DeviceRow>) {
      fill(DevicePropertiesColumns{row});
    } else {
      visit_keys(row, [this](ArgKey, auto&& column) {
        this->fill(std::forward<decltype(column)>(column));
        return false;
      });
    }
    return row;
  }

  ProcessId process;
  TrackId thread;
  TrackId other_thread;
  TrackId stream;
  SpanId call;

 private:
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  void fill(T& column) {
    column = static_cast<T>(++last_);
  }
  void fill(std::int8_t& truth) { truth = 1; }
  void fill(StringId& text) { text = builder_.intern("text " + std::to_string(++last_)); }
  void fill(SyncKind& kind) { kind = SyncKind::StreamWaitEvent; }
  void fill(MemoryKind& kind) { kind = MemoryKind::Pinned; }
  void fill(DeviceType& type) { type = DeviceType::Cuda; }
  void fill(SpanId& span) { span = call; }
  void fill(TrackId& track) { track = other_thread; }
  void fill(StackId& stack) {
    FrameRow frame;
    fill(frame.function);
    stack = builder_.stacks().push_back({.frame = builder_.frames().push_back(frame)});
  }
  void fill(ModuleId& module) {
    ModuleRow row;
    fill(row.name);
    fill(row.class_name);
    fill(row.method);
    module = builder_.modules().push_back(row);
  }
  void fill(DimId& first) { first = builder_.dims().push_back({.value = ++last_}); }
  template <typename... T>
  void fill(const std::tuple<T&...>& columns) {
    std::apply([this](T&... column) { (this->fill(column), ...); }, columns);
  }
  template <typename Columns>
    requires requires(Columns columns) { columns.row; }
  void fill(const Columns& columns) {
    columns.visit([this](auto, auto& column) { this->fill(column); });
  }

  TraceBuilder& builder_;
  std::int64_t last_ = 10;
};

void add_operator(TraceBuilder& builder, KeyedRows& rows) {
  OpArgumentRow argument = rows.filled<OpArgumentRow>({.kind = ArgumentKind::Tensor});
  argument.dims_count = 1;
  argument.strides_count = 1;
  const OpArgumentId first = builder.op_arguments().push_back(argument);
  SpanRow span = rows.filled<SpanRow>();
  span.start_ns = 500'000;
  span.duration_ns = 2000;
  span.name = builder.intern("aten::add");
  span.track = rows.thread;
  span.kind = SpanKind::Async;  // only these may end on another thread
  span.flags = SpanFlags::kAsync | SpanFlags::kUnfinished;
  span.arguments = builder.argument_lists().push_back({.first = first, .count = 1});
  builder.spans().push_back(span);
}

void add_copies(TraceBuilder& builder, KeyedRows& rows) {
  CopyRow between = rows.filled<CopyRow>();
  between.span = rows.add_span(SpanKind::GpuMemcpy, rows.stream);
  builder.copies().push_back(between);
  CopyRow within = rows.filled<CopyRow>();
  within.span = rows.add_span(SpanKind::GpuMemset, rows.stream);
  within.source_device = within.destination_device = -1;
  within.source_context = within.destination_context = -1;
  builder.copies().push_back(within);
}

void add_syncs(TraceBuilder& builder, KeyedRows& rows) {
  SyncRow wait = rows.filled<SyncRow>();
  wait.span = rows.add_span(SpanKind::CudaSync, rows.stream);
  builder.syncs().push_back(wait);
  SyncRow record;
  record.span = rows.add_span(SpanKind::CudaEvent, rows.stream, to_string(SyncKind::EventRecord));
  record.kind = SyncKind::EventRecord;
  record.event_id = wait.event_id;
  record.stream = wait.stream;
  builder.syncs().push_back(record);
}

// Adds a row of `table` that belongs to a new span.
template <typename Table>
void add_row(Table& table, KeyedRows& rows, SpanId span) {
  auto row = rows.filled<typename Table::Row>();
  row.span = span;
  table.push_back(row);
}

Trace drawn() {
  TraceBuilder builder;
  KeyedRows rows(builder);
  add_operator(builder, rows);
  add_row(builder.api_calls(), rows, rows.call);
  const SpanId kernel = rows.add_span(SpanKind::Kernel, rows.stream);
  builder.spans().duration_ns.set(kernel, 2500);  // overlaps the next span, which gets a lane
  add_row(builder.kernels(), rows, kernel);
  add_copies(builder, rows);
  add_syncs(builder, rows);
  add_row(builder.collectives(), rows, rows.add_span(SpanKind::CpuOp, rows.thread));
  add_row(builder.python_calls(), rows, rows.add_span(SpanKind::PythonFunction, rows.thread));
  AllocationRow allocation = rows.filled<AllocationRow>({.time_ns = 600'000});
  allocation.track = rows.thread;
  builder.allocations().push_back(allocation);
  InstantRow instant = rows.filled<InstantRow>({.time_ns = 600'000});
  instant.track = rows.thread;
  instant.name = builder.intern("mark");
  builder.instants().push_back(instant);
  DeviceRow device = rows.filled<DeviceRow>({.process = rows.process, .type = DeviceType::Cuda});
  device.index = 0;
  builder.devices().push_back(device);
  builder.windows().push_back({.process = rows.process, .start_ns = 1, .end_ns = 2'000'000});
  Result<Trace> trace = std::move(builder).build();
  if (!trace) ADD_FAILURE() << trace.error().message;
  return trace ? *trace : Trace();
}

// The columns of a trace that have a key, as text.
class KeyedText {
 public:
  explicit KeyedText(const Trace& trace) : trace_(trace) {}

  template <typename Table>
  void add(const char* name, const Table& table) {
    using Row = typename Table::Row;
    for (std::size_t i = 0; i < table.size(); ++i) {
      Row row = table.row(i);
      const auto show = [&](auto key, auto&& column) {
        text_ += "  " + std::string(text_of(key)) + " = " + shown(column) + "\n";
        return true;
      };
      if constexpr (std::same_as<Row, DeviceRow>) {
        begin(name, i);
        DevicePropertiesColumns{row}.visit(show);
      } else if constexpr (requires { visit_keys(row, show); }) {
        begin(name, i);
        visit_keys(row, show);
      }
    }
  }

  const std::string& text() const { return text_; }

 private:
  void begin(const char* name, std::size_t row) {
    text_ += std::string(name) + " " + std::to_string(row) + "\n";
  }

  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  std::string shown(T value) const {
    return std::to_string(value);
  }
  template <typename T>
    requires std::is_enum_v<T>
  std::string shown(T value) const {
    return std::string(to_string(value));
  }
  std::string shown(StringId text) const { return std::string(trace_.string(text)); }
  std::string shown(SpanId span) const {
    return span.valid() ? std::string(trace_.name(span)) : "";
  }
  std::string shown(TrackId track) const {
    return track.valid() ? shown(trace_.tracks().name[track]) : "";
  }
  std::string shown(StackId stack) const {
    return stack.valid() ? shown(trace_.frames().function[trace_.stacks().frame[stack]]) : "";
  }
  std::string shown(ModuleId module) const {
    if (!module.valid()) return "";
    const ModuleRow row = trace_.modules().row(module);
    return shown(row.name) + " " + shown(row.class_name) + " " + shown(row.method);
  }
  std::string shown(DimId first) const {
    return first.valid() ? shown(trace_.dims().value[first]) : "";
  }
  template <typename... T>
  std::string shown(const std::tuple<T&...>& columns) const {
    return std::apply([this](T&... column) { return ((shown(column) + " ") + ...); }, columns);
  }
  std::string shown(const OccupancyColumns& columns) const {
    std::string text;
    columns.visit([&](OccupancyKey key, auto& column) {
      text += std::string(text_of(key)) + " " + shown(column) + " ";
    });
    return text;
  }

  const Trace& trace_;
  std::string text_;
};

std::string keyed_text(const Trace& trace) {
  KeyedText text(trace);
  trace.tables().visit_tables([&](const char* name, const auto& table) { text.add(name, table); });
  return text.text();
}

std::string extra_keys(const Trace& trace) {
  std::string keys;
  for (std::size_t i = 0; i < trace.extras().size(); ++i) {
    keys += std::string(trace.string(trace.extras().key[i])) + "\n";
  }
  return keys;
}

TEST(KinetoKeys, EveryKeyThatIsWrittenIsReadBackIntoItsColumn) {
  const TempDir dir;
  const Trace before = drawn();
  ASSERT_TRUE(export_chrome_trace(before, dir.file("1.json")));
  const Result<Trace> after = open_trace(dir.file("1.json"));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(keyed_text(before), keyed_text(*after));
  EXPECT_EQ(extra_keys(*after), "");
}

TEST(KinetoKeys, EveryKeyIsWritten) {
  const TempDir dir;
  ASSERT_TRUE(export_chrome_trace(drawn(), dir.file("1.json")));
  const std::string text = *read_file(dir.file("1.json"));
  const auto expect_key = [&text](std::string_view key) {
    EXPECT_NE(text.find('"' + std::string(key) + "\": "), std::string::npos) << key;
  };
  for (const ArgKeyText& key : kArgKeyTexts) expect_key(key.text);
  for (const OccupancyKeyText& key : kOccupancyKeyTexts) expect_key(key.text);
  for (const DevicePropertiesKeyText& key : kDevicePropertiesKeyTexts) expect_key(key.text);
}

// Sonde leaves null values out, so a 0 here was written by another program.
TEST(KinetoKeys, ANullThatAForeignFileSpellsOutIsKept) {
  const Trace trace = testing::read_events(
      R"({"ph": "X", "cat": "cuda_runtime", "name": "a", "ts": 1, "dur": 2,
          "args": {"cbid": 3, "return value": 0}},
         {"ph": "X", "cat": "kernel", "name": "b", "ts": 1, "dur": 2,
          "args": {"cluster": [0, 0, 0], "submitted": -1}})");
  EXPECT_EQ(extra_keys(trace), "return value\ncluster\nsubmitted\n");
}

}  // namespace
}  // namespace sonde
