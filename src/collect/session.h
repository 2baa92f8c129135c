// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A session: a file, and the windows of the process's stream of events that go into it.
//
//   SONDE_TRY(auto session, Session::open({.output = "run.sonde"}));  // ready, not recording
//   SONDE_TRY_VOID(session->begin_window(0));                         // recording
//   ...
//   session->end_window();                                            // sealed; returns at once
//   SONDE_TRY(Trace cycle, session->read_window(0));                  // waits for the drainer
//   SONDE_TRY_VOID(session->close());
//
// Several sessions may be open at once, nested or overlapping. Any thread may make any call. All
// threads of the process are recorded, unless the session filters. The destructor closes. In a
// child of fork() all calls do nothing: the file belongs to the parent.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sonde/profile/buffer_policy.h"
#include "sonde/profile/record_options.h"
#include "sonde/result.h"
#include "sonde/trace.h"
#include "trace/known_names.h"

namespace sonde {

struct SessionOptions {
  std::string output =
      "";  // the `.sonde` file, or a pattern with {pid}, {rank}, {host}; empty: an unnamed file
  std::uint64_t budget_bytes = std::uint64_t{256} << 20;
  BufferPolicy policy = BufferPolicy::Spill;
  // BufferPolicy::Ring: its files reach back this far from their end, and no further; 0: they have
  // all that the buffers hold.
  std::int64_t ring_ns = 0;
  bool crash_safe = true;  // buffers in a file beside the output, so that they survive a SIGKILL
  bool compress = true;
  RecordOptions record = {};
  // Threads to record, by kernel thread id or by name; both empty: all.
  std::vector<std::int64_t> only_thread_ids = {};
  std::vector<std::string> only_thread_names = {};
};

// What a ring holds, as a file of its own.
struct SnapshotRequest {
  std::string path;
  std::int64_t at_least_ns = 0;  // more than SessionOptions::ring_ns, if the buffers have it
  std::vector<std::pair<std::string, std::string>> metadata = {};  // keys and JSON, of it alone
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(SessionOptions options);
  virtual ~Session() = default;

  // Opens the next window. `first_step` is the caller's position (a step number).
  virtual Result<void> begin_window(std::int64_t first_step) = 0;
  // Closes the window. The time this takes does not depend on how much was recorded.
  virtual void end_window() = 0;
  virtual bool recording() const = 0;
  virtual int windows() const = 0;  // how many were begun

  // The requested activities that nothing here records, each with advice. The ledger says the same.
  virtual std::vector<std::string> unserved() const = 0;

  // Stored in the file and shown with the trace; `json` must be valid JSON. A later value wins.
  virtual Result<void> set_metadata(const std::string& key, const std::string& json) = 0;

  // Writes the ring's content so far to a file while recording continues; for BufferPolicy::Ring.
  virtual Result<void> snapshot(const SnapshotRequest& request) = 0;

  // A trace of one ended window, or of all of them. Waits until the drainer has written it.
  virtual Result<Trace> read_window(int index) = 0;
  virtual Result<Trace> read_all() = 0;

  // The first write error of the file.
  virtual Result<void> status() const = 0;
  // Ends an open window, waits for the drainer, writes ledger and index, and releases the file:
  // another session may use its name. Further calls have no effect.
  virtual Result<void> close() = 0;
  // The file's name with the pattern filled in; empty for an unnamed file.
  virtual std::string path() const = 0;
  // Distinguishes its file from others with the same name, like BlockFile::id().
  virtual std::string file_id() const { return ""; }
};

}  // namespace sonde
