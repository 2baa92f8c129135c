// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/stack_reader.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sonde {

namespace {

struct SourceLine {
  std::string_view file;
  std::int32_t line = 0;
  std::string_view function;
};

// Splits "file(line): function", if joining the parts again gives the same text.
std::optional<SourceLine> split(std::string_view entry) {
  for (std::size_t close = entry.find("): "); close != std::string_view::npos;
       close = entry.find("): ", close + 1)) {
    const std::size_t open = entry.rfind('(', close);
    if (open == std::string_view::npos) continue;
    const std::string_view digits = entry.substr(open + 1, close - open - 1);
    SourceLine source{entry.substr(0, open), 0, entry.substr(close + 3)};
    const char* end = digits.end();
    const auto [after, error] = std::from_chars(digits.begin(), end, source.line);
    if (error != std::errc() || after != end || std::to_string(source.line) != digits) continue;
    return source;
  }
  return std::nullopt;
}

struct Address {
  std::string_view binary;
  std::uint64_t offset = 0;
};

// Splits "libtorch_cpu.so.2+0x1a2b", the form of frames without a name, if joining the parts again
// gives the same text.
std::optional<Address> split_address(std::string_view entry) {
  const std::size_t plus = entry.rfind("+0x");
  if (plus == std::string_view::npos || plus == 0) return std::nullopt;
  Address address{entry.substr(0, plus), 0};
  const std::string_view digits = entry.substr(plus + 3);
  constexpr int kHex = 16;
  const auto [after, error] = std::from_chars(digits.begin(), digits.end(), address.offset, kHex);
  char again[kHex];
  const char* const end = std::to_chars(again, again + kHex, address.offset, kHex).ptr;
  if (error != std::errc() || after != digits.end() || std::string_view(again, end) != digits ||
      address.binary.find('/') != std::string_view::npos)
    return std::nullopt;
  return address;
}

// Takes "name(Class)::method." from the front.
struct ModuleParts {
  std::string_view name;
  std::string_view class_name;
  std::string_view method;
};
std::optional<ModuleParts> take_module(std::string_view& text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.find(")::");
  if (close == std::string_view::npos || open >= close) return std::nullopt;
  const std::size_t dot = text.find('.', close);
  if (dot == std::string_view::npos) return std::nullopt;
  const ModuleParts parts{text.substr(0, open), text.substr(open + 1, close - open - 1),
                          text.substr(close + 3, dot - close - 3)};
  text.remove_prefix(dot + 1);
  return parts;
}

}  // namespace

FrameId StackReader::frame(std::string_view entry) {
  const auto [found, is_new] = frames_.try_emplace(entries_.intern(entry), FrameId());
  if (!is_new) return found->second;
  FrameRow row;
  if (const std::optional<SourceLine> source = split(entry)) {
    row.file = builder_.intern(source->file);
    row.line = source->line;
    row.function = builder_.intern(source->function);
    row.kind = FrameKind::Python;
  } else if (const std::optional<Address> address = split_address(entry)) {
    row.binary = builder_.intern(address->binary);
    row.binary_offset = address->offset;
    row.kind = FrameKind::Native;
  } else {
    row.function = builder_.intern(entry);
    const bool is_native = entry.find("::") != std::string_view::npos;  // Python names have none
    row.kind = is_native ? FrameKind::Native : FrameKind::Other;
  }
  return found->second = builder_.frames().push_back(row);
}

StackId StackReader::stack(std::string_view text) {
  std::vector<std::string_view> entries;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    entries.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  StackId stack;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto [found, is_new] = stacks_.try_emplace({frame(*entry), stack}, StackId());
    if (is_new) {
      StackRow row;
      row.frame = found->first.first;
      row.parent = stack;
      found->second = builder_.stacks().push_back(row);
    }
    stack = found->second;
  }
  return stack;
}

ModuleId StackReader::module(std::string_view text) {
  std::vector<ModuleParts> chain;
  while (!text.empty()) {
    const std::optional<ModuleParts> parts = take_module(text);
    if (!parts) return {};
    chain.push_back(*parts);
  }
  ModuleId module;
  for (const ModuleParts& parts : chain) {
    ModuleRow row;
    row.name = builder_.intern(parts.name);
    row.class_name = builder_.intern(parts.class_name);
    row.method = builder_.intern(parts.method);
    row.parent = module;
    const auto key = std::make_tuple(row.name, row.class_name, row.method, module);
    const auto [found, is_new] = modules_.try_emplace(key, ModuleId());
    if (is_new) found->second = builder_.modules().push_back(row);
    module = found->second;
  }
  return module;
}

}  // namespace sonde
