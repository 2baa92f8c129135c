// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/python/interpreter.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/utf8.h"

namespace sonde {
namespace {

constexpr std::size_t kLongestText = 1024;

template <typename Function>
bool look_up(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

const PythonLayout* layout_of(const char* version) {
  // Without the global lock, objects have different headers.
  if (std::strstr(version, "free-threading") != nullptr) return nullptr;
  char* rest = nullptr;
  if (std::strtol(version, &rest, 10) != 3 || *rest != '.') return nullptr;
  const long minor = std::strtol(rest + 1, nullptr, 10);
  for (const PythonLayout& layout : kPythonLayouts) {
    if (layout.minor == minor) return &layout;
  }
  return nullptr;
}

}  // namespace

// Takes the addresses of the binary that has the interpreter's data; 0: the next one, please.
int PythonInterpreter::take_binary(dl_phdr_info* info, std::size_t /*bytes*/, void* self) {
  auto& python = *static_cast<PythonInterpreter*>(self);
  python.binary_begin_ = ~std::uintptr_t{0};
  python.binary_end_ = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    python.binary_begin_ = std::min<std::uintptr_t>(python.binary_begin_, begin);
    python.binary_end_ = std::max<std::uintptr_t>(python.binary_end_, begin + part.p_memsz);
  }
  return python.has_in_binary(python.code_type_) ? 1 : 0;
}

PythonInterpreter* PythonInterpreter::make() {
  using VersionText = const char*();
  VersionText* version = nullptr;
  if (!look_up(version, "Py_GetVersion")) return nullptr;
  auto made = std::make_unique<PythonInterpreter>();
  made->layout_ = layout_of(version());
  made->code_type_ = ::dlsym(RTLD_DEFAULT, "PyCode_Type");
  const bool has_all = made->layout_ != nullptr && made->code_type_ != nullptr &&
                       look_up(made->this_thread_, "PyGILState_GetThisThreadState") &&
                       look_up(made->line_of_, "PyCode_Addr2Line") &&
                       look_up(made->length_of_, "PyUnicode_GetLength") &&
                       look_up(made->character_at_, "PyUnicode_ReadChar");
  if (has_all && ::dl_iterate_phdr(take_binary, made.get()) == 0)
    made->binary_begin_ = made->binary_end_ = 0;
  return has_all ? made.release() : nullptr;
}

const PythonInterpreter* PythonInterpreter::find() {
  // Leaked: operators run while the program's statics are destroyed.
  static const PythonInterpreter* const found = make();
  return found;
}

int PythonInterpreter::byte_of(const PythonFrame& frame) const {
  switch (layout_->position_is) {
    case PythonPosition::Bytes:
      return static_cast<int>(frame.position);
    case PythonPosition::Units:
      return static_cast<int>(frame.position) * 2;
    case PythonPosition::Pointer:
      break;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(frame.code + layout_->instructions);
  return static_cast<int>(frame.position - begin);
}

// Character by character: all other ways to get a text may allocate, which needs the lock.
std::string PythonInterpreter::text(const char* unicode) const {
  std::string text;
  void* const object = const_cast<char*>(unicode);
  const std::ptrdiff_t length = object != nullptr ? length_of_(object) : 0;
  for (std::ptrdiff_t i = 0; i < length && text.size() < kLongestText; ++i)
    append_utf8(text, character_at_(object, i));
  return text;
}

PythonPlace PythonInterpreter::place(const PythonFrame& frame) const {
  PythonPlace place;
  place.function = text(load<const char*>(frame.code, layout_->name));
  place.file = text(frame.filename);
  place.line = line_of_(const_cast<char*>(frame.code), byte_of(frame));
  if (place.line <= 0) place.line = frame.first_line;
  return place;
}

}  // namespace sonde
