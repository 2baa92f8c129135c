// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// What events refer to by number, for the life of the process: call sites, names made at run time,
// threads. Entries are only ever added. They are kept twice: in separate memory, from which
// sessions copy them to their files, and in chunks of the running stream, where they survive a
// kill.

#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "record/pool.h"
#include "sonde/sonde.h"
#include "wire/dictionary.h"

namespace sonde::detail {

class Dictionary {
 public:
  Dictionary();
  // Returns the site's number, which is assigned at its first use. Allocates only from the kernel,
  // so a signal handler may call it (the caller's cursor is busy, so it cannot interrupt itself).
  std::uint32_t site_id(sonde_site* site) noexcept;
  // The number of a name. Returns 0 once there are too many different names to keep; the caller
  // then writes the name itself.
  std::uint32_t name_id(std::string_view name) noexcept;
  // The same for a place as described in wire/places.h. Places and names never share a number.
  std::uint32_t place_id(std::string_view place) noexcept;
  // The name with this number, 0-terminated; "" if there is none. What does not fit is cut.
  void copy_name(std::uint32_t number, char* out, std::size_t room) noexcept;
  void add_thread(std::uint64_t thread, std::uint64_t kernel_id, std::string_view name) noexcept;

  // Copies every entry to chunks of `pool`, and every later one as it is added; null stops that.
  void mirror_to(Pool* pool) noexcept;

  // Puts the entries that came after the first `from` bytes into `out`, up to a MiB of them, and
  // returns how many bytes there are up to their end. Threads that name something wait meanwhile.
  std::uint64_t copy_since(std::uint64_t from, std::vector<std::uint8_t>& out) const;

  void lock() { mutex_.lock(); }  // around fork()
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr std::uint64_t kSlabBytes = std::uint64_t{1} << 20;
  static constexpr std::uint32_t kMaxSlabs = 256;
  // Numbers that fit into a word are reserved for call sites, except for this many.
  static constexpr std::uint32_t kSmallNameIds = 16 * 1024;
  static constexpr std::uint64_t kMaxNameBytes = std::uint64_t{64} << 20;
  // At most one chunk in this many is used for entries.
  static constexpr std::uint32_t kMirrorShare = 4;

  using Texts = std::unordered_map<std::string_view, std::uint32_t>;

  std::uint32_t text_id(DictionaryKind kind, Texts& known, std::string_view text) noexcept;
  // The stored entry, at its final address; empty if memory ran out.
  std::span<const std::uint8_t> append(const DictionaryEntry& entry) noexcept;
  void mirror(std::span<const std::uint8_t> entry) noexcept;
  bool take_mirror_chunk() noexcept;

  mutable std::mutex mutex_;
  std::uint8_t* slabs_[kMaxSlabs] = {};
  std::uint32_t slab_used_[kMaxSlabs] = {};
  std::uint32_t slab_count_ = 0;
  std::uint32_t next_site_ = 1;
  std::uint32_t next_small_name_ = kMaxWordId + 1 - kSmallNameIds;
  std::uint32_t next_large_ = kMaxWordId + 1;
  std::uint64_t name_bytes_ = 0;
  Texts names_;
  Texts places_;
  std::unordered_map<std::uint32_t, std::string_view> names_by_number_;  // filled on demand
  Pool* pool_ = nullptr;
  ChunkHeader* chunk_ = nullptr;
  std::uint64_t chunk_sequence_ = 0;
};

// The dictionary of the process. It is made at first use and never destroyed.
Dictionary& dictionary() noexcept;

}  // namespace sonde::detail
