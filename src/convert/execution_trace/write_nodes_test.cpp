// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "sonde/trace/execution_trace_file.h"
#include "trace/testing/temp_dir.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using testing::TempDir;

constexpr const char* kRecorded = SONDE_TEST_DATA "/torch-2.11-h200/transformer.et.json.gz";

std::string line_of(const ExecutionTraceNode& node) {
  std::string line = std::to_string(node.id) + " " + std::to_string(node.parent);
  for (const std::string_view text :
       {node.name, node.inputs.values, node.inputs.strides, node.outputs.values, node.outputs.types,
        node.schema, node.more_attributes})
    line += " | " + std::string(text);
  return line;
}

TEST(ExecutionTraceWrite, GivesBackWhatWasRead) {
  const TempDir folder;
  const auto et = open_execution_trace(kRecorded);
  ASSERT_TRUE(et) << et.error().message;
  for (const char* const name : {"a.json", "a.json.gz"}) {
    const std::string path = folder.file(name);
    ASSERT_TRUE(export_execution_trace(*et, path));
    const auto again = open_execution_trace(path);
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(again->nodes.size(), et->nodes.size());
    for (std::size_t i = 0; i < et->nodes.size(); ++i)
      ASSERT_EQ(line_of(again->nodes[i]), line_of(et->nodes[i]));
    EXPECT_EQ(again->time, et->time);
  }
}

TEST(ExecutionTraceWrite, WritesPyTorchsBytes) {
  const TempDir folder;
  const auto et = open_execution_trace(kRecorded);
  ASSERT_TRUE(et) << et.error().message;
  ASSERT_TRUE(export_execution_trace(*et, folder.file("a.json")));
  const auto text = read_file(folder.file("a.json"));
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr(R"x(
      {
        "id": 12, "name": "aten::view", "ctrl_deps": 11,
        "inputs": {"values": [[9,10,0,1024,8,"cuda:0"],[-1]], "shapes": [[8,128],[[]]], "types": ["Tensor(long int)","GenericList[Int]"], "strides": [[128,1],[[]]]},
        "outputs": {"values": [[13,10,0,1024,8,"cuda:0"]], "shapes": [[1024]], "types": ["Tensor(long int)"], "strides": [[1]]},
        "attrs": [{"name": "rf_id", "type": "uint64", "value": 6},{"name": "fw_parent", "type": "uint64", "value": 0},)x"));
}

TEST(ExecutionTraceWrite, RefusesOtherSuffixes) {
  const auto refused = export_execution_trace(ExecutionTrace(), "/tmp/a.txt");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(".chakra"));
}

}  // namespace
}  // namespace sonde
