// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/execution_trace_file.h"

#include <unistd.h>

#include <utility>

#include "trace/execution_trace_text.h"

namespace sonde {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{64} << 10;

std::string closing_text() {
  std::string text;
  append_execution_trace_node(text, execution_trace_root());
  return text + execution_trace_tail(steady_ms());
}

void append(std::vector<std::uint8_t>& to, std::span<const std::uint8_t> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

Result<ExecutionTraceFile> ExecutionTraceFile::create(const std::string& path) {
  SONDE_TRY(const std::string temporary, temporary_beside(path));
  auto file = AppendFile::create(temporary);
  if (!file) return Failure(told_as(std::move(file).error(), temporary, path));
  ExecutionTraceFile result(*std::move(file));
  if (path.ends_with(".gz")) result.compressor_ = std::make_unique<GzipCompressor>();
  Result<void> ready = result.begin();
  if (ready) ready = result.file_.publish(path);
  if (ready) return result;
  ::unlink(temporary.c_str());
  return Failure(told_as(std::move(ready).error(), temporary, path));
}

Result<void> ExecutionTraceFile::begin() {
  if (compressor_ != nullptr) {
    SONDE_TRY_VOID(file_.append(GzipStream::head()));
    nodes_end_ = file_.size();
  }
  text_ = execution_trace_head(begin_execution_trace());
  return write_out();
}

void ExecutionTraceFile::add(const ExecutionTraceNode& node) {
  if (!status_) return;
  append_execution_trace_node(text_, node);
  text_ += kBetweenNodes;
  if (text_.size() >= kFlushBytes) flush();
}

void ExecutionTraceFile::flush() {
  if (status_ && !text_.empty()) status_ = write_out();
}

Result<std::vector<std::uint8_t>> ExecutionTraceFile::packed(const std::string& text,
                                                             GzipStream& stream) {
  if (compressor_ == nullptr) return std::vector<std::uint8_t>(text.begin(), text.end());
  CompressedBlock block;
  if (!compressor_->compress(text, block))
    return Failure(ErrorCode::Internal, file_.path() + ": not enough memory to compress it");
  stream.add(block);
  return std::move(block.bytes);
}

Result<void> ExecutionTraceFile::write_out() {
  SONDE_TRY(std::vector<std::uint8_t> bytes, packed(text_, stream_));
  text_.clear();
  const std::size_t node_bytes = bytes.size();
  GzipStream closed = stream_;
  SONDE_TRY(std::vector<std::uint8_t> closing, packed(closing_text(), closed));
  if (compressor_ != nullptr) append(closing, closed.end());
  append(bytes, closing);
  SONDE_TRY_VOID(file_.cut(nodes_end_));
  if (Result<void> written = file_.append(bytes); !written) {
    static_cast<void>(file_.append(closing_));  // the file is complete as before
    return written;
  }
  closing_ = std::move(closing);
  nodes_end_ += node_bytes;
  return {};
}

}  // namespace sonde
