// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Writes an execution trace of a LibTorch program, as PyTorch's observer of the same name does:
// every operator with the tensors it read and made. The program links Sonde::torch.
//
//   auto observer = std::make_shared<sonde::ExecutionTraceObserver>();
//   observer->register_callback("step.et.json.gz");
//   sonde::Profiler prof({.output = "step.sonde", .execution_trace_observer = observer});
//
// Without a profiler, call start(), run the steps, then call stop() and unregister_callback().
//
// Nodes go to the file as operators end. The file is complete after every write, so a killed
// program loses at most the last 64 KiB. An operator costs some microseconds while this runs. Only
// one observer per process can be registered at a time. Every member may be called from any thread.

#include <memory>
#include <string>

#include "sonde/result.h"

namespace sonde {

class ExecutionTraceObserver {
 public:
  ExecutionTraceObserver();
  // Calls cleanup().
  ~ExecutionTraceObserver();
  ExecutionTraceObserver(const ExecutionTraceObserver&) = delete;
  ExecutionTraceObserver& operator=(const ExecutionTraceObserver&) = delete;

  // Opens the file, compressed if `path` ends in `.gz`; {pid}, {rank}, {host} and {program} are
  // filled in. Does nothing if this observer is registered. Fails if another one is, or if nothing
  // in the program writes nodes.
  Result<void> register_callback(const std::string& path);
  // Does nothing if it is not registered, or is already in that state.
  void start();
  void stop();
  // Stops and finishes the file. Returns the first write error, if there was one.
  Result<void> unregister_callback();
  // The same, ignoring errors.
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
