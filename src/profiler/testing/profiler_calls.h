// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// For tests of the profiler: one over a fake session, with its phases written into the session's
// log.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "profiler/testing/fake_session.h"
#include "sonde/profiler.h"

namespace sonde::testing {

// Follows letters: None, Warmup, Record, recordandSave; the last one for ever.
inline Schedule letters(std::string text) {
  return [text = std::move(text)](std::int64_t step) {
    const auto at = std::min(static_cast<std::size_t>(step), text.size() - 1);
    return static_cast<ProfilerAction>(std::string("NWRSD").find(text[at]));
  };
}

class ProfilerCalls : public ::testing::Test {
 protected:
  // Writes "prepare" and "ready" into the log, beside the calls of the session.
  ProfilerOptions options(Schedule schedule) {
    ProfilerOptions result;
    result.output = "run.sonde";
    result.record.activities = {Activity::Cpu, Activity::Cuda};
    result.schedule = std::move(schedule);
    result.custom_trace_id_callback = [this] {
      log_->add("prepare");
      return std::string("id");
    };
    result.on_trace_ready = [this](Profiler&) { log_->add("ready"); };
    return result;
  }
  Profiler profiler(ProfilerOptions options) {
    auto hooks = fake_hooks(log_);
    hooks.device_stopped = [this] { return device_stopped_; };
    return ProfilerMaker::make(std::move(options), hooks);
  }
  Profiler profiler(const std::string& schedule) { return profiler(options(letters(schedule))); }

  std::shared_ptr<SessionLog> log_ = std::make_shared<SessionLog>();
  bool device_stopped_ = false;
  CapturedMessages messages_;
};

}  // namespace sonde::testing
