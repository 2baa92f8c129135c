// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/source/python_stack.h"

#include <algorithm>
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

// Use one per thread. A stack that the thread has seen before costs a walk and a look-up. The
// frames around those that changed since the last walk are compared with it, and neither copied nor
// hashed.
class PythonStacks {
 public:
  std::uint32_t here(const PythonInterpreter& python, const char* thread, std::size_t skip) {
    walk(python, thread);
    if (count_ <= skip) return 0;
    const std::uint64_t wanted = walk_[count_ - 1 - skip].hash + (count_ - skip);
    if (wanted == last_hash_ && last_ != 0) return last_;
    std::uint32_t& number = stacks_[wanted];
    if (number == 0) number = make(python, count_ - skip);
    last_hash_ = wanted;
    last_ = number;
    return number;
  }

  // What runs now, the innermost first.
  std::size_t frames(const PythonInterpreter& python, const char* thread, std::uint32_t* numbers,
                     std::size_t most) {
    walk(python, thread);
    const std::size_t wanted = std::min(count_, most);
    for (std::size_t i = 0; i < wanted; ++i) {
      numbers[i] = frame(python, walk_[count_ - 1 - i].frame);
      if (numbers[i] == 0) return 0;  // recording has stopped
    }
    return wanted;
  }

 private:
  struct Walked {
    const char* address;
    PythonFrame frame;
    std::uint64_t hash;  // of the frame and all around it
  };

  // Makes walk_ what runs now. A thread's frames may move: generators have theirs elsewhere.
  void walk(const PythonInterpreter& python, const char* thread) {
    fresh_count_ = 0;
    std::size_t next = count_;  // walk_[next] and those within it are no longer there
    std::size_t run = 0;        // walk_[next, run) are still there, with nothing between them
    const char* address = python.of_code(python.innermost(thread));
    for (; address != nullptr && fresh_count_ + (run - next * (run != 0)) < kMostPythonFrames;
         address = python.of_code(python.around(address))) {
      const PythonFrame now = python.look_at(address);
      if (run != 0) {
        if (next > 0 && is_same(walk_[next - 1], address, now)) {
          --next;
          continue;
        }
        copy_to_fresh(run, next);
        run = 0;
      }
      const std::size_t found = find(address, next);
      if (found > 0) next = found - 1;
      if (found > 0 && is_same(walk_[next], address, now)) {
        run = found;
      } else {
        fresh_[fresh_count_++] = {address, now, 0};
      }
    }
    // Only if it reaches outwards as far as before is what is still there the rest of the stack.
    const bool is_rest = run != 0 && next == 0 && address == nullptr;
    if (run != 0 && !is_rest) copy_to_fresh(run, next);
    count_ = is_rest ? run : 0;
    std::uint64_t hash = count_ > 0 ? walk_[count_ - 1].hash : 0;
    while (fresh_count_ > 0) {
      Walked& fresh = fresh_[--fresh_count_];
      fresh.hash = hash = hash_of(hash, fresh.frame);
      walk_[count_++] = fresh;
    }
  }
  // One more than its place in walk_[0, next), 0 if it was not found. Inner frames have higher
  // addresses, but for those of generators, and in Python before 3.11.
  std::size_t find(const char* address, std::size_t next) const {
    while (next > 0 && walk_[next - 1].address > address) --next;
    for (int tries = 8; next > 0 && tries > 0; --tries, --next) {
      if (walk_[next - 1].address == address) return next;
    }
    return 0;
  }
  static bool is_same(const Walked& before, const char* address, const PythonFrame& now) {
    return before.address == address && before.frame == now;
  }
  // walk_[end, begin), the innermost first.
  void copy_to_fresh(std::size_t begin, std::size_t end) {
    while (begin > end) fresh_[fresh_count_++] = walk_[--begin];
  }

  // Of the outermost `count` frames.
  std::uint32_t make(const PythonInterpreter& python, std::size_t count) {
    std::array<std::uint32_t, kMostPythonFrames> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      numbers[i] = frame(python, walk_[count - 1 - i].frame);
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

  std::array<Walked, kMostPythonFrames> walk_;  // the outermost first
  std::size_t count_ = 0;
  std::array<Walked, kMostPythonFrames> fresh_;  // the innermost first
  std::size_t fresh_count_ = 0;
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

size_t sonde_python_frames(uint32_t* frames, size_t most) {
  const sonde::PythonInterpreter* const python = sonde::PythonInterpreter::find();
  const char* const thread = python != nullptr ? python->this_thread() : nullptr;
  return thread != nullptr ? sonde::stacks_of_thread().frames(*python, thread, frames, most) : 0;
}

int sonde_is_of_python(const void* address) {
  const sonde::PythonInterpreter* const python = sonde::PythonInterpreter::find();
  return python != nullptr && python->has_in_binary(address) ? 1 : 0;
}

uint64_t sonde_python_call_place(void) {
  const sonde::PythonInterpreter* const python = sonde::PythonInterpreter::find();
  const char* const thread = python != nullptr ? python->this_thread() : nullptr;
  if (thread == nullptr) return 0;
  std::uint64_t hash = 0;
  std::size_t left = sonde::kMostPythonFrames;
  for (const char* frame = python->of_code(python->innermost(thread)); frame != nullptr && left > 0;
       frame = python->of_code(python->around(frame)), --left)
    hash = sonde::hash_of(hash, python->look_at(frame));
  return hash;
}

}  // extern "C"
