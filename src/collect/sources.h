// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The sources that were added, and what a session does to those that serve it.

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "sonde/source/source.h"

namespace sonde {

// The activities asked for that no added source serves, each with what to do about it.
std::vector<std::string> unserved_by_sources(const RecordOptions& wanted);

// The sources that a session asked for and that could be prepared.
class ActiveSources {
 public:
  // What failed, as "name: reason".
  std::vector<std::string> prepare(const RecordOptions& wanted);
  // What all sessions want that record, or will when this one has started or stopped: to be called
  // before either.
  void tell(const std::vector<RecordOptions>& wanted);
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
