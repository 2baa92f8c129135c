// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `memory_blocks` and `findings`.

#include "sonde/analyse/memory.h"
#include "sonde/analyse/report.h"
#include "sql/computed.h"

namespace sonde::sql {
namespace {

// What each block was last used as.
std::vector<MemoryCategory> last_categories(const DeviceMemory& device) {
  std::vector<MemoryCategory> categories(device.blocks.size(), MemoryCategory::Unknown);
  for (const MemoryEvent& event : device.events) categories[event.block] = event.to;
  return categories;
}

std::string name_of_span(const Trace& trace, SpanId span) {
  return span.valid() ? std::string(trace.name(span)) : std::string();
}

}  // namespace

Part memory_blocks_part(Source& source) {
  ComputedPart part(source);
  auto& process = part.reference("process", TableKind::Processes, "");
  auto& device_name = part.text("device", "cpu, cuda:0, …");
  auto& address = part.integer("address", "");
  auto& bytes = part.bytes("bytes", "");
  auto& born = part.nanos("start_ns", "When it was allocated; NULL: before recording began");
  auto& died = part.nanos("end_ns", "When it was freed; NULL: it was still held at the end");
  auto& category = part.text("category", "parameter, activation, gradient, …");
  auto& op = part.text("operator", "The program's call in which it was allocated");
  auto& span = part.reference("span", TableKind::Spans, "The innermost span around it");
  std::size_t rows = 0;
  const MemoryProfile profile = memory_profile(part.trace());
  for (const DeviceMemory& device : profile.devices) {
    const std::vector<MemoryCategory> categories = last_categories(device);
    for (std::size_t i = 0; i < device.blocks.size(); ++i) {
      const MemoryBlock block = device.blocks[i];
      process.push_back(device.process.value());
      device_name.push_back(to_string(device.device));
      address.push_back(block.address == 0 ? kNull : static_cast<std::int64_t>(block.address));
      bytes.push_back(block.bytes);
      born.push_back(block.birth.valid() ? profile.born_ns(block) : kNull);
      died.push_back(block.death.valid() ? profile.died_ns(block) : kNull);
      category.emplace_back(to_string(categories[i]));
      op.push_back(name_of_span(part.trace(), block.op));
      span.push_back(block.span.value());
      ++rows;
    }
  }
  return part.finish(rows);
}

Part findings_part(Source& source) {
  ComputedPart part(source);
  auto& finding = part.text("finding", "For programs: stalling_synchronisation, …");
  auto& title = part.text("title", "What is wrong, in a few words");
  auto& detail = part.text("detail", "What was seen");
  auto& advice = part.text("advice", "What to do");
  auto& saving = part.nanos("saving_ns", "The most that it could save");
  auto& count = part.integer("count", "How often it was seen");
  auto& span = part.reference("span", TableKind::Spans, "The worst place");
  const Report found = report(part.trace());
  for (const Finding& row : found.findings) {
    finding.push_back(row.id);
    title.push_back(row.title);
    detail.push_back(row.detail);
    advice.push_back(row.advice);
    saving.push_back(row.saving_ns);
    count.push_back(static_cast<std::int64_t>(row.count));
    span.push_back(row.spans.empty() ? SpanId::kInvalid : row.spans.front().value());
  }
  return part.finish(found.findings.size());
}

}  // namespace sonde::sql
