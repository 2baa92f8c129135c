// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/call_log.h"

#include <cinttypes>
#include <cstdlib>

#include "base/file.h"

namespace sonde::cuda {
namespace {

constexpr const char* kVariable = "SONDE_CUDA_LOG_CALLS";

}  // namespace

bool CallLog::is_wanted() {
  return std::getenv(kVariable) != nullptr;
}

std::unique_ptr<CallLog> CallLog::from_environment() {
  const char* const path = std::getenv(kVariable);
  const Result<int> made = path != nullptr ? create_in_place_of(path) : Result<int>(-1);
  std::FILE* const file = made && *made >= 0 ? ::fdopen(*made, "w") : nullptr;
  return file != nullptr ? std::unique_ptr<CallLog>(new CallLog(file)) : nullptr;
}

void CallLog::add(const Activity& activity) {
  const sonde_device_span& span = activity.span;
  if (activity.type == Activity::Type::Call) {
    std::fprintf(file_, "call %" PRIu64 " %s %" PRIu32 " %" PRId64 " %" PRId64 "\n",
                 span.correlation, span.kind == SONDE_SPAN_CUDA_DRIVER ? "driver" : "runtime",
                 activity.thread, span.start_ns, span.start_ns + span.duration_ns);
  } else if (activity.type == Activity::Type::Tag) {
    std::fprintf(file_, "tag %" PRIu64 " %" PRIu32 " %" PRIu64 "\n", span.correlation,
                 activity.external_kind, activity.external_id);
  }
}

}  // namespace sonde::cuda
