// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "decode/event_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace sonde {
namespace {

using ::testing::ElementsAre;

class Calls {
 public:
  Calls() { builder_.tracks().push_back({}); }
  SpanId add(const char* name, SpanKind kind, SpanId parent = {}) {
    SpanRow row;
    row.name = builder_.intern(name);
    row.kind = kind;
    row.track = TrackId(0);
    row.start_ns = static_cast<Nanos>(builder_.spans().size());
    row.parent = parent;
    return builder_.spans().push_back(row);
  }
  TraceBuilder& builder() { return builder_; }

 private:
  TraceBuilder builder_;
};

template <typename T>
std::vector<T> values(const Column<T>& column) {
  std::vector<T> all;
  for (std::size_t i = 0; i < column.size(); ++i) all.push_back(column[i]);
  return all;
}

TEST(EventNumbers, OfACallAreItsOwnAndThatOfTheCallAroundIt) {
  Calls calls;
  calls.add("before", SpanKind::CpuOp);
  const SpanId outer = calls.add("train.py(1): main", SpanKind::PythonFunction);
  const SpanId op = calls.add("aten::add", SpanKind::CpuOp, outer);
  calls.add("train.py(9): hook", SpanKind::PythonFunction, op);
  calls.add("train.py(5): other", SpanKind::PythonFunction);
  number_python_calls(calls.builder());
  const PythonCallTable& found = calls.builder().python_calls();
  EXPECT_THAT(values(found.span), ElementsAre(SpanId(1), SpanId(3), SpanId(4)));
  EXPECT_THAT(values(found.python_id), ElementsAre(1, 2, 3));
  EXPECT_THAT(values(found.parent_python_id), ElementsAre(-1, 1, -1));
}

TEST(EventNumbers, OfAModuleAreInItsName) {
  Calls calls;
  for (const char* name : {"nn.Module: Linear_2", "nn.Module: My_Net_0", "nn.Module: Net", "f_1",
                           "nn.Module: Net_", "nn.Module: Net_99999999999999999999"})
    calls.add(name, SpanKind::PythonFunction);
  number_python_calls(calls.builder());
  EXPECT_THAT(values(calls.builder().python_calls().module_id), ElementsAre(2, 0, -1, -1, -1, -1));
}

TEST(EventNumbers, AreNoneWithoutCalls) {
  Calls calls;
  calls.add("aten::add", SpanKind::CpuOp);
  number_python_calls(calls.builder());
  EXPECT_EQ(calls.builder().python_calls().size(), 0u);
}

TEST(EventNumbers, CountWhatPyTorchsRecorderLists) {
  Calls calls;
  calls.add("aten::add", SpanKind::CpuOp);
  calls.add("cudaLaunchKernel", SpanKind::CudaRuntime);
  calls.add("forward", SpanKind::UserAnnotation);
  number_events(calls.builder());
  EXPECT_THAT(values(calls.builder().spans().event_index), ElementsAre(0, -1, 1));
}

}  // namespace
}  // namespace sonde
