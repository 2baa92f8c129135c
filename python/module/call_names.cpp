// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "call_names.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "sonde/source/op.h"

namespace sonde::python {
namespace {

std::uintptr_t address_of(const void* object) {
  return reinterpret_cast<std::uintptr_t>(object);
}

// Names by what identifies a function, which lives as long as they do, so that no other takes its
// place in memory.
class NamesByKey {
 public:
  // The one that was found last in its place, or any other. `make` returns 0 if nothing records.
  template <typename Make>
  std::uint32_t find(std::uint64_t key, const Make& make) {
    Recent& recent = recent_[(key >> 4) % recent_.size()];
    if (recent.key == key) return recent.name;
    const auto known = names_.find(key);
    if (known == names_.end()) {
      const std::pair<bool, std::uint32_t> made = make();
      if (!made.first) return made.second;
      names_.emplace(key, made.second);
      recent = {key, made.second};
      return made.second;
    }
    recent = {key, known->second};
    return known->second;
  }
  void keep(PyObject* object) { kept_.push_back(Ref::borrow(object)); }

 private:
  struct Recent {
    std::uint64_t key = 0;
    std::uint32_t name = 0;
  };
  std::array<Recent, 1024> recent_;
  std::unordered_map<std::uint64_t, std::uint32_t> names_;
  std::vector<Ref> kept_;
};

// Modules live no longer than the program wants: another one may take the place of one that died.
struct NamedModule {
  Ref weak;  // empty if its type allows none; then it is kept
  Ref kept;
  std::uint32_t name = 0;

  bool is(PyObject* module) const { return !weak || PyWeakref_GetObject(weak.get()) == module; }
};

struct ModuleNames {
  std::unordered_map<const void*, NamedModule> names;
  std::unordered_map<std::string, int> counts;
};

// Leaked: calls are recorded until the interpreter has ended.
struct Names {
  CallNaming naming;
  NamesByKey codes;
  NamesByKey functions;
  ModuleNames modules;
};

Names& names() {
  static auto* const all = new Names;
  return *all;
}

std::string attribute_text(PyObject* object, const char* name) {
  const Ref value(PyObject_GetAttrString(object, name));
  const char* const found = value ? PyUnicode_AsUTF8AndSize(value.get(), nullptr) : nullptr;
  if (found == nullptr) PyErr_Clear();
  return found != nullptr ? found : "";
}

long attribute_number(PyObject* object, const char* name) {
  const Ref value(PyObject_GetAttrString(object, name));
  const long found = value ? PyLong_AsLong(value.get()) : -1;
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  return found;
}

std::string shortened(const std::string& file) {
  for (const std::string& prefix : names().naming.prefixes) {
    if (file.compare(0, prefix.size(), prefix) == 0) return file.substr(prefix.size());
  }
  return file;
}

// "<built-in method add of Tensor object>": an address would make every call a function of its own.
std::string text_of_c(PyObject* function) {
  const Ref shown(PyObject_Repr(function));
  const char* const found = shown ? PyUnicode_AsUTF8AndSize(shown.get(), nullptr) : nullptr;
  if (found == nullptr) {
    PyErr_Clear();
    return "<built-in>";
  }
  std::string name = found;
  const std::size_t address = name.find(" at 0x");
  if (address != std::string::npos) {
    const std::size_t end = name.find_first_not_of("0123456789abcdef", address + 6);
    name.erase(address, end == std::string::npos ? end : end - address);
  }
  return name;
}

std::uint32_t number_of(const std::string& name) {
  return sonde_name(name.data(), name.size());
}

// The definition of a C function, which follows the header of its object. Functions made by
// pybind11 have one each, but share one address.
const void* definition_of(PyObject* function) {
  const void* definition = nullptr;
  std::memcpy(static_cast<void*>(&definition),
              reinterpret_cast<const char*>(function) + sizeof(PyObject), sizeof(definition));
  return definition;
}

std::uint64_t key_of_c(PyObject* function, const void* type) {
  const void* const identity =
      PyCFunction_Check(function) ? definition_of(function) : static_cast<void*>(function);
  return address_of(identity) * 31 + address_of(type);
}

// `kept` is what the name lives as long as; `made` is what it shows.
std::pair<bool, std::uint32_t> new_name_of_c(PyObject* made, PyObject* kept) {
  const std::uint32_t number = number_of(text_of_c(made));
  if (number != 0) names().functions.keep(kept);
  return {number != 0, number};
}

std::uint32_t new_name_of_module(PyObject* module) {
  ModuleNames& modules = names().modules;
  const std::string kind = attribute_text(reinterpret_cast<PyObject*>(Py_TYPE(module)), "__name__");
  const std::uint32_t number =
      number_of("nn.Module: " + kind + "_" + std::to_string(modules.counts[kind]));
  if (number == 0) return 0;
  ++modules.counts[kind];
  NamedModule named{Ref(PyWeakref_NewRef(module, nullptr)), {}, number};
  if (!named.weak) {
    PyErr_Clear();
    named.kept = Ref::borrow(module);
  }
  modules.names.insert_or_assign(module, std::move(named));
  return number;
}

void forget_modules() {
  ModuleNames& modules = names().modules;
  modules.counts.clear();
  const auto released = std::exchange(modules.names, {});  // may run code of the program
}

}  // namespace

void begin_naming(CallNaming naming) {
  names().naming = std::move(naming);
  forget_modules();
}

void end_naming() {
  names().naming.module_call = nullptr;
  forget_modules();
}

std::uint32_t name_of_code(PyObject* code) {
  return names().codes.find(address_of(code), [code]() -> std::pair<bool, std::uint32_t> {
    const std::string file = attribute_text(code, "co_filename");
    const std::string& own = names().naming.own;
    const std::vector<std::string>& hooks = names().naming.hooks;
    std::uint32_t number = 0;
    if (std::find(hooks.begin(), hooks.end(), file) != hooks.end()) {
      number = kHidesCalls;
    } else if (file.compare(0, own.size(), own) != 0) {
      number = number_of(shortened(file) + "(" +
                         std::to_string(attribute_number(code, "co_firstlineno")) +
                         "): " + attribute_text(code, "co_name"));
      if (number == 0) return {false, 0};
    }
    names().codes.keep(code);
    return {true, number};
  });
}

std::uint32_t name_of_c(PyObject* function) {
  PyObject* const self = PyCFunction_Check(function) ? PyCFunction_GetSelf(function) : nullptr;
  return names().functions.find(key_of_c(function, self != nullptr ? Py_TYPE(self) : nullptr), [&] {
    const bool is_method = self != nullptr && !PyModule_Check(self) && !PyCapsule_CheckExact(self);
    return new_name_of_c(function,
                         is_method ? reinterpret_cast<PyObject*>(Py_TYPE(self)) : function);
  });
}

std::uint32_t name_of_method(PyObject* method, PyObject* self) {
  return names().functions.find(key_of_c(method, Py_TYPE(self)), [&] {
    // Bound to its object, as the interpreter calls it.
    const Ref bind(PyObject_GetAttrString(method, "__get__"));
    const Ref bound(bind ? PyObject_CallFunctionObjArgs(bind.get(), self, Py_TYPE(self), nullptr)
                         : nullptr);
    PyErr_Clear();
    names().functions.keep(method);
    return new_name_of_c(bound ? bound.get() : method, reinterpret_cast<PyObject*>(Py_TYPE(self)));
  });
}

bool is_call_of_module(const PyObject* code) {
  return code == names().naming.module_call;
}

std::uint32_t name_of_module_call(PyObject* frame) {
  const Ref locals(PyObject_GetAttrString(frame, "f_locals"));
  const Ref self(locals ? PyMapping_GetItemString(locals.get(), "self") : nullptr);
  if (!self) {
    PyErr_Clear();
    return name_of_code(names().naming.module_call);
  }
  const auto known = names().modules.names.find(self.get());
  const bool is_known = known != names().modules.names.end() && known->second.is(self.get());
  return is_known ? known->second.name : new_name_of_module(self.get());
}

}  // namespace sonde::python
