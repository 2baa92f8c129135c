// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "record/dictionary.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "record/quiet_lock.h"
#include "wire/dictionary.h"

namespace sonde::detail {
namespace {

std::string_view text_of(const char* text) noexcept {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

}  // namespace

Dictionary::Dictionary() {
  // The first insertion makes the dynamic linker resolve functions of the standard library. That
  // takes more stack than a recording thread may have.
  names_.emplace(std::string_view(), 0u);
  names_.clear();
}

std::uint32_t Dictionary::site_id(sonde_site* site) noexcept {
  const QuietLock guard(mutex_);
  std::uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
  if (id != 0) return id;
  const bool small = next_site_ <= kMaxWordId - kSmallNameIds;
  id = small ? next_site_ : next_large_;
  const auto entry = append({.kind = DictionaryKind::Site,
                             .id = id,
                             .number = site->line,
                             .name = text_of(site->name),
                             .function = text_of(site->function),
                             .file = text_of(site->file)});
  if (entry.empty()) return 0;
  ++(small ? next_site_ : next_large_);
  // The entry is stored before its number is published, so a reader that sees the number finds the
  // entry.
  __atomic_store_n(&site->id, id, __ATOMIC_RELEASE);  // pairs with write_begin
  return id;
}

std::uint32_t Dictionary::name_id(std::string_view name) noexcept {
  return text_id(DictionaryKind::Name, names_, name);
}

std::uint32_t Dictionary::place_id(std::string_view place) noexcept {
  return text_id(DictionaryKind::Place, places_, place);
}

std::uint32_t Dictionary::text_id(DictionaryKind kind, Texts& known,
                                  std::string_view text) noexcept {
  const std::string_view kept = text.substr(0, kMaxTextBytes);
  const QuietLock guard(mutex_);
  const auto found = known.find(kept);
  if (found != known.end()) return found->second;
  if (name_bytes_ + kept.size() > kMaxNameBytes) return 0;
  const bool small = kind == DictionaryKind::Name && next_small_name_ <= kMaxWordId;
  const std::uint32_t id = small ? next_small_name_ : next_large_;
  const auto entry = append({.kind = kind, .id = id, .name = text});
  if (entry.empty()) return 0;
  ++(small ? next_small_name_ : next_large_);
  name_bytes_ += entry.size();
  // The key points at the entry just stored, which never moves.
  read_dictionary(entry, [&](const DictionaryEntry& stored) { known.emplace(stored.name, id); });
  return id;
}

void Dictionary::copy_name(std::uint32_t number, char* out, std::size_t room) noexcept {
  const QuietLock guard(mutex_);
  if (names_by_number_.size() != names_.size()) {
    for (const auto& [name, id] : names_) names_by_number_.emplace(id, name);
  }
  const auto found = names_by_number_.find(number);
  std::string_view name = found != names_by_number_.end() ? found->second : std::string_view();
  name = name.substr(0, room - 1);
  if (!name.empty()) std::memcpy(out, name.data(), name.size());
  out[name.size()] = '\0';
}

void Dictionary::add_thread(std::uint64_t thread, std::uint64_t kernel_id,
                            std::string_view name) noexcept {
  const QuietLock guard(mutex_);
  append({.kind = DictionaryKind::Thread, .id = thread, .number = kernel_id, .name = name});
}

std::span<const std::uint8_t> Dictionary::append(const DictionaryEntry& entry) noexcept {
  if (slab_count_ == 0 || slab_used_[slab_count_ - 1] + room_for(entry) > kSlabBytes) {
    if (slab_count_ == kMaxSlabs) return {};
    void* slab =
        ::mmap(nullptr, kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED) return {};
    slabs_[slab_count_] = static_cast<std::uint8_t*>(slab);
    slab_used_[slab_count_++] = 0;
  }
  std::uint32_t& used = slab_used_[slab_count_ - 1];
  const std::span<std::uint8_t> slab(slabs_[slab_count_ - 1], kSlabBytes);
  const auto stored = lay_entry(slab.subspan(used), entry);
  used += static_cast<std::uint32_t>(stored.size());
  mirror(stored);
  return stored;
}

void Dictionary::mirror(std::span<const std::uint8_t> entry) noexcept {
  if (pool_ == nullptr) return;
  const bool fits = chunk_ != nullptr && chunk_->committed + entry.size() <= kChunkBytes;
  if (!fits && !take_mirror_chunk()) return;
  auto* const at = reinterpret_cast<std::uint8_t*>(chunk_) + chunk_->committed;
  std::size_t size = entry.size();
  if (size <= kChunkBytes - chunk_->committed) {
    std::memcpy(at, entry.data(), size);
  } else {
    // An entry that fits in no chunk is cut here; files have it whole.
    const std::span<std::uint8_t> room(at, kChunkBytes - chunk_->committed);
    read_dictionary(entry,
                    [&](const DictionaryEntry& whole) { size = lay_entry(room, whole).size(); });
  }
  __atomic_store_n(&chunk_->committed, chunk_->committed + static_cast<std::uint32_t>(size),
                   __ATOMIC_RELEASE);
}

// Without a chunk, entries are missing after a kill. Files have them all the same.
bool Dictionary::take_mirror_chunk() noexcept {
  // Leaves most of the buffers to events, however many names the program makes up.
  const bool enough = chunk_sequence_ >= std::max(1u, pool_->chunk_count() / kMirrorShare);
  chunk_ = enough ? nullptr : pool_->take();
  if (chunk_ == nullptr) return false;
  __atomic_store_n(&chunk_->committed, kChunkFirstWord, __ATOMIC_RELAXED);
  chunk_->stream = pool_->stream();
  chunk_->thread = 0;
  chunk_->sequence = chunk_sequence_++;
  chunk_->base_ticks = read_ticks();
  chunk_->payload_words = 0;
  chunk_->lost_before = 0;
  chunk_->lost_ends_before = 0;
  __atomic_store_n(&chunk_->state, kChunkDictionary, __ATOMIC_RELEASE);
  return true;
}

void Dictionary::mirror_to(Pool* pool) noexcept {
  const QuietLock guard(mutex_);
  pool_ = pool;
  chunk_ = nullptr;
  chunk_sequence_ = 0;
  for (std::uint32_t i = 0; pool != nullptr && i < slab_count_; ++i) {
    for (std::uint32_t at = 0; at < slab_used_[i];) {
      std::uint32_t size = 0;
      std::memcpy(&size, slabs_[i] + at, sizeof(size));
      mirror({slabs_[i] + at, size});
      at += size;
    }
  }
}

std::uint64_t Dictionary::copy_since(std::uint64_t from, std::vector<std::uint8_t>& out) const {
  out.clear();
  const QuietLock guard(mutex_);
  std::uint64_t start = 0;
  for (std::uint32_t i = 0; i < slab_count_; ++i) {
    const std::uint64_t end = start + slab_used_[i];
    if (from < end) {
      out.assign(slabs_[i] + (from - start), slabs_[i] + slab_used_[i]);
      return end;
    }
    start = end;
  }
  return start;
}

Dictionary& dictionary() noexcept {
  // Never destroyed: threads may record while the process ends. The guard is safe because the first
  // call happens before any session records.
  alignas(Dictionary) static unsigned char storage[sizeof(Dictionary)];
  static Dictionary* const instance = new (storage) Dictionary;
  return *instance;
}

}  // namespace sonde::detail
