// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sql/computed.h"

#include "sql/shared_fields.h"

namespace sonde::sql {
namespace {

const ComputedColumn& filled(const void* source) {
  auto& column = *static_cast<ComputedColumn*>(const_cast<void*>(source));
  if (column.fill) {
    const auto fill = std::move(column.fill);
    column.fill = nullptr;
    fill(column);
  }
  return column;
}

std::int64_t computed_number(const void* source, std::size_t row) {
  return filled(source).numbers[row];
}
double computed_real(const void* source, std::size_t row) {
  return filled(source).reals[row];
}
std::string_view computed_text(const void* source, std::size_t row) {
  const std::string& text = filled(source).texts[row];
  return text.empty() ? std::string_view() : std::string_view(text);
}
std::string_view kind_label(std::int64_t raw) {
  return to_string(static_cast<SpanKind>(raw));
}

constexpr FieldReader kNumbers = {.raw = computed_number};
constexpr FieldReader kReals = {.real = computed_real};
constexpr FieldReader kTexts = {.text = computed_text};
constexpr FieldReader kKinds = {.raw = computed_number, .label = kind_label};

}  // namespace

ComputedPart::ComputedPart(Source& source) : source_(source) {
  part_.source = &source;
  part_.fields.push_back(id_field(TableKind::None));
}

ComputedColumn& ComputedPart::add(Field field) {
  auto& column = source_.keep<ComputedColumn>();
  field.source = &column;
  part_.fields.push_back(field);
  return column;
}

std::vector<std::int64_t>& ComputedPart::integer(std::string_view name, std::string_view doc,
                                                 std::string_view unit) {
  return add({.name = name,
              .unit = unit,
              .doc = doc,
              .has_null = true,
              .null = kNull,
              .reader = &kNumbers})
      .numbers;
}

std::vector<std::int64_t>& ComputedPart::reference(std::string_view name, TableKind table,
                                                   std::string_view doc) {
  return add({.name = name,
              .unit = "",
              .doc = doc,
              .type = FieldType::Reference,
              .refers_to = table,
              .has_null = true,
              .null = SpanId::kInvalid,
              .reader = &kNumbers})
      .numbers;
}

std::vector<std::int64_t>& ComputedPart::name(std::string_view name, std::string_view doc) {
  return add({.name = name,
              .unit = "",
              .doc = doc,
              .type = FieldType::Name,
              .has_null = true,
              .null = StringId::kInvalid,
              .reader = &kNumbers})
      .numbers;
}

std::vector<std::int64_t>& ComputedPart::kind(std::string_view name, std::string_view doc) {
  return add({.name = name, .unit = "", .doc = doc, .type = FieldType::Label, .reader = &kKinds})
      .numbers;
}

std::vector<double>& ComputedPart::real(std::string_view name, std::string_view doc,
                                        std::string_view unit) {
  return add({.name = name, .unit = unit, .doc = doc, .type = FieldType::Real, .reader = &kReals})
      .reals;
}

std::vector<std::string>& ComputedPart::text(std::string_view name, std::string_view doc) {
  return add({.name = name, .unit = "", .doc = doc, .type = FieldType::Text, .reader = &kTexts})
      .texts;
}

void ComputedPart::later(std::string_view name, std::string_view doc, std::string_view unit,
                         std::function<void(ComputedColumn& column)> fill) {
  add({.name = name, .unit = unit, .doc = doc, .reader = &kNumbers}).fill = std::move(fill);
}

Part ComputedPart::finish(std::size_t rows) {
  part_.rows = rows;
  Relation made = {.table = TableKind::None, .name = "", .rows = rows, .fields = part_.fields};
  add_shared_fields(source_, part_, made);
  part_.lookups.resize(part_.fields.size());
  return std::move(part_);
}

std::vector<std::unique_ptr<Table>> computed_tables() {
  struct Described {
    const char* name;
    const char* doc;
    Part (*make)(Source& source);
  };
  static constexpr Described kTables[] = {
      {"operators", "Spans of the host added up by kind and name.", operators_part},
      {"kernel_stats", "Device work added up by name and device.", kernel_stats_part},
      {"key_averages", "PyTorch's operator table, as `sonde table` prints it.", key_averages_part},
      {"steps", "The steps of the program and where their time went.", steps_part},
      {"streams", "The streams of the devices and how busy they were.", streams_part},
      {"gaps", "Stretches of time in which a device was idle, and why.", gaps_part},
      {"memory_blocks", "Blocks of memory from their allocation to their free.",
       memory_blocks_part},
      {"findings", "What could be faster, as `sonde report` says it.", findings_part},
  };
  std::vector<std::unique_ptr<Table>> tables;
  for (const Described& described : kTables) {
    tables.push_back(std::make_unique<Table>(described.name, described.doc, described.make));
    tables.back()->estimate = [](const Trace&) { return std::size_t{100}; };
  }
  return tables;
}

}  // namespace sonde::sql
