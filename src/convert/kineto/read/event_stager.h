// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads a stretch of events into staged rows.
//
//   EventStager stager(text.data(), end);
//   const Stretch stretch = stager.read(first_event, limit);
//
// A broken event is mended if that is possible; otherwise it is left out and counted. Reading
// continues at the next text that looks like the beginning of an event.

#include <cstdint>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "convert/json/json_number.h"
#include "convert/kineto/read/event_parser.h"
#include "convert/kineto/read/staged.h"

namespace sonde {

struct Stretch {
  enum class End { Limit, Closed, Text };  // reached the limit; the "]"; the end of the text
  End end = End::Text;
  const char* at = nullptr;         // the next event, or after the bracket
  bool inside_event = false;        // the text ended inside an event
  std::uint64_t scanned_again = 0;  // bytes of broken events that were searched again
};

// How many bytes may be scanned again. The bound keeps reading linear for any text.
constexpr std::uint64_t most_scanned_again(std::size_t text_bytes) {
  return std::uint64_t{2} * text_bytes;
}

// The next '{' at or after `at` that looks like the beginning of an event; `end` if there is none.
const char* find_event(const char* at, const char* end);

class EventStager {
 public:
  // `scanned_before`: bytes that were scanned again in earlier stretches.
  EventStager(const char* text, const char* end, std::uint64_t scanned_before = 0);
  ~EventStager();

  // An event or the end of the array is expected at `at`. Reads at least one event.
  Stretch read(const char* at, const char* limit);
  std::unique_ptr<Staged> take() { return std::move(staged_); }

 private:
  Stretch read_events(const char* at, const char* limit);
  void make_room(double times);
  bool read_event(const char*& at);
  const char* resynchronise(const char* event, const char* failed_at);
  void stage();
  void stage_span();
  void note_bad_duration(StagedSpan& span);
  void stage_edge_end();
  void stage_point();
  void stage_phase(std::uint32_t instant);
  bool stage_allocation();
  void stage_counter();
  void stage_flow();
  void stage_meta();
  void stage_unknown();
  std::string_view event_text() const;
  // Whether the end of a flow binds to the slice around it, as usual. Other bindings are kept.
  bool binds_as_usual() const;

  void fill_values(StagedSpan& span, const Category& known);
  void fill_source(StagedSpan& span);
  void add_value(StagedSpan& span, SpanField field, std::int64_t value);
  void take_value(StagedSpan& span, SpanField field, ArgKey key);
  void take_raw_value(StagedSpan& span, SpanField field, ArgKey key, RawMemo& memo);
  void stage_side_rows(SpanKind kind, std::uint32_t row);
  void stage_api_call(std::uint32_t row);
  void stage_kernel(std::uint32_t row);
  void stage_copy(std::uint32_t row);
  void stage_sync(std::uint32_t row);
  void stage_collective(std::uint32_t row);
  void stage_python_call(std::uint32_t row);
  void stage_extras(TableKind table, std::uint32_t row);

  // Takes an argument if it is not taken yet and fits the column.
  using Triple = std::tuple<std::int32_t&, std::int32_t&, std::int32_t&>;
  bool take(ArgKey key, std::int64_t& out);
  bool take(ArgKey key, std::int32_t& out);
  bool take(ArgKey key, std::uint64_t& out);
  bool take(ArgKey key, std::int8_t& out);
  bool take(ArgKey key, double& out);
  bool take(ArgKey key, StringId& out);
  bool take(ArgKey key, StackId& out);
  bool take(ArgKey key, SpanId& out);
  bool take(ArgKey key, SyncKind& out);
  bool take(ArgKey key, MemoryKind& out);
  bool take(ArgKey key, DeviceType& out);
  bool take(ArgKey key, const Triple& out);
  bool take(ArgKey key, const OccupancyColumns& out);
  template <typename Enum, typename Parse>
  bool take_enum(ArgKey key, Enum& out, const Parse& parse);
  bool take_part(std::string_view raw, StringId& out);
  template <typename Count>
  bool take_part(std::string_view raw, Count& out) {
    return to_count(raw, out);
  }
  // A row of a table, with all columns that the arguments fill.
  template <typename Row>
  Row row_of_args() {
    Row row;
    // An argument that is absent, as most are, costs no call.
    visit_keys(row,
               [this](ArgKey key, auto&& column) { return left_.has(key) && take(key, column); });
    return row;
  }
  RawId take_raw(ArgKey key, RawMemo& memo);
  void drop_if(ArgKey key, std::string_view same);

  const Category& category();
  RawId category_text();
  // What the line is needed for. An EarlyFlow comes before all spans of its stretch. Its span may
  // be the last one of the stretch before, and then nothing needs the line.
  enum class Line { Event, Flow, EarlyFlow, Name, Process };
  std::uint32_t track(bool on_device, Line line = Line::Event);
  bool needs_time();

  const char* text_;
  const char* end_;
  std::unique_ptr<Staged> staged_;
  EventParser parser_;
  const Event& event_;
  const char* event_begin_ = nullptr;
  const char* event_end_ = nullptr;
  ArgKeySet left_;  // arguments of the event that no column has taken yet
  std::uint64_t scanned_again_;

  RawMemo category_ids_;
  std::vector<Category> categories_;
  std::string_view last_category_text_;
  Category last_category_;
  RawMemo id_texts_;
  // For lines of a host, of a device and of early flows, and for rows about processes.
  struct Tracks {
    std::vector<std::uint32_t> of_place;  // by Event::place
    std::unordered_map<std::uint64_t, std::uint32_t> of_ids;
  };
  std::uint32_t slow_track(Tracks& known, bool on_device);
  Tracks& tracks(bool on_device, Line line);
  Tracks tracks_[4];
  std::uint32_t last_span_ = StagedFlow::kNoSpan;
};

}  // namespace sonde
