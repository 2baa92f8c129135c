// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/native_frames.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "sonde/source/op.h"

namespace sonde::torch {
namespace {

struct Binary {
  std::uintptr_t end = 0;
  std::uintptr_t load_address = 0;
  std::string path;
  std::string build_id;
};

std::string this_program() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

// The build id in a binary's notes, in hexadecimal; "" if it has none.
std::string build_id_in(const char* notes, std::size_t bytes) {
  constexpr std::size_t kAlign = 4;
  const auto padded = [](std::size_t size) { return (size + kAlign - 1) / kAlign * kAlign; };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes, sizeof(head));
    const std::size_t name = sizeof(head);
    const std::size_t value = name + padded(head.n_namesz);
    const std::size_t next = value + padded(head.n_descsz);
    if (next > bytes) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0) {
      static constexpr char kDigits[] = "0123456789abcdef";
      std::string text;
      for (std::size_t i = 0; i < head.n_descsz; ++i) {
        const auto byte = static_cast<unsigned char>(notes[value + i]);
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
      }
      return text;
    }
    notes += next;
    bytes -= next;
  }
  return {};
}

using Binaries = std::map<std::uintptr_t, Binary>;  // by their first address

int add_binary(dl_phdr_info* info, std::size_t /*bytes*/, void* opaque) {
  Binary binary;
  binary.load_address = info->dlpi_addr;
  binary.path = info->dlpi_name[0] != '\0' ? info->dlpi_name : this_program();
  std::uintptr_t begin = ~std::uintptr_t{0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t at = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      begin = std::min<std::uintptr_t>(begin, at);
      binary.end = std::max<std::uintptr_t>(binary.end, at + part.p_memsz);
    } else if (part.p_type == PT_NOTE && binary.build_id.empty()) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells where, as a number
      binary.build_id = build_id_in(reinterpret_cast<const char*>(at), part.p_memsz);
    }
  }
  if (begin < binary.end) (*static_cast<Binaries*>(opaque))[begin] = std::move(binary);
  return 0;
}

// The addresses seen on all threads. Unloaded code keeps the names it had.
class NativeFrames {
 public:
  std::vector<std::uint32_t> numbers(void* const* addresses, std::size_t count) {
    const std::lock_guard lock(mutex_);
    std::vector<std::uint32_t> numbers;
    for (std::size_t i = 0; i < count; ++i) {
      const auto address = reinterpret_cast<std::uintptr_t>(addresses[i]);
      if (numbers.empty() && is_ours(address)) continue;
      const std::uint32_t number = frame(address);
      if (number == 0) return {};  // recording has stopped
      numbers.push_back(number);
    }
    return numbers;
  }

 private:
  std::uint32_t frame(std::uintptr_t address) {
    std::uint32_t& number = frames_[address];
    if (number != 0) return number;
    const Binary* const binary = find(address);
    number = binary != nullptr ? sonde_native_frame(binary->path.c_str(), binary->build_id.c_str(),
                                                    address - binary->load_address)
                               : sonde_native_frame("", "", address);
    return number;
  }

  const Binary* find(std::uintptr_t address) {
    for (const bool again : {false, true}) {
      if (again) {  // it may have been loaded since
        binaries_.clear();
        ::dl_iterate_phdr(add_binary, &binaries_);
      }
      const auto after = binaries_.upper_bound(address);
      if (after == binaries_.begin()) continue;
      const Binary& binary = std::prev(after)->second;
      if (address < binary.end) return &binary;
    }
    return nullptr;
  }

  bool is_ours(std::uintptr_t address) {
    static const char here = 0;
    const Binary* const ours = find(reinterpret_cast<std::uintptr_t>(&here));
    return ours != nullptr && ours == find(address);
  }

  std::mutex mutex_;
  Binaries binaries_;
  std::unordered_map<std::uintptr_t, std::uint32_t> frames_;
};

}  // namespace

std::vector<std::uint32_t> native_frames(void* const* addresses, std::size_t count) {
  // Leaked: operators run while the program's statics are destroyed.
  static auto* const frames = new NativeFrames;
  return frames->numbers(addresses, count);
}

std::uint32_t native_stack(void* const* addresses, std::size_t count) {
  const std::vector<std::uint32_t> frames = native_frames(addresses, count);
  return sonde_stack(frames.data(), frames.size());
}

}  // namespace sonde::torch
