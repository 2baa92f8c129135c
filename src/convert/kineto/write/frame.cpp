// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/frame.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "base/json.h"
#include "convert/kineto/read/keys.h"
#include "convert/kineto/write/name_rows.h"
#include "convert/kineto/write/written_key.h"

namespace sonde {

namespace {

// Keys that are written at a fixed place.
constexpr std::array<std::string_view, 6> kPlaced = {"schemaVersion",   "deviceProperties",
                                                     "displayTimeUnit", "baseTimeNanoseconds",
                                                     "traceEvents",     "traceName"};

void append_integer(std::string& out, std::string_view key, std::int64_t value, std::int64_t null) {
  if (value == null) return;
  out += ", ";
  append_json_string(out, key);
  out += ": " + std::to_string(value);
}

template <DevicePropertiesKey Key, typename Number>
void append_property(std::string& out, const Column<Number>& values, std::size_t row) {
  if (values.is_null_at(row)) return;
  out += written_key<Key>();
  out += std::to_string(values[row]);
}

class Head {
 public:
  explicit Head(const KinetoPlan& plan) : plan_(plan), trace_(plan.trace) {}

  std::string render() {
    out_ = "{\n";
    add_key("schemaVersion", value_or("schemaVersion", "1"));
    add_key("deviceProperties", device_properties());
    add_metadata();
    add_derived();
    add_key("displayTimeUnit", value_or("displayTimeUnit", "\"ms\""));
    add_key("baseTimeNanoseconds", std::to_string(plan_.base_ns));
    return out_ + "  \"traceEvents\": [";
  }

 private:
  void add_key(std::string_view key, std::string_view value) {
    out_ += "  ";
    append_json_string(out_, key);
    out_ += ": ";
    out_ += value;
    out_ += ",\n";
  }

  std::string value_or(std::string_view key, std::string_view fallback) {
    const StringId value = find_metadata(trace_, key);
    return std::string(value.valid() ? plan_.strings.value(value, scratch_) : fallback);
  }

  std::string device_properties() {
    std::string list = "[";
    std::string_view separator = "\n";
    for (std::size_t i = 0; i < trace_.devices().size(); ++i) {
      if (!trace_.devices().name[i].valid()) continue;  // it is only a label
      list += separator;
      list += device(i);
      separator = ",\n";
    }
    for (std::size_t i = 0; i < trace_.extras().size(); ++i) {
      if (trace_.extras().of_table[i] != TableKind::None) continue;
      if (trace_.string(trace_.extras().key[i]) != "deviceProperties") continue;
      list += separator;
      list += "    ";
      list += plan_.strings.value(trace_.extras().value[i], scratch_);
      separator = ",\n";
    }
    return list + (list.size() > 1 ? "\n  ]" : "]");
  }

  std::string device(std::size_t row) {
    const DeviceTable& devices = trace_.devices();
    std::string text = "    {";
    text += written_key<DevicePropertiesKey::Id>().substr(2);  // without the comma
    text += std::to_string(devices.index[row]);
    text += written_key<DevicePropertiesKey::Name>();
    append_json_string(text, trace_.string(devices.name[row]));
    append_property<DevicePropertiesKey::TotalGlobalMem>(text, devices.total_memory_bytes, row);
    append_property<DevicePropertiesKey::ComputeMajor>(text, devices.compute_major, row);
    append_property<DevicePropertiesKey::ComputeMinor>(text, devices.compute_minor, row);
    append_property<DevicePropertiesKey::MaxThreadsPerBlock>(text, devices.max_threads_per_block,
                                                             row);
    append_property<DevicePropertiesKey::MaxThreadsPerMultiprocessor>(
        text, devices.max_threads_per_multiprocessor, row);
    append_property<DevicePropertiesKey::RegsPerBlock>(text, devices.registers_per_block, row);
    append_property<DevicePropertiesKey::WarpSize>(text, devices.warp_size, row);
    append_property<DevicePropertiesKey::SharedMemPerBlock>(text, devices.shared_bytes_per_block,
                                                            row);
    append_property<DevicePropertiesKey::NumSms>(text, devices.multiprocessors, row);
    append_property<DevicePropertiesKey::RegsPerMultiprocessor>(
        text, devices.registers_per_multiprocessor, row);
    append_property<DevicePropertiesKey::SharedMemPerBlockOptin>(
        text, devices.shared_bytes_per_block_optin, row);
    append_property<DevicePropertiesKey::SharedMemPerMultiprocessor>(
        text, devices.shared_bytes_per_multiprocessor, row);
    std::vector<ExtraId> extras;
    ExtraJoin(trace_.extras(), TableKind::Devices).find(static_cast<std::uint32_t>(row), extras);
    for (const ExtraId extra : extras) {
      if (is_name_row(trace_.string(trace_.extras().key[extra]))) continue;
      text += ", ";
      append_json_string(text, trace_.string(trace_.extras().key[extra]));
      text += ": ";
      text += plan_.strings.value(trace_.extras().value[extra], scratch_);
    }
    return text + "}";
  }

  // A key that occurs twice, as in joined recordings of several processes, gets the process added.
  void add_metadata() {
    const MetadataTable& metadata = trace_.metadata();
    for (std::size_t i = 0; i < metadata.size(); ++i) {
      std::string key(trace_.string(metadata.key[i]));
      if (std::find(kPlaced.begin(), kPlaced.end(), key) != kPlaced.end()) continue;
      if (written_.count(key) != 0 && metadata.process[i].valid()) {
        key += " of process " + plan_.identity.pid(metadata.process[i]);
      }
      if (!written_.insert(key).second) continue;
      if (key == kLedgerKey) {
        add_key(key, ledger(plan_.strings.value(metadata.value[i], scratch_)));
      } else {
        add_key(key, plan_.strings.value(metadata.value[i], scratch_));
      }
    }
  }

  // Adds what other tools expect, taken from the tables.
  void add_derived() {
    const ProcessTable& processes = trace_.processes();
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (trace_.string(processes.host[i]).empty() || !written_.insert("host_name").second) {
        continue;
      }
      add_key("host_name", json_string(trace_.string(processes.host[i])));
    }
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (processes.rank[i] < 0 || !written_.insert("distributedInfo").second) continue;
      std::string info = "{\"rank\": " + std::to_string(processes.rank[i]);
      append_integer(info, "world_size", processes.world_size[i], -1);
      append_integer(info, "local_rank", processes.local_rank[i], -1);
      add_key("distributedInfo", info + "}");
    }
    if (!trace_.ledger().empty() && written_.insert(std::string(kLedgerKey)).second) {
      add_key(kLedgerKey, ledger("[]"));
    }
  }

  // The rows of a ledger that came with the trace, followed by the rows of this trace's ledger.
  std::string ledger(std::string_view before) {
    std::string list(before);
    if (list.empty() || list.front() != '[' || list.back() != ']') return list;
    list.pop_back();
    for (std::size_t i = 0; i < trace_.ledger().size(); ++i) {
      if (list.size() > 1) list += ", ";
      list += ledger_row(i);
    }
    return list + "]";
  }

  std::string ledger_row(std::size_t i) {
    const LedgerTable& table = trace_.ledger();
    std::string row = "{\"kind\": " + json_string(to_string(table.kind[i])) +
                      ", \"count\": " + std::to_string(table.count[i]);
    const auto add_text = [&](std::string_view key, StringId text) {
      if (text.valid()) row += ", " + json_string(key) + ": " + json_string(trace_.string(text));
    };
    add_text("source", table.source[i]);
    add_text("detail", table.detail[i]);
    if (table.process[i].valid()) row += ", \"pid\": " + plan_.identity.pid(table.process[i]);
    return row + "}";
  }

  const KinetoPlan& plan_;
  const Trace& trace_;
  std::string out_;
  std::string scratch_;
  std::set<std::string> written_;
};

}  // namespace

std::string kineto_head(const KinetoPlan& plan) {
  return Head(plan).render();
}

std::string kineto_tail(const KinetoPlan& plan, const std::string& name) {
  std::string scratch;
  const StringId given = find_metadata(plan.trace, "traceName");
  const std::string quoted =
      given.valid() ? std::string(plan.strings.value(given, scratch)) : json_string(name);
  return "\n  ],\n  \"traceName\": " + quoted + "\n}\n";
}

}  // namespace sonde
