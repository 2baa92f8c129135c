// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// CUDA as a source: what it asks of CUPTI and when, and the thread that takes the records.

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/signals.h"
#include "collect/cuda/api_calls.h"
#include "collect/cuda/buffers.h"
#include "collect/cuda/call_log.h"
#include "collect/cuda/cupti.h"
#include "collect/cuda/driver.h"
#include "collect/cuda/kept_buffers.h"
#include "collect/cuda/runtime.h"
#include "collect/cuda/work_recorder.h"
#include "sonde/cuda.h"
#include "sonde/source/op.h"
#include "sonde/source/plugin.h"
#include "wire/sized.h"

namespace sonde::cuda {
namespace {

constexpr std::size_t kBudgetBytes = std::size_t{256} << 20;
constexpr std::size_t kPrepared = 4;
constexpr std::int64_t kLongestFlushMs = 50;
// After this long without a buffer, waits are written even if their events have not come.
constexpr std::int64_t kQuietMs = 100;

// Attributes of CUPTI's activity interface, and a flag of its flush: also buffers that are not
// full.
constexpr std::uint32_t kZeroedOut = 5;
constexpr std::uint32_t kForced = 1;

std::uint32_t name(const std::string& text) {
  return sonde_name(text.data(), text.size());
}

class CudaSource {
 public:
  // Cheap: it is all that a program without CUDA pays for.
  bool prepare(Level level, bool with_memory, std::string& why) {
    const std::lock_guard lock(mutex_);
    if (running_ == 0) {  // while running, they must stay as they were enabled
      level_ = level;
      with_memory_ = with_memory;
    }
    if (is_deferred() || driver_is_there()) return true;
    why = "no NVIDIA driver found (libcuda.so.1)";
    return false;
  }

  // If the driver will notify us, CUPTI is not opened before the program uses CUDA: a child of
  // fork() cannot use what its parent has opened.
  void start() {
    const std::lock_guard lock(mutex_);
    if (running_++ > 0) return;
    if (!is_deferred() || cuda_began_) begin();
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    if (running_ == 0) return;
    --running_;
    if (!active_) return;
    if (running_ > 0) {
      deliver();
    } else {
      end();
    }
  }

  // Fetches complete records. Under load, full buffers come by themselves.
  void flush() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || !active_) return;  // starting, ending, or not begun
    cupti_.flush_all(0);
    buffers_.wait_decoded(kLongestFlushMs);
  }

  // The driver calls this when the program begins to use it. Under `sonde run`, recording waits for
  // that.
  void cuda_begins() {
    const std::lock_guard lock(mutex_);
    cuda_began_ = true;
    if (running_ > 0 && !active_) begin();
  }

  // Called at the end of the program, while CUDA is still usable.
  void end_with_program() {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;  // no more windows: CUDA is about to end
    if (active_) end();
  }

  // CUPTI and its threads belong to the parent, and so does CUDA if the parent has used it.
  void forget_in_child() {
    new (&mutex_) std::mutex;
    running_ = 0;
    active_ = false;
    cuda_began_ = false;
    was_opened_by_parent_ = was_opened_by_parent_ || opened_;
    opened_ = false;
  }

  void request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    *max_records = 0;
    *buffer = buffers_.take();
    *size = *buffer != nullptr ? ActivityBuffers::kBufferBytes : 0;
    if (*buffer != nullptr || cupti_.version >= kCupti129) return;
    // Older versions must get a buffer. What they write here is lost, and counted when it comes
    // back.
    *buffer = scrap_;
    *size = sizeof(scrap_);
  }

  void complete(std::uint8_t* buffer, std::size_t valid_bytes) {
    if (buffer == scrap_) {
      ++scrapped_;
    } else if (buffer != nullptr) {
      buffers_.put_filled(buffer, valid_bytes);
    }
  }

  std::mutex& mutex() { return mutex_; }

 private:
  // Whether the driver will notify us when the program begins to use CUDA.
  static bool is_deferred() {
    const char* const injected = std::getenv("CUDA_INJECTION64_PATH");
    return injected != nullptr && std::strstr(injected, "libsonde_cuda") != nullptr;
  }

  static void tell_failure(const std::string& why) {
    sonde_lost(SONDE_LOST_SOURCE_FAILED, name("cuda: " + why), 1);
  }
  void fail(const std::string& why) {
    has_failed_ = true;
    tell_failure(why);
  }

  bool open() {
    if (has_failed_) return false;
    if (opened_) return true;
    if (was_opened_by_parent_) {
      fail("the process was forked from one that had already opened CUPTI");
      return false;
    }
    Result<Cupti> cupti = open_cupti();
    if (!cupti) {
      fail(cupti.error().message);
      return false;
    }
    cupti_ = *std::move(cupti);
    if (auto opened = calls_.open(cupti_); !opened) {
      tell_failure(opened.error().message);  // the other profiler may have ended the next time
      return false;
    }
    std::uint8_t zeroed = 1;
    std::size_t size = sizeof(zeroed);
    cupti_.set_attribute(kZeroedOut, &size, &zeroed);
    buffers_.prepare(kPrepared);
    const int failed = cupti_.register_callbacks(
        [](std::uint8_t** buffer, std::size_t* bytes, std::size_t* most) {
          instance().request(buffer, bytes, most);
        },
        [](void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
          instance().complete(buffer, valid);
        });
    if (failed != 0) {
      fail("CUPTI does not accept buffers: " + cupti_.text_of(failed));
      return false;
    }
    opened_ = true;
    return true;
  }

  std::vector<ActivityKind> kinds() const {
    std::vector<ActivityKind> kinds = {ActivityKind::ConcurrentKernel, ActivityKind::Memcpy,
                                       ActivityKind::Memset};
    if (level_ == Level::Lean) return kinds;
    // Each of these makes every launch more expensive:
    // docs/decisions/0017-launches-in-the-driver.md.
    if (level_ == Level::Full) {
      kinds.insert(kinds.end(), {ActivityKind::Synchronization, ActivityKind::CudaEvent,
                                 ActivityKind::Overhead});
    }
    if (with_memory_) kinds.push_back(ActivityKind::Memory);
    if (CallLog::is_wanted()) {
      kinds.insert(kinds.end(), {ActivityKind::ExternalCorrelation, ActivityKind::Runtime,
                                 ActivityKind::Driver});
    }
    return kinds;
  }

  void begin() {
    if (!open()) return;
    active_ = true;
    start_decoder();
    for (const ActivityKind kind : kinds()) {
      const int failed = cupti_.activity_enable(static_cast<std::uint32_t>(kind));
      if (failed == 0) continue;
      sonde_lost(
          SONDE_LOST_SOURCE_FAILED,
          name("cuda: CUPTI does not record kind " +
               std::to_string(static_cast<std::uint32_t>(kind)) + ": " + cupti_.text_of(failed)),
          1);
    }
    // Records of polling would flood the trace.
    if (cupti_.enable_all_sync_records != nullptr) cupti_.enable_all_sync_records(0);
    ApiCalls::at_first_return(end_before_cuda_does);
    calls_.start(level_);
  }

  // Call it when CUDA is running: exit handlers run in reverse order, and by then CUDA has
  // registered its own.
  static void end_before_cuda_does() {
    static std::once_flag once;
    std::call_once(once, [] { std::atexit([] { instance().end_with_program(); }); });
  }

  // For a session that ends while others go on: everything up to now is decoded.
  void deliver() {
    synchronize_devices();
    cupti_.flush_all(kForced);
    stop_decoder();
    start_decoder();
  }

  void end() {
    calls_.stop();
    // Sonde's own wait should not be recorded.
    cupti_.activity_disable(static_cast<std::uint32_t>(ActivityKind::Synchronization));
    synchronize_devices();
    for (const ActivityKind kind : kinds())
      cupti_.activity_disable(static_cast<std::uint32_t>(kind));
    cupti_.flush_all(kForced);
    stop_decoder();
    active_ = false;
  }

  void start_decoder() {
    stopping_ = false;
    const SignalsBlocked blocked;
    decoder_ = std::thread([this] { decode_all(); });
  }

  void stop_decoder() {
    stopping_ = true;
    buffers_.wake();
    if (decoder_.joinable()) decoder_.join();
  }

  void decode_all() {
    ::pthread_setname_np(::pthread_self(), "sonde cuda");
    const ActivityDecoder decoder(cupti_.version, &cupti_);
    const std::unique_ptr<KeptBuffers> kept = KeptBuffers::from_environment(cupti_.version);
    const std::unique_ptr<CallLog> calls = CallLog::from_environment();
    WorkRecorder recorder;
    ActivityDecoder::Counts counts;
    for (;;) {
      const bool was_stopping = stopping_;
      const ActivityBuffers::Filled filled = buffers_.next_filled(was_stopping ? 0 : kQuietMs);
      if (filled.buffer == nullptr) {
        recorder.flush();
        if (was_stopping) break;
        continue;
      }
      end_before_cuda_does();
      const std::span<const std::uint8_t> bytes(filled.buffer, filled.bytes);
      const ActivityDecoder::Counts found = decoder.decode(bytes, [&](const Activity& activity) {
        if (kept != nullptr) kept->note(activity);
        if (calls != nullptr) calls->add(activity);
        recorder.add(activity);
      });
      if (kept != nullptr) kept->add(bytes);
      counts.records += found.records;
      counts.without_times += found.without_times;
      counts.bytes_left += found.bytes_left;
      buffers_.give_back(filled.buffer, filled.bytes);
    }
    tell_devices(recorder);
    tell_versions();
    tell_losses(counts);
  }

  // Uses the keys of Kineto's traces.
  void tell_versions() {
    const auto tell = [](const char* key, std::uint32_t version) {
      if (version != 0) sonde_metadata_is(name(key), name(std::to_string(version)));
    };
    tell("cupti_version", cupti_.version);
    tell("cuda_driver_version", static_cast<std::uint32_t>(driver_version()));
    if (runtime_version_ == 0) {
      const std::optional<Runtime> runtime = Runtime::find();
      if (runtime) runtime_version_ = static_cast<std::uint32_t>(runtime->version());
    }
    tell("cuda_runtime_version", runtime_version_);
  }

  static void tell_devices(WorkRecorder& recorder) {
    for (const std::int16_t index : recorder.take_devices()) {
      auto device = sized<sonde_device_properties>();
      char text[256] = "";
      if (!device_properties(index, device, text, sizeof(text))) continue;
      device.name = sonde_name(text, std::strlen(text));
      sonde_device_is(&device);
    }
  }

  void tell_losses(const ActivityDecoder::Counts& counts) {
    std::size_t dropped = 0;
    if (cupti_.get_dropped(nullptr, 0, &dropped) != 0) dropped = 0;
    sonde_lost(SONDE_LOST_DROPPED, name("cuda: records that CUPTI dropped"), dropped);
    sonde_lost(SONDE_LOST_DROPPED, name("cuda: record buffers for which there was no memory"),
               scrapped_.exchange(0));
    const std::uint64_t refused = buffers_.refused();
    sonde_lost(SONDE_LOST_DROPPED,
               name("cuda: times that CUPTI asked for a buffer when the budget was used up"),
               refused - refused_before_);
    refused_before_ = refused;
    sonde_lost(SONDE_LOST_UNDECODABLE, name("cuda: device work whose times never arrived"),
               counts.without_times);
    sonde_lost(SONDE_LOST_UNDECODABLE,
               name("cuda: bytes of CUPTI's buffers that could not be read"), counts.bytes_left);
  }

 public:
  static CudaSource& instance() {
    static auto* const source = new CudaSource;  // outlives every thread
    return *source;
  }

 private:
  std::mutex mutex_;
  Level level_ = Level::Linked;
  bool with_memory_ = false;
  int running_ = 0;
  bool cuda_began_ = false;
  bool opened_ = false;
  bool active_ = false;
  bool has_failed_ = false;
  bool was_opened_by_parent_ = false;  // in a child of fork()
  Cupti cupti_;
  ApiCalls calls_;
  ActivityBuffers buffers_{kBudgetBytes};
  std::thread decoder_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> scrapped_{0};
  std::uint64_t refused_before_ = 0;
  std::uint32_t runtime_version_ = 0;
  alignas(8) std::uint8_t scrap_[64 << 10] = {};
};

Level level_of(const sonde_request& request) {
  return request.gpu_level <= static_cast<std::uint8_t>(Level::Full)
             ? static_cast<Level>(request.gpu_level)
             : Level::Linked;
}

int prepare(void* /*self*/, const sonde_request* request, char* why, std::size_t why_bytes) {
  std::string reason;
  const bool with_memory = request->profile_memory != 0;
  if (CudaSource::instance().prepare(level_of(*request), with_memory, reason)) return 0;
  std::snprintf(why, why_bytes, "%s", reason.c_str());
  return 1;
}
void start(void* /*self*/) {
  CudaSource::instance().start();
}
void stop(void* /*self*/) {
  CudaSource::instance().stop();
}
void flush(void* /*self*/) {
  CudaSource::instance().flush();
}

const sonde_plugin kPlugin = {
    sizeof(kPlugin), SONDE_ACTIVITY_CUDA, "cuda", nullptr, prepare, start, stop, flush};

}  // namespace

namespace {

// Under `sonde run`, a program with neither torch nor scopes is recorded from here on.
void open_agent() {
  const char* const path = std::getenv("SONDE_RUN_AGENT");
  const char* const only = std::getenv("SONDE_RUN_ONLY_PID");
  if (path == nullptr || (only != nullptr && std::atol(only) != ::getpid())) return;
  void* const agent = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (agent == nullptr) return;
  auto* const entry = reinterpret_cast<int (*)(const char*)>(::dlsym(agent, "sonde_agent_attach"));
  if (entry != nullptr) entry(nullptr);
}

}  // namespace

void attach() {
  static const bool is_first = [] {
    ::pthread_atfork([] { CudaSource::instance().mutex().lock(); },
                     [] { CudaSource::instance().mutex().unlock(); },
                     [] { CudaSource::instance().forget_in_child(); });
    return true;
  }();
  static_cast<void>(is_first);
  sonde_add_plugin(&kPlugin);
}

namespace {

__attribute__((constructor)) void attach_when_loaded() {
  attach();
}

}  // namespace
}  // namespace sonde::cuda

// For programs under `sonde run`: the agent calls this before the first session.
extern "C" __attribute__((visibility("default"))) int sonde_adapter_attach(void) {
  sonde::cuda::attach();
  return 0;
}
// The CUDA driver calls this when the program begins to use it (CUDA_INJECTION64_PATH).
// NOLINTNEXTLINE(readability-identifier-naming): the driver's name
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  sonde::cuda::CudaSource::instance().cuda_begins();
  sonde::cuda::open_agent();
  return 1;
}
