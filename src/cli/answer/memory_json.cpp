// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde memory` for programs. Keys are stable: add keys, but do not rename them.

#include <algorithm>
#include <string>

#include "cli/answer/memory.h"
#include "cli/print/json_writer.h"

namespace sonde::cli {
namespace {

class MemoryJson {
 public:
  MemoryJson(const MemoryReport& report, std::size_t row_limit, JsonWriter& json)
      : report_(report), trace_(report.profile.trace), row_limit_(row_limit), json_(json) {}

  void write() {
    json_.begin_object();
    json_.key("device").value(to_string(report_.device.device));
    json_.key("blocks").value(report_.device.blocks.size());
    json_.key("events").value(report_.device.events.size());
    json_.key("peak");
    moment(report_.peak);
    ops();
    steps();
    leaks();
    list("out_of_memory", report_.out_of_memory, [this](const OutOfMemory& failed) {
      json_.key("requested_bytes").value(trace_.allocations().bytes[failed.row]);
      json_.key("moment");
      moment(failed.moment);
    });
    problems();
    json_.end_object();
  }

 private:
  // An array of objects.
  template <typename Items, typename Fill>
  void list(std::string_view key, const Items& items, Fill fill) {
    json_.key(key).list(items, fill, row_limit_);
  }

  void time(std::string_view key, Nanos time_ns) {
    json_.key(key).value(time_ns - trace_.first_ns());
  }

  void moment(const MemoryMoment& at) {
    json_.begin_object();
    time("time_ns", at.time_ns);
    json_.key("live_bytes").value(at.live_bytes);
    json_.key("allocated_bytes").value(at.allocated_bytes);
    json_.key("reserved_bytes").value(at.reserved_bytes);
    json_.key("unseen_bytes").value(at.unseen_bytes);
    json_.key("by_category").begin_object();
    for (std::size_t i = 0; i < kMemoryCategories; ++i)
      json_.key(to_string(static_cast<MemoryCategory>(i))).value(at.by_category[i]);
    json_.end_object();
    shares("by_op", at.by_op);
    shares("by_module", at.by_module);
    shares("by_stack", at.by_stack);
    blocks(at);
    json_.end_object();
  }

  void shares(std::string_view key, const std::vector<MemoryShare>& all) {
    list(key, all, [this](const MemoryShare& share) {
      json_.key("name").value(share.name);
      json_.key("bytes").value(share.bytes);
      json_.key("blocks").value(share.blocks);
    });
  }

  void blocks(const MemoryMoment& at) {
    std::size_t i = 0;
    list("blocks", at.blocks, [&](std::uint32_t number) {
      const MemoryBlock block = report_.device.blocks[number];
      json_.key("bytes").value(block.bytes);
      json_.key("address").value(block.address);
      json_.key("category").value(to_string(at.categories[i++]));
      json_.key("op").value(block.op.valid() ? trace_.name(block.op) : "");
      json_.key("born_ns");
      if (block.birth.valid()) {
        json_.value(report_.profile.born_ns(block) - trace_.first_ns());
      } else {
        json_.null();
      }
      json_.key("died_ns");
      if (block.death.valid()) {
        json_.value(report_.profile.died_ns(block) - trace_.first_ns());
      } else {
        json_.null();
      }
    });
  }

  void ops() {
    list("ops", report_.ops, [this](const OpMemory& op) {
      json_.key("name").value(op.name);
      json_.key("allocations").value(op.allocations);
      json_.key("allocated_bytes").value(op.allocated_bytes);
      json_.key("most_live_bytes").value(op.most_live_bytes);
      json_.key("live_at_peak_bytes").value(op.live_at_peak_bytes);
      json_.key("live_at_end_bytes").value(op.live_at_end_bytes);
    });
  }

  void steps() {
    list("steps", report_.steps, [this](const StepMemory& step) {
      json_.key("step").value(step.step);
      time("start_ns", step.start_ns);
      time("end_ns", step.end_ns);
      json_.key("live_at_start_bytes").value(step.live_at_start_bytes);
      json_.key("peak_bytes").value(step.peak_bytes);
      json_.key("allocated_bytes").value(step.allocated_bytes);
      json_.key("freed_bytes").value(step.freed_bytes);
      json_.key("live_at_end_bytes").value(step.live_at_end_bytes);
      json_.key("growth_bytes").value(step.growth_bytes);
    });
  }

  void leaks() {
    list("leaks", report_.leaks, [this](const MemoryLeak& leak) {
      json_.key("op").value(leak.op);
      json_.key("stack").value(leak.stack);
      json_.key("category").value(to_string(leak.category));
      json_.key("blocks").value(leak.blocks);
      json_.key("bytes").value(leak.bytes);
      json_.key("steps").value(leak.steps);
    });
  }

  void problems() {
    const MemoryProblems& all = report_.device.problems;
    json_.key("problems").begin_object();
    json_.key("double_frees").value(all.double_frees);
    json_.key("double_births").value(all.double_births);
    json_.key("sizes_that_differ").value(all.sizes_that_differ);
    json_.key("without_meaning").value(all.without_meaning);
    json_.end_object();
  }

  const MemoryReport& report_;
  const Trace& trace_;
  const std::size_t row_limit_;
  JsonWriter& json_;
};

}  // namespace

void write_memory_json(const MemoryProfile& profile, const std::vector<MemoryReport>& reports,
                       std::size_t row_limit, Output& out) {
  JsonWriter json(out);
  json.begin_object();
  json.key("missing").begin_array();
  for (const std::string& sentence : profile.missing) json.value(sentence);
  json.end_array();
  json.key("devices").begin_array();
  for (const MemoryReport& report : reports) MemoryJson(report, row_limit, json).write();
  json.end_array();
  json.end_object();
  out.write("\n");
}

}  // namespace sonde::cli
