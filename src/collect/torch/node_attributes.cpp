// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/node_attributes.h"

#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstring>
#include <vector>

#include "collect/torch/keywords.h"

#if __has_include(<torch/csrc/distributed/c10d/ParamCommsUtils.hpp>)
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#define SONDE_TORCH_TELLS_OF_COLLECTIVES 1
#else
#define SONDE_TORCH_TELLS_OF_COLLECTIVES 0
#endif

namespace sonde::torch {
namespace {

constexpr const char* kCollectiveName = "record_param_comms";

// The list of a node's additional attributes.
class Attributes {
 public:
  void add(const char* name, const std::string& value) {
    begin(name, "string");
    append_json(text_, value);
    text_ += '}';
  }
  void add(const char* name, std::int64_t value) {
    begin(name, "uint64");
    text_ += std::to_string(value) + "}";
  }
  void add(const char* name, bool value) {
    begin(name, "bool");
    text_ += value ? "true}" : "false}";
  }
  void add(const char* name, const std::vector<std::int64_t>& values) {
    std::string list = "[";
    for (const std::int64_t value : values) {
      if (list.size() > 1) list += ",";
      list += std::to_string(value);
    }
    add(name, list + "]");
  }
  std::string text() const { return text_; }

 private:
  void begin(const char* name, const char* type) {
    if (!text_.empty()) text_ += ", ";
    text_ += std::string(R"({"name": ")") + name + R"(", "type": ")" + type + R"(", "value": )";
  }
  std::string text_;
};

// Later versions of torch have more fields. The first overload that compiles is used.
template <typename Info>
auto add_async_flag(const Info& info, Attributes& attributes, int /*later*/)
    -> decltype(info.getIsAsynchronizedOp(), void()) {
  attributes.add("is_asynchronized_op", static_cast<bool>(info.getIsAsynchronizedOp()));
}
template <typename Info>
void add_async_flag(const Info& /*info*/, Attributes& /*attributes*/, long /*earlier*/) {}

template <typename Info>
auto add_facts(const Info& info, Attributes& attributes, int /*later*/)
    -> decltype(info.getProcessGroupDesc(), void()) {
  attributes.add("collective_name", std::string(info.getCollectiveName()));
  attributes.add("dtype", std::string(c10::toString(info.getDType())));
  attributes.add("in_msg_nelems", static_cast<std::int64_t>(info.getInMessageNelems()));
  attributes.add("out_msg_nelems", static_cast<std::int64_t>(info.getOutMessageNelems()));
  attributes.add("in_split_size", info.getInputSplitSizes());
  attributes.add("out_split_size", info.getOutputSplitSizes());
  attributes.add("global_rank_start", static_cast<std::int64_t>(info.getGlobalRankStart()));
  attributes.add("global_rank_stride", static_cast<std::int64_t>(info.getGlobalRankStride()));
  attributes.add("pg_name", std::string(info.getProcessGroupName()));
  attributes.add("pg_desc", std::string(info.getProcessGroupDesc()));
  attributes.add("pg_size", static_cast<std::int64_t>(info.getWorldSize()));
  add_async_flag(info, attributes, 0);
}
// torch 1.13 has no groups.
template <typename Info>
auto add_facts(const Info& info, Attributes& attributes, long /*earlier*/)
    -> decltype(info.getColumnName(), void()) {
  attributes.add("collective_name", std::string(info.getColumnName()));
  attributes.add("dtype", std::string(c10::toString(info.getDType())));
  attributes.add("in_msg_nelems", static_cast<std::int64_t>(info.getInMessageSize()));
  attributes.add("out_msg_nelems", static_cast<std::int64_t>(info.getOutMessageSize()));
  attributes.add("in_split_size", info.getInputSplitSizes());
  attributes.add("out_split_size", info.getOutputSplitSizes());
}
template <typename Info>
void add_facts(const Info& /*info*/, Attributes& attributes, ... /*in between*/) {
  attributes.add("debug", std::string("unknown comms info"));
}

template <typename Keywords>
TritonKernel kernel_in(const Keywords& keywords) {
  TritonKernel kernel;
  if (keywords.empty()) return kernel;
  const auto text = [&](const char* key) -> std::string {
    const auto found = keywords.find(key);
    if (found == keywords.end() || !found->second.isString()) return "";
    return found->second.toStringRef();
  };
  kernel.backend = text("kernel_backend");
  kernel.file = text("kernel_file");
  kernel.file.erase(0, kernel.file.rfind('/') + 1);  // npos + 1 is 0
  const auto stream = keywords.find("stream");
  if (stream != keywords.end()) kernel.stream = stream->second;
  return kernel;
}
TritonKernel kernel_in(const NoKeywords& /*keywords*/) {
  return {};
}

}  // namespace

std::string collective_attributes(const at::RecordFunction& fn) {
  if (std::strcmp(fn.name(), kCollectiveName) != 0) return "";
  Attributes attributes;
#if SONDE_TORCH_TELLS_OF_COLLECTIVES
  const auto* const info = static_cast<const ::torch::ParamCommsDebugInfo*>(
      c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PARAM_COMMS_INFO));
  if (info != nullptr) {
    add_facts(*info, attributes, 0);
    return attributes.text();
  }
#endif
  attributes.add("debug", std::string("missing comms info"));
  return attributes.text();
}

TritonKernel triton_kernel_of(const at::RecordFunction& fn) {
  return kernel_in(keyword_inputs(fn, 0));
}

}  // namespace sonde::torch
