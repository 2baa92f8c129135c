// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "symbols/symboliser.h"

#if SONDE_HAS_LIBDW

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "symbols/opened_libdw.h"

namespace sonde {
namespace {

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};
struct Ended {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};
template <typename T>
using Malloced = std::unique_ptr<T, Freed>;

// Symbols of libraries may have a version, as in malloc@@GLIBC_2.2.5.
std::string demangled(const char* name) {
  if (name == nullptr) return {};
  const std::string bare(name, std::strcspn(name, "@"));
  int status = 0;
  const Malloced<char> text(abi::__cxa_demangle(bare.c_str(), nullptr, nullptr, &status));
  return status == 0 && text != nullptr ? text.get() : bare;
}

std::int32_t line_of(std::int64_t line) {
  return line > 0 && line <= 0x7fffffff ? static_cast<std::int32_t>(line) : -1;
}

// Debug information names a function twice: `forward`, and the whole name in mangled form.
std::string name_of(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(die, kind, &attribute) != nullptr)
      return demangled(dwarf_formstring(&attribute));
  }
  const char* const name = dwarf_diename(die);
  return name != nullptr ? name : "";
}

// Where an inlined function was called: a file and line in the function around it.
void read_call_site(Dwarf_Die* inlined, Dwarf_Die* unit, SymbolFrame& caller) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(inlined, DW_AT_call_line, &attribute) != nullptr &&
      dwarf_formudata(&attribute, &value) == 0) {
    caller.line = line_of(static_cast<std::int64_t>(value));
  }
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_attr(inlined, DW_AT_call_file, &attribute) == nullptr ||
      dwarf_formudata(&attribute, &value) != 0 || dwarf_getsrcfiles(unit, &files, &count) != 0) {
    return;
  }
  const char* const path = dwarf_filesrc(files, value, nullptr, nullptr);
  if (path != nullptr) caller.file = path;
}

// The functions around an address, including inlined ones, outermost first. libdw's own search does
// not look into namespaces, where clang puts its functions.
void find_functions(Dwarf_Die* around, Dwarf_Addr address, std::vector<Dwarf_Die>& found,
                    int depth = 0) {
  constexpr int kDeepest = 100;
  Dwarf_Die die;
  if (depth > kDeepest || dwarf_child(around, &die) != 0) return;
  do {
    switch (dwarf_tag(&die)) {
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type: {
        const std::size_t before = found.size();
        find_functions(&die, address, found, depth + 1);
        if (found.size() > before) return;
        break;
      }
      case DW_TAG_subprogram:
      case DW_TAG_inlined_subroutine:
        if (dwarf_haspc(&die, address) <= 0) break;
        found.push_back(die);
        return find_functions(&die, address, found, depth + 1);
      case DW_TAG_lexical_block:
        if (dwarf_haspc(&die, address) <= 0) break;
        return find_functions(&die, address, found, depth + 1);
      default:
        break;
    }
  } while (dwarf_siblingof(&die, &die) == 0);
}

bool has_build_id(Dwfl_Module* module, std::string_view wanted) {
  const unsigned char* bytes = nullptr;
  GElf_Addr address = 0;
  const int size = dwfl_module_build_id(module, &bytes, &address);
  if (wanted.empty() || size <= 0) return true;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : std::span(bytes, static_cast<std::size_t>(size))) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text == wanted;
}

const Dwfl_Callbacks& callbacks() {
  static const Dwfl_Callbacks called = {dwfl_build_id_find_elf, dwfl_standard_find_debuginfo,
                                        dwfl_offline_section_address, nullptr};
  return called;
}

}  // namespace

// Each binary is handled separately, because binaries may cover the same addresses.
class Symboliser::Binaries {
 public:
  std::vector<SymbolFrame> frames_at(std::string_view binary, std::string_view build_id,
                                     std::uint64_t offset) {
    if (offset == 0) return {};
    Binary& opened = open(binary, build_id);
    if (opened.module == nullptr) return {};
    const Dwarf_Addr address = offset - 1 + opened.bias;
    SymbolFrame outermost;
    outermost.function = demangled(dwfl_module_addrname(opened.module, address));
    Unit unit = find_unit(opened, address);
    if (unit.die != nullptr) {
      if (Dwarf_Line* line = dwarf_getsrc_die(unit.die, address - unit.bias)) {
        int number = 0;
        const char* const file = dwarf_linesrc(line, nullptr, nullptr);
        outermost.file = file != nullptr ? file : "";
        if (dwarf_lineno(line, &number) == 0) outermost.line = line_of(number);
      }
    }
    std::vector<SymbolFrame> frames = take_apart(unit, address, outermost);
    if (frames.back().function.empty()) frames.clear();
    return frames;
  }

 private:
  struct Unit {  // a compilation unit; lives as long as its binary
    Dwarf_Die* die = nullptr;
    Dwarf_Addr bias = 0;
  };
  struct Stretch {
    Dwarf_Addr begin = 0;
    Unit unit;
  };
  struct Binary {
    std::unique_ptr<Dwfl, Ended> dwfl;
    Dwfl_Module* module = nullptr;
    Dwarf_Addr bias = 0;
    // By the end of each stretch of code. Built here if the compiler left no such table (clang
    // leaves none).
    std::map<Dwarf_Addr, Stretch> stretches;
    bool has_stretches = false;
  };

  static Unit find_unit(Binary& binary, Dwarf_Addr address) {
    Unit unit;
    unit.die = dwfl_module_addrdie(binary.module, address, &unit.bias);
    if (unit.die != nullptr) return unit;
    if (!std::exchange(binary.has_stretches, true)) find_stretches(binary);
    const auto found = binary.stretches.upper_bound(address);
    const bool is_inside = found != binary.stretches.end() && found->second.begin <= address;
    return is_inside ? found->second.unit : Unit();
  }

  static void find_stretches(Binary& binary) {
    Unit unit;
    while ((unit.die = dwfl_module_nextcu(binary.module, unit.die, &unit.bias)) != nullptr) {
      Dwarf_Addr base = 0;
      Dwarf_Addr begin = 0;
      Dwarf_Addr end = 0;
      for (std::ptrdiff_t at = 0; (at = dwarf_ranges(unit.die, at, &base, &begin, &end)) > 0;) {
        if (begin < end) binary.stretches[end + unit.bias] = {begin + unit.bias, unit};
      }
    }
  }

  Binary& open(std::string_view path, std::string_view build_id) {
    const auto [found, is_new] = binaries_.try_emplace(std::string(path));
    Binary& binary = found->second;
    // A recording may contain any path: opening a pipe would wait for its other end.
    std::error_code error;
    if (!is_new || !std::filesystem::is_regular_file(found->first, error)) return binary;
    binary.dwfl.reset(dwfl_begin(&callbacks()));
    if (binary.dwfl == nullptr) return binary;
    dwfl_report_begin(binary.dwfl.get());
    Dwfl_Module* const module =
        dwfl_report_offline(binary.dwfl.get(), found->first.c_str(), found->first.c_str(), -1);
    dwfl_report_end(binary.dwfl.get(), nullptr, nullptr);
    GElf_Addr bias = 0;
    if (module == nullptr || dwfl_module_getelf(module, &bias) == nullptr) return binary;
    if (!has_build_id(module, build_id)) return binary;
    binary.module = module;
    binary.bias = bias;
    return binary;
  }

  // Makes several frames of one where functions were inlined. `frame` is the function with the line
  // of the address, which belongs to the innermost one.
  static std::vector<SymbolFrame> take_apart(const Unit& unit, Dwarf_Addr address,
                                             SymbolFrame frame) {
    std::vector<SymbolFrame> frames;
    std::vector<Dwarf_Die> functions;
    if (unit.die != nullptr) find_functions(unit.die, address - unit.bias, functions);
    const std::string symbol = frame.function;
    for (auto function = functions.rbegin(); function != functions.rend(); ++function) {
      frame.function = name_of(&*function);
      if (dwarf_tag(&*function) == DW_TAG_subprogram) break;
      frames.push_back(frame);
      frame = {};
      read_call_site(&*function, unit.die, frame);
    }
    // The symbol's name has the types of the arguments even if the debug information does not.
    if (!symbol.empty()) frame.function = symbol;
    frames.push_back(std::move(frame));
    return frames;
  }

  std::map<std::string, Binary, std::less<>> binaries_;
};

std::vector<SymbolFrame> Symboliser::frames_at(std::string_view binary, std::string_view build_id,
                                               std::uint64_t offset) {
  if (binaries_ == nullptr) binaries_ = std::make_unique<Binaries>();
  return binaries_->frames_at(binary, build_id, offset);
}

}  // namespace sonde

#else

namespace sonde {

class Symboliser::Binaries {};

std::vector<SymbolFrame> Symboliser::frames_at(std::string_view /*binary*/,
                                               std::string_view /*build_id*/,
                                               std::uint64_t /*offset*/) {
  return {};
}

}  // namespace sonde

#endif

namespace sonde {

Symboliser::Symboliser() = default;
Symboliser::~Symboliser() = default;

}  // namespace sonde
