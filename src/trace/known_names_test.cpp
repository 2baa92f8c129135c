// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/known_names.h"

#include <gtest/gtest.h>

namespace sonde {
namespace {

TEST(KnownNames, OfStepsHaveANumber) {
  EXPECT_EQ(step_number("ProfilerStep#0"), 0);
  EXPECT_EQ(step_number("ProfilerStep#17"), 17);
}

TEST(KnownNames, AStepWhoseNumberWouldNotComeBackAsItWasIsNone) {
  for (const char* name :
       {"ProfilerStep#", "ProfilerStep#07", "ProfilerStep#+7", "ProfilerStep#-7", "ProfilerStep#7 ",
        "ProfilerStep*", "step 7", "ProfilerStep#99999999999999999999"}) {
    EXPECT_EQ(step_number(name), -1) << name;
  }
}

TEST(KnownNames, SayWhichCallsStartWork) {
  for (const char* name :
       {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync",
        "cuMemcpyHtoD_v2", "cudaGraphLaunch_ptsz", "hipMemset", "clEnqueueNDRangeKernel"}) {
    EXPECT_TRUE(starts_work(name)) << name;
  }
  for (const char* name : {"cudaMalloc", "cuLibraryLoadData", "cuModuleLoadData",
                           "cudaStreamSynchronize", "clEnqueueBarrierWithWaitList"}) {
    EXPECT_FALSE(starts_work(name)) << name;
  }
}

TEST(KnownNames, SayWhichCallsWait) {
  for (const char* name : {"cudaDeviceSynchronize", "cuCtxSynchronize", "hipStreamSynchronize",
                           "synchronizeStream", "clFinish"}) {
    EXPECT_TRUE(waits_for_device(name)) << name;
  }
  EXPECT_FALSE(waits_for_device("cudaLaunchKernel"));
}

}  // namespace
}  // namespace sonde
