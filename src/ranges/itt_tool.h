// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The collector that INTEL_LIBITTNOTIFY64 names (VTune sets it), called as itt_abi.h describes.

namespace sonde {

class IttTool {
 public:
  // Opened at the first call, and never closed.
  static const IttTool& get();

  bool is_there() const { return is_there_; }

  // Tasks in the domain "PyTorch", like PyTorch's own.
  void push(const char* name) const;
  void pop() const;

 private:
  IttTool();

  bool is_there_ = false;
};

}  // namespace sonde
