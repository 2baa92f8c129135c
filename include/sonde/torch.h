// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Records LibTorch's operators in every session of this process. Link the CMake target
// Sonde::torch, nothing else; this header is for ModuleScope.
//
//   sonde::Profiler prof({.output = "train.sonde", .record = {.record_shapes = true}});
//
// It records all scopes of RecordFunction on all threads: operators, those of autograd and
// TorchScript, and record_function. It works alongside torch's own profiler, and with a torch that
// was built without one.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace sonde::torch {

// The library calls this when it is loaded; further calls have no effect. Call it if you link the
// library without the CMake target: linkers may leave out a library whose symbols are not used.
void attach();

// Marks which module of a network runs until the end of the block. Operators inside it, and later
// their gradients, belong to `Net.layer1.conv`. It is also a span, "nn.Module: Net.layer1.conv".
//
//   torch::Tensor NetImpl::forward(torch::Tensor x) {
//     sonde::torch::ModuleScope scope(*this);
//     return fc(conv(x));
//   }
//
// A module has the name under which the module around it registered it. The outermost has the name
// of its class. While nothing records, this costs a nanosecond.
class ModuleScope {
 public:
  template <typename Module>
  explicit ModuleScope(const Module& module, const char* method = "forward") {
    if (!is_recording()) return;
    // torch's base class of all modules, the type in which it stores children.
    using Base = std::decay_t<decltype(*module.named_children().begin()->value())>;
    const Base* const base = &module;
    begun_ = begin(base, base->name().c_str(), method, &write_name<Base>);
  }
  ~ModuleScope() {
    if (begun_) end();
  }
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;

 private:
  // Writes the name of `module` in `parent`, 0-terminated; "" if it is not a child of `parent`.
  using WriteName = void(const void* parent, const void* module, char* name, std::size_t room);

  template <typename Base>
  static void write_name(const void* parent, const void* module, char* name, std::size_t room) {
    name[0] = '\0';
    for (const auto& item :
         static_cast<const Base*>(parent)->named_modules(std::string(), /*include_self=*/false)) {
      if (item.value().get() != module) continue;
      std::strncpy(name, item.key().c_str(), room - 1);
      name[room - 1] = '\0';
      return;
    }
  }

  static bool is_recording();
  static bool begin(const void* module, const char* class_name, const char* method,
                    WriteName* write);
  static void end();

  bool begun_ = false;
};

}  // namespace sonde::torch
