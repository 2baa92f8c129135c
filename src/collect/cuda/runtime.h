// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The CUDA runtime of this process: any library in it that exports one, such as torch's. A runtime
// that was linked into the program itself is found only if the program exports it.
//
//   SONDE_TRY(const Runtime runtime, Runtime::find_or_open());
//   SONDE_TRY_VOID(runtime.call("cudaProfilerStart"));

#include <dlfcn.h>

#include <optional>
#include <utility>

#include "sonde/result.h"

namespace sonde::cuda {

// The library stays open as long as this object lives.
class Runtime {
 public:
  // A runtime that is already loaded.
  static std::optional<Runtime> find();
  // The same, or else the first of libcudart.so.13, .12 and .11.0 that can be opened. It stays
  // open.
  static Result<Runtime> find_or_open();
  ~Runtime() {
    if (library_ != nullptr) ::dlclose(library_);
  }
  Runtime(Runtime&& other) noexcept : library_(std::exchange(other.library_, nullptr)) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  Runtime& operator=(Runtime&&) = delete;

  // Null if there is no such function.
  template <typename Type>
  Type* get(const char* name) const {
    return reinterpret_cast<Type*>(::dlsym(library_ != nullptr ? library_ : RTLD_DEFAULT, name));
  }
  // Calls a function without arguments. An error has CUDA's own message and number.
  Result<void> call(const char* name) const;
  Result<void> check(int code) const;
  // As cudaRuntimeGetVersion counts: 12080 for 12.8; 0 if it is unknown.
  int version() const;

 private:
  // Null: the symbols that the whole program can see.
  explicit Runtime(void* library) : library_(library) {}

  void* library_;
};

}  // namespace sonde::cuda
