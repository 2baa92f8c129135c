// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What to record: the activities, and how much of each. Profilers ask for it
// (ProfilerOptions::record); sources (source.h) get what they ask for.
//
//   sonde::Profiler prof({.output = "train.sonde",
//                         .record = {.record_shapes = true, .with_stack = true}});

#include <cstdint>
#include <vector>

namespace sonde {

// Numbered as PyTorch's ProfilerActivity.
enum class Activity : std::uint8_t {
  Cpu = 0,
  Xpu = 1,
  Cuda = 2,
  Hpu = 3,
  Mtia = 4,
  PrivateUse1 = 5
};

// How much of a GPU is recorded.
enum class GpuLevel : std::uint8_t {
  Linked = 0,  // its work, and the calls that launch, copy, wait, allocate or concern graphs
               // (launches as the driver sees them: cuLaunchKernel)
  Lean = 1,    // its work alone, which then belongs to no operator
  Full = 2,    // also waits with what they waited for, and every call that Kineto shows
};

// Cpu, and what the sources that were added (source.h) serve.
std::vector<Activity> supported_activities();

// Members have PyTorch's names. In C++17, assign to those of a default one.
struct RecordOptions {
  std::vector<Activity> activities = supported_activities();
  bool record_shapes = false;   // shapes and types of the inputs of operators
  bool profile_memory = false;  // allocations and frees
  bool with_stack = false;      // the stack at each operator
  bool with_flops = false;      // estimates of FLOPs; asks for shapes too
  bool with_modules = false;    // the module of each operator
  GpuLevel gpu_level = GpuLevel::Linked;
};

}  // namespace sonde
