// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/late_hooks.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>

namespace sonde::torch {
namespace {

constexpr const char* kHooks[] = {
    "_ZN3c1022memoryProfilingEnabledEv",
    "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE",
    "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",
    "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE",
    "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",
};

#if defined(__x86_64__)
constexpr std::uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr std::uint32_t kAddressSlot = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr std::uint32_t kAddressSlot = R_AARCH64_GLOB_DAT;
#else
constexpr std::uint32_t kJumpSlot = ~0U;
constexpr std::uint32_t kAddressSlot = ~0U;
#endif

using Functions = std::unordered_map<std::string, void*>;

// The functions of this library.
Functions our_functions() {
  Functions functions;
  static const char here = 0;
  Dl_info us = {};
  if (::dladdr(&here, &us) == 0) return functions;
  void* const library = ::dlopen(us.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return functions;
  for (const char* const name : kHooks) {
    void* const function = ::dlsym(library, name);
    Dl_info owner = {};
    // Another library may define a function with the same name.
    if (function != nullptr && ::dladdr(function, &owner) != 0 && owner.dli_fbase == us.dli_fbase)
      functions.emplace(name, function);
  }
  ::dlclose(library);
  return functions;
}

// What the loader knows about one library's calls into others.
struct Calls {
  std::uintptr_t base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * slots[2] = {};
  std::size_t slot_bytes[2] = {};
  std::uintptr_t sealed_begin = 0;  // read-only since the library was linked
  std::uintptr_t sealed_end = 0;
};

void read_dynamic(const ElfW(Dyn) * entry, Calls& calls) {
  const auto at = [&](const ElfW(Dyn) & found) {
    // On most machines the C library has turned these into addresses.
    const std::uintptr_t value = found.d_un.d_ptr;
    return value < calls.base ? value + calls.base : value;
  };
  // NOLINTBEGIN(performance-no-int-to-ptr): the loader keeps addresses as numbers
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        calls.symbols = reinterpret_cast<const ElfW(Sym)*>(at(*entry));
        break;
      case DT_STRTAB:
        calls.names = reinterpret_cast<const char*>(at(*entry));
        break;
      case DT_JMPREL:
        calls.slots[0] = reinterpret_cast<const ElfW(Rela)*>(at(*entry));
        break;
      case DT_PLTRELSZ:
        calls.slot_bytes[0] = entry->d_un.d_val;
        break;
      case DT_RELA:
        calls.slots[1] = reinterpret_cast<const ElfW(Rela)*>(at(*entry));
        break;
      case DT_RELASZ:
        calls.slot_bytes[1] = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  // NOLINTEND(performance-no-int-to-ptr)
}

bool is_of_torch(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  return std::strncmp(name, "libtorch", 8) == 0 || std::strncmp(name, "libc10", 6) == 0;
}

Calls calls_of(const dl_phdr_info& library) {
  Calls calls;
  calls.base = library.dlpi_addr;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library.dlpi_phdr[i];
    const std::uintptr_t begin = library.dlpi_addr + part.p_vaddr;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader keeps addresses as numbers
    if (part.p_type == PT_DYNAMIC) read_dynamic(reinterpret_cast<const ElfW(Dyn)*>(begin), calls);
    if (part.p_type == PT_GNU_RELRO) {
      calls.sealed_begin = begin;
      calls.sealed_end = begin + part.p_memsz;
    }
  }
  return calls;
}

// Set atomically: other threads may be calling through it.
void set_slot(const Calls& calls, std::uintptr_t address, void* function) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader keeps addresses as numbers
  auto* const slot = reinterpret_cast<void**>(address);
  if (__atomic_load_n(slot, __ATOMIC_RELAXED) == function) return;
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t page = address / page_bytes * page_bytes;
  const bool is_sealed = address >= calls.sealed_begin && address < calls.sealed_end;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as above
  void* const at = reinterpret_cast<void*>(page);
  if (is_sealed && ::mprotect(at, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(slot, function, __ATOMIC_RELEASE);
  if (is_sealed) ::mprotect(at, page_bytes, PROT_READ);
}

int hook_library(dl_phdr_info* library, std::size_t /*bytes*/, void* functions) {
  if (!is_of_torch(library->dlpi_name)) return 0;
  const Calls calls = calls_of(*library);
  if (calls.symbols == nullptr || calls.names == nullptr) return 0;
  for (const int kind : {0, 1}) {
    const std::size_t count = calls.slot_bytes[kind] / sizeof(ElfW(Rela));
    for (std::size_t i = 0; calls.slots[kind] != nullptr && i < count; ++i) {
      const ElfW(Rela)& slot = calls.slots[kind][i];
      const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(slot.r_info));
      if (type != kJumpSlot && type != kAddressSlot) continue;
      const char* const name = calls.names + calls.symbols[ELF64_R_SYM(slot.r_info)].st_name;
      const auto found = static_cast<const Functions*>(functions)->find(name);
      if (found != static_cast<const Functions*>(functions)->end())
        set_slot(calls, calls.base + slot.r_offset, found->second);
    }
  }
  return 0;
}

// Whether the whole program sees our functions. Then c10 calls them anyway.
bool are_seen_by_all() {
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr) return false;
  const bool found = ::dlsym(program, "sonde_memory_report") != nullptr;
  ::dlclose(program);
  return found;
}

}  // namespace

void hook_loaded_libraries() {
  if (are_seen_by_all()) return;
  const Functions functions = our_functions();
  if (functions.empty()) return;
  ::dl_iterate_phdr(hook_library, const_cast<Functions*>(&functions));
}

}  // namespace sonde::torch
