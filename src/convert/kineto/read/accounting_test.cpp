// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks that everything in real traces reaches the tables. For every category and every key of its
// arguments it compares how often the key occurs and the sum of its numbers and texts: once read
// from the file by another parser, once taken from the trace.

#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "convert/gunzip.h"
#include "convert/testing/read_text.h"
#include "sonde/open.h"

namespace sonde {
namespace {

struct Sum {
  std::int64_t count = 0;
  double sum = 0;
  friend bool operator==(const Sum& a, const Sum& b) {
    return a.count == b.count && std::abs(a.sum - b.sum) <= 1e-9 * std::abs(a.sum);
  }
  friend std::ostream& operator<<(std::ostream& out, const Sum& total) {
    return out << total.count << " times, " << total.sum << " in all";
  }
};
using Account = std::map<std::string, Sum>;

void add(Account& account, const std::string& category, std::string_view key, double value) {
  Sum& sum = account[category + "/" + std::string(key)];
  ++sum.count;
  sum.sum += value;
}

// A number counts as itself, a text as its length, a list as the sum of its elements.
double weight(simdjson::dom::element value) {
  switch (value.type()) {
    case simdjson::dom::element_type::INT64:
      return static_cast<double>(value.get_int64().value());
    case simdjson::dom::element_type::UINT64:
      return static_cast<double>(value.get_uint64().value());
    case simdjson::dom::element_type::DOUBLE:
      return value.get_double().value();
    case simdjson::dom::element_type::STRING:
      return static_cast<double>(value.get_string().value().size());
    case simdjson::dom::element_type::ARRAY: {
      double sum = 0;
      const simdjson::dom::array items = value.get_array().value();
      for (const simdjson::dom::element item : items) sum += weight(item);
      return sum;
    }
    default:
      return 0;
  }
}

std::string text_of(simdjson::dom::object event, const char* key) {
  std::string_view text;
  return event[key].get_string().get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

Account account_of_file(std::string_view text) {
  Account account;
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(text);
  const simdjson::dom::element root = parser.parse(padded).value();
  const simdjson::dom::array events = root["traceEvents"].get_array().value();
  for (const simdjson::dom::element item : events) {
    const simdjson::dom::object event = item.get_object().value();
    const std::string phase = text_of(event, "ph");
    const std::string category = text_of(event, "cat");
    if (phase == "M" || category == "Trace" || (phase == "i" && category.empty())) continue;
    if (phase == "s" || phase == "f") {
      add(account, category, phase, static_cast<double>(event["id"].get_int64().value()));
      continue;
    }
    add(account, category, phase, weight(event["ts"].value()));
    if (phase == "X") add(account, category, "dur", weight(event["dur"].value()));
    simdjson::dom::object args;
    if (event["args"].get_object().get(args) != simdjson::SUCCESS) continue;
    for (const auto& [key, value] : args) add(account, category, key, weight(value));
  }
  return account;
}

class TraceAccount {
 public:
  explicit TraceAccount(const Trace& trace) : trace_(trace) {
    base_ = base();
    for (const SpanId span : trace.all_spans()) add_span(span);
    add_kernels();
    add_copies();
    add_calls();
    add_allocations();
    add_flows();
    add_extras();
  }
  const Account& get() const { return account_; }

 private:
  Nanos base() const {
    for (std::size_t i = 0; i < trace_.metadata().size(); ++i) {
      if (trace_.string(trace_.metadata().key[i]) == "baseTimeNanoseconds") {
        return std::stoll(std::string(trace_.string(trace_.metadata().value[i])));
      }
    }
    return 0;
  }

  std::string category(SpanId span) const {
    return std::string(kineto_category(trace_.spans().kind[span]));
  }
  void put(SpanId span, std::string_view key, double value) {
    add(account_, category(span), key, value);
  }
  void put_if(SpanId span, std::string_view key, std::int64_t value, std::int64_t null) {
    if (value != null) put(span, key, static_cast<double>(value));
  }

  void add_span(SpanId span) {
    const SpanTable& spans = trace_.spans();
    // Kineto writes these a nanosecond longer at both ends.
    const Nanos wider = spans.kind[span] == SpanKind::GpuUserAnnotation ? 1 : 0;
    put(span, "X", static_cast<double>(spans.start_ns[span] - wider - base_) / 1000);
    put(span, "dur", static_cast<double>(spans.duration_ns[span] + 2 * wider) / 1000);
    put_if(span, "External id", spans.external_id[span], 0);
    put_if(span, "correlation", spans.correlation[span], 0);
    put_if(span, "Record function id", spans.record_function_id[span], -1);
    put_if(span, "Ev Idx", spans.event_index[span], -1);
    put_if(span, "Sequence number", spans.sequence_number[span], -1);
    // Written together with the sequence number; here 0 is a value.
    if (spans.sequence_number[span] != -1) {
      put(span, "Fwd thread id", static_cast<double>(spans.forward_thread[span]));
    }
    if (spans.arguments[span].valid()) add_arguments(span);
  }

  void add_arguments(SpanId span) {
    const OpArgumentTable& arguments = trace_.op_arguments();
    double dims = 0;
    double strides = 0;
    std::size_t types = 0;
    std::size_t values = 0;
    for (const OpArgumentId id : trace_.arguments(span)) {
      for (std::int32_t i = 0; i < arguments.dims_count[id]; ++i) {
        dims += dim(arguments.dims_first[id], i);
      }
      for (std::int32_t i = 0; i < arguments.strides_count[id]; ++i) {
        strides += dim(arguments.strides_first[id], i);
      }
      if (arguments.element[id] >= 0) continue;
      values += trace_.string(arguments.value[id]).size();
      types += type(id).size();
    }
    put(span, "Input Dims", dims);
    put(span, "Input Strides", strides);
    put(span, "Input type", static_cast<double>(types));
    put(span, "Concrete Inputs", static_cast<double>(values));
  }
  double dim(DimId first, std::int32_t i) const {
    return static_cast<double>(trace_.dims().value[first.index() + static_cast<std::size_t>(i)]);
  }
  std::string_view type(OpArgumentId id) const {
    switch (trace_.op_arguments().kind[id]) {
      case ArgumentKind::TensorList:
        return "TensorList";
      case ArgumentKind::Scalar:
        return "Scalar";
      case ArgumentKind::ScalarList:
        return "ScalarList";
      default:
        return trace_.string(trace_.op_arguments().dtype[id]);
    }
  }

  // The device and the stream belong to the track.
  void put_place(SpanId span) {
    const TrackId track = trace_.spans().track[span];
    put(span, "device", trace_.tracks().device_index[track]);
    put(span, "stream", static_cast<double>(trace_.tracks().id[track]));
  }

  void add_kernels() {
    const KernelTable& kernels = trace_.kernels();
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const SpanId span = kernels.span[i];
      put_place(span);
      put_if(span, "context", kernels.context[i], -1);
      put_if(span, "queued", kernels.queued_ns[i], -1);
      put_if(span, "registers per thread", kernels.registers_per_thread[i], -1);
      put_if(span, "shared memory", kernels.shared_bytes[i], -1);
      put(span, "blocks per SM", kernels.blocks_per_sm[i]);
      put(span, "warps per SM", kernels.warps_per_sm[i]);
      put(span, "est. achieved occupancy %", kernels.occupancy_percent[i]);
      put(span, "grid", kernels.grid_x[i] + kernels.grid_y[i] + kernels.grid_z[i]);
      put(span, "block", kernels.block_x[i] + kernels.block_y[i] + kernels.block_z[i]);
    }
  }

  void add_copies() {
    const CopyTable& copies = trace_.copies();
    for (std::size_t i = 0; i < copies.size(); ++i) {
      put_place(copies.span[i]);
      put_if(copies.span[i], "context", copies.context[i], -1);
      put_if(copies.span[i], "bytes", copies.bytes[i], -1);
      put(copies.span[i], "memory bandwidth (GB/s)", copies.bandwidth[i]);
    }
  }

  void add_calls() {
    const ApiCallTable& calls = trace_.api_calls();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      put_if(calls.span[i], "cbid", calls.callback_id[i], -1);
    }
    const PythonCallTable& python = trace_.python_calls();
    for (std::size_t i = 0; i < python.size(); ++i) {
      put_if(python.span[i], "Python id", python.python_id[i], -1);
      put_if(python.span[i], "Python module id", python.module_id[i], -1);
      // A missing parent is written as null.
      put(python.span[i], "Python parent id",
          static_cast<double>(std::max<std::int64_t>(python.parent_python_id[i], 0)));
    }
  }

  void add_allocations() {
    const AllocationTable& rows = trace_.allocations();
    const std::string category = "cpu_instant_event";
    const auto put_row = [&](const char* key, double value) {
      add(account_, category, key, value);
    };
    for (std::size_t i = 0; i < rows.size(); ++i) {
      put_row("i", static_cast<double>(rows.time_ns[i] - base_) / 1000);
      put_row("Addr", static_cast<double>(rows.address[i]));
      put_row("Bytes", static_cast<double>(rows.bytes[i]));
      put_row("Device Id", rows.device_index[i]);
      put_row("Device Type", static_cast<double>(rows.device_type[i]));
      put_row("Ev Idx", static_cast<double>(rows.event_index[i]));
      put_row("Total Allocated", static_cast<double>(rows.total_allocated_bytes[i]));
      put_row("Total Reserved", static_cast<double>(rows.total_reserved_bytes[i]));
      put_row("finished", 0);
    }
  }

  void add_flows() {
    const FlowTable& flows = trace_.flows();
    std::map<std::pair<std::uint32_t, std::int64_t>, bool> seen;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const std::string category(to_string(flows.kind[i]));
      const auto id = static_cast<double>(flows.id[i]);
      if (flows.to_span[i].valid()) add(account_, category, "f", id);
      // Several arrows may begin at one event.
      if (flows.from_span[i].valid() &&
          seen.try_emplace({static_cast<std::uint32_t>(flows.kind[i]), flows.id[i]}, true).second) {
        add(account_, category, "s", id);
      }
    }
  }

  void add_extras() {
    const ExtraTable& extras = trace_.extras();
    for (std::size_t i = 0; i < extras.size(); ++i) {
      if (extras.of_table[i] != TableKind::Spans) continue;
      simdjson::dom::parser parser;
      const std::string value(trace_.string(extras.value[i]));
      put(SpanId(extras.of_row[i]), trace_.string(extras.key[i]),
          weight(parser.parse(value).value()));
    }
  }

  const Trace& trace_;
  Nanos base_ = 0;
  Account account_;
};

class RealTrace : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const {
    return std::string(SONDE_TEST_DATA) + "/torch-2.11-h200/" + GetParam() + ".pt.trace.json.gz";
  }
};

TEST_P(RealTrace, HasInItsTablesAllThatTheFileSays) {
  const Result<Trace> trace = open_trace(path());
  ASSERT_TRUE(trace) << trace.error().message;
  const Result<PaddedBytes> file = PaddedBytes::map_file(path());
  ASSERT_TRUE(file);
  const Result<Gunzipped> text = gunzip(file->bytes());
  ASSERT_TRUE(text);
  Account of_file = account_of_file(text->text.text());
  Account of_trace = TraceAccount(*trace).get();
  EXPECT_GT(of_file.size(), 20U);
  for (const auto& [key, sum] : of_file) EXPECT_EQ(sum, of_trace[key]) << key;
  for (const auto& [key, sum] : of_trace) EXPECT_EQ(of_file.count(key), 1U) << key << ": " << sum;
}

TEST_P(RealTrace, OpensWithoutARowInItsLedger) {
  const Result<Trace> trace = open_trace(path());
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->ledger().size(), 0U);
  EXPECT_EQ(trace->windows().size(), 1U);
  EXPECT_EQ(trace->devices().size(), 16U);
}

TEST_P(RealTrace, IsTheSameOnAnyNumberOfThreads) {
  const Result<Trace> one = open_trace(path(), {.threads = 1});
  const Result<Trace> four = open_trace(path(), {.threads = 4});
  ASSERT_TRUE(one && four);
  EXPECT_EQ(testing::dumped(*one), testing::dumped(*four));
}

INSTANTIATE_TEST_SUITE_P(Torch211, RealTrace,
                         ::testing::Values("transformer", "graph_streams", "compiled",
                                           "ranks4/rank0", "ranks4/rank1", "ranks4/rank2",
                                           "ranks4/rank3"),
                         [](const auto& real) {
                           std::string name = real.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace sonde
