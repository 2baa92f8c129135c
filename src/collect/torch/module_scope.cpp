// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sonde/source/op.h"
#include "sonde/source/range_source.h"
#include "sonde/torch.h"

namespace sonde::torch {
namespace {

constexpr std::uint8_t kUserScope = 7;
constexpr std::size_t kLongestName = 512;

struct OpenModule {
  const void* module;
  std::uint32_t number;
  std::string path;
  bool recorded;
  sonde_range told;  // for other tools
};

struct KnownModule {
  std::string class_name;  // another object may have the address by now
  std::uint32_t number = 0;
  std::uint32_t span_name = 0;
  std::string path;
};

struct Key {
  const void* parent;
  const void* module;
  bool operator==(const Key& other) const {
    return parent == other.parent && module == other.module;
  }
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    return std::hash<const void*>()(key.parent) * 31 + std::hash<const void*>()(key.module);
  }
};

struct ThreadModules {
  std::vector<OpenModule> open;
  std::unordered_map<Key, KnownModule, KeyHash> known;
};

ThreadModules& thread_modules() {
  static thread_local ThreadModules modules;
  return modules;
}

// The short name: Net, for both (anonymous namespace)::NetImpl and Net.
std::string short_class(std::string_view name) {
  const std::size_t colons = name.rfind("::");
  if (colons != std::string_view::npos) name.remove_prefix(colons + 2);
  constexpr std::string_view kImpl = "Impl";
  if (name.size() > kImpl.size() && name.substr(name.size() - kImpl.size()) == kImpl)
    name.remove_suffix(kImpl.size());
  return std::string(name);
}

}  // namespace

bool ModuleScope::is_recording() {
  return sonde_is_recording() != 0 || sonde_tools() != 0;
}

bool ModuleScope::begin(const void* module, const char* class_name, const char* method,
                        WriteName* write) {
  ThreadModules& modules = thread_modules();
  const OpenModule* const around = modules.open.empty() ? nullptr : &modules.open.back();
  KnownModule& known = modules.known[{around != nullptr ? around->module : nullptr, module}];
  if (known.number == 0 || known.span_name == 0 || known.class_name != class_name) {
    char name[kLongestName] = "";
    if (around != nullptr) write(around->module, module, name, sizeof(name));
    const std::string own = name[0] != '\0' ? std::string(name) : short_class(class_name);
    known.class_name = class_name;
    known.path = around != nullptr ? around->path + "." + own : own;
    known.number = sonde_module(around != nullptr ? around->number : 0, own.c_str(),
                                short_class(class_name).c_str(), method);
    const std::string span = "nn.Module: " + known.path;
    known.span_name = sonde_name(span.data(), span.size());
  }
  sonde_op op = {};
  op.size = sizeof(op);
  op.name = known.span_name;
  op.scope = kUserScope;
  op.sequence_number = -1;
  sonde_range told = {0, 0};
  if (const std::uint32_t tools = sonde_tools())
    told = sonde_tell_begin(tools, ("nn.Module: " + known.path).c_str());
  const bool recorded = sonde_op_begin(&op) != 0;
  if (!recorded && told.position == 0) return false;
  if (recorded) sonde_op_place(0, known.number);
  modules.open.push_back({module, known.number, known.path, recorded, told});
  return true;
}

void ModuleScope::end() {
  const OpenModule& innermost = thread_modules().open.back();
  if (innermost.recorded) sonde_end();
  sonde_range_end(innermost.told);
  thread_modules().open.pop_back();
}

}  // namespace sonde::torch
