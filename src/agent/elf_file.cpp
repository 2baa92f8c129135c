// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/elf_file.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/file.h"

namespace sonde {
namespace {

using Bytes = std::span<const std::uint8_t>;

template <typename T>
std::optional<T> read_at(Bytes bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// The text up to the first 0 or the end.
std::string text_at(Bytes bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const Bytes rest = bytes.subspan(offset);
  const void* const end = std::memchr(rest.data(), 0, rest.size());
  const auto* const first = reinterpret_cast<const char*>(rest.data());
  return end == nullptr ? std::string() : std::string(first, static_cast<const char*>(end));
}

std::vector<Elf64_Phdr> segments_of(Bytes bytes, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(bytes, header.e_phoff + i * header.e_phentsize);
    if (!segment) break;
    segments.push_back(*segment);
  }
  return segments;
}

std::uint64_t file_offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  }
  return ~std::uint64_t{0};
}

std::vector<std::string> needed_of(Bytes bytes, const std::vector<Elf64_Phdr>& segments,
                                   const Elf64_Phdr& dynamic) {
  std::vector<std::uint64_t> names;
  std::uint64_t strings = ~std::uint64_t{0};
  for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = read_at<Elf64_Dyn>(bytes, dynamic.p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) strings = file_offset_of(segments, entry->d_un.d_ptr);
  }
  std::vector<std::string> needed;
  for (const std::uint64_t name : names) {
    if (strings < bytes.size() && name < bytes.size() - strings)
      needed.push_back(text_at(bytes, strings + name));
  }
  return needed;
}

}  // namespace

std::uint16_t own_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_NONE;
#endif
}

Result<ElfFacts> read_elf(const std::string& path) {
  SONDE_TRY(const MappedFile file, MappedFile::open(path));
  const Bytes bytes = file.bytes();
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return Failure(ErrorCode::Corrupt, path + ": not an ELF file");
  ElfFacts facts;
  facts.is_64_bit = header->e_ident[EI_CLASS] == ELFCLASS64;
  facts.machine = header->e_machine;  // same offset in 32-bit files
  if (!facts.is_64_bit) return facts;
  const std::vector<Elf64_Phdr> segments = segments_of(bytes, *header);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) facts.interpreter = text_at(bytes, segment.p_offset);
    if (segment.p_type != PT_DYNAMIC) continue;
    facts.is_dynamic = true;
    facts.needed = needed_of(bytes, segments, segment);
  }
  return facts;
}

}  // namespace sonde
