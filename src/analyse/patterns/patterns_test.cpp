// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analyse/patterns/source_locations.h"
#include "analyse/testing/op_trace.h"

namespace sonde {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OpTrace;
using ::testing::SizeIs;

constexpr Nanos kMicrosecond = 1000;

PatternMatches matches(const Trace& trace, Pattern pattern) {
  return match_patterns(trace)[static_cast<std::size_t>(pattern)];
}

void add_device(OpTrace& t, std::int32_t compute_major, DeviceType type = DeviceType::Cuda) {
  DeviceRow row;
  row.type = type;
  row.index = 0;
  row.compute_major = compute_major;
  t.builder().devices().push_back(row);
}

// torch.rand(…).cuda() as it is recorded with stacks. `filled_by` is the innermost call of the
// first.
Trace filled_and_copied(std::string_view filled_by, std::string_view source_type = "float") {
  OpTrace t;
  t.python("train.py(3): step", 0, 100);
  t.python("<built-in method rand>", 10, 30);
  t.op("aten::rand", 11, 29);
  t.op(filled_by, 12, 28);
  t.python("<built-in method cuda>", 40, 80);
  t.op("aten::to", 41, 79).id(1);
  t.op("aten::_to_copy", 42, 78);
  t.op("aten::empty_strided", 43, 44);
  t.op("aten::copy_", 45, 77).id(2).tensor({8}, "float").tensor({8}, source_type);
  t.kernel("Memcpy", 70, 90).launched_by(2);
  return t.build();
}

TEST(ExtraCudaCopy, IsACopyOfWhatWasJustFilled) {
  const PatternMatches found = matches(filled_and_copied("aten::uniform_"), Pattern::ExtraCudaCopy);
  ASSERT_THAT(found.spans, SizeIs(1));
  EXPECT_EQ(found.saving_ns, (90 - 41) * kMicrosecond) << "the call, and the copy behind it";
}

TEST(ExtraCudaCopy, IsNoCopyOfSomethingElse) {
  EXPECT_THAT(matches(filled_and_copied("aten::add"), Pattern::ExtraCudaCopy).spans, IsEmpty());
}

TEST(ExtraCudaCopy, IsNoConversion) {
  const Trace trace = filled_and_copied("aten::uniform_", "double");
  EXPECT_THAT(matches(trace, Pattern::ExtraCudaCopy).spans, IsEmpty());
}

TEST(ExtraCudaCopy, CannotBeFoundWithoutPythonsCalls) {
  OpTrace t;
  t.op("aten::to", 0, 10).tensor({1}, "float");
  EXPECT_THAT(matches(t.build(), Pattern::ExtraCudaCopy).missing, HasSubstr("Python"));
}

// `rounds` rounds of select and add, a microsecond each, then one more operator.
Trace loop_of(int rounds, int other_at = -1) {
  OpTrace t;
  for (int i = 0; i < rounds; ++i) {
    t.op("aten::select", 2 * i, 2 * i + 1);
    t.op(i == other_at ? "aten::mul" : "aten::add", 2 * i + 1, 2 * i + 2);
  }
  t.op("aten::sum", 2 * rounds, 2 * rounds + 1);
  return t.build();
}

TEST(ForLoopIndexing, IsTenRoundsOfTheSameOperators) {
  const PatternMatches found = matches(loop_of(10), Pattern::ForLoopIndexing);
  ASSERT_THAT(found.spans, SizeIs(1)) << "once, not for each round";
  EXPECT_EQ(found.saving_ns, 18 * kMicrosecond) << "nine of ten rounds";
}

TEST(ForLoopIndexing, IsNotNineRounds) {
  EXPECT_THAT(matches(loop_of(9), Pattern::ForLoopIndexing).spans, IsEmpty());
}

TEST(ForLoopIndexing, EndsWhereTheOperatorsDiffer) {
  EXPECT_THAT(matches(loop_of(18, 9), Pattern::ForLoopIndexing).spans, IsEmpty());
  EXPECT_THAT(matches(loop_of(20, 4), Pattern::ForLoopIndexing).spans, SizeIs(1));
}

Trace product(std::string_view kernel, std::string_view type = "float", int compute_major = 9) {
  OpTrace t;
  add_device(t, compute_major);
  t.op("aten::mm", 0, 10).id(1).tensor({64, 64}, type).tensor({64, 64}, type);
  t.kernel(kernel, 20, 50).launched_by(1);
  return t.build();
}
constexpr std::string_view kFullPrecision = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_ffma";
constexpr std::string_view kTensorFloat = "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n";

TEST(Fp32MatMul, IsAProductWhoseKernelUsesNoTf32) {
  const PatternMatches found = matches(product(kFullPrecision), Pattern::Fp32MatMul);
  ASSERT_THAT(found.spans, SizeIs(1));
  EXPECT_EQ(found.saving_ns, 30 * kMicrosecond) << "the device's time, not the host's";
  EXPECT_THAT(matches(product("cutlass_80_simt_sgemm_64x64"), Pattern::Fp32MatMul).spans,
              SizeIs(1));
}

TEST(Fp32MatMul, IsNoneOfTf32OrOfHalfPrecision) {
  EXPECT_THAT(matches(product(kTensorFloat), Pattern::Fp32MatMul).spans, IsEmpty());
  EXPECT_THAT(matches(product("cutlass_80_tensorop_s1688gemm_64"), Pattern::Fp32MatMul).spans,
              IsEmpty());
  EXPECT_THAT(matches(product(kFullPrecision, "c10::Half"), Pattern::Fp32MatMul).spans, IsEmpty());
}

TEST(Fp32MatMul, IsLookedForWhereTheTypeOfTheDeviceIsNotKnown) {
  OpTrace t;
  add_device(t, 9, DeviceType::Unknown);
  t.op("aten::mm", 0, 10).id(1).tensor({64, 64}, "float");
  t.kernel(kFullPrecision, 20, 50).launched_by(1);
  EXPECT_THAT(matches(t.build(), Pattern::Fp32MatMul).spans, SizeIs(1));
}

TEST(Fp32MatMul, IsNotLookedForOnADeviceWithoutTf32) {
  const PatternMatches found = matches(product(kFullPrecision, "float", 7), Pattern::Fp32MatMul);
  EXPECT_THAT(found.spans, IsEmpty());
  EXPECT_THAT(found.missing, HasSubstr("TF32"));
}

Trace optimizer(std::string_view function) {
  OpTrace t;
  t.python(function, 0, 50);
  t.op("aten::add_", 10, 20);
  return t.build();
}

TEST(OptimizerSingleTensor, IsToldByTheFunctionOfTheOptimizer) {
  const Trace single = optimizer("torch/optim/adamw.py(345): _single_tensor_adamw");
  const PatternMatches found = matches(single, Pattern::OptimizerSingleTensor);
  EXPECT_THAT(found.spans, SizeIs(1));
  EXPECT_EQ(found.saving_ns, 50 * kMicrosecond);
  const Trace multi = optimizer("torch/optim/adam.py(554): _multi_tensor_adam");
  EXPECT_THAT(matches(multi, Pattern::OptimizerSingleTensor).spans, IsEmpty());
}

TEST(OptimizerSingleTensor, CountsTheTimeOfNestedMatchesOnce) {
  OpTrace t;
  t.python("a.py(1): _single_tensor_sgd", 0, 50);
  t.python("a.py(1): _single_tensor_sgd", 10, 40);
  t.python("a.py(1): _single_tensor_sgd", 60, 80);
  const PatternMatches found = matches(t.build(), Pattern::OptimizerSingleTensor);
  EXPECT_THAT(found.spans, SizeIs(3));
  EXPECT_EQ(found.saving_ns, 70 * kMicrosecond);
}

Trace loader(std::string_view made) {
  OpTrace t;
  const std::string file = "torch/utils/data/dataloader.py";
  t.python(file + "(420): __iter__", 0, 10);
  t.python(file + "(360): _get_iterator", 1, 9);
  t.python(file + std::string(made), 2, 8);
  t.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 20, 50);
  return t.build();
}

TEST(SynchronizedDataLoader, IsALoaderThatMakesNoWorkers) {
  const PatternMatches found = matches(loader("(560): __init__"), Pattern::SynchronizedDataLoader);
  EXPECT_THAT(found.spans, SizeIs(1));
  EXPECT_EQ(found.saving_ns, 30 * kMicrosecond) << "what loading the batch took";
  const Trace with_workers = loader("(500): check_worker_number_rationality");
  EXPECT_THAT(matches(with_workers, Pattern::SynchronizedDataLoader).spans, IsEmpty());
}

Trace zero_grad(std::string_view around_zero) {
  OpTrace t;
  t.python("torch/optim/optimizer.py(900): zero_grad", 0, 50);
  t.op(around_zero, 10, 30);
  t.op("aten::zero_", 12, 20);
  return t.build();
}

TEST(GradientNotSetToNone, IsAZeroWithinZeroGrad) {
  const PatternMatches found = matches(zero_grad("Python"), Pattern::GradientNotSetToNone);
  EXPECT_THAT(found.spans, SizeIs(1));
  EXPECT_EQ(found.saving_ns, 8 * kMicrosecond) << "the zeroing alone";
}

TEST(GradientNotSetToNone, IsNoTensorThatIsMadeOfZeros) {
  EXPECT_THAT(matches(zero_grad("aten::zeros"), Pattern::GradientNotSetToNone).spans, IsEmpty());
}

Trace convolution(std::string_view next, bool with_bias) {
  OpTrace t;
  t.python("net.py(9): forward", 0, 100);
  t.python("nn.Module: Conv2d_0", 10, 40);
  auto op =
      t.op("aten::conv2d", 12, 38).tensor({1, 3, 8, 8}, "float").tensor({4, 3, 3, 3}, "float");
  with_bias ? op.tensor({4}, "float") : op.none();
  t.op("aten::add_", 30, 36);
  t.python(next, 50, 90);
  return t.build();
}

TEST(Conv2dBiasBatchNorm, IsABiasBeforeABatchNorm) {
  const Trace trace = convolution("nn.Module: BatchNorm2d_0", true);
  const PatternMatches found = matches(trace, Pattern::Conv2dBiasBatchNorm);
  EXPECT_THAT(found.spans, SizeIs(1));
  EXPECT_EQ(found.saving_ns, 6 * kMicrosecond) << "the addition of the bias";
}

TEST(Conv2dBiasBatchNorm, IsNoneWithoutBiasOrWithoutNorm) {
  const Trace no_bias = convolution("nn.Module: BatchNorm2d_0", false);
  EXPECT_THAT(matches(no_bias, Pattern::Conv2dBiasBatchNorm).spans, IsEmpty());
  const Trace no_norm = convolution("nn.Module: ReLU_0", true);
  EXPECT_THAT(matches(no_norm, Pattern::Conv2dBiasBatchNorm).spans, IsEmpty());
}

Trace half_product(std::int64_t columns, std::string_view type = "c10::BFloat16") {
  OpTrace t;
  t.op("aten::addmm", 0, 10)
      .id(1)
      .tensor({64}, type)
      .tensor({8, 64}, type)
      .tensor({64, columns}, type);
  t.kernel("gemm", 5, 25).launched_by(1);
  return t.build();
}

TEST(MatMulDimInFp16, IsASizeThatIsNoMultipleOfEight) {
  const PatternMatches found = matches(half_product(63), Pattern::MatMulDimInFp16);
  EXPECT_THAT(found.spans, SizeIs(1));
  EXPECT_EQ(found.saving_ns, 20 * kMicrosecond);
  EXPECT_THAT(matches(half_product(64), Pattern::MatMulDimInFp16).spans, IsEmpty());
  EXPECT_THAT(matches(half_product(63, "float"), Pattern::MatMulDimInFp16).spans, IsEmpty());
}

TEST(Patterns, OfAnEmptyTraceSayWhatIsMissing) {
  const std::vector<PatternMatches> all = match_patterns(Trace());
  ASSERT_THAT(all, SizeIs(kPatterns));
  for (const PatternMatches& found : all) {
    EXPECT_THAT(found.spans, IsEmpty());
    EXPECT_EQ(found.missing.empty(), found.pattern == Pattern::ForLoopIndexing);
  }
}

TEST(SourceLocation, IsTheInnermostCallerThatIsNotTorchsOwn) {
  OpTrace t;
  t.python("train.py(3): step", 0, 100);
  t.python("torch/nn/functional.py(12): linear", 10, 90);
  t.python("<built-in function linear>", 11, 89);
  t.op("aten::linear", 12, 88);
  const Trace trace = t.build();
  EXPECT_EQ(source_location(trace, SpanId(3)), "train.py:3");
  EXPECT_THAT(report_text(trace, Pattern::MatMulDimInFp16, SpanId(3)),
              HasSubstr("\n[Source Code Location] train.py:3"));
}

TEST(SourceLocation, OfAGradientIsThatOfItsOperator) {
  OpTrace t;
  t.op("aten::mm", 10, 20).sequence(7).stack({"net.py(5): forward"});
  t.op("MmBackward0", 30, 50).sequence(7).forward_thread(1);
  t.op("aten::mm", 35, 45);
  EXPECT_EQ(source_location(t.build(), SpanId(2)), "net.py:5");
}

TEST(TidyReport, HasEachTextOnceAndALineForEachPattern) {
  OpTrace t;
  t.python("train.py(3): step", 0, 100);
  for (int i = 0; i < 3; ++i)
    t.op("aten::mm", 10 + 10 * i, 15 + 10 * i)
        .tensor({3, 3}, "c10::Half")
        .tensor({3, 3}, "c10::Half");
  const Trace trace = t.build();
  const std::string text = tidy_report(trace, match_patterns(trace));
  const std::size_t first = text.find("train.py:3");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find("train.py:3", first + 1), std::string::npos);
  EXPECT_THAT(text,
              HasSubstr("Matrix Multiplication Dimension Not Aligned Pattern: 3 events matched."));
  EXPECT_THAT(text, Not(HasSubstr("For Loop Indexing")));
}

TEST(SourceLocations, SkipFramesOfLibraries) {
  for (const char* const frame :
       {"at::_ops::mm::call(at::Tensor const&)", "libtorch_python.so.1.13+0x37c983",
        "torch/nn/modules/linear.py(114): forward",
        "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py(114): forward",
        "../sysdeps/nptl/libc_start_call_main.h(58): __libc_start_call_main"})
    EXPECT_TRUE(detail::is_library_frame(frame)) << frame;
  EXPECT_FALSE(detail::is_library_frame("/home/me/torch-models/train.py(12): step"));
}

}  // namespace
}  // namespace sonde
