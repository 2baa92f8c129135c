// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/cuda/kept_buffers.h"

#include <cstdlib>
#include <cstring>

#include "base/file.h"

namespace sonde::cuda {
namespace {

constexpr char kMagic[8] = {'S', 'O', 'N', 'D', 'E', 'C', 'U', '1'};

template <typename T>
void put(std::FILE* file, T value) {
  std::fwrite(&value, sizeof(value), 1, file);
}

// Bytes taken from the front; empty once there are too few.
class Front {
 public:
  explicit Front(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::span<const std::uint8_t> take(std::size_t count) {
    if (count > bytes_.size()) failed_ = true;
    if (failed_) return {};
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  template <typename T>
  T number() {
    T value{};
    if (const auto bytes = take(sizeof(T)); !bytes.empty())
      std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  bool failed() const { return failed_; }
  bool empty() const { return bytes_.empty(); }

 private:
  std::span<const std::uint8_t> bytes_;
  bool failed_ = false;
};

}  // namespace

std::unique_ptr<KeptBuffers> KeptBuffers::from_environment(std::uint32_t version) {
  const char* const path = std::getenv("SONDE_CUDA_KEEP_BUFFERS");
  const Result<int> made = path != nullptr ? create_in_place_of(path) : Result<int>(-1);
  std::FILE* const file = made && *made >= 0 ? ::fdopen(*made, "w") : nullptr;
  if (file == nullptr) return nullptr;
  std::fwrite(kMagic, sizeof(kMagic), 1, file);
  put(file, version);
  put(file, std::uint32_t{0});
  return std::unique_ptr<KeptBuffers>(new KeptBuffers(file));
}

KeptBuffers::~KeptBuffers() {
  std::fclose(file_);
}

void KeptBuffers::note(const Activity& activity) {
  if (activity.kernel_name != nullptr)
    names_.try_emplace(activity.kernel_name, activity.kernel_name);
}

void KeptBuffers::add(std::span<const std::uint8_t> bytes) {
  put(file_, static_cast<std::uint32_t>(names_.size()));
  put(file_, static_cast<std::uint32_t>(bytes.size()));
  for (const auto& [address, text] : names_) {
    put(file_, reinterpret_cast<std::uint64_t>(address));
    put(file_, static_cast<std::uint32_t>(text.size()));
    std::fwrite(text.data(), 1, text.size(), file_);
  }
  std::fwrite(bytes.data(), 1, bytes.size(), file_);
  std::fflush(file_);
  names_.clear();
}

Result<KeptFile> read_kept_buffers(std::span<const std::uint8_t> file) {
  Front front(file);
  const auto magic = front.take(sizeof(kMagic));
  if (magic.empty() || std::memcmp(magic.data(), kMagic, sizeof(kMagic)) != 0)
    return Failure(ErrorCode::Invalid, "these are not CUPTI buffers that Sonde saved");
  KeptFile kept;
  kept.version = front.number<std::uint32_t>();
  front.take(4);
  while (!front.empty() && !front.failed()) {
    KeptBuffer buffer;
    const auto names = front.number<std::uint32_t>();
    const auto size = front.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < names && !front.failed(); ++i) {
      const auto address = front.number<std::uint64_t>();
      const auto text = front.take(front.number<std::uint32_t>());
      buffer.names[address] = std::string(text.begin(), text.end());
    }
    const auto bytes = front.take(size);
    buffer.bytes.assign(bytes.begin(), bytes.end());
    if (!front.failed()) kept.buffers.push_back(std::move(buffer));
  }
  if (front.failed()) return Failure(ErrorCode::Corrupt, "the saved buffers are truncated");
  return kept;
}

}  // namespace sonde::cuda
