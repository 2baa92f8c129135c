// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/ordered_output.h"

#include <utility>

namespace sonde {

OrderedOutput::OrderedOutput(OutputFile& file, bool is_gzip) : file_(file), is_gzip_(is_gzip) {
  if (is_gzip_) append(GzipStream::head());
}

bool OrderedOutput::append(std::span<const std::uint8_t> bytes) {
  if (!result_) return false;
  result_ = file_.append(bytes);
  return result_.has_value();
}

std::unique_ptr<OrderedOutput::Packer> OrderedOutput::borrow_packer() {
  const std::scoped_lock lock(mutex_);
  if (idle_.empty()) return std::make_unique<Packer>();
  auto packer = std::move(idle_.back());
  idle_.pop_back();
  return packer;
}

bool OrderedOutput::write(std::size_t part, std::string_view text) {
  std::unique_ptr<Packer> packer;
  bool is_packed = true;
  if (is_gzip_) {
    packer = borrow_packer();
    is_packed = packer->compressor.compress(text, packer->block);
  }
  std::unique_lock lock(mutex_);
  turn_.wait(lock, [&] { return next_ == part; });
  if (!is_packed && result_) result_ = Failure(ErrorCode::Internal, "gzip: cannot compress");
  if (!is_gzip_) {
    return append(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  const bool is_written = append(stream_.add(packer->block));
  idle_.push_back(std::move(packer));
  return is_written;
}

void OrderedOutput::end_part(std::size_t part) {
  std::unique_lock lock(mutex_);
  turn_.wait(lock, [&] { return next_ == part; });
  ++next_;
  turn_.notify_all();
}

Result<void> OrderedOutput::finish() {
  if (is_gzip_) append(stream_.end());
  return std::move(result_);
}

}  // namespace sonde
