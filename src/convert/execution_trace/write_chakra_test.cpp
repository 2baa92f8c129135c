// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/execution_trace/write_chakra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/file.h"
#include "sonde/trace/builder.h"
#include "sonde/trace/execution_trace_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using testing::TempDir;

// A small part of protobuf's wire format: the fields of a message by number, each with all its
// values.
struct Message {
  std::map<std::uint64_t, std::vector<std::uint64_t>> numbers;
  std::map<std::uint64_t, std::vector<std::string>> bytes;
};

std::uint64_t take_varint(std::string_view& in) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

std::string take_bytes(std::string_view& in) {
  const std::size_t size = take_varint(in);
  std::string bytes(in.substr(0, size));
  in.remove_prefix(std::min(size, in.size()));
  return bytes;
}

Message parse(std::string_view in) {
  Message message;
  while (!in.empty()) {
    const std::uint64_t tag = take_varint(in);
    if ((tag & 7) == 0) message.numbers[tag >> 3].push_back(take_varint(in));
    if ((tag & 7) == 2) message.bytes[tag >> 3].push_back(take_bytes(in));
    if ((tag & 7) != 0 && (tag & 7) != 2) ADD_FAILURE() << "wire type of " << tag;
  }
  return message;
}

std::vector<Message> nodes_of(const ExecutionTrace& et, const Trace* times = nullptr) {
  const TempDir folder;
  const auto written = export_execution_trace(et, folder.file("a.chakra"), times);
  EXPECT_TRUE(written) << written.error().message;
  const auto bytes = read_file(folder.file("a.chakra"));
  std::string_view rest = *bytes;
  const Message metadata = parse(take_bytes(rest));
  EXPECT_THAT(metadata.bytes.at(1), ElementsAre("0.0.4"));
  std::vector<Message> nodes;
  while (!rest.empty()) nodes.push_back(parse(take_bytes(rest)));
  return nodes;
}

std::vector<std::uint64_t> packed(const Message& node, std::uint64_t field) {
  std::vector<std::uint64_t> values;
  if (node.bytes.count(field) == 0) return values;
  for (std::string_view rest = node.bytes.at(field).front(); !rest.empty();)
    values.push_back(take_varint(rest));
  return values;
}

// name → the number or text of an attribute
std::map<std::string, std::string> attributes(const Message& node) {
  std::map<std::string, std::string> result;
  for (const std::string& bytes : node.bytes.at(10)) {
    const Message attribute = parse(bytes);
    std::string& value = result[attribute.bytes.at(1).front()];
    for (const auto& [field, numbers] : attribute.numbers) value = std::to_string(numbers.front());
    if (attribute.bytes.count(29) > 0) value = attribute.bytes.at(29).front();
  }
  return result;
}

TEST(ChakraWrite, HasANodeForEachInTheOrderOfIds) {
  const auto et = open_execution_trace(SONDE_TEST_DATA "/torch-2.11-h200/transformer.et.json.gz");
  ASSERT_TRUE(et) << et.error().message;
  const std::vector<Message> nodes = nodes_of(*et);
  ASSERT_EQ(nodes.size(), et->nodes.size());
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const std::uint64_t id = nodes[i].numbers.at(1).front();
    ASSERT_LT(nodes[i - 1].numbers.at(1).front(), id);
    for (const std::uint64_t field : {4U, 5U}) {
      for (const std::uint64_t other : packed(nodes[i], field)) ASSERT_LT(other, id);
    }
  }
}

// A parent p with two children. The second reads what the first made.
ExecutionTrace small_trace() {
  ExecutionTrace et;
  ExecutionTraceNode node;
  const auto add = [&](std::uint64_t id, std::uint64_t parent, std::string_view name) {
    node.id = id;
    node.parent = parent;
    node.name = name;
    node.record_function_id = id * 10;
    et.nodes.push_back(node);
    node = {};
  };
  node.outputs.values = R"([[5,6,0,1,4,"cpu"]])";
  add(4, 3, "aten::empty");
  node.inputs.values = R"([[5,6,0,1,4,"cpu"]])";
  add(8, 3, "aten::fill_");
  node.outputs.values = R"([[5,6,0,1,4,"cpu"]])";
  add(3, 2, "aten::zeros");
  node.inputs.values = R"([[5,6,0,1,4,"cpu"]])";
  add(9, 2, "aten::relu");
  node.more_attributes =
      R"({"name": "collective_name", "type": "string", "value": "allreduce"}, {"name": "dtype", "type": "string", "value": "Float"}, {"name": "in_msg_nelems", "type": "uint64", "value": 100}, {"name": "pg_name", "type": "string", "value": "dp"})";
  add(10, 2, "record_param_comms");
  node.scope = kUserScope;
  add(2, 1, kThreadNodeName);
  node.scope = kUserScope;
  add(1, 1, kProcessNodeName);
  return et;
}

TEST(ChakraWrite, FollowsDataAndOrder) {
  const std::vector<Message> nodes = nodes_of(small_trace());
  std::map<std::string, const Message*> by_name;
  for (const Message& node : nodes) by_name[node.bytes.at(2).front()] = &node;
  EXPECT_THAT(packed(*by_name["aten::fill_"], 4), ElementsAre(3));
  EXPECT_THAT(packed(*by_name["aten::fill_"], 5), ElementsAre(4));
  EXPECT_THAT(packed(*by_name["aten::zeros"], 5), ElementsAre());
  // It follows the operator before it and the inner one that made the tensor.
  EXPECT_THAT(packed(*by_name["aten::relu"], 5), ElementsAre(3, 4));
  EXPECT_EQ(by_name["aten::relu"]->numbers.at(3).front(), 4U);
  EXPECT_EQ(by_name[std::string(kThreadNodeName)]->numbers.at(3).front(), 1U);
}

TEST(ChakraWrite, TellsWhatACollectiveMoves) {
  const std::vector<Message> nodes = nodes_of(small_trace());
  const Message& collective = nodes.back();
  EXPECT_EQ(collective.numbers.at(3).front(), 7U);
  const auto found = attributes(collective);
  EXPECT_EQ(found.at("comm_type"), "0");
  EXPECT_EQ(found.at("comm_size"), "400");
  EXPECT_EQ(found.at("pg_name"), "dp");
  EXPECT_EQ(found.at("is_cpu_op"), "1");
}

TEST(ChakraWrite, TakesTimesAndDeviceWorkFromATrace) {
  TraceBuilder builder;
  const ProcessId process = builder.processes().push_back({.pid = 1});
  const TrackId thread = builder.tracks().push_back({.process = process, .id = 1});
  const TrackId stream =
      builder.tracks().push_back({.process = process, .kind = TrackKind::Stream, .id = 7});
  builder.spans().push_back({.start_ns = 5000,
                             .duration_ns = 9000,
                             .name = builder.intern("aten::relu"),
                             .track = thread,
                             .kind = SpanKind::CpuOp,
                             .external_id = 3,
                             .record_function_id = 90});
  builder.spans().push_back({.start_ns = 20000,
                             .duration_ns = 4000,
                             .name = builder.intern("relu_kernel"),
                             .track = stream,
                             .kind = SpanKind::Kernel,
                             .external_id = 3});
  const auto trace = std::move(builder).build();
  ASSERT_TRUE(trace);
  const std::vector<Message> nodes = nodes_of(small_trace(), &*trace);
  ASSERT_EQ(nodes.size(), 8U);
  EXPECT_EQ(nodes[5].bytes.at(2).front(), "aten::relu");
  EXPECT_EQ(nodes[5].numbers.at(6).front(), 5U);
  EXPECT_EQ(nodes[5].numbers.at(7).front(), 9U);
  const Message& kernel = nodes.back();
  EXPECT_EQ(kernel.bytes.at(2).front(), "relu_kernel");
  EXPECT_THAT(packed(kernel, 4), ElementsAre(9));
  EXPECT_EQ(kernel.numbers.at(7).front(), 4U);
  EXPECT_EQ(attributes(kernel).at("is_cpu_op"), "0");
  EXPECT_EQ(attributes(kernel).at("stream"), "7");
}

}  // namespace
}  // namespace sonde
