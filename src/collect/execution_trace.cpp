// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/profile/execution_trace.h"

#include <pthread.h>

#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/json.h"
#include "collect/execution_trace_file.h"
#include "collect/output_name.h"
#include "sonde/profile/distributed.h"
#include "sonde/source/execution_trace_source.h"

namespace sonde {
namespace {

// The process has at most one execution trace.
class Current {
 public:
  int add_source(const sonde_et_source* source) {
    const std::lock_guard lock(control_);
    if (source == nullptr || source->size < sizeof(sonde_et_source)) return 1;
    if (source_ != nullptr && source_ != source) return 1;
    source_ = source;
    return 0;
  }

  Result<std::string> open(const void* owner, const std::string& pattern) {
    const std::lock_guard lock(control_);
    if (source_ == nullptr) {
      return Failure(ErrorCode::Unsupported, pattern +
                                                 ": nothing in this program can write execution "
                                                 "traces; link Sonde::torch");
    }
    if (owner_ != nullptr) {
      return Failure(ErrorCode::Invalid,
                     pattern + ": this process is already writing an execution trace, to " + path_);
    }
    if (pattern.empty()) return Failure(ErrorCode::Invalid, "an execution trace needs a file name");
    SONDE_TRY(path_, fill_output_name(pattern));
    SONDE_TRY(ExecutionTraceFile file, ExecutionTraceFile::create(path_));
    set_file(std::move(file));
    owner_ = owner;
    source_->begin();
    return path_;
  }

  void start(const void* owner) {
    const std::lock_guard lock(control_);
    if (owner_ != owner || running_) return;
    running_ = true;
    const std::optional<DistributedInfo> info = distributed_info();
    source_->start(info ? info->pg_config.c_str() : "");
  }

  void stop(const void* owner) {
    const std::lock_guard lock(control_);
    if (owner_ == owner) stop_locked();
  }

  Result<void> close(const void* owner) {
    const std::lock_guard lock(control_);
    if (owner_ != owner) return {};
    stop_locked();
    owner_ = nullptr;
    const std::lock_guard file_lock(file_mutex_);
    if (!file_) return {};
    file_->flush();
    Result<void> status = file_->status();
    file_.reset();
    return status;
  }

  bool is_owner(const void* owner) {
    const std::lock_guard lock(control_);
    return owner_ == owner;
  }
  bool is_running(const void* owner) {
    const std::lock_guard lock(control_);
    return owner_ == owner && running_;
  }

  // For source_->begin(), which is called with the lock.
  const std::string& path() const { return path_; }

  void write(const ExecutionTraceNode& node) {
    const std::lock_guard lock(file_mutex_);
    if (file_) file_->add(node);
  }

  // At the end of the program.
  void finish() {
    const std::lock_guard lock(control_);
    stop_locked();
    flush();
  }

  // Used in a child of fork(), which must not write to its parent's file.
  Current* in_child() const {
    auto* const fresh = new Current;
    fresh->source_ = source_;
    return fresh;
  }

 private:
  void set_file(ExecutionTraceFile file) {
    const std::lock_guard lock(file_mutex_);
    file_.emplace(std::move(file));
  }
  void flush() {
    const std::lock_guard lock(file_mutex_);
    if (file_) file_->flush();
  }
  void stop_locked() {
    if (!running_) return;
    running_ = false;
    source_->stop();
    flush();
  }

  // A source is called with the first held. It writes nodes with the second, which is locked last.
  std::mutex control_;
  std::mutex file_mutex_;
  const sonde_et_source* source_ = nullptr;
  const void* owner_ = nullptr;
  bool running_ = false;
  std::string path_;
  std::optional<ExecutionTraceFile> file_;
};

// Leaked: operators run while the program's statics are destroyed. In a child of fork() a new one
// takes its place, because its locks may be held by threads that no longer exist.
Current*& place() {
  static Current* only = new Current;
  return only;
}

Current& current() {
  static const bool is_first = [] {
    static_cast<void>(place());
    std::atexit([] { place()->finish(); });
    ::pthread_atfork(nullptr, nullptr, [] { place() = place()->in_child(); });
    return true;
  }();
  static_cast<void>(is_first);
  return *place();
}

std::string_view view(const sonde_et_text& text) {
  return {text.data != nullptr ? text.data : "", text.bytes};
}

ExecutionTraceValues values_of(const sonde_et_values& given) {
  return {view(given.values), view(given.shapes), view(given.types), view(given.strides)};
}

}  // namespace

struct ExecutionTraceObserver::State {
  mutable std::mutex mutex;
  std::string path;
};

ExecutionTraceObserver::ExecutionTraceObserver() : state_(std::make_unique<State>()) {}
ExecutionTraceObserver::~ExecutionTraceObserver() {
  cleanup();
}

Result<void> ExecutionTraceObserver::register_callback(const std::string& path) {
  if (is_registered()) return {};
  SONDE_TRY(std::string filled, current().open(this, path));
  const std::lock_guard lock(state_->mutex);
  state_->path = std::move(filled);
  return {};
}

void ExecutionTraceObserver::start() {
  current().start(this);
}
void ExecutionTraceObserver::stop() {
  current().stop(this);
}
Result<void> ExecutionTraceObserver::unregister_callback() {
  return current().close(this);
}
void ExecutionTraceObserver::cleanup() {
  static_cast<void>(unregister_callback());
}
bool ExecutionTraceObserver::is_registered() const {
  return current().is_owner(this);
}
bool ExecutionTraceObserver::is_running() const {
  return current().is_running(this);
}
std::string ExecutionTraceObserver::output_file_path() const {
  const std::lock_guard lock(state_->mutex);
  return state_->path;
}

}  // namespace sonde

extern "C" int sonde_add_et_source(const sonde_et_source* source) {
  return sonde::current().add_source(source);
}

extern "C" const char* sonde_et_path(void) {
  return sonde::current().path().c_str();
}

extern "C" void sonde_et_write(const sonde_et_node* node) {
  // Libraries that were built before know of no ranges.
  if (node == nullptr || node->size < offsetof(sonde_et_node, tensor_range)) return;
  sonde::ExecutionTraceNode written;
  written.id = node->id;
  written.parent = node->parent;
  written.name = sonde::view(node->name);
  written.inputs = sonde::values_of(node->inputs);
  written.outputs = sonde::values_of(node->outputs);
  written.record_function_id = node->record_function_id;
  written.forward_parent = node->forward_parent;
  written.sequence_number = node->sequence_number;
  written.scope = node->scope;
  written.thread = node->thread;
  written.forward_thread = node->forward_thread;
  written.schema = sonde::view(node->schema);
  written.kernel_backend = sonde::view(node->kernel_backend);
  written.kernel_file = sonde::view(node->kernel_file);
  written.more_attributes = sonde::view(node->more_attributes);
  if (node->size >= sizeof(sonde_et_node)) written.tensor_range = sonde::view(node->tensor_range);
  sonde::current().write(written);
}

extern "C" void sonde_et_string(sonde_et_text text, void (*put)(void* to, sonde_et_text json),
                                void* to) {
  const std::string json = sonde::json_string(sonde::view(text));
  put(to, {json.data(), json.size()});
}
