// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Where CPython keeps the frames of a thread, as byte offsets in each object. They change only with
// minor versions. From 3.11 on, frames are not Python objects until one is requested.

#include <array>
#include <cstdint>

namespace sonde {

// How a frame gives the running instruction.
enum class PythonPosition : std::uint8_t {
  Bytes,    // an int: bytes from the beginning of the code
  Units,    // an int: instructions of two bytes
  Pointer,  // the address of the instruction
};

struct PythonLayout {
  int minor;                   // of 3.x
  std::uint16_t thread_frame;  // PyThreadState: the innermost frame, or what points at it
  std::int16_t through;        // in that: the innermost frame; -1: it is the frame itself
  std::uint16_t previous;      // frame: the one around it
  std::uint16_t code;          // frame: its code object
  std::uint16_t position;      // frame: the instruction
  PythonPosition position_is;
  std::int16_t owner;          // frame: a byte that says whose it is; -1 if there is none
  std::uint16_t filename;      // code: a str
  std::uint16_t name;          // code: a str
  std::uint16_t first_line;    // code: an int
  std::uint16_t lines;         // code: the table of its lines
  std::uint16_t instructions;  // code: the first instruction
};

// A frame of the interpreter's own, from 3.12 on.
inline constexpr std::uint8_t kPythonFrameOfC = 3;

inline constexpr std::array<PythonLayout, 5> kPythonLayouts = {{
    {9, 24, -1, 24, 32, 104, PythonPosition::Bytes, -1, 104, 112, 40, 120, 0},
    {10, 24, -1, 24, 32, 96, PythonPosition::Units, -1, 104, 112, 40, 120, 0},
    {11, 56, 8, 48, 32, 56, PythonPosition::Pointer, -1, 112, 120, 72, 136, 184},
    {12, 56, 0, 8, 0, 56, PythonPosition::Pointer, 70, 112, 120, 68, 136, 192},
    {13, 72, -1, 8, 0, 56, PythonPosition::Pointer, 70, 112, 120, 68, 136, 200},
}};

}  // namespace sonde
