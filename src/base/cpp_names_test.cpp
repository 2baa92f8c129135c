// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/cpp_names.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(CppNames, AreShortenedToTheFunctionsOwn) {
  EXPECT_EQ(short_cpp_name("void at::native::elementwise_kernel<128, 4, F(int)>(int, F)"),
            "elementwise_kernel");
  EXPECT_EQ(short_cpp_name("void (anonymous namespace)::softmax_warp_forward<float, 9>(float*)"),
            "softmax_warp_forward");
  EXPECT_EQ(short_cpp_name("_Z3addPfi"), "add(float*, int)");
  EXPECT_EQ(short_cpp_name("void cutlass::Kernel2<cutlass_80_sgemm_64x64_16x5_tn_align1>(P::Q)"),
            "Kernel2");
}

TEST(CppNames, ThatAreNoFunctionsStayAsTheyAre) {
  for (const char* const name : {"aten::mm", "Memcpy HtoD (Pageable -> Device)", "", "a<b", "(",
                                 ")", "ampere_sgemm_128x64_tn", "triton_poi_fused_add_0"})
    EXPECT_EQ(short_cpp_name(name), name);
}

TEST(CppNames, AreFoldedOverSizes) {
  EXPECT_EQ(folded_cpp_name("void k<128, 4, float2>(int)"), "void k<#, #, float2>");
  EXPECT_EQ(folded_cpp_name("ampere_sgemm_128x64_tn"), "ampere_sgemm_#x#_tn");
  EXPECT_EQ(folded_cpp_name("ampere_sgemm_32x128_tn"), "ampere_sgemm_#x#_tn");
  EXPECT_EQ(folded_cpp_name("cutlass_80_tensorop_s1688gemm_256x64_16x4_nt_align4"),
            "cutlass_80_tensorop_s1688gemm_#x#_#x#_nt_align4");
  EXPECT_EQ(folded_cpp_name("aten::conv2d"), "aten::conv2d");
}

}  // namespace
}  // namespace sonde
