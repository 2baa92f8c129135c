// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analyse/memory/op_effects.h"

#include <algorithm>

namespace sonde::detail {
namespace {

constexpr std::string_view kColons = "::";

bool is_word(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '_' || c == '.' || c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  });
}

struct Exception {
  std::string_view name;
  std::uint64_t written;
};

constexpr std::uint64_t bits(std::initializer_list<int> arguments) {
  std::uint64_t written = 0;
  for (const int argument : arguments) written |= std::uint64_t{1} << argument;
  return written;
}

// Operators that write to more than their names say.
constexpr Exception kExceptions[] = {
    {"_native_batch_norm_legit", bits({3, 4})},
    {"_batch_norm_with_update", bits({3, 4})},
    {"_batch_norm_with_update_functional", 0},
    {"_amp_foreach_non_finite_check_and_unscale_", bits({0, 1})},
    {"_amp_update_scale_", bits({0, 1})},
    {"record_stream", bits({0})},
    {"retain_grad", bits({0})},
};

// Parameters, gradients and up to three lists of state.
constexpr std::uint64_t kFusedOptimiser = bits({0, 1, 2, 3, 4});

std::uint64_t written_by(std::string_view function) {
  for (const Exception& exception : kExceptions) {
    if (exception.name == function) return exception.written;
  }
  const bool in_place = function.ends_with("_") && !function.ends_with("__");
  if (in_place && function.starts_with("_fused_")) return kFusedOptimiser;
  return in_place ? bits({0}) : 0;
}

}  // namespace

bool is_library_call(std::string_view name) noexcept {
  const std::size_t colons = name.find(kColons);
  return colons != std::string_view::npos && is_word(name.substr(0, colons)) &&
         is_word(name.substr(colons + kColons.size()));
}

const OpEffects::Name& OpEffects::name_of(StringId id) {
  Name& name = names_[id.index()];
  if (name.looked_at) return name;
  const std::string_view text = trace_.string(id);
  name.looked_at = true;
  name.known = is_library_call(text);
  if (name.known) name.written = written_by(text.substr(text.find(kColons) + kColons.size()));
  return name;
}

bool OpEffects::has_out(StringId id) {
  if (!id.valid()) return false;
  Overload& overload = overloads_[id.index()];
  if (overload == Overload::NotLookedAt) {
    const std::string_view text = trace_.string(id);
    const bool out = text == "out" || text.ends_with("_out") || text == "grad_input";
    overload = out ? Overload::Out : Overload::Plain;
  }
  return overload == Overload::Out;
}

OpEffects::Effect OpEffects::of(SpanId span) {
  const StringId id = trace_.spans().name[span];
  if (!id.valid()) return {};
  const Name& name = name_of(id);
  Effect effect{name.known, name.written, -1};
  const IdRange<OpArgumentId> arguments = trace_.arguments(span);
  if (name.known && !arguments.empty() && has_out(trace_.spans().overload_name[span])) {
    effect.written_out = trace_.op_arguments().index[arguments[arguments.size() - 1]];
  }
  return effect;
}

}  // namespace sonde::detail
