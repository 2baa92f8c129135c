// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A packet sequence of a Perfetto trace: the events of one line, in the order of their times. Times
// are written as differences from the previous event. Each text is written once, and later referred
// to by a number.
//
//   PerfettoSequence sequence(out, 2, track_uuid, first_ns);
//   EventBuilder begin(sequence, EventType::SliceBegin);
//   begin.name(span.value(), [] { return "conv2d"; });
//   begin.annotate("External id", std::int64_t{7});
//   begin.write(1500);

#include <cstdint>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "convert/perfetto/fields.h"
#include "sonde/trace/column.h"

namespace sonde::detail {

// The numbers of texts, for one field of InternedData.
class Interner {
 public:
  explicit Interner(InternedField field) : field_(field) {}

  // `key` identifies a text, so that texts are never compared. `text` is called for a new one,
  // which is added to `added`, the InternedData of the current packet.
  template <typename Text>
  std::uint64_t iid(std::uint64_t key, const Text& text, std::string& added) {
    const auto [found, is_new] = iids_.try_emplace(key, iids_.size() + 1);
    if (is_new) add(found->second, text(), added);
    return found->second;
  }

 private:
  void add(std::uint64_t iid, std::string_view text, std::string& added) const;

  InternedField field_;
  std::unordered_map<std::uint64_t, std::uint64_t> iids_;
};

class PerfettoSequence {
 public:
  // Events are on `track_uuid` by default.
  PerfettoSequence(std::string& out, std::uint32_t id, std::uint64_t track_uuid, Nanos first_ns);

  Interner categories{InternedField::EventCategories};
  Interner names{InternedField::EventNames};
  Interner annotation_names{InternedField::AnnotationNames};
  Interner annotation_texts{InternedField::AnnotationStrings};

 private:
  friend class EventBuilder;
  // Writes the event that was built. Times may not go back: an earlier time is replaced by the
  // previous one.
  void write(Nanos time_ns);

  std::string event_;     // under construction
  std::string interned_;  // the texts that its packet adds
  std::string& out_;
  std::uint32_t id_;
  Nanos last_ns_;
};

// Builds the bytes of an event. Use one at a time for each sequence.
class EventBuilder {
 public:
  EventBuilder(PerfettoSequence& sequence, EventType type);

  template <typename Text>
  void name(std::uint64_t key, const Text& text) {
    event_.add_uint64(EventField::NameIid, sequence_.names.iid(key, text, interned_));
  }
  template <typename Text>
  void category(std::uint64_t key, const Text& text) {
    event_.add_uint64(EventField::CategoryIids, sequence_.categories.iid(key, text, interned_));
  }
  void track(std::uint64_t uuid) { event_.add_uint64(EventField::TrackUuid, uuid); }
  void counter(double value);
  void flow(std::uint64_t id, bool is_end) {
    event_.add_fixed64(is_end ? EventField::TerminatingFlowIds : EventField::FlowIds, id);
  }

  // Annotations are identified by the addresses of their names, which are constants.
  void annotate(std::string_view key, std::int64_t value) { add_annotation(name_of(key), value); }
  void annotate_unless(std::string_view key, std::int64_t value, std::int64_t null) {
    if (value != null) annotate(key, value);
  }
  void annotate(std::string_view key, double value) { add_annotation(name_of(key), value); }
  void annotate(std::string_view key, bool value) { add_annotation(name_of(key), value); }
  // The same with a name that is not a constant; `name_key` identifies it.
  template <typename Name, typename Value>
  void annotate(std::uint64_t name_key, const Name& name, Value value) {
    add_annotation(sequence_.annotation_names.iid(name_key, name, interned_), value);
  }
  // `text_key` identifies a text.
  template <typename Text>
  void annotate_text(std::string_view key, std::uint64_t text_key, const Text& text) {
    annotate_text(key_of(key), [key] { return key; }, text_key, text);
  }
  template <typename Name, typename Text>
  void annotate_text(std::uint64_t name_key, const Name& name, std::uint64_t text_key,
                     const Text& text) {
    const std::uint64_t name_iid = sequence_.annotation_names.iid(name_key, name, interned_);
    const std::uint64_t text_iid = sequence_.annotation_texts.iid(text_key, text, interned_);
    Annotation annotation(event_, EventField::DebugAnnotations);
    annotation.add_uint64(AnnotationField::NameIid, name_iid);
    annotation.add_uint64(AnnotationField::StringValueIid, text_iid);
  }

  void write(Nanos time_ns) { sequence_.write(time_ns); }

 private:
  using Annotation = protozero::pbf_builder<AnnotationField>;
  static std::uint64_t key_of(std::string_view constant) {
    constexpr std::uint64_t kConstant = std::uint64_t{1} << 63;  // not a string's number
    return kConstant | reinterpret_cast<std::uint64_t>(constant.data());
  }
  void add_annotation(std::uint64_t name_iid, std::int64_t value);
  void add_annotation(std::uint64_t name_iid, std::uint64_t value);
  void add_annotation(std::uint64_t name_iid, double value);
  void add_annotation(std::uint64_t name_iid, bool value);
  std::uint64_t name_of(std::string_view key) {
    return sequence_.annotation_names.iid(key_of(key), [key] { return key; }, interned_);
  }

  PerfettoSequence& sequence_;
  std::string& bytes_;
  std::string& interned_;
  protozero::pbf_builder<EventField> event_;
};

}  // namespace sonde::detail
