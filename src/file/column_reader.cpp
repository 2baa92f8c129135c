// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "base/parallel.h"
#include "file/column_codec.h"
#include "file/file_upgrade.h"
#include "file/trace_file.h"
#include "trace/reference_check.h"

namespace sonde {

namespace {

// What a small file may expand to; beyond that, a file that expands more than a thousandfold is
// taken for one that was made to exhaust memory.
constexpr std::uint64_t kFreelyExpanded = std::uint64_t{512} << 20;
constexpr std::uint64_t kMaxExpansion = 1024;
// Bytes below which starting threads takes longer than the work.
constexpr std::uint64_t kWorthThreads = std::uint64_t{1} << 20;

// What is done to a column that is filled, for each type of value.
struct ColumnOps {
  ElementType type;
  std::size_t (*size)(const void* column);
  void (*reserve)(void* column, std::size_t rows);
  void (*resize)(void* column, std::size_t rows);  // with null
  void (*append)(void* column, const std::vector<std::uint8_t>& bytes, std::size_t rows);
};

template <typename T>
constexpr ColumnOps kOps = {
    element_type<T>(),
    [](const void* column) { return static_cast<const Column<T>*>(column)->size(); },
    [](void* column, std::size_t rows) { static_cast<Column<T>*>(column)->reserve(rows); },
    [](void* column, std::size_t rows) { static_cast<Column<T>*>(column)->resize(rows); },
    [](void* column, const std::vector<std::uint8_t>& bytes, std::size_t rows) {
      std::vector<T> values(rows);
      if (rows != 0) std::memcpy(values.data(), bytes.data(), rows * sizeof(T));
      static_cast<Column<T>*>(column)->append(values.data(), rows);
    }};

// A column to be filled, whatever its type.
class Target {
 public:
  template <typename T>
  Target(const char* table, const char* name, Column<T>& column)
      : table_(table), name_(name), column_(&column), ops_(&kOps<T>) {}

  std::string_view table() const { return table_; }
  std::string_view name() const { return name_; }
  ElementType type() const { return ops_->type; }
  std::size_t size() const { return ops_->size(column_); }
  void reserve(std::size_t rows) const { ops_->reserve(column_, rows); }
  void resize(std::size_t rows) const { ops_->resize(column_, rows); }
  void append(const std::vector<std::uint8_t>& bytes, std::size_t rows) const {
    ops_->append(column_, bytes, rows);
  }

 private:
  const char* table_;
  const char* name_;
  void* column_;
  const ColumnOps* ops_;
};

class ColumnReader {
 public:
  ColumnReader(const BlockFile& file, TraceBuilder& builder) : file_(file), builder_(builder) {
    add(Target("strings", "end", string_ends_));
    add(Target("string_bytes", "byte", string_bytes_));
    builder.tables().visit_tables([this](const char* table_name, auto& table) {
      table.visit_columns([this, table_name](const char* name, auto& column) {
        column.pack();
        add(Target(table_name, name, column));
      });
    });
  }

  void read() {
    const std::vector<const BlockFile::Block*> blocks = wanted_blocks();
    // Few at a time, so that a large file is not held twice.
    const std::size_t at_once =
        std::max<std::size_t>(4, std::size_t{2} * std::thread::hardware_concurrency());
    std::vector<Decoded> decoded(at_once);
    for (std::size_t first = 0; first < blocks.size(); first += at_once) {
      const std::size_t count = std::min(at_once, blocks.size() - first);
      parallel_for(
          count, [&](std::size_t i) { decode(*blocks[first + i], decoded[i]); },
          brought_bytes_ < kWorthThreads ? 1 : 0);
      for (std::size_t i = 0; i < count; ++i) take(*blocks[first + i], decoded[i]);
    }
    finish_strings();
    finish_tables();
  }

  // Rows of the ledger; to be added when no id can refer to their text by accident.
  void write_losses() {
    for (const Loss& loss : losses_) {
      builder_.add_ledger(loss.kind, loss.count, file_.name(), loss.detail);
    }
  }
  bool lost_any() const { return !losses_.empty(); }

 private:
  struct Decoded {
    std::vector<std::uint8_t> scratch;  // what the names in `chunk` point into
    std::vector<std::uint8_t> values;
    ColumnChunk chunk;
    std::string problem;
  };
  struct Loss {
    LedgerKind kind;
    std::uint64_t count;
    std::string detail;
  };

  void add(const Target& target) { targets_.push_back(target); }

  std::vector<const BlockFile::Block*> wanted_blocks() {
    const std::uint64_t limit = file_.most_expanded(kFreelyExpanded, kMaxExpansion);
    std::vector<const BlockFile::Block*> blocks;
    for (const BlockFile::Block& block : file_.blocks()) {
      if (block.kind != BlockKind::Columns) continue;
      if (brought_bytes_ + block.payload_bytes > limit) {
        lose(LedgerKind::DamagedBytes, block.stored_bytes,
             "the block at byte " + std::to_string(block.offset) +
                 " would expand to an unreasonable size");
        continue;
      }
      brought_bytes_ += block.payload_bytes;
      blocks.push_back(&block);
    }
    return blocks;
  }

  void lose(LedgerKind kind, std::uint64_t count, std::string detail) {
    losses_.push_back({kind, count, std::move(detail)});
  }

  void decode(const BlockFile::Block& block, Decoded& out) const {
    out.problem.clear();
    const auto payload = upgraded_payload(file_, block, out.scratch);
    if (!payload) {
      out.problem = payload.error().message;
      return;
    }
    auto chunk = decode_chunk(*payload, out.values);
    if (chunk) {
      out.chunk = *chunk;
    } else {
      out.problem = file_.name() + ": the block at byte " + std::to_string(block.offset) + " " +
                    chunk.error().message;
    }
  }

  void take(const BlockFile::Block& block, const Decoded& decoded) {
    if (!decoded.problem.empty()) {
      lose(LedgerKind::DamagedBytes, block.stored_bytes, decoded.problem);
      return;
    }
    const ColumnChunk& chunk = decoded.chunk;
    const std::string name = std::string(chunk.table) + "." + std::string(chunk.column);
    const auto found =
        std::find_if(targets_.begin(), targets_.end(), [&chunk](const Target& target) {
          return target.name() == chunk.column && target.table() == chunk.table;
        });
    if (found == targets_.end()) {
      lose(LedgerKind::Undecodable, chunk.rows, "unknown column " + name);
      return;
    }
    const std::string problem = place(*found, decoded);
    if (!problem.empty()) lose(LedgerKind::Undecodable, chunk.rows, name + " " + problem);
    std::uint64_t& declared = declared_rows_[std::string(chunk.table)];
    declared = std::max(declared, chunk.table_rows);
  }

  // Chunks come in rising order; a gap is what damage took. Returns what is wrong, if anything.
  std::string place(const Target& target, const Decoded& decoded) {
    const ColumnChunk& chunk = decoded.chunk;
    const std::uint64_t have = target.size();
    if (chunk.type != target.type()) return "is of another type than in this version";
    if (chunk.first_row < have) {
      return "is repeated from row " + std::to_string(chunk.first_row) + " on";
    }
    // A gap is filled without data; its length must be in keeping with what the file brings.
    if (chunk.first_row - have > 65536 + 8 * brought_bytes_) {
      return "claims more rows than a file of this size can have";
    }
    if (have == 0 && chunk.table_rows <= brought_bytes_) {
      target.reserve(static_cast<std::size_t>(chunk.table_rows));
    }
    if (chunk.first_row > have) {
      target.resize(static_cast<std::size_t>(chunk.first_row));
      lose(LedgerKind::Undecodable, chunk.first_row - have,
           std::string(chunk.table) + "." + std::string(chunk.column) + " lacks rows " +
               std::to_string(have) + " to " + std::to_string(chunk.first_row - 1));
    }
    target.append(decoded.values, static_cast<std::size_t>(chunk.rows));
    return {};
  }

  void finish_strings() {
    const std::size_t bytes = string_bytes_.size();
    const auto* data = reinterpret_cast<const char*>(string_bytes_.data());
    std::uint64_t begin = 0;
    std::uint64_t lost = 0;
    for (std::size_t i = 0; i < string_ends_.size(); ++i) {
      const std::uint64_t end = string_ends_[i];
      const bool fits = end >= begin && end <= bytes;
      if (!fits) ++lost;
      const bool has_text = fits && end > begin && data != nullptr;
      builder_.strings().add(has_text ? std::string_view(data + begin, end - begin)
                                      : std::string_view());
      if (fits) begin = end;
    }
    if (lost != 0) lose(LedgerKind::Undecodable, lost, "strings outside the string data");
  }

  void note_short(std::string_view table, std::size_t rows) {
    const auto declared = declared_rows_.find(table);
    if (declared == declared_rows_.end() || declared->second <= rows) return;
    lose(LedgerKind::Undecodable, declared->second - rows,
         std::string(table) + " has lost its last rows");
  }

  // Columns that were not stored are null throughout; a column cut short is null from there on.
  void finish_tables() {
    const auto end = targets_.cend();
    for (auto first = targets_.cbegin(); first != end;) {
      const auto last = std::find_if(
          first, end, [first](const Target& target) { return target.table() != first->table(); });
      std::size_t rows = 0;
      std::for_each(first, last,
                    [&rows](const Target& target) { rows = std::max(rows, target.size()); });
      std::for_each(first, last, [this, rows](const Target& target) {
        const std::size_t have = target.size();
        if (have != 0 && have < rows) {
          lose(LedgerKind::Undecodable, rows - have,
               std::string(target.table()) + "." + std::string(target.name()) +
                   " has lost its last rows");
        }
        target.resize(rows);
      });
      note_short(first->table(), rows);
      first = last;
    }
  }

  const BlockFile& file_;
  TraceBuilder& builder_;
  std::uint64_t brought_bytes_ = 0;  // payloads of all blocks that are read
  std::vector<Target> targets_;      // those of one table beside each other
  std::map<std::string, std::uint64_t, std::less<>> declared_rows_;
  Column<std::uint64_t> string_ends_;
  Column<std::uint8_t> string_bytes_;
  std::vector<Loss> losses_;
};

}  // namespace

Result<Trace> read_columns(const BlockFile& file, TraceBuilder builder) {
  ColumnReader reader(file, builder);
  reader.read();
  const bool is_damaged = reader.lost_any() || !file.damage().empty() || !file.sealed();
  std::vector<Correction> corrections;
  // Before the ledger's own text is added, which an id without its string could then mean.
  if (is_damaged) corrections = correct_values(builder.tables(), builder.strings());
  for (const Correction& c : corrections) {
    builder.add_ledger(LedgerKind::Undecodable, c.count, file.name(), c.what);
  }
  add_file_damage(builder, file);
  reader.write_losses();
  return std::move(builder).build();
}

}  // namespace sonde
