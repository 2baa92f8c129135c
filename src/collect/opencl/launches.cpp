// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/opencl/launches.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>

#include "collect/opencl/device_clock.h"
#include "collect/opencl/queues.h"
#include "sonde/source/op.h"
#include "wire/sized.h"

namespace sonde::opencl {

namespace {

// The longest time that the end of a window waits for the device.
constexpr std::chrono::milliseconds kLongestWait(500);

std::int64_t now_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::uint32_t name_of(const char* text) {
  return sonde_name(text, std::strlen(text));
}

void lose(std::uint64_t count, const char* why) {
  sonde_lost(SONDE_LOST_UNFINISHED, name_of(why), count);
}

bool begin_call(const char* function, std::uint64_t correlation) {
  const sonde_api_call call = {sizeof(call), name_of(function), SONDE_SPAN_PRIVATEUSE1_RUNTIME, 0,
                               correlation};
  return sonde_api_begin(&call) != 0;
}

// Shared by all threads of the program and of the device's driver.
struct UnderWay {
  std::mutex mutex;
  std::condition_variable fewer;
  std::uint64_t count = 0;
  std::uint64_t window = 0;  // launches of older windows are already counted
  std::map<std::int32_t, DeviceClock> clocks;
  std::int64_t worst_error_ns = 0;
};

UnderWay& under_way() {
  static auto* const instance = new UnderWay;  // outlives every thread
  return *instance;
}

}  // namespace

struct Launch::Pending {
  sonde_device_span span = sized<sonde_device_span>();
  sonde_kernel kernel = sized<sonde_kernel>();
  sonde_copy copy = sized<sonde_copy>();
  std::uint64_t window = 0;
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;

  // The event's times on the device's clock: queued, submitted, started, ended.
  static bool read_times(cl_event event, cl_ulong (&times)[4]) {
    constexpr cl_profiling_info kFirst = CL_PROFILING_COMMAND_QUEUED;
    for (cl_profiling_info i = 0; i < 4; ++i) {
      if (next().clGetEventProfilingInfo(event, kFirst + i, sizeof(times[i]), &times[i], nullptr) !=
          CL_SUCCESS) {
        return false;
      }
    }
    return true;
  }

  void tell(cl_event event, UnderWay& all) {
    cl_ulong times[4] = {};
    if (!read_times(event, times)) return lose(1, "work without times");
    DeviceClock& clock = all.clocks[span.device_index];
    const auto device_ns = [&](int i) { return static_cast<std::int64_t>(times[i]); };
    clock.see(before_ns, device_ns(0), after_ns);
    kernel.queued_ns = clock.to_host_ns(device_ns(0));
    kernel.submitted_ns = clock.to_host_ns(device_ns(1));
    span.start_ns = clock.to_host_ns(device_ns(2));
    span.duration_ns = device_ns(3) - device_ns(2);
    all.worst_error_ns = std::max(all.worst_error_ns, clock.error_ns());
    if (span.kind == SONDE_SPAN_KERNEL) {
      sonde_kernel_ran(&span, &kernel);
    } else {
      sonde_copy_ran(&span, &copy);
    }
  }

  static void CL_CALLBACK complete(cl_event event, cl_int status, void* self) {
    auto* const pending = static_cast<Pending*>(self);
    UnderWay& all = under_way();
    {
      const std::lock_guard lock(all.mutex);
      if (pending->window == all.window) {
        if (status == CL_COMPLETE) {
          pending->tell(event, all);
        } else {
          lose(1, "work that failed");
        }
        --all.count;
        all.fewer.notify_all();
      }
    }
    delete pending;
    next().clReleaseEvent(event);
  }

  // Takes ownership of the event.
  void watch(cl_event event) {
    UnderWay& all = under_way();
    {
      const std::lock_guard lock(all.mutex);
      window = all.window;
      ++all.count;
    }
    if (next().clSetEventCallback(event, CL_COMPLETE, complete, this) == CL_SUCCESS) return;
    {
      const std::lock_guard lock(all.mutex);
      if (window == all.window) {
        --all.count;
        lose(1, "work that never reported its end");
      }
    }
    delete this;
    next().clReleaseEvent(event);
  }
};

Launch::Launch(const char* function, cl_command_queue queue, const Work& work) {
  if (sonde_is_recording() == 0) return;
  pending_ = new Pending;
  sonde_device_span& span = pending_->span;
  const Queue where = queue_of(queue);
  span.name = name_of(work.name);
  span.kind = work.kind;
  span.device_type = SONDE_DEVICE_OPENCL;
  span.device_index = static_cast<std::int16_t>(where.device);
  span.stream = static_cast<std::uint32_t>(where.number);
  span.correlation = sonde_correlation_new();
  sonde_kernel& kernel = pending_->kernel;
  kernel.priority = INT16_MIN;
  std::copy_n(work.grid, 3, kernel.grid);
  std::copy_n(work.block, 3, kernel.block);
  sonde_copy& copy = pending_->copy;
  copy.bytes = static_cast<std::uint64_t>(work.bytes);
  copy.kind = work.copy_kind;
  copy.source_device = copy.destination_device = -1;
  began_ = begin_call(function, span.correlation);
  pending_->before_ns = now_ns();
}

cl_event* Launch::event(cl_event* wanted) {
  is_own_ = wanted == nullptr && pending_ != nullptr;
  event_ = is_own_ ? &own_ : wanted;
  return event_;
}

cl_int Launch::done(cl_int status) {
  if (pending_ == nullptr) return status;
  pending_->after_ns = now_ns();
  if (status != CL_SUCCESS) return status;
  if (!is_own_) next().clRetainEvent(*event_);
  Pending* const watched = pending_;
  pending_ = nullptr;
  watched->watch(*event_);
  return status;
}

Launch::~Launch() {
  delete pending_;
  if (began_) sonde_end();
}

Call::Call(const char* function) : began_(sonde_is_recording() != 0 && begin_call(function, 0)) {}

Call::~Call() {
  if (began_) sonde_end();
}

void finish_launches(bool is_last) {
  UnderWay& all = under_way();
  std::unique_lock lock(all.mutex);
  all.fewer.wait_for(lock, kLongestWait, [&all] { return all.count == 0; });
  if (all.worst_error_ns > 0) {
    sonde_lost(SONDE_LOST_CLOCK_ERROR_NS, name_of("OpenCL's times"),
               static_cast<std::uint64_t>(all.worst_error_ns));
  }
  if (!is_last) return;
  lose(all.count, "work that was still running when recording ended");
  all.count = 0;
  all.worst_error_ns = 0;
  ++all.window;
}

}  // namespace sonde::opencl
