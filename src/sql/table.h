// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A table of the database: the same columns over several traces, one part for each. Ids count on
// from part to part.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "convert/kineto/write/span_arguments.h"
#include "sonde/sql.h"
#include "sql/lookup.h"
#include "sql/name_index.h"
#include "sql/plan.h"
#include "trace/relation.h"

namespace sonde::sql {

inline constexpr std::size_t kTableKinds = 32;

// A trace of the database, and what its tables share.
struct Source {
  Source(NamedTrace named, std::size_t number);

  std::string file;
  std::size_t number;
  Trace trace;
  NameIndex names;
  std::array<std::int64_t, kTableKinds> first_id{};  // of the rows of each table
  std::vector<std::shared_ptr<void>> kept;           // what fields point to
  std::unique_ptr<SpanArguments> span_arguments;     // made when it is first needed

  template <typename T, typename... Arguments>
  T& keep(Arguments&&... arguments) {
    auto made = std::make_shared<T>(std::forward<Arguments>(arguments)...);
    T& result = *made;
    kept.push_back(std::move(made));
    return result;
  }
};

// The rows of one trace.
struct Part {
  Source* source = nullptr;
  std::size_t rows = 0;
  std::int64_t first_id = 0;  // of its rows, in the database
  std::vector<Field> fields;
  std::vector<Lookup> lookups;  // one for each field

  // The id in the database of the row that a reference names.
  std::int64_t base_of(const Field& field, std::size_t row) const {
    const TableKind table =
        field.refers_by_row != nullptr ? (*field.refers_by_row)[row] : field.refers_to;
    return table == TableKind::None ? first_id : source->first_id[static_cast<std::size_t>(table)];
  }
};

// Makes the part of one trace.
using PartMaker = std::function<Part(Source& source)>;

class Table {
 public:
  Table(std::string name, std::string doc, PartMaker make)
      : name_(std::move(name)), doc_(std::move(doc)), make_(std::move(make)) {}

  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }

  // A table's columns without its rows.
  const std::vector<Field>& fields() const { return prototype_.fields; }
  // By the schema of a trace without rows.
  void describe(Source& empty) { prototype_ = make_(empty); }

  void attach(std::vector<std::unique_ptr<Source>>& sources) { sources_ = &sources; }
  // Made at the first call.
  std::vector<Part>& parts();
  std::size_t rows() const;
  bool is_loaded() const { return !parts_.empty(); }
  // How many rows to expect, without loading a computed table.
  std::function<std::size_t(const Trace&)> estimate;

  Plans plans;

 private:
  std::string name_;
  std::string doc_;
  PartMaker make_;
  Part prototype_;
  std::vector<std::unique_ptr<Source>>* sources_ = nullptr;
  std::vector<Part> parts_;
};

// The tables of the model, with the columns that all have: id first, file and rank last.
std::vector<std::unique_ptr<Table>> model_tables();
// Those that are computed (sql/computed.h).
std::vector<std::unique_ptr<Table>> computed_tables();

}  // namespace sonde::sql
