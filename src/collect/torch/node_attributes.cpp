// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/node_attributes.h"

#include <vector>

#include "collect/torch/collective_facts.h"
#include "collect/torch/keywords.h"

namespace sonde::torch {
namespace {

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

void add(Attributes& attributes, const CollectiveFacts& facts) {
  attributes.add("collective_name", facts.name);
  attributes.add("dtype", facts.dtype);
  attributes.add("in_msg_nelems", facts.in_elements);
  attributes.add("out_msg_nelems", facts.out_elements);
  attributes.add("in_split_size", facts.in_split);
  attributes.add("out_split_size", facts.out_split);
  if (facts.group_size < 0) return;  // torch 1.13 has no groups
  attributes.add("global_rank_start", facts.rank_start);
  attributes.add("global_rank_stride", facts.rank_stride);
  attributes.add("pg_name", facts.group_name);
  attributes.add("pg_desc", facts.group_description);
  attributes.add("pg_size", facts.group_size);
  if (facts.is_async >= 0) attributes.add("is_asynchronized_op", facts.is_async != 0);
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
  if (!is_collective(fn)) return "";
  Attributes attributes;
  if (const auto facts = collective_facts()) {
    add(attributes, *facts);
  } else {
    attributes.add("debug", std::string("missing comms info"));
  }
  return attributes.text();
}

TritonKernel triton_kernel_of(const at::RecordFunction& fn) {
  return kernel_in(keyword_inputs(fn, 0));
}

}  // namespace sonde::torch
