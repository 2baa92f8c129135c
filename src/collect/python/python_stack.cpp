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

// Use one per thread. A stack that the thread has seen before costs a walk and a look-up.
class PythonStacks {
 public:
  std::uint32_t here(const PythonInterpreter& python, const char* thread, std::size_t skip) {
    std::array<PythonFrame, kMostPythonFrames> all;
    const std::size_t found = python.frames(thread, all.data(), all.size());
    if (found <= skip) return 0;
    const PythonFrame* const frames = all.data() + skip;
    const std::size_t count = found - skip;
    std::uint64_t hash = count;
    for (std::size_t i = 0; i < count; ++i) hash = hash_of(hash, frames[i]);
    if (hash == last_hash_ && last_ != 0) return last_;
    std::uint32_t& number = stacks_[hash];
    if (number == 0) number = make(python, frames, count);
    last_hash_ = hash;
    last_ = number;
    return number;
  }

 private:
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

}  // extern "C"
