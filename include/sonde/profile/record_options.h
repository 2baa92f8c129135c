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

// The numbers are those of PyTorch's ProfilerActivity.
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
  Lean = 1,    // only its work, which then belongs to no operator
  Full = 2,    // also what waits waited for, and every call that Kineto shows
};

// Cpu, and the activities of all added sources (source.h).
std::vector<Activity> supported_activities();

// Members have PyTorch's names. In C++17, assign to the members of a default object.
struct RecordOptions {
  std::vector<Activity> activities = supported_activities();
  bool record_shapes = false;      // shapes and types of the inputs of operators
  bool profile_memory = false;     // allocations and frees
  bool with_stack = false;         // the stack at each operator
  bool with_flops = false;         // estimates of FLOPs; implies shapes
  bool with_modules = false;       // the module of each operator
  bool with_native_stack = false;  // --native-stack: also below Python's lines; implies stacks
  GpuLevel gpu_level = GpuLevel::Linked;
  // Numbers events as PyTorch's recorder does: "Ev Idx" among their arguments.
  bool numbered_events = false;
  // In exported JSON, names of operators contain their overloads: "aten::add.Tensor".
  bool overloads_in_names = false;
};

}  // namespace sonde
