// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Shows Sonde's scopes and operators as ranges in Nsight Systems (NVTX) or VTune (ITT).
//
//   {
//     sonde::emit_nvtx emit;              // PyTorch's emit_nvtx; emit_itt likewise
//     net->forward(images);               // each operator and each SONDE_SCOPE is a range
//   }
//   sonde::nvtx::range_push("load");      // torch.cuda.nvtx
//   sonde::nvtx::range_pop();
//
// Ranges have PyTorch's names. Tools and sessions do not affect each other. Operators are those of
// the added sources, such as Sonde::torch.
//
// A tool sets NVTX_INJECTION64_PATH or INTEL_LIBITTNOTIFY64 to its library before the program
// starts, as nsys and vtune do. Without a tool, everything here does nothing and costs nothing.
// With one, a scope costs what the tool takes plus about 50 ns, and must not be used in a signal
// handler, because tools take locks.
//
// perf and bpftrace need no switch: they attach to the probes sonde:scope_begin, sonde:scope_end
// and sonde:mark of libsonde_record (docs/ranges.md).

#include <cstdint>
#include <string_view>

namespace sonde {

// NOLINTBEGIN(readability-identifier-naming): the names PyTorch users know

// Lasts until the end of the block, for all threads. May be nested. The tool still sees the end of
// scopes that are open when it ends.
class emit_nvtx {
 public:
  // With `record_shapes`, ranges of operators also show the sizes of their inputs, and which
  // operators made them.
  explicit emit_nvtx(bool enabled = true, bool record_shapes = false);
  ~emit_nvtx();
  emit_nvtx(const emit_nvtx&) = delete;
  emit_nvtx& operator=(const emit_nvtx&) = delete;

  // Whether a tool sees the ranges: this is enabled and there is a tool.
  bool is_heard() const noexcept { return is_heard_; }

 private:
  bool is_heard_;
  bool record_shapes_;
};

// The same for ITT, where ranges have plain names and `record_shapes` has no effect.
class emit_itt {
 public:
  explicit emit_itt(bool enabled = true, bool record_shapes = false);
  ~emit_itt();
  emit_itt(const emit_itt&) = delete;
  emit_itt& operator=(const emit_itt&) = delete;

  bool is_heard() const noexcept { return is_heard_; }

 private:
  bool is_heard_;
};

// The program's own ranges, as in torch.cuda.nvtx.
namespace nvtx {

bool is_available();
// Return the depth of the range that begins or ends, counted from 0; negative without a tool.
int range_push(std::string_view message);
int range_pop();
// A range that may end on another thread.
std::uint64_t range_start(std::string_view message);
void range_end(std::uint64_t range);
void mark(std::string_view message);

class range {
 public:
  explicit range(std::string_view message) { range_push(message); }
  ~range() { range_pop(); }
  range(const range&) = delete;
  range& operator=(const range&) = delete;
};

}  // namespace nvtx

// As in torch.profiler.itt.
namespace itt {

bool is_available();
void range_push(std::string_view message);
void range_pop();
void mark(std::string_view message);

class range {
 public:
  explicit range(std::string_view message) { range_push(message); }
  ~range() { range_pop(); }
  range(const range&) = delete;
  range& operator=(const range&) = delete;
};

}  // namespace itt

// NOLINTEND(readability-identifier-naming)

}  // namespace sonde
