// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/gunzip.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "convert/size_limits.h"

#if SONDE_HAS_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

namespace sonde {

namespace {

using Bytes = std::span<const std::uint8_t>;

// Both libraries count in 32 bits.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
// How much is inflated before the listener is notified and the bounds are checked.
constexpr std::size_t kToldAtOnce = std::size_t{1} << 20;

std::uint32_t at_once(std::size_t bytes) {
  return static_cast<std::uint32_t>(std::min(bytes, kMostAtOnce));
}

enum class Step { More, EndOfMember, Damaged };

#if SONDE_HAS_ISAL

class Inflater {
 public:
  Inflater() { begin_member(); }
  void begin_member() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }
  // Removes what it used from the front of `in` and `out`.
  Step step(Bytes& in, std::span<std::uint8_t>& out) {
    const std::uint32_t in_bytes = at_once(in.size());
    const std::uint32_t out_bytes = at_once(out.size());
    state_.next_in = const_cast<std::uint8_t*>(in.data());
    state_.avail_in = in_bytes;
    state_.next_out = out.data();
    state_.avail_out = out_bytes;
    const int result = isal_inflate(&state_);
    in = in.subspan(in_bytes - state_.avail_in);
    out = out.subspan(out_bytes - state_.avail_out);
    if (result != ISAL_DECOMP_OK) return Step::Damaged;
    return state_.block_state == ISAL_BLOCK_FINISH ? Step::EndOfMember : Step::More;
  }

 private:
  inflate_state state_{};
};

#else

class Inflater {
 public:
  Inflater() { good_ = inflateInit2(&state_, 15 + 16) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (good_) inflateEnd(&state_);
  }
  void begin_member() { inflateReset(&state_); }
  Step step(Bytes& in, std::span<std::uint8_t>& out) {
    if (!good_) return Step::Damaged;
    const std::uint32_t in_bytes = at_once(in.size());
    const std::uint32_t out_bytes = at_once(out.size());
    state_.next_in = const_cast<std::uint8_t*>(in.data());
    state_.avail_in = in_bytes;
    state_.next_out = out.data();
    state_.avail_out = out_bytes;
    const int result = inflate(&state_, Z_NO_FLUSH);
    in = in.subspan(in_bytes - state_.avail_in);
    out = out.subspan(out_bytes - state_.avail_out);
    if (result == Z_STREAM_END) return Step::EndOfMember;
    return result == Z_OK || result == Z_BUF_ERROR ? Step::More : Step::Damaged;
  }

 private:
  z_stream state_{};
  bool good_ = false;
};

#endif

// The trailer has the length of the last member, modulo 2^32. Trusted up to a thousand times the
// compressed size, which deflate cannot exceed by much.
std::size_t expected_bytes(Bytes in) {
  if (in.size() < 4) return 0;
  const Bytes tail = in.last(4);
  const std::size_t size =
      tail[0] | std::size_t{tail[1]} << 8 | std::size_t{tail[2]} << 16 | std::size_t{tail[3]} << 24;
  return std::min(size, in.size() * 1000);
}

void note_problem(Gunzipped& out, Step last, std::size_t rest, std::size_t offset) {
  out.lost_bytes = rest;
  if (last == Step::Damaged) {
    out.problem = "the compressed data is damaged at byte " + std::to_string(offset);
  } else {
    out.truncated = true;
    out.problem = "the file ends inside its compressed data, at byte " + std::to_string(offset);
  }
}

Failure too_large(Bytes bytes, const InflateBounds& bounds) {
  return {ErrorCode::Invalid, "its " + bytes_text(bytes.size()) + " expand to more than " +
                                  bytes_text(bounds.most_bytes) +
                                  ", more than a trace of this size does" + lift_advice()};
}

// Whoever reads along must stop before the text is given up, also when an exception does that.
class ReaderAlong {
 public:
  explicit ReaderAlong(InflateListener* listener) : listener_(listener) {}
  ~ReaderAlong() { stop(); }
  ReaderAlong(const ReaderAlong&) = delete;
  ReaderAlong& operator=(const ReaderAlong&) = delete;

  void begin(const char* text, std::size_t expected_bytes) const {
    if (listener_ != nullptr) listener_->begins(text, expected_bytes);
  }
  void grow(std::size_t bytes) const {
    if (listener_ != nullptr) listener_->grows(bytes);
  }
  void stop() {
    if (listener_ != nullptr) std::exchange(listener_, nullptr)->moves();
  }
  // The text is the caller's from now on.
  void leave() { listener_ = nullptr; }

 private:
  InflateListener* listener_;
};

}  // namespace

bool is_gzip(Bytes bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

Result<Gunzipped> gunzip(Bytes bytes, InflateListener* listener, const InflateBounds& bounds) {
  constexpr std::size_t kLeastRoom = std::size_t{64} << 10;
  const std::size_t expected = std::min<std::uint64_t>(expected_bytes(bytes), bounds.most_bytes);
  bool is_judged = bounds.judge == nullptr;
  SONDE_TRY(PaddedBytes text, PaddedBytes::with_capacity(expected + kLeastRoom));
  Gunzipped out{std::move(text), {}, false, 0};
  ReaderAlong along(listener);
  along.begin(out.text.begin(), expected);
  Inflater inflater;
  Bytes in = bytes;
  for (;;) {
    if (!out.text.has_room(kLeastRoom)) {
      along.stop();
      if (listener != nullptr && listener->gave_back())
        return Failure(ErrorCode::Corrupt, "the text is longer than the file says");
    }
    SONDE_TRY(std::span<std::uint8_t> room, out.text.room(kLeastRoom));
    room = room.first(std::min(room.size(), kToldAtOnce));
    const std::size_t in_before = in.size();
    std::span<std::uint8_t> left = room;
    const Step step = inflater.step(in, left);
    const std::size_t written = room.size() - left.size();
    out.text.add(written);
    Result<bool> judged = is_judged ? Result<bool>(true) : bounds.judge(out.text.text());
    if (judged && out.text.text().size() > bounds.most_bytes) judged = too_large(bytes, bounds);
    if (!judged) return Failure(std::move(judged).error());
    is_judged = *judged;
    along.grow(out.text.text().size());
    const std::size_t offset = bytes.size() - in.size();
    if (step == Step::EndOfMember) {
      if (!in.empty() && is_gzip(in)) {
        inflater.begin_member();
        continue;
      }
      if (!in.empty()) note_problem(out, Step::Damaged, in.size(), offset);
    } else if (step == Step::Damaged || (written == 0 && in.size() == in_before)) {
      note_problem(out, in.empty() ? Step::More : step, in.size(), offset);
    } else {
      continue;
    }
    along.leave();
    return out;
  }
}

}  // namespace sonde
