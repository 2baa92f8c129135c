// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "agent/adapter_name.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/file.h"

namespace sonde {
namespace {

constexpr std::string_view kBegin = "libsonde_torch-";
constexpr std::string_view kEnd = ".so";
constexpr std::size_t kPageBytes = 4096;

// FNV-1a, 64 bits.
constexpr std::uint64_t kHashStart = 0xcbf29ce484222325;
constexpr std::uint64_t kHashFactor = 0x100000001b3;

std::uint64_t hash(std::string_view text, std::uint64_t value) {
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * kHashFactor;
  return value;
}

// Cuts off the part of `text` after the last hyphen, with the hyphen, and returns it.
std::string_view take_last(std::string_view& text) {
  const std::size_t hyphen = text.rfind('-');
  if (hyphen == std::string_view::npos) return {};
  const std::string_view part = text.substr(hyphen + 1);
  text = text.substr(0, hyphen);
  return part;
}

}  // namespace

std::string to_file_name(const AdapterName& name) {
  std::string text(kBegin);
  text.append(name.torch_version).append(name.cxx11_abi ? "-abi1-" : "-abi0-");
  return text.append(name.library_key).append("-").append(name.sonde_key).append(kEnd);
}

std::optional<AdapterName> adapter_name_of(std::string_view path) {
  std::string_view text = path.substr(path.rfind('/') + 1);
  if (!text.starts_with(kBegin) || !text.ends_with(kEnd)) return std::nullopt;
  text = text.substr(kBegin.size(), text.size() - kBegin.size() - kEnd.size());
  AdapterName name;
  name.sonde_key = take_last(text);
  name.library_key = take_last(text);
  const std::string_view abi = take_last(text);
  name.torch_version = text;
  if (abi != "abi0" && abi != "abi1") return std::nullopt;
  name.cxx11_abi = abi == "abi1";
  return name;
}

Result<std::string> torch_library_key(const std::string& path) {
  SONDE_TRY(const MappedFile file, MappedFile::open(path));
  const auto page = file.bytes().first(std::min(file.bytes().size(), kPageBytes));
  const std::string_view text(reinterpret_cast<const char*>(page.data()), page.size());
  return key_of(std::to_string(file.bytes().size()), key_of(text));
}

std::string key_of(std::string_view text, const std::string& so_far) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(hash(text, hash(so_far, kHashStart))));
  return digits;
}

}  // namespace sonde
