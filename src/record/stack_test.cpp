// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much stack a call takes: signal handlers on an alternate stack and threads with small stacks
// have little. This is a separate program, because what the dynamic linker does at a function's
// first call counts too.

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collect/testing/recorded.h"
#include "sonde/record.h"
#include "sonde/sonde.h"

namespace sonde::testing {
namespace {

// Unoptimised code keeps every temporary.
#if SONDE_OPTIMISED
constexpr std::size_t kMostBytes = 2048;
#else
constexpr std::size_t kMostBytes = 4096;
#endif

using Call = void (*)();

// Runs a call on a separate stack and measures how far down it wrote.
class PaintedStack {
 public:
  std::size_t bytes_used(Call call) {
    std::fill(memory_.begin(), memory_.end(), kPaint);
    call_ = call;
    ::getcontext(&context_);
    context_.uc_stack.ss_sp = memory_.data();
    context_.uc_stack.ss_size = memory_.size();
    context_.uc_link = &caller_;
    current = this;
    ::makecontext(&context_, [] { current->run(); }, 0);
    ::swapcontext(&caller_, &context_);
    const auto lowest = std::find_if(memory_.begin(), memory_.end(),
                                     [](std::uint8_t byte) { return byte != kPaint; });
    return static_cast<std::size_t>(from_ - &*lowest);
  }

 private:
  static constexpr std::uint8_t kPaint = 0xa5;
  static thread_local PaintedStack* current;

  void run() {
    from_ = static_cast<const std::uint8_t*>(__builtin_frame_address(0));
    call_();
  }

  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(std::size_t{128} << 10);
  Call call_ = nullptr;
  const std::uint8_t* from_ = nullptr;
  ucontext_t context_ = {};
  ucontext_t caller_ = {};
};

thread_local PaintedStack* PaintedStack::current = nullptr;

std::size_t bytes_used_here(Call call) {
  return PaintedStack().bytes_used(call);
}

// In a thread that has recorded nothing yet.
std::size_t bytes_used_at_first(Call call) {
  std::size_t used = 0;
  std::thread([&] { used = bytes_used_here(call); }).join();
  return used;
}

// A site that was not used before: sites are numbered once.
sonde_site* new_site() {
  static std::vector<sonde_site>* const sites = [] {
    auto* made = new std::vector<sonde_site>;
    made->resize(1000, sonde_site{"stack", "function", "a file with a name", 7, 0});
    return made;
  }();
  static std::size_t used = 0;
  return &(*sites)[used++];
}

std::string& new_name() {
  static int number = 0;
  static std::string name;
  name = "a name that nobody has used " + std::to_string(++number);
  return name;
}

// Set before each measured call, so that making it is not measured.
sonde_site* site = nullptr;
std::string name;
const std::string long_text(100'000, 't');

struct Case {
  const char* what;
  Call call;
};

const Case kCases[] = {
    {"scope",
     [] {
       if (sonde_begin(site) != 0) sonde_end();
     }},
    {"lap",
     [] {
       if (sonde_lap(site) != 0) sonde_end();
     }},
    {"range", [] { sonde_range_end(sonde_range_begin(name.data(), name.size())); }},
    {"range with a long name",
     [] { sonde_range_end(sonde_range_begin(long_text.data(), long_text.size())); }},
    {"text", [] { sonde_text(name.data(), name.size()); }},
    {"long text", [] { sonde_text(long_text.data(), long_text.size()); }},
    {"instant", [] { sonde_instant(site); }},
    {"mark", [] { sonde_mark(name.data(), name.size()); }},
    {"counter", [] { sonde_counter(site, 1.5); }},
    {"async", [] { sonde_async_end(sonde_async_begin(site)); }},
    {"flow",
     [] {
       const std::uint64_t flow = sonde_flow_new();
       sonde_flow_out(flow);
       sonde_flow_in(flow);
     }},
    {"number", [] { sonde_arg_int(name.c_str(), 1); }},
    {"floating point", [] { sonde_arg_double(name.c_str(), 1.5); }},
    {"bool", [] { sonde_arg_bool(name.c_str(), 1); }},
    {"text argument", [] { sonde_arg_text(name.c_str(), "text", 4); }},
    {"long text argument",
     [] { sonde_arg_text(name.c_str(), long_text.data(), long_text.size()); }},
    {"category", [] { sonde_category(name.c_str()); }},
    {"arguments", [] { SONDE_SCOPE("with arguments", "a", 1, "b", "text", "c", 2.5); }},
};

void prepare() {
  site = new_site();
  name = new_name();
}

TEST(Stack, IsLittleInEveryCall) {
  const auto session = open_session({});
  ASSERT_TRUE(session->begin_window(0));
  for (const Case& one : kCases) {
    prepare();
    const std::size_t at_first = bytes_used_at_first(one.call);
    EXPECT_LE(at_first, kMostBytes) << one.what << ", first of its thread";
    prepare();
    const std::size_t unknown = bytes_used_here(one.call);
    EXPECT_LE(unknown, kMostBytes) << one.what << ", new site or name";
    const std::size_t known = bytes_used_here(one.call);
    EXPECT_LE(known, kMostBytes) << one.what;
    RecordProperty(one.what, std::to_string(at_first) + " " + std::to_string(unknown) + " " +
                                 std::to_string(known));
  }
  session->end_window();
}

TEST(Stack, IsEnoughInThreadsWithTheSmallestOnes) {
  const auto session = open_session({});
  const Trace trace = record_window(*session, [] {
    pthread_attr_t attributes;
    ASSERT_EQ(::pthread_attr_init(&attributes), 0);
    // AArch64 has no smaller ones than 128 KiB.
    if (::pthread_attr_setstacksize(&attributes, 16 << 10) != 0) {
      ASSERT_EQ(::pthread_attr_setstacksize(&attributes, 128 << 10), 0);
    }
    for (const Case& one : kCases) {
      prepare();
      pthread_t thread = {};
      const auto run = [](void* call) -> void* {
        (*static_cast<const Call*>(call))();
        return nullptr;
      };
      ASSERT_EQ(::pthread_create(&thread, &attributes, run, const_cast<Call*>(&one.call)), 0);
      ::pthread_join(thread, nullptr);
    }
    ::pthread_attr_destroy(&attributes);
  });
  EXPECT_EQ(count_spans(trace, "with arguments"), 1u);
}

}  // namespace
}  // namespace sonde::testing
