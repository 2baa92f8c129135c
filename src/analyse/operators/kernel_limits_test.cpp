// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/analyse/kernel_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "analyse/testing/op_trace.h"

namespace sonde {
namespace {

using testing::OpTrace;

OpTrace on_device(std::string_view name) {
  OpTrace t;
  t.builder().devices().push_back({.name = t.builder().intern(name), .compute_major = 9});
  return t;
}
// An operator at 100 * number us, whose kernel takes so many microseconds.
OpTrace::Span launch(OpTrace& t, int number, std::string_view op, std::string_view kernel,
                     Nanos us) {
  const Nanos begin_us = 1'000 * number;
  t.runtime("cudaLaunchKernel", begin_us + 2, begin_us + 4).correlation(number);
  t.kernel(kernel, begin_us + 10, begin_us + 10 + us).correlation(number);
  return t.op(op, begin_us, begin_us + 8);
}
OperatorLimit only(const KernelLimits& limits) {
  EXPECT_EQ(limits.operators.size(), 1U);
  return limits.operators.empty() ? OperatorLimit() : limits.operators.front();
}

// 137.4 GFLOP in 300 us are 458 TFLOP/s, of 494.
TEST(KernelLimits, AProductNearThePeakIsLimitedByArithmetic) {
  OpTrace t = on_device("NVIDIA H200");
  launch(t, 1, "aten::mm", "sm90_xmma_gemm_f32f32_tf32f32_f32_nn", 300)
      .tensor({4096, 4096}, "float")
      .tensor({4096, 4096}, "float");
  const OperatorLimit one = only(kernel_limits(t.build()));
  EXPECT_EQ(one.limit, KernelLimit::Arithmetic);
  EXPECT_NEAR(one.operations_by_ns, 458'130, 100);
  EXPECT_NEAR(one.operations_share, 0.927, 0.01);
}

TEST(KernelLimits, AProductOnTheOrdinaryUnitsIsComparedWithThem) {
  OpTrace t = on_device("NVIDIA H200");
  launch(t, 1, "aten::mm", "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128>", 900)
      .tensor({2048, 2048}, "float")
      .tensor({2048, 2048}, "float");
  EXPECT_NEAR(only(kernel_limits(t.build())).operations_share, 0.285, 0.01);
}

// Twice 256 MiB read and once written in 200 us are 4 TB/s, of 4.8.
TEST(KernelLimits, ASumIsLimitedByMemory) {
  OpTrace t = on_device("NVIDIA H200");
  launch(t, 1, "aten::add", "vectorized_elementwise_kernel", 200)
      .tensor({64, 1'048'576}, "float")
      .tensor({64, 1'048'576}, "float");
  const OperatorLimit one = only(kernel_limits(t.build()));
  EXPECT_EQ(one.limit, KernelLimit::Memory);
  EXPECT_NEAR(one.bytes_share, 0.839, 0.01);
}

TEST(KernelLimits, SmallKernelsAreLimitedByNeither) {
  OpTrace t = on_device("NVIDIA H200");
  launch(t, 1, "aten::add", "vectorized_elementwise_kernel", 2)
      .tensor({16, 16}, "float")
      .tensor({16, 16}, "float");
  EXPECT_EQ(only(kernel_limits(t.build())).limit, KernelLimit::Neither);
}

TEST(KernelLimits, OfAnUnknownDeviceOnlyRatesAreKnown) {
  OpTrace t = on_device("Made Up 1");
  launch(t, 1, "aten::mm", "gemm", 300).tensor({512, 512}, "float").tensor({512, 512}, "float");
  const KernelLimits limits = kernel_limits(t.build());
  EXPECT_FALSE(limits.peaks.is_known());
  EXPECT_EQ(only(limits).limit, KernelLimit::Unknown);
  EXPECT_GT(only(limits).operations_by_ns, 0);
}

TEST(KernelLimits, AreNotKnownWithoutSizes) {
  OpTrace t = on_device("NVIDIA H200");
  launch(t, 1, "aten::mm", "gemm", 300);
  EXPECT_TRUE(kernel_limits(t.build()).operators.empty());
}

}  // namespace
}  // namespace sonde
