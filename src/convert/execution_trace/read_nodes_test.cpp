// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/execution_trace/read_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/output_file.h"
#include "collect/execution_trace_file.h"
#include "sonde/open.h"
#include "sonde/trace/execution_trace_file.h"
#include "trace/execution_trace_tensors.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempDir;

Result<ExecutionTrace> read(std::string_view text) {
  SONDE_TRY(PaddedBytes bytes, PaddedBytes::copy_of(text));
  return read_execution_trace(std::move(bytes), "test");
}

std::string node_text(const std::string& id, const std::string& name) {
  return R"({"id": )" + id + R"(, "name": ")" + name +
         R"(", "ctrl_deps": 1, "inputs": {"values": [1]},
    "attrs": [{"name": "rf_id", "type": "uint64", "value": 7}, {"name": "pg_size", "type": "uint64", "value": 8}]})";
}

TEST(ExecutionTraceRead, ReadsWhatPyTorchRecorded) {
  const auto et = open_execution_trace(SONDE_TEST_DATA "/torch-2.11-h200/transformer.et.json.gz");
  ASSERT_TRUE(et) << et.error().message;
  EXPECT_EQ(et->schema, "1.1.1-chakra.0.0.4");
  EXPECT_EQ(et->pid, 407);
  EXPECT_EQ(et->time, "2026-11-15 01:17:25");
  EXPECT_EQ(et->finish_ms - et->start_ms, 39818 - 37269);
  ASSERT_EQ(et->nodes.size(), 2449U);
  EXPECT_THAT(et->problems, ElementsAre());
  const ExecutionTraceNode& view = et->nodes[2];
  EXPECT_EQ(view.id, 12U);
  EXPECT_EQ(view.parent, 11U);
  EXPECT_EQ(view.name, "aten::view");
  EXPECT_EQ(view.inputs.values, R"([[9,10,0,1024,8,"cuda:0"],[-1]])");
  EXPECT_EQ(view.inputs.strides, "[[128,1],[[]]]");
  EXPECT_EQ(view.outputs.types, R"x(["Tensor(long int)"])x");
  EXPECT_EQ(view.schema, "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)");
  EXPECT_EQ(view.record_function_id, 6U);
  EXPECT_EQ(view.sequence_number, -1);
  EXPECT_EQ(et->nodes.back().name, kProcessNodeName);
}

TEST(ExecutionTraceRead, ReadsTheSchemaOfTorch113) {
  const auto et = read(R"x({"schema": "1.0.1", "pid": 1, "nodes": [
    {"name": "aten::t", "id": 14, "rf_id": 8, "parent": 13, "fw_parent": 0, "seq_id": 3, "scope": 0, "tid": 1,
     "fw_tid": 0, "op_schema": "aten::t(Tensor(a) self) -> Tensor(a)", "inputs": [[10,11,0,15,4,"cpu"]],
     "input_shapes": [[5,3]], "input_types": ["Tensor(float)"], "outputs": [], "output_shapes": [], "output_types": []}
    ], "finish_ts": 2})x");
  ASSERT_TRUE(et) << et.error().message;
  ASSERT_EQ(et->nodes.size(), 1U);
  const ExecutionTraceNode& node = et->nodes.front();
  EXPECT_EQ(node.parent, 13U);
  EXPECT_EQ(node.record_function_id, 8U);
  EXPECT_EQ(node.sequence_number, 3);
  EXPECT_EQ(node.inputs.values, R"([[10,11,0,15,4,"cpu"]])");
  EXPECT_EQ(node.inputs.shapes, "[[5,3]]");
}

TEST(ExecutionTraceRead, KeepsAttributesItDoesNotKnow) {
  const auto et = read(R"({"schema": "x", "nodes": [)" + node_text("5", "c") + "]}");
  ASSERT_TRUE(et) << et.error().message;
  ASSERT_EQ(et->nodes.size(), 1U);
  EXPECT_EQ(et->nodes[0].record_function_id, 7U);
  EXPECT_EQ(et->nodes[0].more_attributes, R"({"name": "pg_size", "type": "uint64", "value": 8})");
}

TEST(ExecutionTraceRead, LosesOneNodeToANameWithAQuote) {
  for (const char* const name : {"say \"hi", "say \"hi\" now"}) {
    const auto et = read(R"({"schema": "x", "nodes": [)" + node_text("2", "a") + "," +
                         node_text("3", name) + "," + node_text("4", "b") + "]}");
    ASSERT_TRUE(et) << et.error().message;
    ASSERT_EQ(et->nodes.size(), 2U) << name;
    EXPECT_EQ(et->nodes[1].name, "b");
    EXPECT_THAT(et->problems, ElementsAre(HasSubstr("1 node could not be read")));
  }
}

TEST(ExecutionTraceRead, ReadsWhatIsThereOfAFileThatWasCut) {
  const std::string whole = R"({"schema": "x", "nodes": [)" + node_text("2", "a") + "," +
                            node_text("3", "b") + R"(], "finish_ts": 5})";
  for (std::size_t size = whole.find("\"nodes\": [") + 10; size < whole.size(); ++size) {
    const auto et = read(whole.substr(0, size));
    ASSERT_TRUE(et) << size;
    EXPECT_LE(et->nodes.size(), 2U);
    EXPECT_THAT(et->problems, ElementsAre(HasSubstr("the file is truncated"))) << size;
  }
}

TEST(ExecutionTraceRead, RefusesWhatIsNone) {
  for (const char* const text :
       {"", "[]", "{}", R"({"traceEvents": []})", R"({"nodes": 3})", "{\"a\""}) {
    const auto bytes = PaddedBytes::copy_of(text);
    ASSERT_TRUE(bytes);
    EXPECT_FALSE(looks_like_execution_trace(bytes->text())) << text;
  }
  EXPECT_FALSE(read("{}"));
  EXPECT_FALSE(read("hello"));
}

TEST(ExecutionTraceRead, IsPointedAtByWhoReadsTraces) {
  const auto trace = open_trace(SONDE_TEST_DATA "/torch-2.11-h200/transformer.et.json.gz");
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("`sonde et`"));
}

TEST(ExecutionTraceTensors, AreFoundWhereverTheyStand) {
  std::vector<std::uint64_t> ids;
  for_each_tensor(
      R"([[9,10,0,1,8,"cuda:0"],[[ 3, 4, 0, 1, 4, "cpu" ],[5,0,0,0,0,""]],"[7,7,7,7,7,\"x\"]",[1,2,3,4,5,6]])",
      [&](const TensorValue& tensor) { ids.push_back(tensor.id); });
  EXPECT_THAT(ids, ElementsAre(9, 3, 5));
  EXPECT_EQ(list_size(R"([[1,2],"a,b",[],{"x":[1,2]}])"), 4U);
  EXPECT_EQ(list_size("[]"), 0U);
  EXPECT_EQ(list_size("[ 1 ]"), 1U);
}

// A file that an observer is still writing, plain and compressed.
class GrowingExecutionTrace : public ::testing::TestWithParam<const char*> {};

TEST_P(GrowingExecutionTrace, IsWholeAfterEveryWrite) {
  const TempDir folder;
  const std::string path = folder.file(GetParam());
  auto file = ExecutionTraceFile::create(path);
  ASSERT_TRUE(file) << file.error().message;
  std::size_t seen = 1;
  for (std::uint64_t id = 2; id < 500; ++id) {
    ExecutionTraceNode node;
    node.id = id;
    node.parent = 1;
    node.name = "a \"quoted\" name \xff";
    file->add(node);
    if (id % 50 != 0) continue;
    const auto et = open_execution_trace(path);
    ASSERT_TRUE(et) << et.error().message;
    EXPECT_THAT(et->problems, ElementsAre());
    EXPECT_GE(et->nodes.size(), seen);
    EXPECT_EQ(et->nodes.back().id, kRootNodeId);
    seen = et->nodes.size();
  }
  EXPECT_GT(seen, 300U);
  file->flush();
  EXPECT_TRUE(file->status());
  const auto et = open_execution_trace(path);
  ASSERT_TRUE(et) << et.error().message;
  EXPECT_EQ(et->nodes.size(), 499U);
  EXPECT_EQ(et->nodes.front().name, "a \"quoted\" name \xEF\xBF\xBD");
}

TEST_P(GrowingExecutionTrace, OpensWhereverItWasCut) {
  const TempDir folder;
  const std::string path = folder.file(GetParam());
  {
    auto file = ExecutionTraceFile::create(path);
    ASSERT_TRUE(file) << file.error().message;
    ExecutionTraceNode node;
    for (node.id = 2; node.id < 5; ++node.id) file->add(node);
    file->flush();
  }
  const auto bytes = read_file(path);
  ASSERT_TRUE(bytes);
  for (std::size_t size = bytes->size() - 1; size > bytes->size() / 2; size -= 17) {
    ASSERT_TRUE(write_file_whole(path, std::string_view(*bytes).substr(0, size)));
    const auto et = open_execution_trace(path);
    if (et) {
      EXPECT_FALSE(et->problems.empty()) << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PlainAndCompressed, GrowingExecutionTrace,
                         ::testing::Values("et.json", "et.json.gz"));

}  // namespace
}  // namespace sonde
