// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "profiler/cycle_recorder.h"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <system_error>

#include "base/clock.h"
#include "base/json.h"
#include "collect/distributed.h"
#include "collect/record_options.h"
#include "profiler/message.h"

namespace sonde {
namespace {

constexpr std::string_view kCycleField = "{cycle}";

SessionOptions session_options(const ProfilerOptions& options) {
  SessionOptions result;
  result.output = options.output;
  result.budget_bytes = options.budget_bytes;
  result.policy = options.policy;
  result.crash_safe = options.crash_safe;
  result.only_thread_ids = options.only_thread_ids;
  result.only_thread_names = options.only_thread_names;
  result.record = options.record;
  return result;
}

std::string random_trace_id() {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::random_device device;
  std::string id;
  for (int word = 0; word < 4; ++word) {
    const std::uint32_t bits = device();
    for (unsigned shift = 0; shift < 32; shift += 4) id += kDigits[(bits >> shift) & 0xF];
  }
  return id;
}

}  // namespace

std::string cycle_path(const std::string& output, std::int64_t cycle) {
  if (output.empty()) return output;
  const std::string number = std::to_string(cycle);
  std::string path = output;
  if (path.find(kCycleField) == std::string::npos) {
    const std::size_t name = path.rfind('/') + 1;  // npos + 1 is 0
    const std::size_t dot = path.rfind('.');
    const bool has_suffix = dot != std::string::npos && dot > name;
    path.insert(has_suffix ? dot : path.size(), "." + number);
    return path;
  }
  for (std::size_t at = 0; (at = path.find(kCycleField, at)) != std::string::npos;) {
    path.replace(at, kCycleField.size(), number);
    at += number.size();
  }
  return path;
}

Result<void> not_onto(const std::string& recorded_to, const std::string& path) {
  std::error_code ignored;
  if (recorded_to.empty() || !std::filesystem::equivalent(recorded_to, path, ignored)) return {};
  return Failure(ErrorCode::Invalid,
                 path + ": is the file that this profiler records to; choose another name");
}

CycleRecorder::CycleRecorder(
    const ProfilerOptions& options,
    std::function<Result<std::unique_ptr<Session>>(SessionOptions)> open_session)
    : session_options_(session_options(options)),
      flags_(record_metadata(options.record)),
      all_windows_(options.acc_events),
      file_per_cycle_(options.one_file_per_cycle),
      trace_id_callback_(options.custom_trace_id_callback),
      open_session_(std::move(open_session)) {
  part_.kinds = options.only_kinds;
}

Result<void> CycleRecorder::prepare() {
  new_trace_id();
  if (session_ == nullptr || file_per_cycle_) SONDE_TRY_VOID(open_next());
  set_metadata("trace_id", json_string(trace_id_));
  return {};
}

Result<void> CycleRecorder::open_next() {
  if (session_ != nullptr) {
    SONDE_TRY_VOID(session_->close());
    if (session_->windows() > 0) last_ = std::move(session_);
    session_.reset();
  }
  SessionOptions options = session_options_;
  if (file_per_cycle_) options.output = cycle_path(options.output, cycles_);
  SONDE_TRY(session_, open_session_(std::move(options)));
  if (cycles_++ == 0) {
    for (const std::string& what : session_->unserved()) warn_once(what);
  }
  describe_job();
  for (const auto& [key, json] : std::exchange(early_, {})) set_metadata(key, json);
  return {};
}

void CycleRecorder::new_trace_id() {
  if (trace_id_callback_) {
    try {
      trace_id_ = trace_id_callback_();
      return;
    } catch (const std::exception& thrown) {
      report_warning(std::string("custom_trace_id_callback threw: ") + thrown.what());
    } catch (...) {
      report_warning("custom_trace_id_callback threw");
    }
  }
  trace_id_ = random_trace_id();
}

// As PyTorch does. The user's own metadata comes later and wins.
void CycleRecorder::describe_job() {
  for (const char* name :
       {"PT_PROFILER_JOB_NAME", "PT_PROFILER_JOB_VERSION", "PT_PROFILER_JOB_ATTEMPT_INDEX"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) set_metadata(name, json_string(value));
  }
}

Result<void> CycleRecorder::start(std::int64_t step) {
  if (!all_windows_) part_.gaps.clear();
  SONDE_TRY_VOID(session_->begin_window(step));
  describe_cycle();
  return {};
}

void CycleRecorder::describe_cycle() {
  for (const auto& [key, json] : flags_) set_metadata(key, json);
  if (const std::optional<DistributedInfo> info = distributed_info()) {
    set_metadata("distributedInfo", distributed_info_json(*info));
  }
  for (const auto& [key, json] : presets_) set_metadata(key, json);
}

void CycleRecorder::stop() {
  if (recording()) session_->end_window();
}

Result<void> CycleRecorder::close() {
  if (session_ == nullptr) return {};
  return session_->close();
}

Result<Trace> CycleRecorder::trace() const {
  const bool begun = session_ != nullptr && session_->windows() > 0;
  Session* const session = begun ? session_.get() : last_.get();
  if (session == nullptr) return Failure(ErrorCode::Invalid, "trace: no cycle has started yet");
  if (session->recording()) {
    return Failure(
        ErrorCode::Invalid,
        "trace: the cycle is still being recorded; call this in on_trace_ready or after stop()");
  }
  SONDE_TRY(const Trace all,
            all_windows_ ? session->read_all() : session->read_window(session->windows() - 1));
  const LedgerTable& ledger = all.ledger();
  for (std::size_t i = 0; i < ledger.size(); ++i) {
    if (ledger.kind[i] == LedgerKind::SourceFailed)
      warn_once(std::string(all.string(ledger.detail[i])));
  }
  return part_of(all, part_);
}

void CycleRecorder::warn_once(const std::string& text) const {
  if (warned_.insert(text).second) report_warning(text);
}

void CycleRecorder::toggle(bool enable, const std::vector<Activity>& activities) {
  for (const Activity activity : activities) {
    const bool of_host = activity == Activity::Cpu;
    enable ? end_gap(of_host) : begin_gap(of_host);
  }
}

void CycleRecorder::begin_gap(bool of_host) {
  const Nanos now = realtime_ns();
  end_gap(of_host);  // one gap at a time
  part_.gaps.push_back({now, std::numeric_limits<Nanos>::max(), of_host, !of_host});
}

void CycleRecorder::end_gap(bool of_host) {
  for (TraceGap& gap : part_.gaps) {
    const bool is_open = gap.last_ns == std::numeric_limits<Nanos>::max();
    if (is_open && gap.of_host == of_host) gap.last_ns = realtime_ns();
  }
}

Result<void> CycleRecorder::snapshot(const std::string& path) const {
  if (session_ == nullptr)
    return Failure(ErrorCode::Invalid, "snapshot: nothing has been recorded yet");
  SONDE_TRY_VOID(not_onto(session_->path(), path));
  return session_->snapshot({.path = path});
}

void CycleRecorder::set_trace_id_callback(std::function<std::string()> callback) {
  trace_id_callback_ = std::move(callback);
}

void CycleRecorder::set_metadata(const std::string& key, const std::string& json) {
  if (session_ == nullptr) {
    early_.emplace_back(key, json);
    return;
  }
  if (Result<void> stored = session_->set_metadata(key, json); !stored) {
    report_warning("metadata " + key + " is not stored: " + stored.error().message);
  }
}

void CycleRecorder::preset_metadata(const std::string& key, const std::string& json) {
  for (auto& [known, value] : presets_) {
    if (known == key) {
      value = json;
      return;
    }
  }
  presets_.emplace_back(key, json);
}

}  // namespace sonde
