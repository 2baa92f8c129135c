// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One name for what backends, versions and kernels call differently.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "sonde/analyse/rank_summary.h"

namespace sonde {
namespace {

struct KnownCollective {
  std::string_view letters;  // what is left of a name in lower case without punctuation
  std::string_view name;
  CollectiveClass of;
};

// Longer ones first where one begins with another.
constexpr KnownCollective kKnownCollectives[] = {
    {"allreduce", "all_reduce", CollectiveClass::All},
    {"allgather", "all_gather", CollectiveClass::All},
    {"reducescatter", "reduce_scatter", CollectiveClass::All},
    {"alltoall", "all_to_all", CollectiveClass::All},
    {"sendrecv", "send_recv", CollectiveClass::Other},
    {"barrier", "barrier", CollectiveClass::All},
    {"broadcast", "broadcast", CollectiveClass::FromRoot},
    {"scatter", "scatter", CollectiveClass::FromRoot},
    {"gather", "gather", CollectiveClass::ToRoot},
    {"reduce", "reduce", CollectiveClass::ToRoot},
    {"isend", "send", CollectiveClass::Send},
    {"send", "send", CollectiveClass::Send},
    {"irecv", "recv", CollectiveClass::Receive},
    {"recv", "recv", CollectiveClass::Receive},
};

// "ncclDevKernel_AllReduce_Sum" and "_reduce_scatter_base" without what is around the name.
std::string letters_of(std::string_view recorded) {
  for (const std::string_view prefix : {"c10d::", "nccl:", "gloo:", "mpi:", "ucc:"})
    if (recorded.starts_with(prefix)) recorded.remove_prefix(prefix.size());
  for (const std::string_view kernel : {"ncclDevKernel_", "ncclKernel_", "rcclKernel_"}) {
    const auto at = recorded.find(kernel);
    if (at == std::string_view::npos) continue;
    recorded.remove_prefix(at + kernel.size());
    break;
  }
  std::string letters;
  for (const char c : recorded.substr(0, 64)) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') letters += c;
  }
  return letters;
}

constexpr std::pair<std::string_view, std::int64_t> kElementBytes[] = {
    {"Float", 4},         {"float", 4},         {"Double", 8},      {"double", 8},
    {"Half", 2},          {"c10::Half", 2},     {"BFloat16", 2},    {"c10::BFloat16", 2},
    {"Long", 8},          {"long int", 8},      {"long", 8},        {"Int", 4},
    {"int", 4},           {"Short", 2},         {"Byte", 1},        {"Char", 1},
    {"Bool", 1},          {"unsigned char", 1}, {"signed char", 1}, {"bool", 1},
    {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};

}  // namespace

std::string_view collective_name(std::string_view recorded) {
  const std::string letters = letters_of(recorded);
  for (const KnownCollective& known : kKnownCollectives)
    if (letters.starts_with(known.letters)) return known.name;
  return recorded;
}

CollectiveClass collective_class(std::string_view name) noexcept {
  for (const KnownCollective& known : kKnownCollectives)
    if (name == known.name) return known.of;
  return CollectiveClass::Other;
}

std::int64_t collective_bytes(std::string_view dtype, std::int64_t elements) noexcept {
  for (const auto& [name, width] : kElementBytes)
    if (name == dtype && elements >= 0 && elements < INT64_MAX / width) return elements * width;
  return -1;
}

}  // namespace sonde
