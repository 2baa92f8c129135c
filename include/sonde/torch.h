// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Operators of LibTorch in every session of this process: link Sonde::torch and say so once.
//
//   sonde::torch::attach();
//   sonde::Profiler prof({.output = "train.sonde", .record_shapes = true});
//
// All scopes of RecordFunction on all threads: operators, autograd's, TorchScript's,
// record_function. It works beside torch's own profiler and with a torch that was built without
// one.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace sonde::torch {

// Serves the sessions that begin from now on. Calling it again is nothing.
void attach();

// Says which module of a network runs until the end of the block: operators inside of it, and later
// their gradients, belong to `Net.layer1.conv`. It is a span of its own, "nn.Module:
// Net.layer1.conv".
//
//   torch::Tensor NetImpl::forward(torch::Tensor x) {
//     sonde::torch::ModuleScope scope(*this);
//     return fc(conv(x));
//   }
//
// A module is named by how the module around it has registered it; the outermost by its class.
// While nothing records, this costs a nanosecond.
class ModuleScope {
 public:
  template <typename Module>
  explicit ModuleScope(const Module& module, const char* method = "forward") {
    if (!is_recording()) return;
    // torch's own base of all modules: what its children are kept as.
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
  // Writes how `parent` calls `module`, "" if that is none of its own, with a 0 at its end.
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
