// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/session.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "base/json.h"
#include "collect/collector.h"
#include "collect/output_name.h"
#include "decode/recording_reader.h"

namespace sonde {
namespace {

// Of operators, by all sessions of this process.
std::atomic<std::int64_t> external_ids_given{0};

std::int64_t greatest_external_id(const Trace& trace) {
  const auto& ids = trace.spans().external_id;
  if (!ids.materialised()) return 0;
  std::int64_t greatest = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) greatest = std::max(greatest, ids[i]);
  return greatest;
}

class RecordingSession : public Session {
 public:
  explicit RecordingSession(std::shared_ptr<SessionState> state)
      : state_(std::move(state)), pid_(::getpid()) {}

  // Does not wait: the drainer writes what is left, at the latest when the program ends.
  ~RecordingSession() override {
    if (is_mine()) collector().finish(*state_);
  }

  Result<void> begin_window(std::int64_t first_step) override {
    if (!is_mine()) return {};
    return collector().begin_window(*state_, first_step);
  }

  void end_window() override {
    if (is_mine()) collector().end_window(*state_);
  }

  bool recording() const override { return is_mine() && collector().is_recording(*state_); }
  int windows() const override { return is_mine() ? collector().window_count(*state_) : 0; }

  std::vector<std::string> unserved() const override { return state_->unserved; }

  Result<void> set_metadata(const std::string& key, const std::string& json) override {
    if (auto checked = validate_json(json); !checked) {
      return Failure(ErrorCode::Invalid, "metadata \"" + key + "\": " + checked.error().message);
    }
    if (!is_mine()) return {};
    return collector().set_metadata(*state_, key, json);
  }

  Result<void> snapshot(const SnapshotRequest& request) override {
    if (!is_mine()) return not_mine();
    return collector().snapshot(state_, request);
  }

  Result<Trace> read_window(int index) override {
    if (!is_mine()) return not_mine();
    SONDE_TRY_VOID(collector().wait_written(*state_, index));
    return read_numbered(index);
  }

  Result<Trace> read_all() override {
    if (!is_mine()) return not_mine();
    const int count = windows();
    for (int i = 0; i < count; ++i) SONDE_TRY_VOID(collector().wait_written(*state_, i));
    return read_numbered(-1);
  }

  Result<void> close() override {
    if (!is_mine()) return {};
    collector().finish(*state_);
    collector().wait_closed(*state_);
    return status();
  }

  Result<void> status() const override {
    if (!is_mine()) return {};
    if (const auto error = state_->file->first_error()) return Failure(*error);
    return {};
  }

  std::string path() const override { return state_->path; }
  std::string file_id() const override { return state_->file->id(); }

 private:
  static Collector& collector() { return Collector::instance(); }
  bool is_mine() const { return ::getpid() == pid_; }
  static Failure not_mine() {
    return {ErrorCode::Unsupported,
            "the session belongs to the process that this one was forked from"};
  }

  // No two traces of a process give the same number to operators, and a trace that is read again
  // has the same numbers.
  Result<Trace> read_numbered(int window) {
    const std::lock_guard lock(numbers_mutex_);
    const auto known = last_external_ids_.find(window);
    const std::int64_t last =
        known != last_external_ids_.end() ? known->second : external_ids_given.load();
    SONDE_TRY(Trace trace,
              read({.window = window, .still_written = true, .last_external_id = last}));
    if (known != last_external_ids_.end()) return trace;
    const std::int64_t used = std::max<std::int64_t>(0, greatest_external_id(trace) - last);
    const std::int64_t first = external_ids_given.fetch_add(used);
    last_external_ids_.emplace(window, first);
    if (first == last) return trace;  // else another thread took these numbers meanwhile
    return read({.window = window, .still_written = true, .last_external_id = first});
  }

  Result<Trace> read(const RecordingFilter& filter) const {
    SONDE_TRY(const BlockFile file, BlockFile::open(state_->file->readable_path()));
    if (file.id() != state_->file->id())
      return Failure(ErrorCode::NotFound, state_->path + ": was replaced by another recording");
    return read_recording(file, filter);
  }

  std::shared_ptr<SessionState> state_;
  pid_t pid_;
  std::mutex numbers_mutex_;
  std::map<int, std::int64_t> last_external_ids_;  // by window; -1: all
};

}  // namespace

Result<std::unique_ptr<Session>> Session::open(SessionOptions options) {
  auto state = std::make_shared<SessionState>();
  SONDE_TRY(state->path, fill_output_name(options.output));
  SONDE_TRY(state->file, RecordingFile::create(state->path));
  state->options = std::move(options);
  state->file->keep_only(state->options.only_thread_ids, state->options.only_thread_names);
  SONDE_TRY_VOID(Collector::instance().add(state));
  auto session = std::make_unique<RecordingSession>(state);
  Collector::instance().prepare_sources(*state);
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace sonde
