// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Ranges for other tools: what Sonde sees, shown to Nsight Systems (NVTX) or VTune (ITT).
//
//   {
//     sonde::emit_nvtx emit;              // PyTorch's emit_nvtx; emit_itt likewise
//     net->forward(images);               // each operator and each SONDE_SCOPE is a range
//   }
//   sonde::nvtx::range_push("load");      // torch.cuda.nvtx
//   sonde::nvtx::range_pop();
//
// Ranges are named as PyTorch names them. Whether or not a session records makes no difference to
// the tools, nor they to it. Operators are those of sources that were added (sonde::torch::attach).
//
// A tool that listens names its library in NVTX_INJECTION64_PATH or INTEL_LIBITTNOTIFY64 before the
// program starts, as nsys and vtune do. If none does, everything here does nothing and costs
// nothing. While one is told, a scope costs what the tool takes for it and some 50 ns, and must not
// stand in a signal handler: tools take locks.
//
// perf and bpftrace need no switch: they attach to the probes sonde:scope_begin, sonde:scope_end
// and sonde:mark of libsonde_record (docs/ranges.md).

#include <cstdint>
#include <string_view>

namespace sonde {

// NOLINTBEGIN(readability-identifier-naming): the names PyTorch users know

// From here to the end of its block, on all threads; may be nested. Scopes that are open when it
// ends are still ended for the tool.
class emit_nvtx {
 public:
  // With `record_shapes`, ranges of operators also say the sizes of their inputs, and which
  // operators made them.
  explicit emit_nvtx(bool enabled = true, bool record_shapes = false);
  ~emit_nvtx();
  emit_nvtx(const emit_nvtx&) = delete;
  emit_nvtx& operator=(const emit_nvtx&) = delete;

  // Whether a tool is told: it is enabled and there is one.
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
// The depth of the range that begins or ends, counted from 0; negative if nobody listens.
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
