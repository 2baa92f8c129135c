// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/read/keys.h"

#include <array>
#include <cstring>
#include <optional>

#include "convert/json/json_memo.h"

namespace sonde {

namespace {

// The first and the last eight bytes of a text; all of it if it is shorter.
struct KeyWords {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// `text` must have eight readable bytes.
KeyWords words_of(std::string_view text) {
  const std::size_t size = text.size();
  if (size < 8) return {detail::low_bytes(detail::load_word(text.begin()), size), 0};
  return {detail::load_word(text.begin()), detail::load_word(text.begin() + size - 8)};
}

// A hash table from texts to numbers, with open addressing.
class KeyTable {
 public:
  KeyTable() {
    for (const ArgKeyText& known : kArgKeyTexts) {
      const std::string_view text = known.text;
      char padded[64] = {};
      std::memcpy(padded, text.data(), text.size());
      const KeyWords words = words_of({padded, text.size()});
      std::size_t at = slot_of(words, text.size());
      while (slots_[at].size != 0) at = (at + 1) % kSlots;
      slots_[at] = {words, static_cast<std::uint32_t>(text.size()), known.key};
    }
  }

  ArgKey find(std::string_view text) const {
    const KeyWords words = words_of(text);
    const std::size_t size = text.size();
    for (std::size_t at = slot_of(words, size); slots_[at].size != 0; at = (at + 1) % kSlots) {
      const Slot& slot = slots_[at];
      if (slot.size != size || slot.words.first != words.first || slot.words.last != words.last) {
        continue;
      }
      if (size <= 16 || text_of(slot.key) == text) return slot.key;
    }
    return ArgKey::Unknown;
  }

 private:
  struct Slot {
    KeyWords words;
    std::uint32_t size = 0;
    ArgKey key = ArgKey::Unknown;
  };
  static constexpr std::size_t kSlots = 512;

  static std::size_t slot_of(const KeyWords& words, std::size_t size) {
    const std::uint64_t hash = (words.first + size) * detail::kHashA ^ words.last * detail::kHashB;
    return (hash >> 40) % kSlots;
  }

  std::array<Slot, kSlots> slots_{};
};

const KeyTable kTable;

struct NamedKind {
  std::string_view text;
  SpanKind kind;
};

// As Kineto wrote them before 2022, and as ONNX Runtime does.
constexpr std::array<NamedKind, 6> kOldNames = {{{"Kernel", SpanKind::Kernel},
                                                 {"Memcpy", SpanKind::GpuMemcpy},
                                                 {"Memset", SpanKind::GpuMemset},
                                                 {"Operator", SpanKind::CpuOp},
                                                 {"mtia_workload", SpanKind::MtiaWorkload},
                                                 {"Runtime", SpanKind::CudaRuntime}}};

}  // namespace

namespace {

// A short text as a number.
constexpr std::uint32_t packed(std::string_view text) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  }
  return word;
}

}  // namespace

EventKey event_key(std::string_view raw) {
  if (raw.empty() || raw.size() > 4) return EventKey::Unknown;
  switch (packed(raw)) {
    case packed("ph"):
      return EventKey::Phase;
    case packed("cat"):
      return EventKey::Category;
    case packed("name"):
      return EventKey::Name;
    case packed("pid"):
      return EventKey::Pid;
    case packed("tid"):
      return EventKey::Tid;
    case packed("ts"):
      return EventKey::Time;
    case packed("dur"):
      return EventKey::Duration;
    case packed("args"):
      return EventKey::Args;
    case packed("id"):
      return EventKey::Id;
    case packed("s"):
      return EventKey::Scope;
    case packed("bp"):
      return EventKey::BindingPoint;
    default:
      return EventKey::Unknown;
  }
}

ArgKey arg_key(std::string_view raw) {
  return kTable.find(raw);
}

Category category_of(std::string_view text) {
  for (const NamedKind& old : kOldNames) {
    if (old.text == text) return {old.kind, true, is_on_device(old.kind)};
  }
  const std::optional<SpanKind> kind = parse_span_kind(text);
  // Kinds that only Sonde has are written with another category.
  const bool is_known = kind && *kind != SpanKind::Other && kineto_category(*kind) == text;
  if (!is_known) return {SpanKind::Other, true, false};
  return {*kind, false, is_on_device(*kind)};
}

FlowKind flow_kind_of(std::string_view category) {
  if (category == "async_cpu_to_gpu") return FlowKind::CpuToGpu;
  return parse_flow_kind(category).value_or(FlowKind::Other);
}

}  // namespace sonde
