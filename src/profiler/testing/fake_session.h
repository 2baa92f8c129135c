// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// For tests of the profiler: a session that only logs its calls, and the messages
// that would go to stderr.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/session.h"
#include "profiler/hooks.h"
#include "sonde/profiler.h"

namespace sonde::testing {

// The calls of all fake sessions of a test, in order: "open run.sonde", "begin 3", "end",
// "close".
struct SessionLog {
  std::vector<std::string> calls;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> metadata_order;
  SessionOptions options;  // of the session opened last
  bool fail_open = false;
  bool fail_begin = false;
  bool is_disk_full = false;

  void add(std::string call) { calls.push_back(std::move(call)); }
  std::string take() {
    std::string text;
    for (const std::string& call : std::exchange(calls, {})) {
      text += (text.empty() ? "" : ", ") + call;
    }
    return text;
  }
};

class FakeSession : public Session {
 public:
  FakeSession(std::shared_ptr<SessionLog> log, std::string path)
      : log_(std::move(log)), path_(std::move(path)) {}

  Result<void> begin_window(std::int64_t first_step) override {
    if (log_->fail_begin) return Failure(ErrorCode::Io, "no window today");
    log_->add("begin " + std::to_string(first_step));
    recording_ = true;
    ++windows_;
    return {};
  }
  void end_window() override {
    log_->add("end");
    recording_ = false;
  }
  bool recording() const override { return recording_; }
  int windows() const override { return windows_; }
  std::vector<std::string> unserved() const override { return {}; }
  Result<void> set_metadata(const std::string& key, const std::string& json) override {
    log_->metadata[key] = json;
    log_->metadata_order.push_back(key);
    return {};
  }
  Result<void> snapshot(const SnapshotRequest&) override { return {}; }
  // A fake holds no events: the error says which were asked for.
  Result<Trace> read_window(int index) override {
    return Failure(ErrorCode::NotFound, path_ + " window " + std::to_string(index));
  }
  Result<Trace> read_all() override { return Failure(ErrorCode::NotFound, path_ + " all"); }
  Result<void> close() override {
    log_->add("close");
    recording_ = false;
    return status();
  }
  Result<void> status() const override {
    if (log_->is_disk_full) return Failure(ErrorCode::Io, path_ + ": cannot write: disk full");
    return {};
  }
  std::string path() const override { return path_; }

 private:
  std::shared_ptr<SessionLog> log_;
  std::string path_;
  bool recording_ = false;
  int windows_ = 0;
};

inline ProfilerHooks fake_hooks(std::shared_ptr<SessionLog> log) {
  ProfilerHooks hooks;
  hooks.open_session =
      [log = std::move(log)](SessionOptions options) -> Result<std::unique_ptr<Session>> {
    if (log->fail_open) return Failure(ErrorCode::Io, options.output + ": cannot create");
    log->add("open " + options.output);
    log->options = std::move(options);
    return std::unique_ptr<Session>(std::make_unique<FakeSession>(log, log->options.output));
  };
  return hooks;
}

// Messages as "warning: …" and "error: …" while it lives.
class CapturedMessages {
 public:
  CapturedMessages()
      : before_(set_message_handler([this](MessageLevel level, std::string_view text) {
          texts_.push_back((level == MessageLevel::Error ? "error: " : "warning: ") +
                           std::string(text));
        })) {}
  ~CapturedMessages() { set_message_handler(std::move(before_)); }
  CapturedMessages(const CapturedMessages&) = delete;
  CapturedMessages& operator=(const CapturedMessages&) = delete;

  std::vector<std::string> take() { return std::exchange(texts_, {}); }

 private:
  std::vector<std::string> texts_;
  MessageHandler before_;
};

}  // namespace sonde::testing
