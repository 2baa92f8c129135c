// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The views that are not tables: overview, flame graph, memory, ledger.

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "base/readable.h"
#include "base/utf8.h"
#include "sonde/analyse/memory_report.h"
#include "trace/known_names.h"
#include "view/flame.h"
#include "view/page.h"
#include "view/report_json.h"
#include "view/timeline/view_json.h"

namespace sonde::detail {
namespace {

constexpr std::size_t kMostShares = 200;
constexpr std::size_t kLongestText = 2000;

std::string shown(std::string_view text) {
  return readable_line(first_whole(text, kLongestText));
}

// Of which class the spans of a name are. An operator and the kernel that it launches may share
// one.
class ClassesOfNames {
 public:
  explicit ClassesOfNames(const Trace& trace) {
    const SpanTable& spans = trace.spans();
    std::vector<Classes> all(trace.strings().size());
    for (const SpanId span : trace.all_spans()) {
      const StringId name = spans.name[span];
      if (!name.valid()) continue;
      const SpanKind kind = spans.kind[span];
      Classes& of = all[name.index()];
      (is_device_work(kind) ? of.on_device : of.on_host) =
          static_cast<std::int8_t>(span_class(kind));
    }
    for (std::uint32_t name = 0; name < all.size(); ++name)
      if (all[name].on_host >= 0 || all[name].on_device >= 0)
        known_.emplace(trace.string(StringId(name)), all[name]);
    known_.emplace(kAllSteps, Classes{static_cast<std::int8_t>(SpanClass::Annotation), -1});
  }
  // -1: no span has this name.
  int operator()(std::string_view name) const {
    const auto found = known_.find(name);
    if (found == known_.end()) return -1;
    return found->second.on_host >= 0 ? found->second.on_host : found->second.on_device;
  }

 private:
  struct Classes {
    std::int8_t on_host = -1;
    std::int8_t on_device = -1;
  };
  std::unordered_map<std::string_view, Classes> known_;
};

// Nodes as [parent, name, time, own time, count], names and their classes once.
void flame_into(PageJson& json, const std::vector<FlameNode>& all, const ClassesOfNames& class_of) {
  const std::vector<FlameNode> nodes = flame_for_page(all);
  std::unordered_map<std::string, std::int64_t> places;
  std::vector<std::string> names;
  std::vector<std::int64_t> name_of;
  for (const FlameNode& node : nodes) {
    const auto [found, is_new] =
        places.try_emplace(node.name, static_cast<std::int64_t>(names.size()));
    if (is_new) names.push_back(node.name);
    name_of.push_back(found->second);
  }
  json.key("names").list(names, [&](const std::string& name) { json.text(shown(name)); });
  json.key("classes").list(names, [&](const std::string& name) { json.number(class_of(name)); });
  std::size_t i = 0;
  json.key("nodes").list(nodes, [&](const FlameNode& node) {
    json.list(std::array<std::int64_t, 5>{node.parent, name_of[i++], node.total_ns, node.self_ns,
                                          static_cast<std::int64_t>(node.count)},
              [&](std::int64_t value) { json.number(value); });
  });
}

class MemoryView {
 public:
  explicit MemoryView(const TraceAnswers& answers)
      : profile_(answers.memory()), first_ns_(answers.trace().first_ns()) {}

  // What was alive on a device at a time since the start of the trace.
  std::string make_moment(const DeviceMemory& device, Nanos at) {
    moment(device, memory_event_at(device, at + first_ns_));
    return json_.done();
  }

  std::string make() {
    json_.key("missing").list(profile_.missing,
                              [&](const std::string& sentence) { json_.text(sentence); });
    json_.key("categories").list(kAll, [&](MemoryCategory one) { json_.text(to_string(one)); });
    json_.key("devices").list(profile_.devices, [&](const DeviceMemory& device) {
      json_.object([&] { one_device(device); });
    });
    return json_.done();
  }

 private:
  static constexpr MemoryCategory kAll[kMemoryCategories] = {
      MemoryCategory::Parameter,      MemoryCategory::OptimizerState, MemoryCategory::Input,
      MemoryCategory::Temporary,      MemoryCategory::Activation,     MemoryCategory::Gradient,
      MemoryCategory::AutogradDetail, MemoryCategory::Unknown};

  void one_device(const DeviceMemory& device) {
    json_.key("device").text(to_string(device.device));
    json_.key("process").number(device.process.valid() ? device.process.value() : -1);
    json_.key("peak").object([&] { moment(device, device.peak.event); });
    steps(device);
    leaks(device);
    json_.key("out_of_memory").number(static_cast<std::int64_t>(device.out_of_memory.size()));
    json_.key("events").number(static_cast<std::int64_t>(device.events.size()));
  }

  void moment(const DeviceMemory& device, std::size_t event) {
    const MemoryMoment at = memory_moment(profile_, device, event);
    json_.key("at").number(event == kNoEventNumber ? 0
                                                   : std::max<Nanos>(at.time_ns - first_ns_, 0));
    json_.key("live").number(at.live_bytes);
    json_.key("unseen").number(at.unseen_bytes);
    json_.key("reserved").number(at.reserved_bytes);
    json_.key("by_category").list(at.by_category, [&](std::int64_t b) { json_.number(b); });
    shares("by_op", at.by_op);
    shares("by_module", at.by_module);
    shares("by_stack", at.by_stack);
  }

  void shares(std::string_view key, std::vector<MemoryShare> all) {
    all.resize(std::min(all.size(), kMostShares));
    json_.key(key).list(all, [&](const MemoryShare& share) {
      json_.object([&] {
        json_.key("name").text(shown(share.name));
        json_.key("bytes").number(share.bytes);
        json_.key("blocks").number(static_cast<std::int64_t>(share.blocks));
      });
    });
  }

  void steps(const DeviceMemory& device) {
    std::vector<StepMemory> all = memory_by_step(profile_, device);
    json_.key("steps_in_all").number(static_cast<std::int64_t>(all.size()));
    all.resize(std::min(all.size(), kMostShares));
    json_.key("steps").list(all, [&](const StepMemory& step) {
      json_.object([&] {
        json_.key("step").number(step.step);
        json_.key("start").number(step.start_ns - first_ns_);
        json_.key("end").number(step.end_ns - first_ns_);
        json_.key("at_end").number(step.live_at_end_bytes);
        json_.key("peak").number(step.peak_bytes);
        json_.key("growth").number(step.growth_bytes);
      });
    });
  }

  void leaks(const DeviceMemory& device) {
    std::vector<MemoryLeak> all = memory_leaks(profile_, device);
    json_.key("leaks_in_all").number(static_cast<std::int64_t>(all.size()));
    all.resize(std::min(all.size(), kMostShares));
    json_.key("leaks").list(all, [&](const MemoryLeak& leak) {
      json_.object([&] {
        json_.key("name").text(shown(leak.op));
        json_.key("stack").text(shown(leak.stack));
        json_.key("category").text(to_string(leak.category));
        json_.key("bytes").number(leak.bytes);
        json_.key("blocks").number(static_cast<std::int64_t>(leak.blocks));
        json_.key("steps").number(static_cast<std::int64_t>(leak.steps));
      });
    });
  }

  const MemoryProfile& profile_;
  const Nanos first_ns_;
  PageJson json_;
};

std::string_view class_text(LedgerClass of) {
  switch (of) {
    case LedgerClass::Lost:
      return "lost";
    case LedgerClass::Incomplete:
      return "incomplete";
    case LedgerClass::Cost:
      return "cost";
    case LedgerClass::Remark:
      break;
  }
  return "remark";
}

}  // namespace

std::string overview_json(const TraceAnswers& answers) {
  return report_json(answers.report(), answers.name());
}

std::string flame_json(const TraceAnswers& answers) {
  PageJson json;
  const std::vector<FlameNode>& host = answers.report().host.flame;
  const ClassesOfNames class_of(answers.trace());
  json.key("host").object([&] { flame_into(json, host, class_of); });
  json.key("together").object([&] { flame_into(json, with_threads_joined(host), class_of); });
  json.key("device").object([&] { flame_into(json, device_flame(answers.trace()), class_of); });
  return json.done();
}

std::string memory_json(const TraceAnswers& answers) {
  return MemoryView(answers).make();
}

Result<std::string> memory_moment_json(const TraceAnswers& answers, std::size_t device, Nanos at) {
  const std::vector<DeviceMemory>& devices = answers.memory().devices;
  if (device >= devices.size() || at < 0 || at > answers.index().length_ns())
    return Failure(ErrorCode::NotFound, "there is no such device, or no such time");
  return MemoryView(answers).make_moment(devices[device], at);
}

std::string ledger_json(const TraceAnswers& answers) {
  const Trace& trace = answers.trace();
  const LedgerTotals totals = ledger_totals(trace);
  PageJson json;
  const RecordingCost cost = recording_cost(trace);
  json.key("recording_ns").number(cost.total_ns);
  json.key("paths").list(cost.paths, [&](const RecordingCost::Path& path) {
    json.object([&] {
      json.key("what").text(path.what);
      json.key("count").number(static_cast<std::int64_t>(path.count));
      json.key("each_ns").number(static_cast<std::int64_t>(std::llround(path.each_ns)));
    });
  });
  json.key("rows").list(totals, [&](const auto& one) {
    json.object([&] {
      json.key("class").text(class_text(ledger_class(one.first)));
      json.key("kind").text(to_string(one.first));
      json.key("phrase").text(ledger_phrase(one.first));
      json.key("count").number(static_cast<std::int64_t>(one.second.count));
      json.key("details").list(one.second.details,
                               [&](std::string_view text) { json.text(shown(text)); });
    });
  });
  json.key("metadata")
      .list(IdRange<MetadataId>(0, static_cast<std::uint32_t>(trace.metadata().size())),
            [&](MetadataId row) {
              json.object([&] {
                const ProcessId process = trace.metadata().process[row];
                json.key("process").number(process.valid() ? process.value() : -1);
                json.key("key").text(shown(trace.string(trace.metadata().key[row])));
                json.key("value").text(shown(trace.string(trace.metadata().value[row])));
              });
            });
  return json.done();
}

}  // namespace sonde::detail
