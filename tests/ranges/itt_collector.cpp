// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A collector for INTEL_LIBITTNOTIFY64: logs the calls it receives, one line each, to the file in
// COLLECTED. Built twice: with __itt_api_init, and without, like older collectors.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ranges/itt_abi.h"

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): ITT's names

namespace {

using namespace sonde::itt_abi;  // NOLINT(google-build-using-namespace)

void note(const char* what, const char* text) {
  const char* const path = std::getenv("COLLECTED");
  std::FILE* const file = path != nullptr ? std::fopen(path, "a") : nullptr;
  if (file == nullptr) return;
  std::fprintf(file, "%s %s\n", what, text);
  std::fclose(file);
}

}  // namespace

extern "C" {

Domain* __itt_domain_create(const char* name) {
  return new Domain{1, ::strdup(name), nullptr, 0, nullptr, nullptr};
}
StringHandle* __itt_string_handle_create(const char* text) {
  note("handle", text);
  return new StringHandle{::strdup(text), nullptr, 0, nullptr, nullptr};
}
void __itt_task_begin(const Domain* domain, Id task, Id parent, StringHandle* name) {
  const bool plain = task.d1 == 0 && parent.d1 == 0;
  note(plain ? domain->name : "numbered", name->text);
}
void __itt_task_end(const Domain* domain) {
  note(domain->name, "end");
}

#if HAS_API_INIT
void __itt_api_init(Global* global, std::int32_t groups) {
  if (std::memcmp(global->magic, kMagic, sizeof(kMagic)) != 0 || groups != kAllGroups) return;
  ::pthread_mutex_lock(&global->mutex);
  for (ApiInfo* info = global->functions; info->name != nullptr; ++info)
    *info->function = ::dlsym(global->library, info->name);
  ::pthread_mutex_unlock(&global->mutex);
}
#endif

}  // extern "C"

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
