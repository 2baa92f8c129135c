// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/events/stacks.h"
#include "analyse/operators/flops.h"
#include "base/format.h"
#include "base/readable.h"
#include "base/text.h"
#include "view/timeline/span_details.h"

namespace sonde::detail {
namespace {

// Names and values in the order in which they are shown.
class FactList {
 public:
  void add(std::string_view name, std::string value) {
    if (!value.empty()) facts_.push_back({std::string(name), std::move(value)});
  }
  void add_number(std::string_view name, std::int64_t value, std::int64_t none = -1) {
    if (value != none) add(name, std::to_string(value));
  }
  void add_bytes(std::string_view name, std::int64_t bytes) {
    if (bytes >= 0) add(name, bytes_text(static_cast<std::uint64_t>(bytes)));
  }
  void add_real(std::string_view name, double value, std::string_view unit) {
    if (value >= 0) add(name, format_text("{:.4g}{}", value, unit));
  }
  const std::vector<std::array<std::string, 2>>& all() const { return facts_; }

 private:
  std::vector<std::array<std::string, 2>> facts_;
};

std::string list_text(const Trace& trace, DimId first, std::int32_t count) {
  std::string out = "[";
  for (std::int32_t i = 0; i < count; ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(trace.dims().value[first.index() + static_cast<std::size_t>(i)]);
  }
  return out + "]";
}

class SpanFacts {
 public:
  SpanFacts(const TraceAnswers& answers, SpanId span)
      : trace_(answers.trace()), rows_(answers.rows()), spans_(trace_.spans()), span_(span) {}

  std::string make() {
    own();
    for (const std::uint32_t row : rows_.kernels.of(span_)) kernel(row);
    for (const std::uint32_t row : rows_.copies.of(span_)) copy(row);
    for (const std::uint32_t row : rows_.syncs.of(span_)) sync(row);
    for (const std::uint32_t row : rows_.collectives.of(span_)) collective(row);
    extras();
    if (!facts_.all().empty())
      json_.key("facts").list(facts_.all(), [&](const std::array<std::string, 2>& fact) {
        json_.list(fact, [&](const std::string& text) { json_.text(readable_text(text)); });
      });
    inputs();
    stack();
    return json_.done();
  }

 private:
  void own() {
    facts_.add("Overload", text(spans_.overload_name[span_]));
    facts_.add("Category", text(spans_.category[span_]));
    facts_.add("Module", module_path());
    const FlopsFormula formula = flops_formula(trace_.name(span_));
    if (formula != FlopsFormula::None) {
      const std::uint64_t operations = flops(trace_, formula, span_);
      if (operations > 0) facts_.add("FLOPs", count_text(operations));
    }
    std::string source = text(spans_.source_file[span_]);
    if (!source.empty() && spans_.source_line[span_] >= 0)
      source += ":" + std::to_string(spans_.source_line[span_]);
    facts_.add("Source", source);
    facts_.add("Function", text(spans_.source_function[span_]));
  }

  void kernel(std::uint32_t row) {
    const KernelTable& table = trace_.kernels();
    const auto cube = [](int x, int y, int z) { return format_text("{} × {} × {}", x, y, z); };
    if (table.grid_x[row] > 0)
      facts_.add("Grid", cube(table.grid_x[row], table.grid_y[row], table.grid_z[row]));
    if (table.block_x[row] > 0)
      facts_.add("Block", cube(table.block_x[row], table.block_y[row], table.block_z[row]));
    if (table.cluster_x[row] > 0)
      facts_.add("Cluster", cube(table.cluster_x[row], table.cluster_y[row], table.cluster_z[row]));
    facts_.add_real("Occupancy, estimated", table.occupancy_percent[row], " %");
    facts_.add_real("Blocks per SM", table.blocks_per_sm[row], "");
    facts_.add_real("Warps per SM", table.warps_per_sm[row], "");
    facts_.add("Limited by", text(table.limiting_factors[row]));
    facts_.add_number("Registers per thread", table.registers_per_thread[row]);
    facts_.add_bytes("Shared memory", table.shared_bytes[row]);
    facts_.add_bytes("Local memory per thread", table.local_bytes_per_thread[row]);
    facts_.add_number("Graph", table.graph_id[row]);
  }

  void copy(std::uint32_t row) {
    const CopyTable& table = trace_.copies();
    facts_.add_bytes("Bytes", table.bytes[row]);
    const Nanos duration_ns = spans_.duration_ns[span_];
    if (table.bytes[row] > 0 && duration_ns > 0)
      facts_.add_real("Bandwidth",
                      static_cast<double>(table.bytes[row]) / static_cast<double>(duration_ns),
                      " GB/s");
    if (table.kind[row] != CopyKind::Unknown)
      facts_.add("Direction", std::string(to_string(table.kind[row])));
    if (table.source_kind[row] != MemoryKind::Unknown)
      facts_.add("From memory", std::string(to_string(table.source_kind[row])));
    if (table.destination_kind[row] != MemoryKind::Unknown)
      facts_.add("To memory", std::string(to_string(table.destination_kind[row])));
  }

  void sync(std::uint32_t row) {
    const SyncTable& table = trace_.syncs();
    facts_.add("Waits for", std::string(to_string(table.kind[row])));
    facts_.add_number("Event", table.event_id[row]);
  }

  void collective(std::uint32_t row) {
    const CollectiveTable& table = trace_.collectives();
    facts_.add("Collective", text(table.name[row]));
    facts_.add("Type", text(table.dtype[row]));
    facts_.add_number("Elements in", table.in_elements[row]);
    facts_.add_number("Elements out", table.out_elements[row]);
    facts_.add("Group", text(table.group_name[row]));
    facts_.add_number("Group size", table.group_size[row]);
    facts_.add("Ranks", text(table.group_ranks[row]));
    facts_.add_number("Sequence", table.sequence_number[row]);
  }

  void extras() {
    for (const std::uint32_t row : rows_.extras.of(span_))
      facts_.add(trace_.string(trace_.extras().key[row]), text(trace_.extras().value[row]));
  }

  void inputs() {
    const IdRange<OpArgumentId> arguments = trace_.arguments(span_);
    if (arguments.empty()) return;
    json_.key("inputs").list(arguments, [&](OpArgumentId id) {
      const OpArgumentTable& table = trace_.op_arguments();
      const bool has_sizes = table.dims_count[id] >= 0 && table.dims_first[id].valid();
      const bool has_strides = table.strides_count[id] > 0 && table.strides_first[id].valid();
      std::array<std::string, 5> cells = {
          table.role[id] == ArgumentRole::Input ? std::to_string(table.index[id])
                                                : text(table.name[id]),
          text(table.dtype[id]),
          table.kind[id] == ArgumentKind::Tensor && table.dims_count[id] == 0 ? "[]"
          : has_sizes ? list_text(trace_, table.dims_first[id], table.dims_count[id])
                      : "",
          has_strides ? list_text(trace_, table.strides_first[id], table.strides_count[id]) : "",
          text(table.value[id])};
      if (table.element[id] >= 0) cells[0] += "." + std::to_string(table.element[id]);
      json_.list(cells, [&](const std::string& cell) { json_.text(readable_text(cell)); });
    });
  }

  void stack() {
    constexpr std::size_t kMostFrames = 128;  // of a program that recurses
    std::vector<std::string> frames = own_stack(trace_, span_, kMostFrames + 1);
    if (frames.empty()) return;
    if (frames.size() > kMostFrames) frames.back() = "…";
    json_.key("stack").list(frames,
                            [&](const std::string& frame) { json_.text(readable_line(frame)); });
  }

  std::string module_path() const {
    std::string path;
    for (ModuleId at = spans_.module[span_]; at.valid(); at = trace_.modules().parent[at]) {
      if (!path.empty()) path.insert(0, " / ");
      path.insert(0, text(trace_.modules().name[at]));
    }
    return path;
  }

  std::string text(StringId id) const { return std::string(trace_.string(id)); }

  const Trace& trace_;
  const SpanRows& rows_;
  const SpanTable& spans_;
  const SpanId span_;
  FactList facts_;
  PageJson json_;
};

}  // namespace

std::string span_facts(const TraceAnswers& answers, SpanId span) {
  return SpanFacts(answers, span).make();
}

}  // namespace sonde::detail
