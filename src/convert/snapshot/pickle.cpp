// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/snapshot/pickle.h"

#include <cstring>
#include <unordered_map>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "convert/size_limits.h"

namespace sonde {
namespace {

constexpr std::uint8_t kProto = 0x80;
constexpr std::uint8_t kOldest = 2;
constexpr std::uint8_t kNewest = 5;
// How many keys of a dictionary are searched. Those that we know have a dozen.
constexpr std::size_t kMostKeys = 256;

// What an opcode would run, if it runs something.
std::string_view code_named(std::uint8_t opcode) {
  switch (opcode) {
    case 'c':
    case 0x93:
      return "imports something";
    case 'R':
      return "calls something";
    case 'b':
    case 'i':
    case 'o':
    case 0x81:
    case 0x92:
      return "builds an object";
    case 0x82:
    case 0x83:
    case 0x84:
    case 'P':
    case 'Q':
    case 0x97:
    case 0x98:
      return "refers to something outside the file";
    default:
      return {};
  }
}

}  // namespace

// The machine that pickles are programs for, without the parts that run code.
class PickleMachine {
 public:
  PickleMachine(std::span<const std::uint8_t> bytes, const std::string& path,
                std::uint64_t most_memory)
      : in_(bytes), path_(path), most_memory_(most_memory) {}

  Result<Pickle> run() {
    while (!stopped_) {
      const std::size_t at = in_.offset();
      const auto opcode = in_.read<std::uint8_t>();
      if (!in_.ok()) return bad(at, "the file ends inside the pickle");
      SONDE_TRY_VOID(perform(opcode, at));
      if (!in_.ok()) return bad(at, "a value reaches past the end of the file");
      if (memory() > most_memory_) return too_large();
    }
    return std::move(out_);
  }

 private:
  using Kind = Pickle::Kind;

  Failure bad(std::size_t at, std::string_view what) const {
    return {ErrorCode::Corrupt, path_ + ": not a readable pickle: " + std::string(what) +
                                    " at byte " + std::to_string(at)};
  }

  // About what is kept: values, lists, what is remembered, and the stack.
  std::uint64_t memory() const {
    constexpr std::uint64_t kOfRemembered = 40;
    return out_.values_.size() * sizeof(Pickle::Value) +
           out_.items_.size() * sizeof(decltype(out_.items_)::value_type) +
           memo_.size() * kOfRemembered + stack_.size() * sizeof(decltype(stack_)::value_type) +
           marks_.size() * sizeof(decltype(marks_)::value_type);
  }
  Failure too_large() const {
    return {ErrorCode::Invalid,
            path_ + ": its values would take more than " + bytes_text(most_memory_) +
                " of memory, more than a snapshot of this size does" + lift_advice()};
  }

  Result<void> perform(std::uint8_t opcode, std::size_t at) {
    if (make_number(opcode) || make_text(opcode) || remember(opcode)) return {};
    switch (gather(opcode)) {
      case Outcome::Done:
        return {};
      case Outcome::Empty:
        return bad(at, "a value is missing");
      case Outcome::NotMine:
        break;
    }
    switch (opcode) {
      case kProto:
        in_.read<std::uint8_t>();
        return {};
      case 0x95:  // a frame: its length
        in_.read<std::uint64_t>();
        return {};
      case '.':
        if (stack_.empty()) return bad(at, "it ends without a value");
        out_.root_ = stack_.back();
        stopped_ = true;
        return {};
      default:
        break;
    }
    if (const std::string_view code = code_named(opcode); !code.empty()) {
      return Failure(ErrorCode::Unsupported, path_ + ": the pickle " + std::string(code) +
                                                 " at byte " + std::to_string(at) +
                                                 "; Sonde reads only data and runs no code");
    }
    return bad(at, "an operation that does not describe data");
  }

  void push(const Pickle::Value& value) {
    stack_.push_back(static_cast<std::uint32_t>(out_.values_.size()));
    out_.values_.push_back(value);
  }
  void push_integer(std::int64_t number) { push({Kind::Integer, number, nullptr, 0}); }

  bool make_number(std::uint8_t opcode) {
    switch (opcode) {
      case 'N':
        push({});
        return true;
      case 0x88:
      case 0x89:
        push_integer(opcode == 0x88 ? 1 : 0);
        return true;
      case 'J':
        push_integer(in_.read<std::int32_t>());
        return true;
      case 'K':
        push_integer(in_.read<std::uint8_t>());
        return true;
      case 'M':
        push_integer(in_.read<std::uint16_t>());
        return true;
      case 0x8a:
        long_integer(in_.read<std::uint8_t>());
        return true;
      case 0x8b:
        long_integer(in_.read<std::uint32_t>());
        return true;
      case 'G':
        in_.read<std::uint64_t>();
        push({Kind::Number, 0, nullptr, 0});
        return true;
      default:
        return false;
    }
  }

  // In two's complement. A number that does not fit is not one that we use.
  void long_integer(std::size_t size) {
    const std::span<const std::uint8_t> bytes = in_.bytes(size);
    if (bytes.size() > sizeof(std::int64_t)) return push({Kind::Number, 0, nullptr, 0});
    std::uint64_t number = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), bytes.size());
    push_integer(static_cast<std::int64_t>(number));
  }

  bool make_text(std::uint8_t opcode) {
    switch (opcode) {
      case 0x8c:
      case 'C':
      case 'U':
        text(in_.read<std::uint8_t>());
        return true;
      case 'X':
      case 'B':
      case 'T':
        text(in_.read<std::uint32_t>());
        return true;
      case 0x8d:
      case 0x8e:
      case 0x96:
        text(in_.read<std::uint64_t>());
        return true;
      default:
        return false;
    }
  }

  void text(std::uint64_t size) {
    if (size > in_.remaining()) return in_.fail();
    const std::span<const std::uint8_t> bytes = in_.bytes(static_cast<std::size_t>(size));
    push({Kind::Text, 0, reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  bool remember(std::uint8_t opcode) {
    switch (opcode) {
      case 'q':
        put(in_.read<std::uint8_t>());
        return true;
      case 'r':
        put(in_.read<std::uint32_t>());
        return true;
      case 0x94:
        put(static_cast<std::uint32_t>(memo_.size()));
        return true;
      case 'h':
        get(in_.read<std::uint8_t>());
        return true;
      case 'j':
        get(in_.read<std::uint32_t>());
        return true;
      default:
        return false;
    }
  }

  void put(std::uint32_t number) {
    if (stack_.empty()) return in_.fail();
    memo_[number] = stack_.back();
  }
  void get(std::uint32_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) return in_.fail();
    stack_.push_back(found->second);
  }

  enum class Outcome : std::uint8_t { Done, Empty, NotMine };

  Outcome gather(std::uint8_t opcode) {
    switch (opcode) {
      case '(':
        marks_.push_back(stack_.size());
        return Outcome::Done;
      case '}':
        return make(Kind::Dictionary, stack_.size());
      case ']':
      case ')':
      case 0x8f:
        return make(Kind::List, stack_.size());
      case 't':
      case 'l':
      case 0x91:
        return make(Kind::List, take_mark());
      case 'd':
        return make(Kind::Dictionary, take_mark());
      case 0x85:
      case 0x86:
      case 0x87:
        return make(Kind::List, from_top(opcode - 0x84U));
      case 'a':
        return add_to(Kind::List, from_top(1));
      case 's':
        return add_to(Kind::Dictionary, from_top(2));
      case 'e':
      case 0x90:
        return add_to(Kind::List, take_mark());
      case 'u':
        return add_to(Kind::Dictionary, take_mark());
      case '0':
        return cut(from_top(1));
      case '1':
        return cut(take_mark());
      case '2':
        if (stack_.empty()) return Outcome::Empty;
        stack_.push_back(stack_.back());
        return Outcome::Done;
      default:
        return Outcome::NotMine;
    }
  }

  // An index into the stack; past its end if there are too few values.
  std::size_t from_top(std::size_t count) const {
    return stack_.size() >= count ? stack_.size() - count : stack_.size() + 1;
  }
  std::size_t take_mark() {
    if (marks_.empty()) return stack_.size() + 1;
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  Outcome cut(std::size_t from) {
    if (from > stack_.size()) return Outcome::Empty;
    stack_.resize(from);
    return Outcome::Done;
  }

  // Makes a container of the values from that index on.
  Outcome make(Kind kind, std::size_t from) {
    if (from > stack_.size()) return Outcome::Empty;
    std::vector<std::uint32_t> items(stack_.begin() + static_cast<std::ptrdiff_t>(from),
                                     stack_.end());
    stack_.resize(from);
    push({kind, static_cast<std::int64_t>(out_.items_.size()), nullptr, 0});
    out_.items_.push_back(std::move(items));
    return Outcome::Done;
  }

  // Adds them to the container below.
  Outcome add_to(Kind kind, std::size_t from) {
    if (from > stack_.size() || from == 0) return Outcome::Empty;
    const Pickle::Value& target = out_.values_[stack_[from - 1]];
    if (target.kind != kind) return Outcome::Empty;
    std::vector<std::uint32_t>& items = out_.items_[static_cast<std::size_t>(target.integer)];
    items.insert(items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    return Outcome::Done;
  }

  ByteReader in_;
  const std::string& path_;
  std::uint64_t most_memory_;
  Pickle out_;
  bool stopped_ = false;
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, std::uint32_t> memo_;
};

bool is_pickle(std::span<const std::uint8_t> bytes) {
  return bytes.size() > 2 && bytes[0] == kProto && bytes[1] >= kOldest && bytes[1] <= kNewest;
}

Result<Pickle> Pickle::read(std::span<const std::uint8_t> bytes, const std::string& path,
                            std::uint64_t most_memory) {
  return PickleMachine(bytes, path, most_memory).run();
}

bool PickleRef::is_list() const noexcept {
  return valid() && pickle_->values_[value_].kind == Pickle::Kind::List;
}
bool PickleRef::is_dictionary() const noexcept {
  return valid() && pickle_->values_[value_].kind == Pickle::Kind::Dictionary;
}
bool PickleRef::is_integer() const noexcept {
  return valid() && pickle_->values_[value_].kind == Pickle::Kind::Integer;
}
std::int64_t PickleRef::integer() const noexcept {
  return is_integer() ? pickle_->values_[value_].integer : 0;
}
std::string_view PickleRef::text() const noexcept {
  if (!valid() || pickle_->values_[value_].kind != Pickle::Kind::Text) return {};
  return {pickle_->values_[value_].text, pickle_->values_[value_].size};
}
std::size_t PickleRef::size() const noexcept {
  if (!is_list()) return 0;
  return pickle_->items_[static_cast<std::size_t>(pickle_->values_[value_].integer)].size();
}
PickleRef PickleRef::operator[](std::size_t i) const noexcept {
  if (i >= size()) return {};
  return {pickle_, pickle_->items_[static_cast<std::size_t>(pickle_->values_[value_].integer)][i]};
}
PickleRef PickleRef::operator[](std::string_view key) const noexcept {
  if (!is_dictionary()) return {};
  const std::vector<std::uint32_t>& items =
      pickle_->items_[static_cast<std::size_t>(pickle_->values_[value_].integer)];
  const std::size_t pairs = items.size() / 2;
  for (std::size_t i = pairs; i-- > (pairs > kMostKeys ? pairs - kMostKeys : 0);) {
    if (PickleRef(pickle_, items[2 * i]).text() == key) return {pickle_, items[2 * i + 1]};
  }
  return {};
}

}  // namespace sonde
