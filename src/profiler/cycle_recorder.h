// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Turns a profiler's phases into sessions: one session for all cycles with a window for each, or a
// session per cycle. Not thread-safe; Profiler serialises.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/session.h"
#include "profiler/hooks.h"
#include "sonde/profiler.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "sonde/trace/part.h"

namespace sonde {

// The output's name for one cycle of several: {cycle} is filled in, or ".<cycle>" inserted before
// the suffix. An empty name stays empty.
std::string cycle_path(const std::string& output, std::int64_t cycle);

// Refuses to save over the recording that is being read.
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
  void toggle(bool enable, const std::vector<Activity>& activities);

  bool prepared() const { return session_ != nullptr; }
  bool recording() const { return session_ != nullptr && session_->recording(); }
  // The latest window, or all of them. Warns of what could not be recorded.
  Result<Trace> trace() const;
  Result<void> snapshot(const std::string& path) const;
  // The first write error of the file.
  Result<void> status() const { return session_ ? session_->status() : Result<void>(); }
  std::string path() const { return session_ ? session_->path() : std::string(); }
  const std::string& trace_id() const { return trace_id_; }
  void set_trace_id_callback(std::function<std::string()> callback);

  // `json` must be valid. Before the first prepare it is kept until then.
  void set_metadata(const std::string& key, const std::string& json);
  void preset_metadata(const std::string& key, const std::string& json);

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Result<void> open_next();
  void new_trace_id();
  void describe_job();
  void describe_cycle();
  void begin_gap(bool of_host);
  void end_gap(bool of_host);
  void warn_once(const std::string& text) const;

  SessionOptions session_options_;
  Pairs flags_;  // from the options, as metadata
  bool all_windows_;
  bool file_per_cycle_;
  std::function<std::string()> trace_id_callback_;
  std::function<Result<std::unique_ptr<Session>>(SessionOptions)> open_session_;

  std::unique_ptr<Session> session_;
  std::unique_ptr<Session>
      last_;                 // with a file per cycle: the previous one, until session_ has a window
  std::int64_t cycles_ = 0;  // sessions opened
  std::string trace_id_;
  TracePart part_;  // what trace() has
  Pairs early_;
  Pairs presets_;
  mutable std::set<std::string> warned_;
};

}  // namespace sonde
