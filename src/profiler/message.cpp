// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "profiler/message.h"

#include <cstdio>
#include <mutex>
#include <utility>

#include "base/readable.h"
#include "sonde/profiler.h"

namespace sonde {
namespace {

struct Sink {
  std::mutex mutex;
  MessageHandler handler;
};

// Never destroyed: profilers may end with the process.
Sink& sink() {
  static Sink* const instance = new Sink;
  return *instance;
}

// A copy, because a handler may cause messages itself.
MessageHandler current_handler() {
  Sink& shared = sink();
  const std::lock_guard lock(shared.mutex);
  return shared.handler;
}

void report(MessageLevel level, std::string_view text) {
  if (const MessageHandler handler = current_handler()) {
    bool is_told = false;
    try {
      handler(level, text);
      is_told = true;
    } catch (...) {
      is_told = false;  // the message must not be lost with it
    }
    if (is_told) return;
  }
  std::fprintf(stderr, "sonde: %s: %s\n", level == MessageLevel::Error ? "error" : "warning",
               readable_text(text).c_str());
}

}  // namespace

MessageHandler set_message_handler(MessageHandler handler) {
  Sink& shared = sink();
  const std::lock_guard lock(shared.mutex);
  return std::exchange(shared.handler, std::move(handler));
}

void report_warning(std::string_view text) {
  report(MessageLevel::Warning, text);
}
void report_error(std::string_view text) {
  report(MessageLevel::Error, text);
}

}  // namespace sonde
