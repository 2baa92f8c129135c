// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The CPython that this process runs, and the frames of a thread in it. Nothing here needs the
// interpreter's lock: only the thread itself changes its frames, and what they refer to lives as
// long as they do.

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "collect/python/layout.h"

namespace sonde {

// A frame as it was found. Equal frames are at the same place: if an address was reused for other
// code, its line table, file or first line differs. There are no defaults: a walk has room for
// hundreds of frames, which would all be set.
struct PythonFrame {
  const char* code;
  std::uint64_t position;
  const char* lines;
  const char* filename;
  std::int32_t first_line;

  friend bool operator==(const PythonFrame&, const PythonFrame&) = default;
};

struct PythonPlace {
  std::string function;
  std::string file;
  int line = 0;
};

class PythonInterpreter {
 public:
  // Null if this process has none, or one whose layout is unknown.
  static const PythonInterpreter* find();

  // Python's state of the calling thread; null if there is none.
  const char* this_thread() const { return static_cast<const char*>(this_thread_()); }

  // The innermost frame of a thread and the instruction that it executes; null if none runs. This
  // may be a frame of the interpreter's own.
  const char* innermost(const char* thread) const {
    const auto* const frame = load<const char*>(thread, layout_->thread_frame);
    if (layout_->through < 0 || frame == nullptr) return frame;
    return load<const char*>(frame, static_cast<std::size_t>(layout_->through));
  }
  std::uint64_t instruction_of(const char* frame) const {
    if (layout_->position_is == PythonPosition::Pointer)
      return load<std::uint64_t>(frame, layout_->position);
    return static_cast<std::uint64_t>(load<std::int32_t>(frame, layout_->position));
  }

  // The first frame of Python code, from `frame` on outwards; null if there is none.
  const char* of_code(const char* frame) const {
    while (frame != nullptr && is_of_c(frame)) frame = around(frame);
    return frame != nullptr && is_code(load<const char*>(frame, layout_->code)) ? frame : nullptr;
  }
  const char* around(const char* frame) const {
    return load<const char*>(frame, layout_->previous);
  }
  // Of a frame of Python code.
  PythonFrame look_at(const char* frame) const {
    const auto* const code = load<const char*>(frame, layout_->code);
    return {code, instruction_of(frame), load<const char*>(code, layout_->lines),
            load<const char*>(code, layout_->filename),
            load<std::int32_t>(code, layout_->first_line)};
  }

  // Whether it is in the program or library that the interpreter is in.
  bool has_in_binary(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= binary_begin_ && at < binary_end_;
  }

  // The place of a frame that is still running.
  PythonPlace place(const PythonFrame& frame) const;

 private:
  using ThisThread = void*();
  using LineOf = int(void* code, int byte);
  using LengthOf = std::ptrdiff_t(void* text);
  using CharacterAt = std::uint32_t(void* text, std::ptrdiff_t index);

  template <typename T>
  static T load(const char* object, std::size_t offset) {
    T value;
    std::memcpy(static_cast<void*>(&value), object + offset, sizeof(T));
    return value;
  }
  static constexpr std::size_t kTypeOfObject = 8;  // after the reference count

  static PythonInterpreter* make();
  static int take_binary(dl_phdr_info* info, std::size_t bytes, void* self);
  bool is_code(const char* object) const {
    return object != nullptr && load<const void*>(object, kTypeOfObject) == code_type_;
  }
  bool is_of_c(const char* frame) const {
    return layout_->owner >= 0 &&
           load<std::uint8_t>(frame, static_cast<std::size_t>(layout_->owner)) == kPythonFrameOfC;
  }
  int byte_of(const PythonFrame& frame) const;
  std::string text(const char* unicode) const;

  const PythonLayout* layout_ = nullptr;
  const void* code_type_ = nullptr;
  std::uintptr_t binary_begin_ = 0;
  std::uintptr_t binary_end_ = 0;
  ThisThread* this_thread_ = nullptr;
  LineOf* line_of_ = nullptr;
  LengthOf* length_of_ = nullptr;
  CharacterAt* character_at_ = nullptr;
};

}  // namespace sonde
