// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// libsonde_nvtx.so: the tool that a program finds in NVTX_INJECTION64_PATH. It passes the program's
// NVTX calls to the recorder: pushed and started ranges as ranges, marks as instants.
//
// Each library of a program that uses NVTX calls InitializeInjectionNvtx2 separately.

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "ranges/nvtx_abi.h"
#include "ranges/nvtx_messages.h"
#include "sonde/sonde.h"

namespace sonde {
namespace {

using nvtx_abi::Core;
using nvtx_abi::Core2;
using nvtx_abi::EventAttributes;
using nvtx_abi::Handle;
using nvtx_abi::RangeId;

sonde_range begin_range(std::string_view name, NvtxDomain& domain,
                        const EventAttributes* attributes) {
  const sonde_range range = sonde_range_begin(name.data(), name.size());
  if (range.position == 0) return range;
  const std::string details = domain.details(attributes);
  if (!details.empty()) sonde_text(details.data(), details.size());
  return range;
}

// This thread's pushed ranges. Each domain nests separately.
class PushedRanges {
 public:
  int push(std::string_view name, NvtxDomain& domain, const EventAttributes* attributes) {
    const int depth = depth_of(domain);
    open_.push_back({&domain, begin_range(name, domain, attributes)});
    return depth;
  }
  int pop(const NvtxDomain& domain) {
    const auto last = std::find_if(open_.rbegin(), open_.rend(),
                                   [&](const Open& open) { return open.domain == &domain; });
    if (last == open_.rend()) return nvtx_abi::kNoDepth;
    sonde_range_end(last->range);
    open_.erase(std::next(last).base());
    return depth_of(domain);
  }

 private:
  struct Open {
    const NvtxDomain* domain;
    sonde_range range;
  };
  int depth_of(const NvtxDomain& domain) const {
    return static_cast<int>(std::count_if(
        open_.begin(), open_.end(), [&](const Open& open) { return open.domain == &domain; }));
  }
  std::vector<Open> open_;
};

PushedRanges& pushed() {
  thread_local PushedRanges ranges;
  return ranges;
}

// Ranges that any thread may end, by number.
class StartedRanges {
 public:
  RangeId start(std::string_view name, NvtxDomain& domain, const EventAttributes* attributes) {
    const sonde_range range = begin_range(name, domain, attributes);
    const std::lock_guard lock(mutex_);
    open_[++last_] = range;
    return last_;
  }
  void end(RangeId id) {
    sonde_range range = {0, 0};
    {
      const std::lock_guard lock(mutex_);
      const auto found = open_.find(id);
      if (found == open_.end()) return;
      range = found->second;
      open_.erase(found);
    }
    sonde_range_end(range);
  }

 private:
  std::mutex mutex_;
  RangeId last_ = 0;
  std::unordered_map<RangeId, sonde_range> open_;
};

// Leaked: ranges may end while the program's statics are destroyed.
StartedRanges& started() {
  static auto* const only = new StartedRanges;
  return *only;
}

void mark(const NvtxMessage& message) {
  sonde_mark(message.text().data(), message.text().size());
}

template <typename Message>
RangeId start_message(const Message* message) {
  return started().start(NvtxMessage(message).text(), NvtxDomain::unnamed(), nullptr);
}
template <typename Message>
int push_message(const Message* message) {
  return pushed().push(NvtxMessage(message).text(), NvtxDomain::unnamed(), nullptr);
}
template <typename Message>
void mark_message(const Message* message) {
  mark(NvtxMessage(message));
}

RangeId start_in(Handle domain, const EventAttributes* attributes) {
  return started().start(NvtxMessage(attributes).text(), NvtxDomain::of(domain), attributes);
}
int push_in(Handle domain, const EventAttributes* attributes) {
  return pushed().push(NvtxMessage(attributes).text(), NvtxDomain::of(domain), attributes);
}
RangeId start(const EventAttributes* attributes) {
  return start_in(nullptr, attributes);
}
int push(const EventAttributes* attributes) {
  return push_in(nullptr, attributes);
}
int pop() {
  return pushed().pop(NvtxDomain::unnamed());
}
int pop_in(Handle domain) {
  return pushed().pop(NvtxDomain::of(domain));
}
void end(RangeId id) {
  started().end(id);
}
void end_in(Handle /*domain*/, RangeId id) {
  started().end(id);
}
void mark_in(Handle /*domain*/, const EventAttributes* attributes) {
  mark(NvtxMessage(attributes));
}

std::string text_of(const char* text) {
  return text != nullptr ? text : "";
}
std::string text_of(const wchar_t* text) {
  return to_utf8(text);
}
template <typename Character>
void name_category(std::uint32_t category, const Character* name) {
  NvtxDomain::unnamed().name_category(category, text_of(name));
}
template <typename Character>
void name_category_in(Handle domain, std::uint32_t category, const Character* name) {
  NvtxDomain::of(domain).name_category(category, text_of(name));
}
template <typename Character>
Handle register_string(Handle domain, const Character* text) {
  return NvtxDomain::of(domain).register_string(text_of(text));
}
template <typename Character>
Handle create_domain(const Character* name) {
  return new NvtxDomain(text_of(name));
}

struct Offer {
  unsigned number;
  nvtx_abi::Function* function;
};

template <typename Type>
nvtx_abi::Function* any(Type* function) {
  return reinterpret_cast<nvtx_abi::Function*>(function);
}

const Offer kCoreOffers[] = {
    {Core::MarkEx, any(mark_message<EventAttributes>)},
    {Core::MarkA, any(mark_message<char>)},
    {Core::MarkW, any(mark_message<wchar_t>)},
    {Core::RangeStartEx, any(start)},
    {Core::RangeStartA, any(start_message<char>)},
    {Core::RangeStartW, any(start_message<wchar_t>)},
    {Core::RangeEnd, any(end)},
    {Core::RangePushEx, any(push)},
    {Core::RangePushA, any(push_message<char>)},
    {Core::RangePushW, any(push_message<wchar_t>)},
    {Core::RangePop, any(pop)},
    {Core::NameCategoryA, any(name_category<char>)},
    {Core::NameCategoryW, any(name_category<wchar_t>)},
};
const Offer kCore2Offers[] = {
    {Core2::DomainMarkEx, any(mark_in)},
    {Core2::DomainRangeStartEx, any(start_in)},
    {Core2::DomainRangeEnd, any(end_in)},
    {Core2::DomainRangePushEx, any(push_in)},
    {Core2::DomainRangePop, any(pop_in)},
    {Core2::DomainNameCategoryA, any(name_category_in<char>)},
    {Core2::DomainNameCategoryW, any(name_category_in<wchar_t>)},
    {Core2::DomainRegisterStringA, any(register_string<char>)},
    {Core2::DomainRegisterStringW, any(register_string<wchar_t>)},
    {Core2::DomainCreateA, any(create_domain<char>)},
    {Core2::DomainCreateW, any(create_domain<wchar_t>)},
};

template <std::size_t Count>
void fill_in(const nvtx_abi::CallbacksTable& callbacks, std::int32_t module,
             const Offer (&offers)[Count]) {
  nvtx_abi::FunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks.get_module_functions(module, &table, &size) == 0 || table == nullptr) return;
  for (const Offer& offer : offers) {
    if (offer.number < size && table[offer.number] != nullptr)
      *table[offer.number] = offer.function;
  }
}

}  // namespace
}  // namespace sonde

extern "C" {

// Sonde recognises its own library by this symbol.
__attribute__((visibility("default"))) void sonde_nvtx_injection() {}

// NOLINTNEXTLINE(readability-identifier-naming): NVTX's name
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    sonde::nvtx_abi::GetExportTable* get_table) {
  using namespace sonde;  // NOLINT(google-build-using-namespace)
  const auto* const callbacks =
      static_cast<const nvtx_abi::CallbacksTable*>(get_table(nvtx_abi::kCallbacks));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(*callbacks)) return 0;
  fill_in(*callbacks, nvtx_abi::kCore, kCoreOffers);
  fill_in(*callbacks, nvtx_abi::kCore2, kCore2Offers);
  return 1;
}

}  // extern "C"
