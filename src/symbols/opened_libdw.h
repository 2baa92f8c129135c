// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// elfutils' libdw, opened when it is first used: a recorded process, which does not need it, starts
// sooner, and packages run on machines without it. Included after libdw's own headers, it puts the
// opened functions in place of theirs. Without the library, dwfl_begin() returns null, and nothing
// else is called.

#include <dlfcn.h>

namespace sonde {

#define SONDE_LIBDW_FUNCTIONS(X)  \
  X(dwarf_attr)                   \
  X(dwarf_attr_integrate)         \
  X(dwarf_child)                  \
  X(dwarf_diename)                \
  X(dwarf_filesrc)                \
  X(dwarf_formstring)             \
  X(dwarf_formudata)              \
  X(dwarf_getsrc_die)             \
  X(dwarf_getsrcfiles)            \
  X(dwarf_haspc)                  \
  X(dwarf_lineno)                 \
  X(dwarf_linesrc)                \
  X(dwarf_ranges)                 \
  X(dwarf_siblingof)              \
  X(dwarf_tag)                    \
  X(dwfl_build_id_find_elf)       \
  X(dwfl_end)                     \
  X(dwfl_module_addrdie)          \
  X(dwfl_module_addrname)         \
  X(dwfl_module_build_id)         \
  X(dwfl_module_getelf)           \
  X(dwfl_module_nextcu)           \
  X(dwfl_offline_section_address) \
  X(dwfl_report_begin)            \
  X(dwfl_report_end)              \
  X(dwfl_report_offline)          \
  X(dwfl_standard_find_debuginfo)

struct OpenedLibdw {
#define SONDE_MEMBER(name) decltype(&::name) opened_##name = nullptr;
  SONDE_LIBDW_FUNCTIONS(SONDE_MEMBER)
  SONDE_MEMBER(dwfl_begin)
#undef SONDE_MEMBER
};

inline Dwfl* no_dwfl(const Dwfl_Callbacks* /*unused*/) {
  return nullptr;
}

// All of its functions; only dwfl_begin, which fails, if the library or one of them is missing.
inline OpenedLibdw open_libdw() {
  OpenedLibdw opened;
  opened.opened_dwfl_begin = no_dwfl;
  void* const library = ::dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return opened;
  bool is_whole = true;
#define SONDE_FIND(name)                                                               \
  opened.opened_##name = reinterpret_cast<decltype(&::name)>(::dlsym(library, #name)); \
  is_whole = is_whole && opened.opened_##name != nullptr;
  SONDE_LIBDW_FUNCTIONS(SONDE_FIND)
#undef SONDE_FIND
  void* const begin = ::dlsym(library, "dwfl_begin");
  if (is_whole && begin != nullptr)
    opened.opened_dwfl_begin = reinterpret_cast<decltype(&::dwfl_begin)>(begin);
  return opened;
}

inline const OpenedLibdw& libdw() {
  static const OpenedLibdw opened = open_libdw();
  return opened;
}

}  // namespace sonde

// NOLINTBEGIN(readability-identifier-naming): the names of libdw
#define dwarf_attr ::sonde::libdw().opened_dwarf_attr
#define dwarf_attr_integrate ::sonde::libdw().opened_dwarf_attr_integrate
#define dwarf_child ::sonde::libdw().opened_dwarf_child
#define dwarf_diename ::sonde::libdw().opened_dwarf_diename
#define dwarf_filesrc ::sonde::libdw().opened_dwarf_filesrc
#define dwarf_formstring ::sonde::libdw().opened_dwarf_formstring
#define dwarf_formudata ::sonde::libdw().opened_dwarf_formudata
#define dwarf_getsrc_die ::sonde::libdw().opened_dwarf_getsrc_die
#define dwarf_getsrcfiles ::sonde::libdw().opened_dwarf_getsrcfiles
#define dwarf_haspc ::sonde::libdw().opened_dwarf_haspc
#define dwarf_lineno ::sonde::libdw().opened_dwarf_lineno
#define dwarf_linesrc ::sonde::libdw().opened_dwarf_linesrc
#define dwarf_ranges ::sonde::libdw().opened_dwarf_ranges
#define dwarf_siblingof ::sonde::libdw().opened_dwarf_siblingof
#define dwarf_tag ::sonde::libdw().opened_dwarf_tag
#define dwfl_begin ::sonde::libdw().opened_dwfl_begin
#define dwfl_build_id_find_elf ::sonde::libdw().opened_dwfl_build_id_find_elf
#define dwfl_end ::sonde::libdw().opened_dwfl_end
#define dwfl_module_addrdie ::sonde::libdw().opened_dwfl_module_addrdie
#define dwfl_module_addrname ::sonde::libdw().opened_dwfl_module_addrname
#define dwfl_module_build_id ::sonde::libdw().opened_dwfl_module_build_id
#define dwfl_module_getelf ::sonde::libdw().opened_dwfl_module_getelf
#define dwfl_module_nextcu ::sonde::libdw().opened_dwfl_module_nextcu
#define dwfl_offline_section_address ::sonde::libdw().opened_dwfl_offline_section_address
#define dwfl_report_begin ::sonde::libdw().opened_dwfl_report_begin
#define dwfl_report_end ::sonde::libdw().opened_dwfl_report_end
#define dwfl_report_offline ::sonde::libdw().opened_dwfl_report_offline
#define dwfl_standard_find_debuginfo ::sonde::libdw().opened_dwfl_standard_find_debuginfo
// NOLINTEND(readability-identifier-naming)
