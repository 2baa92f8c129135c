// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What the phases of a profiler do to sessions: one session for all cycles, each a window of it, or
// a session for each cycle. Not thread-safe; Profiler serialises.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/session.h"
#include "profiler/hooks.h"
#include "sonde/profiler.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

// `output` for one cycle of several: {cycle} filled in, or ".<cycle>" before the suffix. Empty
// stays so.
std::string cycle_path(const std::string& output, std::int64_t cycle);

// What is saved must not replace the recording that it is read from.
Result<void> not_onto(const std::string& recorded_to, const std::string& path);

class CycleRecorder {
 public:
  CycleRecorder(const ProfilerOptions& options,
                std::function<Result<std::unique_ptr<Session>>(SessionOptions)> open_session);

  Result<void> prepare();
  // Begins a window and describes it with the metadata of PyTorch's cycles.
  Result<void> start(std::int64_t step);
  void stop();
  Result<void> close();

  bool prepared() const { return session_ != nullptr; }
  bool recording() const { return session_ != nullptr && session_->recording(); }
  // The window begun last, or all.
  Result<Trace> trace() const;
  Result<void> snapshot(const std::string& path) const;
  // The first thing that could not be written to the file.
  Result<void> status() const { return session_ ? session_->status() : Result<void>(); }
  std::string path() const { return session_ ? session_->path() : std::string(); }
  const std::string& trace_id() const { return trace_id_; }
  void set_trace_id_callback(std::function<std::string()> callback);

  // `json` is valid. Before the first prepare, it is kept for then.
  void set_metadata(const std::string& key, const std::string& json);
  void preset_metadata(const std::string& key, const std::string& json);

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Result<void> open_next();
  void new_trace_id();
  void describe_job();
  void describe_cycle();

  SessionOptions session_options_;
  Pairs flags_;  // of the options, as metadata
  bool all_windows_;
  bool file_per_cycle_;
  std::function<std::string()> trace_id_callback_;
  std::function<Result<std::unique_ptr<Session>>(SessionOptions)> open_session_;

  std::unique_ptr<Session> session_;
  std::unique_ptr<Session>
      last_;                 // with a file a cycle: the one before, until session_ has a window
  std::int64_t cycles_ = 0;  // sessions opened
  std::string trace_id_;
  Pairs early_;
  Pairs presets_;
};

}  // namespace sonde
