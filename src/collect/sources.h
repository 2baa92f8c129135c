// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The sources that were added, and how a session uses those that serve it.

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "sonde/source/source.h"

namespace sonde {

// The requested activities that no source serves, each with advice.
std::vector<std::string> unserved_by_sources(const RecordOptions& wanted);

// The sources that a session asked for and that prepared successfully.
class ActiveSources {
 public:
  // The failures, each as "name: reason".
  std::vector<std::string> prepare(const RecordOptions& wanted);
  // What all recording sessions want together, including this one if it is about to start, without
  // it if it is about to stop. Call it before either.
  void tell(const std::vector<RecordOptions>& wanted);
  void start();
  void stop();
  void flush();

 private:
  void start_flusher();
  void flush_until(const std::stop_token& stopped);

  std::vector<std::shared_ptr<Source>> sources_;
  std::mutex mutex_;  // two threads may stop a session at the same time
  bool started_ = false;
  std::jthread flusher_;  // runs between start and stop if a source needs flushing
};

}  // namespace sonde
