// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests cuda::profiler with fake runtimes that count their calls. They are loaded with local scope,
// as Python loads torch's.

#include "sonde/profile/cuda_profiler.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sonde::cuda {
namespace {

using ::testing::HasSubstr;

class FakeRuntime {
 public:
  explicit FakeRuntime(const char* path) : library_(::dlopen(path, RTLD_LAZY | RTLD_LOCAL)) {
    if (library_ == nullptr) ADD_FAILURE() << ::dlerror();
  }
  ~FakeRuntime() { ::dlclose(library_); }
  FakeRuntime(const FakeRuntime&) = delete;
  FakeRuntime& operator=(const FakeRuntime&) = delete;

  int& number(const char* name) const { return *static_cast<int*>(::dlsym(library_, name)); }
  std::string initialized() const {
    return static_cast<const char*>(::dlsym(library_, "fake_initialized"));
  }

 private:
  void* library_;
};

TEST(CudaProfiler, StartsAndStopsTheRuntimeOfTheProcess) {
  const FakeRuntime runtime(CUDART_12);
  EXPECT_TRUE(profiler::start());
  EXPECT_EQ(runtime.number("fake_starts"), 1);
  EXPECT_EQ(runtime.number("fake_stops"), 0);
  EXPECT_TRUE(profiler::stop());
  EXPECT_EQ(runtime.number("fake_stops"), 1);
}

TEST(CudaProfiler, RunsFromTheBeginOfABlockToItsEnd) {
  const FakeRuntime runtime(CUDART_12);
  {
    const profiler::profile window;
    EXPECT_TRUE(window.started());
    EXPECT_EQ(runtime.number("fake_stops"), 0);
  }
  EXPECT_EQ(runtime.number("fake_starts"), 1);
  EXPECT_EQ(runtime.number("fake_stops"), 1);
}

TEST(CudaProfiler, SaysWhatCudaSaysAndItsNumber) {
  const FakeRuntime runtime(CUDART_12);
  runtime.number("fake_status") = 35;
  const auto started = profiler::start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message,
            "CUDA driver version is insufficient for CUDA runtime version (35)");
}

TEST(CudaProfiler, StopsAlsoWhatDidNotStart) {
  const FakeRuntime runtime(CUDART_12);
  runtime.number("fake_status") = 35;
  {
    const profiler::profile window;
    EXPECT_FALSE(window.started());
  }
  EXPECT_EQ(runtime.number("fake_stops"), 1);
}

TEST(CudaProfiler, IsInitialisedWithPyTorchsFlags) {
  const FakeRuntime runtime(CUDART_11);
  const auto done = profiler::init("out.txt");
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(runtime.initialized(),
            "gpustarttimestamp\ngpuendtimestamp\ngridsize3d\nthreadblocksize\nstreamid\n"
            "enableonstart 0\nconckerneltrace|out.txt|0");
  EXPECT_TRUE(profiler::init("out.csv", {"one", "two"}, "csv"));
  EXPECT_EQ(runtime.initialized(), "one\ntwo|out.csv|1");
}

TEST(CudaProfiler, KnowsTwoOutputModes) {
  const FakeRuntime runtime(CUDART_11);
  const auto done = profiler::init("out.txt", {}, "xml");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "supported CUDA profiler output modes are: key_value and csv");
}

TEST(CudaProfiler, IsNotInitialisedFromCuda12On) {
  const FakeRuntime runtime(CUDART_12);
  const auto done = profiler::init("out.txt", {}, "xml");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "CUDA12+ does not need profiler initialization!");
}

TEST(CudaProfiler, SaysThatThereIsNoRuntime) {
  for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
    if (void* found = ::dlopen(name, RTLD_LAZY)) {
      ::dlclose(found);
      GTEST_SKIP() << "there is " << name;
    }
  }
  const auto started = profiler::start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("no CUDA runtime found"));
}

}  // namespace
}  // namespace sonde::cuda
