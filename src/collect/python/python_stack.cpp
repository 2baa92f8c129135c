// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/source/python_stack.h"

#include <array>
#include <cstddef>
#include <unordered_map>

#include "collect/python/interpreter.h"
#include "sonde/source/op.h"

namespace sonde {
namespace {

constexpr std::size_t kMostPythonFrames = 256;  // the limit of sonde_stack

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_of(std::uint64_t hash, const PythonFrame& frame) {
  hash = mixed(hash, reinterpret_cast<std::uintptr_t>(frame.code));
  hash = mixed(hash, frame.position);
  return mixed(hash, reinterpret_cast<std::uintptr_t>(frame.lines) +
                         3 * reinterpret_cast<std::uintptr_t>(frame.filename) +
                         static_cast<std::uint64_t>(frame.first_line));
}

// Use one per thread. A stack that the thread has seen before costs a walk and a look-up. If a
// stack differs from the last one only in its inner frames, only these are hashed.
class PythonStacks {
 public:
  std::uint32_t here(const PythonInterpreter& python, const char* thread, std::size_t skip) {
    Walk& now = walks_[1 - last_walk_];
    now.count = python.frames(thread, now.frames.data(), now.frames.size());
    if (now.count <= skip) return 0;
    hash(now, walks_[last_walk_]);
    last_walk_ = 1 - last_walk_;
    const std::uint64_t wanted = now.hashes[skip] + (now.count - skip);
    if (wanted == last_hash_ && last_ != 0) return last_;
    std::uint32_t& number = stacks_[wanted];
    if (number == 0) number = make(python, now.frames.data() + skip, now.count - skip);
    last_hash_ = wanted;
    last_ = number;
    return number;
  }

 private:
  struct Walk {
    std::size_t count = 0;
    std::array<PythonFrame, kMostPythonFrames> frames;
    std::array<std::uint64_t, kMostPythonFrames> hashes;  // of a frame and all around it
  };

  // From the outermost frame inwards, as far as the last walk found the same frames.
  static void hash(Walk& now, const Walk& last) {
    std::size_t at = now.count;
    std::size_t before = last.count;
    while (at > 0 && before > 0 && now.frames[at - 1] == last.frames[before - 1])
      now.hashes[--at] = last.hashes[--before];
    std::uint64_t hash = at < now.count ? now.hashes[at] : 0;
    while (at > 0) {
      --at;
      now.hashes[at] = hash = hash_of(hash, now.frames[at]);
    }
  }

  std::uint32_t make(const PythonInterpreter& python, const PythonFrame* frames,
                     std::size_t count) {
    std::array<std::uint32_t, kMostPythonFrames> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] = frame(python, frames[i]);
      if (numbers[i] == 0) return 0;  // recording has stopped
    }
    return sonde_stack(numbers.data(), count);
  }

  std::uint32_t frame(const PythonInterpreter& python, const PythonFrame& at) {
    std::uint32_t& number = frames_[hash_of(0, at)];
    if (number != 0) return number;
    const PythonPlace place = python.place(at);
    number = sonde_python_frame(place.function.c_str(), place.file.c_str(),
                                static_cast<std::uint32_t>(place.line));
    return number;
  }

  std::array<Walk, 2> walks_;
  std::size_t last_walk_ = 0;
  std::uint64_t last_hash_ = 0;
  std::uint32_t last_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> stacks_;
  std::unordered_map<std::uint64_t, std::uint32_t> frames_;
};

// Leaked when the thread ends, because operators run in destructors of other thread-local objects.
PythonStacks& stacks_of_thread() {
  static thread_local PythonStacks* mine = nullptr;
  if (mine == nullptr) mine = new PythonStacks;
  return *mine;
}

}  // namespace
}  // namespace sonde

extern "C" {

int sonde_has_python(void) {
  return sonde::PythonInterpreter::find() != nullptr ? 1 : 0;
}

int sonde_python_stack(uint32_t skip, uint32_t* stack) {
  *stack = 0;
  const sonde::PythonInterpreter* const python = sonde::PythonInterpreter::find();
  const char* const thread = python != nullptr ? python->this_thread() : nullptr;
  if (thread == nullptr) return 0;
  *stack = sonde::stacks_of_thread().here(*python, thread, skip);
  return 1;
}

int sonde_python_stack_within(const sonde_python_place* around, sonde_python_place* here) {
  const sonde::PythonInterpreter* const python = sonde::PythonInterpreter::find();
  const char* const thread = python != nullptr ? python->this_thread() : nullptr;
  here->frame = nullptr;
  here->stack = 0;
  if (thread == nullptr) return 0;
  const char* const frame = python->innermost(thread);
  if (frame == nullptr) return 1;
  here->instruction = python->instruction_of(frame);
  if (frame == around->frame && here->instruction == around->instruction) {
    *here = *around;
    return 1;
  }
  here->stack = sonde::stacks_of_thread().here(*python, thread, 0);
  here->frame = here->stack != 0 ? frame : nullptr;
  return 1;
}

uint64_t sonde_python_call_place(void) {
  const sonde::PythonInterpreter* const python = sonde::PythonInterpreter::find();
  const char* const thread = python != nullptr ? python->this_thread() : nullptr;
  if (thread == nullptr) return 0;
  std::array<sonde::PythonFrame, sonde::kMostPythonFrames> frames;
  const std::size_t count = python->frames(thread, frames.data(), frames.size());
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < count; ++i) hash = sonde::hash_of(hash, frames[i]);
  return hash;
}

}  // extern "C"
