// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "profiler/message.h"
#include "sonde/profiler.h"

namespace sonde {
namespace {

std::string host_and_pid() {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return std::string(host) + "_" + std::to_string(getpid());
}

// All copies of a handler share one name: std::function copies what it calls.
class WorkerName {
 public:
  explicit WorkerName(std::string name) : name_(std::move(name)) {}
  std::string get() {
    const std::lock_guard lock(mutex_);
    if (name_.empty()) name_ = host_and_pid();
    return name_;
  }

 private:
  std::mutex mutex_;
  std::string name_;
};

std::string file_name(const std::string& worker, bool use_gzip) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return worker + "." + std::to_string(ns) + ".pt.trace.json" + (use_gzip ? ".gz" : "");
}

}  // namespace

std::function<void(Profiler&)> tensorboard_trace_handler(std::string dir, std::string worker_name,
                                                         bool use_gzip) {
  auto worker = std::make_shared<WorkerName>(std::move(worker_name));
  return [dir = std::move(dir), worker = std::move(worker), use_gzip](Profiler& profiler) {
    std::error_code failed;
    std::filesystem::create_directories(dir, failed);
    if (failed) {
      report_error("Can't create directory: " + dir + ": " + failed.message());
      return;
    }
    const auto path = std::filesystem::path(dir) / file_name(worker->get(), use_gzip);
    if (Result<void> saved = profiler.export_chrome_trace(path.string()); !saved) {
      report_error(saved.error().message);
    }
  };
}

}  // namespace sonde
