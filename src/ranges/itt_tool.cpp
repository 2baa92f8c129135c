// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranges/itt_tool.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <unordered_map>

#include "ranges/itt_abi.h"

namespace sonde {
namespace {

using namespace itt_abi;  // NOLINT(google-build-using-namespace): short, and of this file alone

// The functions that the collector fills in.
struct IttFunctions {
  void* domain_create = nullptr;
  void* string_handle_create = nullptr;
  void* task_begin = nullptr;
  void* task_end = nullptr;
};

struct IttProgram {
  IttFunctions functions;
  ApiInfo list[5] = {
      {"__itt_domain_create", &functions.domain_create, nullptr, nullptr, kStructureGroup},
      {"__itt_string_handle_create", &functions.string_handle_create, nullptr, nullptr,
       kStructureGroup},
      {"__itt_task_begin", &functions.task_begin, nullptr, nullptr, kStructureGroup},
      {"__itt_task_end", &functions.task_end, nullptr, nullptr, kStructureGroup},
      {nullptr, nullptr, nullptr, nullptr, 0}};
  Global global = {};
  Domain* domain = nullptr;
};

// Leaked: scopes may end while the program's statics are destroyed.
IttProgram& itt_program() {
  static auto* const only = new IttProgram;
  return *only;
}

void init_mutex(pthread_mutex_t& mutex) {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  ::pthread_mutex_init(&mutex, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
}

void find_functions(IttProgram& self, void* library) {
  auto* const init = reinterpret_cast<ApiInit*>(::dlsym(library, kEntry));
  if (init == nullptr) {
    for (ApiInfo* info = self.list; info->name != nullptr; ++info)
      *info->function = ::dlsym(library, info->name);
    return;
  }
  Global& global = self.global;
  std::copy(std::begin(kMagic), std::end(kMagic), global.magic);
  global.version_major = kVersionMajor;
  global.version_minor = kVersionMinor;
  init_mutex(global.mutex);
  global.mutex_initialized = 1;
  global.api_initialized = 1;
  global.library = library;
  global.functions = self.list;
  init(&global, kAllGroups);
}

template <typename Type>
Type* as(void* function) {
  return reinterpret_cast<Type*>(function);
}

// Makes one handle per text, because collectors may keep all handles.
StringHandle* handle_of(const char* text) {
  constexpr std::size_t kMost = std::size_t{16} * 1024;
  thread_local std::unordered_map<std::string, StringHandle*> known;
  if (known.size() >= kMost) known.clear();
  StringHandle*& handle = known[text];
  if (handle == nullptr)
    handle = as<StringHandleCreate>(itt_program().functions.string_handle_create)(text);
  return handle;
}

}  // namespace

IttTool::IttTool() {
  const char* const path = std::getenv(kVariable);
  if (path == nullptr || *path == '\0') return;
  void* const library = ::dlopen(path, RTLD_LAZY);
  if (library == nullptr) return;
  IttProgram& self = itt_program();
  find_functions(self, library);
  const IttFunctions& found = self.functions;
  if (found.domain_create == nullptr || found.string_handle_create == nullptr ||
      found.task_begin == nullptr || found.task_end == nullptr)
    return;
  self.domain = as<DomainCreate>(found.domain_create)("PyTorch");
  is_there_ = self.domain != nullptr;
}

const IttTool& IttTool::get() {
  static const auto* const only = new IttTool;
  return *only;
}

void IttTool::push(const char* name) const {
  const IttProgram& self = itt_program();
  if (!is_there_ || self.domain->flags == 0) return;
  as<TaskBegin>(self.functions.task_begin)(self.domain, itt_abi::Id{}, itt_abi::Id{},
                                           handle_of(name));
}

void IttTool::pop() const {
  const IttProgram& self = itt_program();
  if (!is_there_ || self.domain->flags == 0) return;
  as<TaskEnd>(self.functions.task_end)(self.domain);
}

}  // namespace sonde
