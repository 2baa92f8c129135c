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

std::uint32_t Dictionary::site_id(sonde_site* site) noexcept {
  const QuietLock guard(mutex_);
  std::uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
  if (id != 0) return id;
  const bool small = next_site_ <= kMaxWordId - kSmallNameIds;
  id = small ? next_site_ : next_large_;
  DictionaryEntryWriter entry(DictionaryKind::Site, id);
  entry.varint(site->line);
  entry.string(text_of(site->name));
  entry.string(text_of(site->function));
  entry.string(text_of(site->file));
  if (!append(entry.finish())) return 0;
  ++(small ? next_site_ : next_large_);
  // The entry is there before the number is: whoever sees a word with it finds it here.
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
  text = text.substr(0, kMaxDictionaryString);
  const QuietLock guard(mutex_);
  const auto found = known.find(text);
  if (found != known.end()) return found->second;
  if (name_bytes_ + text.size() > kMaxNameBytes) return 0;
  const bool small = kind == DictionaryKind::Name && next_small_name_ <= kMaxWordId;
  const std::uint32_t id = small ? next_small_name_ : next_large_;
  DictionaryEntryWriter entry(kind, id);
  entry.string(text);
  const auto bytes = entry.finish();
  if (!append(bytes)) return 0;
  ++(small ? next_small_name_ : next_large_);
  name_bytes_ += bytes.size();
  // The key points at the entry just stored, which never moves: 16 bytes of head, then the length.
  const std::uint8_t* stored = slabs_[slab_count_ - 1] + slab_used_[slab_count_ - 1] - bytes.size();
  ByteReader in(stored + 16, bytes.size() - 16);
  known.emplace(in.string(), id);
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
  DictionaryEntryWriter entry(DictionaryKind::Thread, thread);
  entry.varint(kernel_id);
  entry.string(name);
  const QuietLock guard(mutex_);
  append(entry.finish());
}

bool Dictionary::append(std::span<const std::uint8_t> entry) noexcept {
  if (slab_count_ == 0 || slab_used_[slab_count_ - 1] + entry.size() > kSlabBytes) {
    if (slab_count_ == kMaxSlabs) return false;
    void* slab =
        ::mmap(nullptr, kSlabBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED) return false;
    slabs_[slab_count_] = static_cast<std::uint8_t*>(slab);
    slab_used_[slab_count_++] = 0;
  }
  std::memcpy(slabs_[slab_count_ - 1] + slab_used_[slab_count_ - 1], entry.data(), entry.size());
  slab_used_[slab_count_ - 1] += static_cast<std::uint32_t>(entry.size());
  mirror(entry);
  return true;
}

void Dictionary::mirror(std::span<const std::uint8_t> entry) noexcept {
  if (pool_ == nullptr) return;
  if (chunk_ == nullptr || chunk_->committed + entry.size() > kChunkBytes) {
    // No chunk to be had means that after a kill this entry is missing; files have it all the same.
    // So that events keep most of the buffers, whatever the program calls its work.
    const bool enough = chunk_sequence_ >= std::max(1u, pool_->chunk_count() / kMirrorShare);
    chunk_ = enough ? nullptr : pool_->take();
    if (chunk_ == nullptr) return;
    __atomic_store_n(&chunk_->committed, kChunkFirstWord, __ATOMIC_RELAXED);
    chunk_->stream = pool_->stream();
    chunk_->thread = 0;
    chunk_->sequence = chunk_sequence_++;
    chunk_->base_ticks = read_ticks();
    chunk_->payload_words = 0;
    chunk_->lost_before = 0;
    chunk_->lost_ends_before = 0;
    __atomic_store_n(&chunk_->state, kChunkDictionary, __ATOMIC_RELEASE);
  }
  std::memcpy(reinterpret_cast<char*>(chunk_) + chunk_->committed, entry.data(), entry.size());
  __atomic_store_n(&chunk_->committed, chunk_->committed + static_cast<std::uint32_t>(entry.size()),
                   __ATOMIC_RELEASE);
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
  const QuietLock guard(mutex_);
  std::uint64_t start = 0;
  for (std::uint32_t i = 0; i < slab_count_; ++i) {
    const std::uint64_t end = start + slab_used_[i];
    if (from < end) {
      const std::uint64_t skip = from > start ? from - start : 0;
      out.insert(out.end(), slabs_[i] + skip, slabs_[i] + slab_used_[i]);
    }
    start = end;
  }
  return start;
}

Dictionary& dictionary() noexcept {
  // Never destroyed: threads may record while the process ends. The guard is safe where this is
  // first called, before any session records.
  alignas(Dictionary) static unsigned char storage[sizeof(Dictionary)];
  static Dictionary* const instance = new (storage) Dictionary;
  return *instance;
}

}  // namespace sonde::detail
