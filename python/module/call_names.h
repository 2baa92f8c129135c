// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What calls are named, as PyTorch names them. Everything here needs the interpreter's lock.

#include <cstdint>
#include <string>
#include <vector>

#include "py.h"

namespace sonde::python {

// For one recording. Modules are numbered anew in each: "nn.Module: Linear_2" is the third Linear
// that was called.
struct CallNaming {
  std::vector<std::string> prefixes;  // of file names, longer ones first: they are left out
  std::string own;                    // the folder of the package, whose functions have no name
  std::vector<std::string> hooks;     // files of it whose functions hide what they call
  PyObject* module_call = nullptr;    // the code of torch.nn.Module.__call__; borrowed
};
void begin_naming(CallNaming naming);
void end_naming();

// Numbers for sonde_op. 0: the call is not recorded. kHidesCalls: nor is what it calls.
constexpr std::uint32_t kHidesCalls = 0xffffffff;
std::uint32_t name_of_code(PyObject* code);
std::uint32_t name_of_c(PyObject* function);
// A method of a type in C, and the object that it is called on.
std::uint32_t name_of_method(PyObject* method, PyObject* self);

// Whether it is the code that all calls of modules run, and the name of such a call by its frame.
bool is_call_of_module(const PyObject* code);
std::uint32_t name_of_module_call(PyObject* frame);

}  // namespace sonde::python
