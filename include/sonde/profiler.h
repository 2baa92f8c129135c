// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The profiler: when to record, and what to do with the recording.
//
//   sonde::Profiler prof({
//       .output = "train.sonde",
//       .schedule = sonde::schedule({.wait = 1, .warmup = 1, .active = 3, .repeat = 2}),
//   });
//   prof.start();
//   for (const Batch& batch : batches) { train(batch); prof.step(); }
//   prof.stop();
//   std::cout << *prof.key_averages().table({.sort_by = "self_cpu_time_total", .row_limit = 10});
//
// All threads of the process are recorded. Several profilers may run at once, nested or
// overlapping; while they do, each records what any of them asks for (shapes, memory, stacks).
// Every member may be called from any thread; calls on one profiler wait for each other.
//
// A profiler never disturbs the program: start(), step() and stop() return nothing. The first error
// (an impossible schedule, a file that cannot be written) goes to the message handler and to
// status(); from then on the profiler records nothing. Warnings go to the message handler only. In
// a child of fork() a profiler of the parent does nothing.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sonde/analyse/averages.h"
#include "sonde/analyse/events.h"
#include "sonde/profile/buffer_policy.h"
#include "sonde/profile/execution_trace.h"
#include "sonde/profile/record_options.h"
#include "sonde/profile/schedule.h"
#include "sonde/result.h"
#include "sonde/trace.h"

namespace sonde {

class Profiler;

// In C++17, assign to the members of a default object.
struct ProfilerOptions {
  // The `.sonde` file, which grows while recording; {pid}, {rank}, {host} and {program} are filled
  // in. Empty: a file without a name, for trace() and save().
  std::string output = "";
  // Listing no activity, or one twice, is an error. An activity that nothing in the program records
  // gives a warning.
  RecordOptions record = {};
  // Kinds of spans that trace() has; unset: all. The file has all of them.
  std::optional<std::vector<SpanKind>> only_kinds = std::nullopt;
  Schedule schedule = {};
  // Called in step() or stop() when a cycle has ended and before the next is prepared; trace()
  // returns that cycle. It must not call start(), step(), stop() or close(), nor wait for a thread
  // that uses the profiler.
  std::function<void(Profiler&)> on_trace_ready = nullptr;

  // Runs while a cycle is recorded; close() cleans it up. Register it before.
  std::shared_ptr<ExecutionTraceObserver> execution_trace_observer = nullptr;

  // The file always has every cycle; with this, trace() returns all cycles instead of the last.
  bool acc_events = false;
  // Makes the trace id of each cycle; unset: 32 random hexadecimal digits.
  std::function<std::string()> custom_trace_id_callback = nullptr;

  // Writes a file for each cycle: {cycle} in `output` is its number, from 0. Without {cycle} the
  // number comes before the suffix ("run.sonde": "run.0.sonde"). Cannot be combined with
  // acc_events.
  bool one_file_per_cycle = false;
  // Memory for events that are not yet in the file.
  std::uint64_t budget_bytes = std::uint64_t{256} << 20;
  // What happens when events do not fit.
  BufferPolicy policy = BufferPolicy::Spill;
  // Keeps that memory in a file beside `output`, so that a killed process leaves a complete trace.
  bool crash_safe = true;
  // Threads to record, by kernel thread id or by name. Both empty: all.
  std::vector<std::int64_t> only_thread_ids = {};
  std::vector<std::string> only_thread_names = {};
};

class Profiler {
 public:
  Profiler();
  explicit Profiler(ProfilerOptions options);
  // Calls stop() and close().
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  void start();
  // Call it at the end of a step of the program: closes its span `ProfilerStep#N` and moves along
  // the schedule.
  void step();
  // Returns at once; the file is complete after close(). You may call start() again, which
  // continues the schedule.
  void stop();
  // Waits until everything is in the file and finishes it. Nothing can be recorded afterwards;
  // trace() and save() still work.
  Result<void> close();

  // The phases of start(), step() and stop(), for programs with their own schedule: prepare (file
  // and sources are ready), start (recording) and stop.
  void prepare_trace();
  void start_trace();
  void stop_trace();

  // Leaves out what begins from now on, of the activities named, until it is enabled again: trace()
  // has none of it. Operators, annotations and allocations are the activity Cpu; work of devices
  // and calls of their libraries are all others. The file has everything.
  void toggle_collection_dynamic(bool enable, const std::vector<Activity>& activities);

  // The first error.
  Result<void> status() const;
  std::int64_t step_num() const;
  ProfilerAction current_action() const;

  // The cycle that was started last, or all of them with acc_events. Fails while it is being
  // recorded.
  Result<Trace> trace() const;
  // PyTorch's answers from trace(). If there is none, they are empty and the message handler gets
  // an error.
  EventList events() const;
  KeyAverages key_averages(const GroupBy& group_by = {}) const;

  // Write trace() to files, completely or not at all, as often as you like. save() writes a
  // `.sonde` file.
  Result<void> save(const std::string& path) const;
  // Kineto's JSON, compressed if the path ends in `.gz`.
  Result<void> export_chrome_trace(const std::string& path) const;
  // Collapsed stacks, for flame graphs. The metric is self_cpu_time_total or self_device_time_total
  // (or one of its older names). Fails if stacks were not requested.
  Result<void> export_stacks(const std::string& path,
                             std::string_view metric = "self_cpu_time_total") const;
  // What held memory over time, by category, for one device ("cuda:0"; "": the first that is not
  // the host). The suffix chooses the format; see memory_timeline.h. Fails if shapes and memory
  // were not requested.
  Result<void> export_memory_timeline(const std::string& path, std::string_view device = "") const;
  // With BufferPolicy::Ring: writes what the ring holds now as a `.sonde` file; recording
  // continues.
  Result<void> snapshot(const std::string& path) const;
  // The file recorded to, with its pattern filled in. Empty before the first prepare, and for an
  // unnamed file.
  std::string path() const;

  // Empty before the first prepare.
  std::string trace_id() const;
  // Applies to cycles prepared from now on.
  void set_custom_trace_id_callback(std::function<std::string()> callback);

  // Stored in the file of the current cycle, or of the first if there is none yet. A later value of
  // a key wins.
  void add_metadata(std::string_view key, std::string_view value);
  // The value is JSON text. Fails if it is not valid.
  Result<void> add_metadata_json(std::string_view key, std::string_view json);
  // The same, for every cycle that starts from now on.
  Result<void> preset_metadata_json(std::string_view key, std::string_view json);

 private:
  class Impl;
  friend struct ProfilerMaker;
  explicit Profiler(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// Profiles a block: starts when constructed, stops and closes at the end of the block, as `with
// profile() as prof:` does.
//
//   {
//     sonde::ScopedProfiler prof({.output = "step.sonde"});
//     train(batch);
//   }
//
// To get answers inside the block, call stop() first. At its end, on_trace_ready has them.
class ScopedProfiler : public Profiler {
 public:
  [[nodiscard]] explicit ScopedProfiler(ProfilerOptions options = {})
      : Profiler(std::move(options)) {
    start();
  }
};

// For on_trace_ready: exports each cycle as DIR/WORKER.TIME.pt.trace.json, with the time in ns and
// with .gz if wanted, and creates the folder. If no worker name is given, it is HOST_PID,
// determined at the first cycle and then kept.
std::function<void(Profiler&)> tensorboard_trace_handler(std::string dir,
                                                         std::string worker_name = "",
                                                         bool use_gzip = false);

enum class MessageLevel : std::uint8_t { Warning, Error };

// Receives messages of profilers, on the thread that caused them, so possibly on several at once.
using MessageHandler = std::function<void(MessageLevel level, std::string_view text)>;

// Applies to the whole process. Null restores the default, a line on stderr. Returns the previous
// handler.
MessageHandler set_message_handler(MessageHandler handler);

}  // namespace sonde
