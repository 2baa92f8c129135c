// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Operators through the C interface, from a source's call to the rows of a trace.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collect/testing/recorded.h"
#include "sonde/detail/put_record.h"
#include "sonde/source/op.h"
#include "sonde/source/op_inputs.h"

namespace sonde {
namespace {

using ::testing::ElementsAre;
using testing::find_span;
using testing::record_once;

std::uint32_t op_name(const char* text) {
  return sonde_name(text, std::strlen(text));
}

TEST(OpRecording, KeepsWhatAnOperatorIs) {
  const Trace trace = record_once([] {
    const sonde_op forward = {sizeof(forward), op_name("aten::mm\x1fTensor"), 0, 17, 0, 5};
    ASSERT_TRUE(sonde_op_begin(&forward));
    const sonde_op backward = {sizeof(backward), op_name("MmBackward0"), 1, 17, 3, 0};
    ASSERT_TRUE(sonde_op_begin(&backward));
    sonde_end();
    sonde_end();
    sonde_thread_is(3);
  });
  const SpanId forward = find_span(trace, "aten::mm");
  const SpanId backward = find_span(trace, "MmBackward0");
  const SpanTable& spans = trace.spans();
  EXPECT_EQ(spans.kind[forward], SpanKind::CpuOp);
  EXPECT_EQ(trace.string(spans.overload_name[forward]), "Tensor");
  EXPECT_EQ(spans.scope[forward], RecordScope::Function);
  EXPECT_EQ(spans.sequence_number[forward], 17);
  EXPECT_EQ(spans.record_function_id[forward], 5);
  EXPECT_EQ(spans.parent[backward], forward);
  EXPECT_EQ(spans.scope[backward], RecordScope::BackwardFunction);
  EXPECT_EQ(spans.forward_thread[backward], 3);
  EXPECT_NE(spans.external_id[forward], spans.external_id[backward]);
  EXPECT_EQ(trace.tracks().logical_id[spans.track[forward]], 3);
}

TEST(OpRecording, KeepsWhatTheProgramSaysOfTensors) {
  const Trace trace = record_once([] {
    sonde_tensor_role(0x1000, SONDE_TENSOR_PARAMETER, "weight");
    sonde_tensor_role(0x2000, SONDE_TENSOR_OPTIMIZER_STATE, "exp_avg");
    sonde_tensor_role(0, SONDE_TENSOR_GRADIENT, "of nothing");
  });
  const TensorRoleTable& roles = trace.tensor_roles();
  ASSERT_EQ(roles.size(), 2U);
  EXPECT_EQ(roles.storage_address[0], 0x1000U);
  EXPECT_EQ(roles.purpose[0], TensorPurpose::Parameter);
  EXPECT_EQ(trace.string(roles.name[0]), "weight");
  EXPECT_EQ(roles.purpose[1], TensorPurpose::OptimizerState);
  EXPECT_TRUE(roles.track[1].valid());
  EXPECT_LE(roles.time_ns[0], roles.time_ns[1]);
}

TEST(OpRecording, CallsOfPythonFunctionsAreNoOperators) {
  const Trace trace = record_once([] {
    const sonde_op call = {sizeof(call), op_name("f.py(1): f"), SONDE_SCOPE_PYTHON_CALL, -1, 0, 0};
    ASSERT_TRUE(sonde_op_begin(&call));
    const sonde_op op = {sizeof(op), op_name("aten::mm"), 0, 17, 0, 5};
    ASSERT_TRUE(sonde_op_begin(&op));
    sonde_end();
    sonde_end();
  });
  const SpanId call = find_span(trace, "f.py(1): f");
  EXPECT_EQ(trace.spans().kind[call], SpanKind::PythonFunction);
  EXPECT_EQ(trace.spans().external_id[call], 0);
  EXPECT_EQ(trace.spans().parent[find_span(trace, "aten::mm")], call);
}

// The numbers decide which of two records is written. Readers must not see a difference.
TEST(OpRecording, InlinedBeginKeepsNumbersOfEverySize) {
  struct Numbers {
    std::int64_t sequence_number;
    std::uint64_t forward_thread;
    std::uint64_t record_function_id;
  };
  constexpr Numbers kNumbers[] = {{-1, 0, 1},         {17, 0, 5},         {0, 0, 0xffffffff},
                                  {0xfffffffe, 0, 7}, {0xffffffff, 0, 7}, {3, 0, 0x100000000},
                                  {4, 9, 5},          {-1, 0, 0}};
  const Trace trace = record_once([&] {
    const std::uint32_t mm = op_name("aten::mm");
    detail::ThreadCursor& cursor = detail::sonde_detail_cursor;
    for (const Numbers& op : kNumbers) {
      ASSERT_TRUE(detail::write_op_begin(cursor, mm, 1, op.sequence_number, op.forward_thread,
                                         op.record_function_id));
      detail::write_end(cursor);
    }
  });
  const SpanTable& spans = trace.spans();
  ASSERT_EQ(spans.size(), std::size(kNumbers));
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const SpanId span{static_cast<std::uint32_t>(i)};
    const auto id = static_cast<std::int64_t>(kNumbers[i].record_function_id);
    EXPECT_EQ(spans.scope[span], RecordScope::BackwardFunction);
    EXPECT_EQ(spans.sequence_number[span], kNumbers[i].sequence_number);
    EXPECT_EQ(spans.forward_thread[span], static_cast<std::int64_t>(kNumbers[i].forward_thread));
    EXPECT_EQ(spans.record_function_id[span], id != 0 ? id : -1);
  }
}

TEST(OpRecording, UserScopesAreAnnotationsAndSteps) {
  const Trace trace = record_once([] {
    for (const char* text : {"mine", "ProfilerStep#4"}) {
      const sonde_op op = {sizeof(op), op_name(text), 7, -1, 0, 0};
      ASSERT_TRUE(sonde_op_begin(&op));
      sonde_end();
    }
  });
  EXPECT_EQ(trace.spans().kind[find_span(trace, "mine")], SpanKind::UserAnnotation);
  EXPECT_EQ(trace.spans().kind[find_span(trace, "ProfilerStep#4")], SpanKind::Step);
  EXPECT_EQ(trace.spans().step[find_span(trace, "ProfilerStep#4")], 4);
}

TEST(OpRecording, EqualInputsAreKeptOnce) {
  const Trace trace = record_once([] {
    const std::uint32_t type = op_name("float");
    for (int i = 0; i < 3; ++i) {
      const sonde_op op = {sizeof(op), op_name("aten::addmm"), 0, -1, 0, 0};
      ASSERT_TRUE(sonde_op_begin(&op));
      OpInputs inputs;
      const std::int64_t sizes[] = {4, i < 2 ? 8 : -16};
      const std::int64_t strides[] = {8, 1};
      inputs.tensor(type, sizes, 2, strides, 2);
      inputs.none();
      inputs.scalar("0.5");
      inputs.tensor_list(2);
      inputs.tensor(type, sizes, 1, nullptr, 0);
      inputs.none();
      inputs.scalar_list("[1, 2]");
      sonde_op_inputs(inputs.words(), inputs.word_count());
      sonde_end();
    }
  });
  const SpanTable& spans = trace.spans();
  EXPECT_EQ(spans.arguments[0u], spans.arguments[1u]);
  EXPECT_NE(spans.arguments[0u], spans.arguments[2u]);
  EXPECT_EQ(trace.argument_lists().size(), 2u);
  const OpArgumentTable& arguments = trace.op_arguments();
  std::vector<ArgumentKind> kinds;
  std::vector<int> places;
  for (const OpArgumentId id : trace.arguments(SpanId(2))) {
    kinds.push_back(arguments.kind[id]);
    places.push_back(arguments.index[id] * 10 + arguments.element[id]);
  }
  EXPECT_THAT(kinds, ElementsAre(ArgumentKind::Tensor, ArgumentKind::None, ArgumentKind::Scalar,
                                 ArgumentKind::TensorList, ArgumentKind::Tensor, ArgumentKind::None,
                                 ArgumentKind::ScalarList));
  EXPECT_THAT(places, ElementsAre(-1, 9, 19, 29, 30, 31, 39));
  const OpArgumentId first = trace.arguments(SpanId(2))[0];
  EXPECT_EQ(trace.string(arguments.dtype[first]), "float");
  ASSERT_EQ(arguments.dims_count[first], 2);
  EXPECT_EQ(trace.dims().value[arguments.dims_first[first].index() + 1], -16);
  EXPECT_EQ(trace.dims().value[arguments.strides_first[first].index()], 8);
}

TEST(OpRecording, InputsThatDoNotFitAreUnknown) {
  const Trace trace = record_once([] {
    const sonde_op op = {sizeof(op), op_name("op"), 0, -1, 0, 0};
    ASSERT_TRUE(sonde_op_begin(&op));
    OpInputs inputs;
    inputs.string(std::string(7000, 'x'));
    inputs.string(std::string(7000, 'y'));
    inputs.scalar("1");
    sonde_op_inputs(inputs.words(), inputs.word_count());
    sonde_end();
  });
  std::vector<ArgumentKind> kinds;
  for (const OpArgumentId id : trace.arguments(find_span(trace, "op"))) {
    kinds.push_back(trace.op_arguments().kind[id]);
  }
  EXPECT_THAT(kinds, ElementsAre(ArgumentKind::String, ArgumentKind::None, ArgumentKind::Scalar));
}

TEST(OpRecording, KeywordsHaveNamesAndValues) {
  const Trace trace = record_once([] {
    const sonde_op op = {sizeof(op), op_name("op"), 0, -1, 0, 0};
    ASSERT_TRUE(sonde_op_begin(&op));
    OpInputs inputs;
    inputs.scalar("1");
    EXPECT_TRUE(inputs.keyword("grid", "[1, 2]"));
    EXPECT_FALSE(inputs.keyword("long", std::string(9000, 'x')));
    sonde_op_inputs(inputs.words(), inputs.word_count());
    sonde_end();
  });
  std::vector<std::string> found;
  for (const OpArgumentId id : trace.arguments(find_span(trace, "op"))) {
    const OpArgumentTable& arguments = trace.op_arguments();
    found.push_back(
        std::string(to_string(arguments.role[id])) + " " +
        (arguments.name[id].valid() ? std::string(trace.string(arguments.name[id])) : "") + "=" +
        std::string(trace.string(arguments.value[id])));
  }
  EXPECT_THAT(found, ElementsAre("input =1", "keyword grid=[1, 2]"));
}

// What optimisers pass to aten::_foreach_addcdiv_: lists of all parameters of a model.
TEST(OpRecording, ListsThatDoNotFitAreUnknownAndTheRestIsThere) {
  constexpr int kTensors = 3000;
  const Trace trace = record_once([] {
    const sonde_op op = {sizeof(op), op_name("op"), 0, -1, 0, 0};
    ASSERT_TRUE(sonde_op_begin(&op));
    OpInputs inputs;
    const std::int64_t sizes[] = {16, 16, 3, 3};
    for (int list = 0; list < 4; ++list) {
      inputs.tensor_list(kTensors);
      for (int i = 0; i < kTensors; ++i) inputs.tensor(op_name("float"), sizes, 4, sizes, 4);
    }
    inputs.scalar("1");
    sonde_op_inputs(inputs.words(), inputs.word_count());
    sonde_end();
  });
  EXPECT_EQ(testing::ledger_sum(trace, LedgerKind::Undecodable), 0u);
  std::vector<ArgumentKind> kinds;
  for (const OpArgumentId id : trace.arguments(find_span(trace, "op"))) {
    if (trace.op_arguments().element[id] < 0) kinds.push_back(trace.op_arguments().kind[id]);
  }
  EXPECT_THAT(kinds, ElementsAre(ArgumentKind::TensorList, ArgumentKind::None, ArgumentKind::None,
                                 ArgumentKind::None, ArgumentKind::Scalar));
}

TEST(OpRecording, TensorsSayWhereTheyLie) {
  const Trace trace = record_once([] {
    const sonde_op op = {sizeof(op), op_name("aten::cat"), 0, -1, 0, 0};
    ASSERT_TRUE(sonde_op_begin(&op));
    OpInputs inputs;
    const std::int64_t sizes[] = {4};
    inputs.device(1, 3);
    inputs.tensor(op_name("float"), sizes, 1, nullptr, 0);
    inputs.tensor_list(2);
    inputs.device(1, 0);
    inputs.tensor(op_name("float"), sizes, 1, nullptr, 0);
    inputs.tensor(op_name("float"), sizes, 1, nullptr, 0);
    sonde_op_inputs(inputs.words(), inputs.word_count());
    sonde_end();
  });
  const OpArgumentTable& arguments = trace.op_arguments();
  ASSERT_EQ(arguments.size(), 4u);
  EXPECT_EQ(arguments.device_type[0], DeviceType::Cuda);
  EXPECT_EQ(arguments.device_index[0], 3);
  EXPECT_EQ(arguments.device_index[2], 0);
  EXPECT_EQ(arguments.device_type[3], DeviceType::Unknown) << "the host's, or nobody said";
}

TEST(OpRecording, AnOperatorMayEndOnAnotherThread) {
  const Trace trace = record_once([] {
    const sonde_op op = {sizeof(op), op_name("work"), 7, -1, 0, 0};
    const sonde_range range = sonde_op_range_begin(&op);
    ASSERT_NE(range.position, 0u);
    std::thread([range] { sonde_range_end(range); }).join();
  });
  const SpanId work = find_span(trace, "work");
  EXPECT_NE(trace.spans().flags[work] & SpanFlags::kAsync, 0);
  EXPECT_TRUE(trace.spans().end_track[work].valid());
  EXPECT_EQ(trace.spans().flags[work] & SpanFlags::kUnfinished, 0);
}

TEST(OpRecording, AllocationsKnowTheirOperator) {
  const Trace trace = record_once([] {
    const sonde_op op = {sizeof(op), op_name("aten::empty"), 0, -1, 0, 0};
    ASSERT_TRUE(sonde_op_begin(&op));
    const sonde_allocation taken = {sizeof(taken), 0x7f00, 512, 4096, 8192, 1, 0, 2};
    sonde_allocated(&taken);
    const sonde_tensor tensors[] = {{sizeof(sonde_tensor), 0, -1, 0x10, 0x7f00},
                                    {sizeof(sonde_tensor), 1, 3, 0x20, 0x7f40}};
    sonde_op_tensors(tensors, 2);
    sonde_end();
    const sonde_allocation freed = {sizeof(freed), 0x7f00, -512, 3584, 8192, 1, 0, 2};
    sonde_allocated(&freed);
  });
  const AllocationTable& allocations = trace.allocations();
  ASSERT_EQ(allocations.size(), 2u);
  EXPECT_EQ(allocations.span[0], find_span(trace, "aten::empty"));
  EXPECT_FALSE(allocations.span[1].valid());
  EXPECT_EQ(allocations.address[0], 0x7f00u);
  EXPECT_EQ(allocations.bytes[1], -512);
  EXPECT_EQ(allocations.total_allocated_bytes[0], 4096);
  EXPECT_EQ(allocations.total_reserved_bytes[0], 8192);
  EXPECT_EQ(allocations.device_type[0], DeviceType::Cuda);
  EXPECT_EQ(allocations.device_index[0], 2);
  const TensorUseTable& uses = trace.tensor_uses();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses.element[1], 3);
  EXPECT_EQ(uses.storage_address[1], 0x7f40u);
  EXPECT_EQ(uses.span[0], find_span(trace, "aten::empty"));
}

TEST(OpRecording, CostsNothingWhileNothingRecords) {
  const sonde_op op = {sizeof(op), 1, 0, -1, 0, 0};
  EXPECT_FALSE(sonde_op_begin(&op));
  EXPECT_EQ(sonde_op_range_begin(&op).position, 0u);
  EXPECT_EQ(op_name("x"), 0u);
}

}  // namespace
}  // namespace sonde
