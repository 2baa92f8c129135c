// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The tool that NVTX_INJECTION64_PATH names (Nsight Systems sets it), called as nvtx_abi.h
// describes.

#include <cstdint>

namespace sonde {

class NvtxTool {
 public:
  // Opened at the first call, and never closed.
  static const NvtxTool& get();

  bool is_there() const { return is_there_; }
  // Sonde records NVTX ranges, so it must not send its own recordings to NVTX.
  bool is_sonde() const { return is_sonde_; }

  // The depth of the range, counted from 0; negative if the tool does not count.
  int push(const char* message) const;
  int pop() const;
  std::uint64_t start(const char* message) const;
  void end(std::uint64_t range) const;
  void mark(const char* message) const;

 private:
  NvtxTool();

  bool is_there_ = false;
  bool is_sonde_ = false;
};

}  // namespace sonde
