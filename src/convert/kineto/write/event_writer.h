// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Renders the events of a block. Use one per thread.
//
//   KinetoEvents events(plan);
//   events.render(block, [&](std::string_view text) { … });
//
// Every event begins with the comma that separates it from the one before.

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "convert/kineto/write/plan.h"
#include "convert/kineto/write/text_buffer.h"
#include "convert/kineto/write/written_key.h"

namespace sonde {

class KinetoEvents {
 public:
  explicit KinetoEvents(const KinetoPlan& plan);

  // Takes text whenever there is enough of it, and the rest at the end. Returning false stops
  // rendering.
  using TextSink = std::function<bool(std::string_view text)>;
  void render(const EventBlock& block, const TextSink& sink);
  // Only the `args` of a span, as an object; empty if it has none.
  std::string arguments(SpanId span);

 private:
  // More than all fixed text and numbers between two texts of variable length.
  static constexpr std::size_t kEventRoom = 4096;

  // The prefix of an extra's key that belongs to the event itself, not to its args.
  static constexpr std::string_view kEventPrefix = "event.";
  static bool is_event_key(std::string_view key) { return key.starts_with(kEventPrefix); }

  // The position in each table that belongs to spans, for one block.
  struct Cursors {
    Cursors(const KinetoPlan& plan, SpanId first);
    SpanJoin::Cursor kernels;
    SpanJoin::Cursor copies;
    SpanJoin::Cursor api_calls;
    SpanJoin::Cursor syncs;
    SpanJoin::Cursor collectives;
    SpanJoin::Cursor python_calls;
    SpanJoin::Cursor flows_from;
    SpanJoin::Cursor flows_to;
    ExtraJoin::Cursor extras;
  };

  // Writes text of any length. Afterwards there is room for all the fixed text of an event again.
  char* text(char* at, std::string_view value);
  char* string(char* at, StringId id) { return text(at, plan_.strings.escaped(id, scratch_)); }
  char* time(char* at, Nanos time_ns) { return times_.put(at, time_ns - plan_.base_ns); }

  // Write a value as JSON.
  static char* value(char* at, std::int64_t number) { return put_integer(at, number); }
  static char* value(char* at, std::uint64_t number) { return put_unsigned(at, number); }
  static char* value(char* at, double number) { return put_double(at, number); }
  char* value(char* at, StringId text) { return put(string(put(at, "\""), text), "\""); }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  static char* value(char* at, Enum of) {
    return put(put(put(at, "\""), to_string(of)), "\"");
  }

  // Writes a key and the value of a column, unless the value is null.
  template <auto Key, typename T, typename Tag>
  char* column(char* at, const Column<T>& values, Id<Tag> row) {
    const T is = values[row];
    if (is == values.null_value()) return at;
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      return value(put_key<Key>(at), std::int64_t{is});
    } else {
      return value(put_key<Key>(at), is);
    }
  }
  template <ArgKey Key>
  static char* integer(char* at, std::int64_t number) {
    return put_integer(put_key<Key>(at), number);
  }
  template <ArgKey Key>
  static char* integer_unless(char* at, std::int64_t number, std::int64_t null) {
    return number == null ? at : integer<Key>(at, number);
  }
  // Writes nothing if all are 0.
  template <ArgKey Key>
  static char* triple(char* at, std::int64_t x, std::int64_t y, std::int64_t z) {
    if (x == 0 && y == 0 && z == 0) return at;
    at = put_integer(put(put_key<Key>(at), "["), x);
    at = put_integer(put(at, ", "), y);
    at = put_integer(put(at, ", "), z);
    return put(at, "]");
  }

  // Appends what `render` makes of a row, or copies it if it was rendered before.
  template <typename IdType, typename Render>
  char* shared(char* at, const Fragments& fragments, IdType id, const Render& render) {
    if (!id.valid()) return at;
    const std::string_view ready = fragments[id.index()];
    if (!ready.empty()) return text(at, ready);
    out_.advance(at);
    render(out_, plan_.trace, plan_.strings, id, scratch_);
    return text(out_.room(0), {});
  }

  // open_args() opens `args`, to be filled with keys that each begin with a comma; close_args()
  // closes it, or removes it if there were none.
  char* open_args(char* at);
  char* close_args(char* at);

  void span(SpanId span, Cursors& cursors);
  char* span_head(char* at, SpanId span);
  char* async_head(char* at, SpanId span, char phase);
  bool has_foreign_category(SpanId span) const;
  char* category(char* at, SpanId span);
  char* overload(char* at, SpanId span);
  char* event_extras(char* at);
  char* arg_extras(char* at);
  bool may_stand_already(std::size_t extra);
  char* unique_key(char* at, StringId key);
  // Writes a key with the value that a foreign file gave it, else with `number` unless it equals
  // `null`.
  template <ArgKey Key>
  char* integer_or_extra(char* at, std::int64_t number, std::int64_t null) {
    const ExtraId extra = take_extra(text_of(Key));
    if (!extra.valid()) return integer_unless<Key>(at, number, null);
    return text(put_key<Key>(at), plan_.strings.value(plan_.trace.extras().value[extra], scratch_));
  }
  // Takes an extra of the event by its key; invalid if there is none.
  ExtraId take_extra(std::string_view key);

  char* span_args(char* at, SpanId span, Cursors& cursors);
  char* call_args(char* at, SpanId span);
  char* device_args(char* at, SpanId span, Cursors& cursors);
  char* device_and_stream(char* at, SpanId span, std::int64_t context);
  char* captured_by(char* at, SpanId call);
  char* kernel_args(char* at, SpanId span, KernelId kernel);
  char* occupancy_args(char* at, KernelId kernel);
  char* copy_args(char* at, SpanId span, CopyId copy);
  char* sync_args(char* at, SpanId span, SyncId sync);
  char* collective_args(char* at, CollectiveId collective);
  char* python_args(char* at, PythonCallId call);
  char* own_args(char* at, SpanId span);

  void span_flows(SpanId span, Cursors& cursors);
  // Where the end of a flow is drawn if its span begins at `start_ns`: at its own time, if the span
  // covers it.
  Nanos flow_time(SpanId span, Nanos own_ns, Nanos start_ns) const;
  bool share_number(FlowId a, FlowId b) const;
  // Phases are s, f and t. A t is both: `row` ends where `onward` begins.
  void flow(FlowId row, char phase, const std::string& line, Nanos time_ns, FlowId onward = {});
  char* flow_extras(char* at, FlowId row, char phase, FlowId onward, bool of_event);
  char* end_extras(char* at, FlowId row, std::string_view end, bool of_event);
  // Writes the first of the points and those that share its event; returns how many.
  std::size_t event_at(std::span<const Point> points);
  void allocation(AllocationId row);
  void instant(InstantId row);
  std::size_t counters(std::span<const Point> points);
  bool share_event(CounterId a, CounterId b) const;
  void async_end(SpanId span);
  const std::string& line() const { return plan_.identity.line(track_, 0).both; }

  const KinetoPlan& plan_;
  const SpanTable& spans_;
  TextBuffer out_;
  MicrosText times_;
  std::string scratch_;
  std::vector<ExtraId> extras_;                           // of the event being written
  std::unordered_map<std::uint32_t, bool> names_column_;  // whether a key is that of a column too
  std::vector<FlowId> arrived_;                           // at the span being written
  std::size_t args_begin_ = 0;
  std::size_t track_ = 0;
  std::array<std::string, 64> heads_;  // of a span of each kind, up to its name
};

}  // namespace sonde
