// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes an execution trace of a LibTorch program, as PyTorch's observer of the same name does:
// every operator with the tensors it read and made.
//
//   sonde::torch::attach();                                        // once; sonde/torch.h
//   auto observer = std::make_shared<sonde::ExecutionTraceObserver>();
//   observer->register_callback("step.et.json.gz");
//   sonde::Profiler prof({.output = "step.sonde", .execution_trace_observer = observer});
//
// or without a profiler: start(), the steps that matter, stop(), unregister_callback().
//
// Nodes go to the file as operators end; after every write it is a whole file again, so that a
// program which is killed leaves one that lacks the last 64 KiB at most. An operator costs some
// microseconds while this runs. One observer a process can be registered at a time. Every member
// may be called from any thread.

#include <memory>
#include <string>

#include "sonde/result.h"

namespace sonde {

class ExecutionTraceObserver {
 public:
  ExecutionTraceObserver();
  // cleanup().
  ~ExecutionTraceObserver();
  ExecutionTraceObserver(const ExecutionTraceObserver&) = delete;
  ExecutionTraceObserver& operator=(const ExecutionTraceObserver&) = delete;

  // Opens the file, compressed if `path` ends in `.gz`; {pid}, {rank}, {host} and {program} are
  // filled in. Nothing if this one is registered; an error if another is, or if nothing in the
  // program writes nodes.
  Result<void> register_callback(const std::string& path);
  // Nothing if it is not registered, or is in that state already.
  void start();
  void stop();
  // Stops and finishes the file. The first error of writing, if there was one.
  Result<void> unregister_callback();
  // The same, for those who do not ask.
  void cleanup();

  bool is_registered() const;
  bool is_running() const;
  // Empty if it was never registered.
  std::string output_file_path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sonde
