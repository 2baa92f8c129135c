// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Reads a text of events in stretches that begin where events seem to begin: on several threads,
// and also while the text is still being inflated.
//
//   EarlyStretches early(threads);
//   SONDE_TRY(Gunzipped out, gunzip(file.bytes(), &early));   // reads meanwhile
//   std::vector<Reading> readings = early.finish(out.text.text());

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "convert/gunzip.h"
#include "convert/kineto/read/event_stager.h"
#include "convert/kineto/read/staged.h"

namespace sonde {

inline constexpr std::size_t kShortestStretch = std::size_t{4} << 20;
inline constexpr std::size_t kLongestStretch = std::size_t{256} << 20;

struct Reading {
  const char* start = nullptr;
  std::unique_ptr<Staged> staged;
  Stretch stretch;
};

Reading read_stretch(std::string_view text, const char* start, const char* limit,
                     std::uint64_t scanned_before = 0);

// How to cut a text whose end is not known yet: into parts of `part` bytes. A part is read once the
// text has `behind` more bytes after it. The last `untouched` of these are never parsed, because
// loops read a little past what they are given.
struct PartSizes {
  std::size_t part = 0;
  std::size_t behind = std::size_t{1} << 20;
  std::size_t untouched = std::size_t{64} << 10;
};

// Reads the events that begin in a part. The result has no rows if none begins there, or if
// something may have been misread because the text went on (a very long event, broken JSON) and
// must be read again. Pass `text_bytes` if the end is known; then nothing is left out.
Reading read_part(const char* text, std::size_t number, const PartSizes& sizes,
                  std::optional<std::size_t> text_bytes);

// What becomes of text that has been read. IsGivenBack: the system gets its pages, but for those
// with texts that the readings refer to. Only for the memory of a PaddedBytes that is not a file.
enum class ReadText : std::uint8_t { Stays, IsGivenBack };

// Reads parts in order, each as soon as possible.
class EarlyStretches final : public InflateListener {
 public:
  // All threads but one read. The calling thread inflates; it helps when they do not keep up, and
  // in finish().
  explicit EarlyStretches(unsigned threads, ReadText read_text = ReadText::Stays)
      : threads_(threads), read_text_(read_text) {}
  ~EarlyStretches() override { moves(); }
  EarlyStretches(const EarlyStretches&) = delete;
  EarlyStretches& operator=(const EarlyStretches&) = delete;

  void begins(const char* text, std::size_t expected_bytes) override;
  void grows(std::size_t bytes) override;
  // Discards what was read.
  void moves() override;
  bool gave_back() const override { return gave_back_; }

  // `text` is the whole text and must stay until this returns or throws. Reads what is left and
  // returns all readings in text order.
  std::vector<Reading> finish(std::string_view text);

 private:
  struct Part {
    std::size_t number;
    std::optional<std::size_t> text_bytes;  // if the end is known
  };
  // Whether a part can be read now, if at least so many bytes are there after it.
  bool is_ready(std::size_t bytes_after) const;
  std::optional<Part> next_part();
  void read_parts();
  void read(const Part& part);
  void give_back_text();

  const unsigned threads_;
  const ReadText read_text_;
  const char* text_ = nullptr;
  PartSizes sizes_;  // part is 0 if nothing is read early
  std::vector<std::jthread> readers_;

  std::mutex mutex_;
  std::condition_variable more_;
  std::size_t ready_ = 0;
  std::optional<std::size_t> text_bytes_;
  std::size_t next_ = 0;
  bool cancelled_ = false;
  std::vector<std::optional<Reading>> readings_;  // by part; nothing until it is read
  // All parts before this one follow one another without a gap or a doubt, from the first event on,
  // and their text was given back. Null: what comes next will be read again, so its text stays.
  std::size_t next_to_give_back_ = 0;
  const char* follows_at_ = nullptr;
  std::atomic<bool> gave_back_ = false;
  std::exception_ptr thrown_;  // by a reader; finish() throws it
};

}  // namespace sonde
