// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "collect/torch/integral_tensors.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

namespace sonde::torch {
namespace {

constexpr const char* kRangeVariable = "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE";
constexpr const char* kDataVariable = "ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_DATA";

std::set<std::string> names_in(const char* list) {
  std::set<std::string> names;
  std::string text = list != nullptr ? list : "";
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    names.insert(text.substr(0, comma));
    text.erase(0, comma == std::string::npos ? comma : comma + 1);
  }
  return names;
}

bool is_integral(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == c10::kStrided && !tensor.is_nested() &&
         !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
         c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/false) && tensor.numel() > 0;
}

// The integral tensors among the inputs, with their number among all tensors.
std::vector<std::pair<int, at::Tensor>> integral_inputs(const at::RecordFunction& fn) {
  std::vector<std::pair<int, at::Tensor>> found;
  int number = 0;
  const auto look_at = [&](const at::Tensor& tensor) {
    if (is_integral(tensor)) found.emplace_back(number, tensor);
    ++number;
  };
  for (const c10::IValue& value : fn.inputs()) {
    if (value.isTensor()) look_at(value.toTensor());
    if (!value.isTensorList()) continue;
    for (const at::Tensor& tensor : value.toTensorVector()) look_at(tensor);
  }
  return found;
}

// A whole copy in host memory, with the values one after the other.
at::Tensor on_host(const at::Tensor& tensor) {
  const c10::NoGradGuard without_gradients;
  return tensor.detach().to(at::kCPU).contiguous();
}

template <typename T>
std::string range_of_type(const at::Tensor& host) {
  const T* const values = host.data_ptr<T>();
  const auto [least, greatest] = std::minmax_element(values, values + host.numel());
  return "[" + std::to_string(*least) + "," + std::to_string(*greatest) + "]";
}

std::string range_of(const at::Tensor& host) {
  switch (host.scalar_type()) {
    case at::kByte:
      return range_of_type<std::uint8_t>(host);
    case at::kChar:
      return range_of_type<std::int8_t>(host);
    case at::kShort:
      return range_of_type<std::int16_t>(host);
    case at::kInt:
      return range_of_type<std::int32_t>(host);
    case at::kLong:
      return range_of_type<std::int64_t>(host);
    default:
      return "";
  }
}

void write_data(const std::string& path, const at::Tensor& host) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return;
  const bool is_whole = std::fwrite(host.data_ptr(), 1, host.nbytes(), file) == host.nbytes();
  if (std::fclose(file) != 0 || !is_whole) static_cast<void>(std::remove(path.c_str()));
}

}  // namespace

void IntegralTensors::begin(const std::string& trace_path) {
  wants_ranges_ = std::getenv(kRangeVariable) != nullptr;
  with_data_ = names_in(std::getenv(kDataVariable));
  folder_ = trace_path;
  const std::size_t suffix = folder_.rfind(".json");
  if (suffix == std::string::npos) {
    folder_ += "_resources/";
  } else {
    folder_.replace(suffix, std::string::npos, "_resources/");
  }
}

std::string IntegralTensors::record(const at::RecordFunction& fn, std::uint64_t node) const {
  const bool wants_data = !with_data_.empty() && with_data_.count(fn.name()) != 0;
  if (!wants_ranges_ && !wants_data) return "";
  // Copying runs operators that are not part of the program.
  const at::DisableRecordFunctionGuard unseen;
  std::string ranges;
  try {
    for (const auto& [number, tensor] : integral_inputs(fn)) {
      const at::Tensor host = on_host(tensor);
      const std::string range = wants_ranges_ ? range_of(host) : "";
      if (!range.empty())
        ranges += (ranges.empty() ? "\"" : ",\"") + std::to_string(number) + "\":" + range;
      if (!wants_data) continue;
      ::mkdir(folder_.c_str(), 0777);  // it may already exist
      write_data(
          folder_ + "nid_" + std::to_string(node) + "_tid_" + std::to_string(number) + ".dat",
          host);
    }
  } catch (const std::exception&) {
    return "";  // a tensor without values of its own, as while a graph is captured
  }
  return ranges.empty() ? "" : "{" + ranges + "}";
}

}  // namespace sonde::torch
