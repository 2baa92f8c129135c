// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The environment variables through which `sonde run` instructs the preload library and the agent;
// docs/run.md describes them. Plain C++17, because the preload library includes it.

namespace sonde {

constexpr const char* kRunPrefix = "SONDE_RUN_";
constexpr const char* kRunPreload = "SONDE_RUN_PRELOAD";    // the path in LD_PRELOAD
constexpr const char* kRunAgent = "SONDE_RUN_AGENT";        // the agent's path
constexpr const char* kRunNvtx = "SONDE_RUN_NVTX";          // the path in NVTX_INJECTION64_PATH
constexpr const char* kRunOpencl = "SONDE_RUN_OPENCL";      // the path in OPENCL_LAYERS
constexpr const char* kRunReport = "SONDE_RUN_REPORT";      // the run log
constexpr const char* kRunOnlyPid = "SONDE_RUN_ONLY_PID";   // children are not followed
constexpr const char* kRunAdapters = "SONDE_RUN_ADAPTERS";  // paths, separated by colons
constexpr const char* kRunCuda = "SONDE_RUN_CUDA";          // the path of libsonde_cuda
constexpr const char* kRunOutput = "SONDE_RUN_OUTPUT";
constexpr const char* kRunExecutionTrace = "SONDE_RUN_EXECUTION_TRACE";  // a pattern too
constexpr const char* kRunBudget = "SONDE_RUN_BUDGET";                   // bytes
constexpr const char* kRunPolicy = "SONDE_RUN_POLICY";                   // spill, drop or ring
constexpr const char* kRunAsk = "SONDE_RUN_ASK";        // the text of record_options.h
constexpr const char* kRunPaused = "SONDE_RUN_PAUSED";  // 1: wait for `sonde ctl` or a signal
constexpr const char* kRunKeepCommand = "SONDE_RUN_KEEP_COMMAND_LINE";  // 1: including its secrets
constexpr const char* kRunStarted = "SONDE_RUN_STARTED";     // CLOCK_MONOTONIC at the start, ns
constexpr const char* kRunAfter = "SONDE_RUN_AFTER";         // ns after that
constexpr const char* kRunFor = "SONDE_RUN_FOR";             // ns
constexpr const char* kRunFromStep = "SONDE_RUN_FROM_STEP";  // numbers of steps
constexpr const char* kRunSteps = "SONDE_RUN_STEPS";
constexpr const char* kRunPython = "SONDE_RUN_PYTHON";  // words for python/sonde/_run.py
constexpr const char* kRunCaptures =
    "SONDE_RUN_CAPTURES";  // 1: record between cudaProfilerStart and …Stop
constexpr const char* kRunSignalStart = "SONDE_RUN_SIGNAL_START";  // numbers
constexpr const char* kRunSignalStop = "SONDE_RUN_SIGNAL_STOP";
constexpr const char* kRunRing = "SONDE_RUN_RING";    // ns that the ring keeps
constexpr const char* kRunDumps = "SONDE_RUN_DUMPS";  // that are written while the program runs
constexpr const char* kRunDumpSignal = "SONDE_RUN_DUMP_SIGNAL";       // a number
constexpr const char* kRunDumpHang = "SONDE_RUN_DUMP_HANG";           // ns without a step
constexpr const char* kRunDumpSlowStep = "SONDE_RUN_DUMP_SLOW_STEP";  // percent of the usual time

constexpr const char* kRunOnDemand = "SONDE_RUN_ON_DEMAND";  // 1: ask dynolog what to record

// PyTorch's own variable: its profiler asks dynolog if it is set.
constexpr const char* kKinetoDaemon = "KINETO_USE_DAEMON";

// NVTX's own variable: programs that use NVTX load the library that it names.
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";

// A variable of OpenCL's loader: the layers between a program and OpenCL, separated by colons.
constexpr const char* kOpenclLayers = "OPENCL_LAYERS";

// The options of the address sanitizer's runtime, separated by colons, and the one that lets
// another library be loaded before it.
constexpr const char* kAsanOptions = "ASAN_OPTIONS";
constexpr const char* kAsanMayBeSecond = "verify_asan_link_order=0";

// Exported by the agent. Called a first time, and again when libtorch has been loaded.
// `torch_library` is the path of the loaded libtorch_cpu; null if there is none.
constexpr const char* kAgentEntry = "sonde_agent_attach";
using AgentEntry = int(const char* torch_library);

// Exported by the preload library. The agent calls it when it listens to `socket`, a packet socket
// with that inode. Requests and answers are those of src/agent/control.h.
constexpr const char* kAgentCame = "sonde_preload_agent_came";
using AgentCame = void(int socket, unsigned long inode);

// Exported by the preload library. Sets the function to call before a thread forbids itself to read
// the processor's counter (0), or nearly all system calls (1).
constexpr const char* kWatchThreads = "sonde_preload_watch_threads";
using BeforeGivingUp = void(int what);
using WatchThreads = void(BeforeGivingUp* before);

// Exported by the preload library. Sets the function to call when the program calls
// cudaProfilerStart (1) or cudaProfilerStop (0).
constexpr const char* kWatchCaptures = "sonde_preload_watch_captures";
using OnCapture = void(int begins);
using WatchCaptures = void(OnCapture* tell);

// The prefix of agents' socket names (src/agent/control.h).
constexpr const char* kControlPrefix = "sonde-agent-";

// Exported by an adapter. Called once, on any thread, with libtorch loaded and initialised. It adds
// its Source (sonde/source/source.h) and returns 0, or an error number.
constexpr const char* kAdapterEntry = "sonde_adapter_attach";
using AdapterEntry = int();

}  // namespace sonde
