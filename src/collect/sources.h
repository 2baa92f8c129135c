// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The sources that were added, and what a session does to those that serve it.

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sonde/source/source.h"

namespace sonde {

// The activities that some added source serves, each once, ascending; the host's own is not among
// them.
std::vector<Activity> source_activities();

// What was requested, as PyTorch's traces store it: metadata keys and their JSON.
std::vector<std::pair<std::string, std::string>> request_flags(const SourceRequest& request);

// The sources that a session asked for and that could be prepared.
class ActiveSources {
 public:
  // What failed, as "name: reason".
  std::vector<std::string> prepare(const SourceRequest& request);
  // What all sessions want that record, or will when this one has started or stopped: to be called
  // before either.
  void tell(const std::vector<SourceRequest>& wanted);
  void start();
  void stop();
  void flush();

 private:
  void start_flusher();
  void flush_until(const std::stop_token& stopped);

  std::vector<std::shared_ptr<Source>> sources_;
  std::mutex mutex_;  // a session may be stopped by two threads at once
  bool started_ = false;
  std::jthread flusher_;  // runs between start and stop if some source is flushed
};

}  // namespace sonde
