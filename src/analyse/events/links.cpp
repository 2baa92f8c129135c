// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which operator launched which device work, and which thread device calls are shown on.

#include <vector>

#include "analyse/events/event_data.h"

namespace sonde::detail {
namespace {

// Events by an id that many may share: a hash table of chains that is filled once.
class EventsById {
 public:
  explicit EventsById(std::size_t capacity) {
    std::size_t slots = 16;
    while (slots < capacity * 2) slots *= 2;
    heads_.assign(slots, kNoEvent);
    links_.reserve(capacity);
  }

  void add(std::uint32_t process, std::int64_t id, std::uint32_t event) {
    std::uint32_t& head = heads_[slot(process, id)];
    links_.push_back({id, process, event, head});
    head = static_cast<std::uint32_t>(links_.size() - 1);
  }

  // Visits the last added first.
  template <typename Visit>
  void visit(std::uint32_t process, std::int64_t id, const Visit& visit) const {
    std::uint32_t at = heads_[slot(process, id)];
    for (; at != kNoEvent; at = links_[at].next) {
      if (links_[at].id == id && links_[at].process == process) visit(links_[at].event);
    }
  }

 private:
  struct Link {
    std::int64_t id;
    std::uint32_t process;
    std::uint32_t event;
    std::uint32_t next;
  };

  // Ids count up. Neighbouring ids stay neighbours in the table; blocks of them are scattered.
  std::size_t slot(std::uint32_t process, std::int64_t id) const {
    const auto number = static_cast<std::uint64_t>(id);
    const std::uint64_t block = ((number >> 9) + process) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(number + (block >> 20)) & (heads_.size() - 1);
  }

  BigVector<std::uint32_t> heads_;
  BigVector<Link> links_;
};

class Linker {
 public:
  explicit Linker(EventData& data) : data_(data), spans_(data.trace.spans()) {}

  void link() {
    const std::size_t count = data_.size();
    data_.kernels_first.assign_zeros(count);
    data_.kernels_count.assign_zeros(count);
    if (!spans_.external_id.materialised() || !data_.has_kind(may_be_launched)) return;
    collect_launched();
    for (std::uint32_t event = 0; event < count; ++event) {
      if (!data_.nests(event) || !is_pytorch_operator(data_.kind(event))) continue;
      const std::int64_t id = spans_.external_id[SpanId(data_.row[event])];
      if (id != 0) adopt(event, id);
    }
  }

 private:
  std::uint32_t process_of(std::uint32_t event) const {
    const TrackId track = spans_.track[SpanId(data_.row[event])];
    return track.valid() ? data_.trace.tracks().process[track].value() : kNoEvent;
  }

  static bool may_be_launched(SpanKind kind) {
    return !is_pytorch_operator(kind) && !is_annotation(kind);
  }
  // Whether it is a device call or device work that belongs to an operator.
  bool is_launched(std::uint32_t event) const {
    return data_.is_span(event) && may_be_launched(data_.kind(event)) &&
           spans_.external_id[SpanId(data_.row[event])] > 0;
  }

  void collect_launched() {
    std::size_t launched = 0;
    for (std::uint32_t event = 0; event < data_.size(); ++event) {
      launched += is_launched(event) ? 1 : 0;
    }
    launched_ = EventsById(launched);
    // Backwards, so that a chain is in the order of the list.
    for (auto event = static_cast<std::uint32_t>(data_.size()); event-- > 0;) {
      if (!is_launched(event)) continue;
      launched_.add(process_of(event), spans_.external_id[SpanId(data_.row[event])], event);
    }
  }

  // Shows a device call on the thread of its operator. PyTorch does the same with device work.
  void adopt(std::uint32_t event, std::int64_t id) {
    const std::uint32_t process = process_of(event);
    // Without this, each event of a file where all have the same id would get a list of all.
    const bool is_same =
        id == last_id_ && process == last_process_ && data_.thread[event] == data_.thread[last_];
    if (is_same) {
      data_.kernels_first.set(event, data_.kernels_first[last_]);
      data_.kernels_count.set(event, data_.kernels_count[last_]);
      return;
    }
    const auto first = static_cast<std::uint32_t>(data_.kernels.size());
    launched_.visit(process, id, [&](std::uint32_t launched) {
      data_.thread.set(launched, data_.thread[event]);
      if (data_.has(launched, kEventDevice)) data_.kernels.push_back(launched);
    });
    data_.kernels_first.set(event, first);
    data_.kernels_count.set(event, static_cast<std::uint32_t>(data_.kernels.size()) - first);
    last_id_ = id;
    last_process_ = process;
    last_ = event;
  }

  EventData& data_;
  const SpanTable& spans_;
  EventsById launched_{0};
  // The previous operator that has its own list.
  std::int64_t last_id_ = 0;  // 0: none
  std::uint32_t last_process_ = 0;
  std::uint32_t last_ = 0;
};

}  // namespace

void link_device_work(EventData& data) {
  Linker(data).link();
}

}  // namespace sonde::detail
