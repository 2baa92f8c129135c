// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/call_stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <torch/csrc/jit/runtime/interpreter.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "collect/torch/native_frames.h"
#include "sonde/source/op.h"

namespace sonde::torch {
namespace {

constexpr int kMostFrames = 256;

using Walk = int(void** addresses, int count);

// libunwind remembers what it learns about each function. Where torch was built without frame
// pointers, it is ten times as fast as the C library's walk. Loaded with local scope, because it
// has functions with the names of libgcc's.
Walk* find_walk() {
  void* const library = ::dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  void* const walk = library != nullptr ? ::dlsym(library, "unw_backtrace") : nullptr;
  return walk != nullptr ? reinterpret_cast<Walk*>(walk) : &::backtrace;
}

std::atomic<Walk*> walk{nullptr};

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

std::uint64_t hash_of(void* const* addresses, int count) {
  std::uint64_t hash = kGolden;
  for (int i = 0; i < count; ++i) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(addresses[i])) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

void prepare_call_stacks() {
  if (walk.load() == nullptr) walk.store(find_walk());
  std::array<void*, 4> addresses;
  walk.load()(addresses.data(), static_cast<int>(addresses.size()));  // the first call allocates
}

std::uint32_t CallStacks::here(std::size_t depth, bool natively_too) {
  forget(depth);
  if (const std::uint32_t in_script = script()) return in_script;
  if (natively_too && sonde_python_call_place() != 0) return native_and_python();
  // Frames of a thread of Python's that runs no Python code are torch's own, such as those of the
  // threads for gradients, which have the stacks of their operators.
  static constexpr sonde_python_place kNowhere = {};
  sonde_python_place unkept = {};
  const bool has_around = depth > 0 && depth <= places_.size();
  const sonde_python_place& around = has_around ? places_[depth - 1] : kNowhere;
  sonde_python_place& here = depth < places_.size() ? places_[depth] : unkept;
  if (sonde_python_stack_within(&around, &here) != 0) return here.stack;
  return native();
}

std::uint32_t CallStacks::native() {
  std::array<void*, kMostFrames> addresses;
  const int count = walk.load(std::memory_order_relaxed)(addresses.data(), kMostFrames);
  if (count <= 0) return 0;
  std::uint32_t& number = known_[hash_of(addresses.data(), count)];
  if (number == 0) number = native_stack(addresses.data(), static_cast<std::size_t>(count));
  return number;
}

// The native frames up to the interpreter's, which lie between what Python code called and its
// own caller, and then those of Python.
std::uint32_t CallStacks::native_and_python() {
  std::array<void*, kMostFrames> addresses;
  const int found = walk.load(std::memory_order_relaxed)(addresses.data(), kMostFrames / 2);
  int count = 0;
  while (count < found && sonde_is_of_python(addresses[static_cast<std::size_t>(count)]) == 0)
    ++count;
  std::uint32_t& number =
      known_[hash_of(addresses.data(), count) ^ (sonde_python_call_place() * kGolden)];
  if (number != 0) return number;
  std::vector<std::uint32_t> frames =
      native_frames(addresses.data(), static_cast<std::size_t>(count));
  const std::size_t native = frames.size();
  frames.resize(kMostFrames);
  frames.resize(native + sonde_python_frames(frames.data() + native, kMostFrames - native));
  number = sonde_stack(frames.data(), frames.size());
  return number;
}

// The format of torch's own profiler: functions of the script with their place in its source.
std::uint32_t CallStacks::script() {
  const std::vector<::torch::jit::StackEntry> entries = ::torch::jit::currentCallstack();
  if (entries.empty()) return 0;
  std::vector<std::uint32_t> frames;
  for (const auto& entry : entries) {
    const auto& source = entry.range.source();
    if (!source || !source->filename()) continue;
    const auto line = source->starting_line_no() + source->lineno_for_offset(entry.range.start());
    frames.push_back(sonde_frame(entry.filename.c_str(), source->filename()->c_str(),
                                 static_cast<std::uint32_t>(line)));
  }
  return sonde_stack(frames.data(), frames.size());
}

}  // namespace sonde::torch
