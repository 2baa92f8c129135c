// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/trace/packed_values.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/big_vector.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kFirstPiece = std::size_t{16} << 10;
constexpr std::size_t kReadPast = 8;

}  // namespace

PackedMemory::~PackedMemory() = default;

void PackedMemory::Free::operator()(std::uint8_t* bytes) const noexcept {
  std::free(bytes);
}

std::uint8_t* PackedMemory::take(std::size_t width) {
  std::vector<std::uint8_t*>& spare = spare_.at(width);
  if (!spare.empty()) {
    std::uint8_t* const bytes = spare.back();
    spare.pop_back();
    return bytes;
  }
  const std::size_t needed = width * kPackedRows;
  if (left_ < needed + kReadPast) {
    // Pieces grow with what there is, up to huge pages.
    const std::size_t size =
        std::clamp(bytes_ / 4, kFirstPiece, kHugePage) / kFirstPiece * kFirstPiece;
    void* const memory = aligned_memory(size < kHugePage ? 64 : kHugePage, size);
    ask_for_huge_pages(memory, size);
    pieces_.emplace_back(static_cast<std::uint8_t*>(memory));
    at_ = pieces_.back().get();
    left_ = size;
    bytes_ += size;
  }
  std::uint8_t* const bytes = at_;
  at_ += needed;
  left_ -= needed;
  return bytes;
}

void PackedMemory::give_back(std::uint8_t* bytes, std::size_t width) {
  spare_.at(width).push_back(bytes);
}

}  // namespace sonde::detail
