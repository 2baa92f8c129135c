// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Names of spans that mean something, each in one place: those that PyTorch gives, and those of
// calls that launch, copy or wait.

#include <cstdint>
#include <string_view>

namespace sonde {

// The autograd engine's call around a gradient; the gradient's own name follows.
inline constexpr std::string_view kEvaluateFunction = "autograd::engine::evaluate_function: ";
// The gradient that adds to a parameter's .grad.
inline constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";

// The operator in which torch tells of a collective of NCCL and others (the table `collectives`).
inline constexpr std::string_view kCollectiveOperator = "record_param_comms";

// A call of an optimiser's step(), as PyTorch marks it; its class and method follow: "SGD.step".
inline constexpr std::string_view kOptimizerPrefix = "Optimizer.step#";

// A call of a module, as Python's profilers name it; its class and number follow: "Linear_2".
inline constexpr std::string_view kModulePrefix = "nn.Module: ";

// A step of a schedule; its number follows.
inline constexpr std::string_view kStepPrefix = "ProfilerStep#";
// The key of the metadata that says by which range the steps of a trace were recognised, if the
// program did not mark them.
inline constexpr std::string_view kStepsInferredFrom = "steps_inferred_from";
// The key of the metadata that lists the numbers of steps that were not recorded to their end, if
// the program did not mark them; and what their spans are called.
inline constexpr std::string_view kPartialStepsKey = "partial_steps";
inline constexpr std::string_view kAfterLastStep = "after the last step";
// All steps together, in tables.
inline constexpr std::string_view kAllSteps = "ProfilerStep*";
// N of a name ProfilerStep#N, -1 of any other. 07 and +7 do not count: they would not be written
// back the same way.
std::int64_t step_number(std::string_view name) noexcept;

// Keys of metadata, by PyTorch's names. The recording numbers its events ("Ev Idx").
inline constexpr std::string_view kNumberedEventsKey = "expose_kineto_event_metadata";
// In Kineto's JSON, names of operators contain their overloads: "aten::add.Tensor".
inline constexpr std::string_view kOverloadsInNamesKey = "capture_overload_names";
// Stacks have native frames below Python's lines.
inline constexpr std::string_view kNativeStacksKey = "with_native_stack";

// The thread of `sonde run` in a recorded program.
inline constexpr const char* kAgentThread = "sonde agent";

// Keys of metadata. How the program ended, if not well: {"signal": 11} or {"status": 1}.
inline constexpr std::string_view kProgramEndedKey = "program_ended";
// Why a ring was written to this file: {"reason": "slow-step", "step": 7, "took_ns": 9, "usual_ns":
// 3, "number": 1}; "signal" with "signal", "hang" with "step" and "since_ns"; "crash", "exit".
inline constexpr std::string_view kDumpKey = "dump";
// What the program's threads had of the processor: {"cores": 2, "wall_ns": 9, "ran_ns": 8,
// "waited_ns": 1, "process_ns": 8, "threads": 3}. The process may have run longer than the threads
// that could be asked.
inline constexpr std::string_view kProcessorTimeKey = "processor_time";

// Whether a call of this name starts a kernel, a graph, a copy or a fill. Versions and variants of
// a name count: cudaLaunchKernelExC, cuMemcpyHtoD_v2. Other calls ask, wait or allocate.
bool starts_work(std::string_view call) noexcept;
bool launches_graph(std::string_view call) noexcept;
bool copies_memory(std::string_view call) noexcept;
// Whether the host waits for a device in it.
bool waits_for_device(std::string_view call) noexcept;
// Whether a span of a thread with this name is a collective that runs on the host: gloo, MPI, UCC.
bool communicates_on_host(std::string_view name) noexcept;
// Whether a device's work of this name is a wait of its own: MTIA lists those among its work.
bool waits_on_device(std::string_view work) noexcept;
// Whether a range of this name is a collective of a library that runs them on threads of the host,
// as PyTorch marks them.
bool is_host_collective(std::string_view range) noexcept;
// Of the calls that wait, those that Kineto draws an arrow from to the wait on the device.
bool has_kineto_arrow_to_wait(std::string_view call) noexcept;

}  // namespace sonde
