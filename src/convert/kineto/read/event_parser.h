// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Takes one event of a trace apart into its keys and the keys of its arguments. Values stay raw
// text, except integers.
//
//   EventParser parser(end, staged);
//   if (const char* after = parser.parse(at)) use(parser.event());
//
// Events of one file look alike. The text between two values that differ from event to event is
// called a stencil: keys, punctuation, spaces, and values such as the phase or the thread. A
// stencil is taken apart once. After that it is recognised by its bytes and by the stencil it
// follows:
//
//   {"ph": "X", "cat": "cpu_op", "name": │"aten::mm"│, "pid": 407, "tid": 433, "ts": │12.345│ …
//   └───────────── stencil ─────────────┘  value    └───────── stencil ─────────────┘ value

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "convert/json/json_memo.h"
#include "convert/json/json_text.h"
#include "convert/kineto/read/keys.h"
#include "convert/kineto/read/staged.h"

namespace sonde {

// The arguments that describe the shapes and values of a call.
inline constexpr ArgKeySet kArrays(ArgKey::InputDims, ArgKey::InputStrides, ArgKey::InputType,
                                   ArgKey::ConcreteInputs);

struct ArgValue {
  const char* key = nullptr;  // after the quote
  const char* begin = nullptr;
  const char* end = nullptr;
  std::int64_t number = 0;
  bool is_integer = false;

  std::string_view text() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

struct RawMember {
  std::string_view key;
  std::string_view value;
};

// The pid or tid of an event that does not have one.
inline constexpr char kMissingId[kJsonPadding] = "0";

// The part of an event that is reset for every event.
struct EventHead {
  char phase = 0;
  bool has_category = false;
  bool has_time = false;  // true if the time is also valid
  RawId name = kNoRaw;
  RawId known_arguments = kNoRaw;  // in argument_lists, if the arrays were seen before
  std::uint32_t place = kNoRaw;    // equal numbers mean equal pid and tid
  std::int64_t time = 0;
  std::int64_t duration = 0;  // also negative if it is not a number
  std::string_view category;  // contents of strings
  std::string_view name_text;
  std::string_view pid{kMissingId, 1};  // raw values
  std::string_view tid{kMissingId, 1};
  std::string_view id;
  std::string_view scope;
  std::string_view binding_point;
  std::string_view args;
  ArgKeySet present;
};

struct Event : EventHead {
  std::array<ArgValue, kArgKeyTexts.size()> values;
  std::vector<RawMember> unknown_args;
  std::vector<RawMember> unknown_keys;

  void clear() {
    // Copied from memory. A value built on the stack is written in small words and read back in
    // larger ones, and those reads wait for the writes.
    static constexpr EventHead kEmpty;
    static_cast<EventHead&>(*this) = kEmpty;
    if (!unknown_args.empty()) unknown_args.clear();
    if (!unknown_keys.empty()) unknown_keys.clear();
  }
  const ArgValue& operator[](ArgKey key) const { return values[static_cast<std::size_t>(key)]; }
};

class EventParser {
 public:
  // `staged` receives the texts of names and the argument lists.
  EventParser(const char* end, Staged& staged);

  // `at` points at '{'. Returns the position after the event; null if the event is broken.
  const char* parse(const char* at);
  // The same for a broken event. A quote that is not followed by what may follow a string counts as
  // part of the string.
  const char* parse_mending(const char* at);
  // Parses an event that was read already once more, with all arrays as separate values.
  void parse_without_guessing(const char* at);

  const Event& event() const { return event_; }
  // For callers that have taken all of them.
  void forget_unknown_args() { event_.unknown_args.clear(); }
  // Where the last event that could not be read is broken.
  const char* failed_at() const { return failed_at_; }
  // The argument list of the event just read; kNoRaw if it has none.
  RawId argument_list();

 private:
  static constexpr std::size_t kFollowers = 4;
  static constexpr std::uint32_t kNoStencil = kNoRaw;
  static constexpr std::size_t kPredictions = 4096;  // a power of two

  // What follows a stencil.
  enum class Next : std::uint8_t { Name, Time, Duration, Id, Arg, UnknownArg, UnknownKey, End };

  // Where a stencil begins: at the '{' of an event, or after a value of the event or of its args.
  enum class Context : std::uint8_t { Start, Event, Args };

  // Used for every value of every event, and therefore kept small.
  struct Stencil {
    const char* text = nullptr;
    const char* key = nullptr;  // of the value after it
    std::uint32_t size = 0;
    std::uint32_t key_size = 0;
    std::array<std::uint32_t, kFollowers> followers = {kNoStencil, kNoStencil, kNoStencil,
                                                       kNoStencil};
    Next next = Next::End;
    ArgKey arg = ArgKey::Unknown;
    bool ends_in_args = false;
    bool says_something = false;

    std::string_view key_text() const { return {key, key_size}; }
  };

  // What a stencil says about its event; empty if it says nothing.
  struct Said {
    char phase = 0;
    bool has_phase = false;
    bool has_category = false;
    std::int32_t args_begin = -1;  // offsets in the stencil
    std::int32_t args_end = -1;
    std::string_view category;
    std::string_view pid;
    std::string_view tid;
    std::string_view scope;
    std::string_view binding_point;

    bool is_something() const {
      return has_phase || has_category || !pid.empty() || !tid.empty() || !scope.empty() ||
             !binding_point.empty() || args_begin >= 0 || args_end >= 0;
    }
  };

  // The text of the arrays of one call, from the first value to the last.
  struct Prediction {
    const char* text = nullptr;
    std::uint32_t size = 0;
    RawId list = kNoRaw;
    ArgKey first = ArgKey::Unknown;
  };

  const char* stencils(const char* at);
  std::uint32_t known_stencil(std::uint32_t before, const char* at);
  const Stencil* learned_stencil(std::uint32_t before, const char* at, Context context);
  bool read_stencil(const char* at, Context context, Stencil& stencil, Said& said);
  const char* read_member(std::string_view key, const char* at, Stencil& stencil, Said& said);
  void apply(const Said& said, std::uint32_t id, const char* at);
  const char* value(const Stencil& stencil, const char* at);
  const char* name(const char* at);
  const char* learned_name(const char* at);
  const char* arg(const Stencil& stencil, const char* at);
  bool arrays(ArgKey key, const char*& at);
  const char* any(const char* at, std::string_view& raw);
  const char* mended_string_end(const char* at) const;
  const char* broken(const char* at);

  Prediction& prediction(ArgKey first);
  bool predicted(ArgKey first, const char*& at);

  const char* end_;
  Staged& staged_;
  Event event_;
  const char* failed_at_ = nullptr;
  bool mending_ = false;
  bool predicting_ = true;

  std::vector<Stencil> stencils_;
  std::vector<Said> said_;                // what each stencil says
  std::array<RawMemo, 3> stencil_texts_;  // by Context
  std::array<std::vector<std::uint32_t>, 3> stencil_ids_;
  std::uint32_t last_stencil_ = kNoStencil;
  Stencil passing_;  // a stencil that is not kept
  Said said_passing_;

  // Where the arrays of the current event are, if they are adjacent.
  const char* arrays_begin_ = nullptr;
  const char* arrays_end_ = nullptr;
  ArgKey first_array_ = ArgKey::Unknown;
  bool arrays_apart_ = false;
  RawId last_list_ = kNoRaw;
  std::vector<Prediction> predictions_;

  RawId last_name_ = kNoRaw;
  std::vector<RawId> next_names_;  // the name that last followed each name
};

}  // namespace sonde
