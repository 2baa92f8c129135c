// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/kineto/write/name_rows.h"

#include <string_view>

#include "base/json.h"
#include "convert/kineto/read/keys.h"
#include "convert/kineto/write/text_buffer.h"

namespace sonde {

namespace {

// The sort indices that Kineto gives devices and windows among the processes.
constexpr std::int64_t kDeviceSortBase = 5'000'000;
constexpr std::string_view kWindowSort = "536870912";
constexpr std::string_view kWindowName = "Sonde";

std::string micros(Nanos nanos) {
  std::array<char, kMaxNumberBytes> text;
  return {text.data(), put_micros(text.data(), nanos)};
}

// Rows that may have been kept as extras. Lane rows are Sonde's own and are made again.
const MetaRow* kept_row(std::string_view key) {
  const MetaRow* const row = find_meta_row(key);
  return row == nullptr || row->kind == MetaKind::ThreadLaneOf ? nullptr : row;
}

// The end of an event: its `args` with one argument.
std::string one_argument(ArgKey key, std::string_view value) {
  std::string text = ",\n    \"args\": {\n      ";
  text += json_string(text_of(key));
  text += ": ";
  text += value;
  return text + "\n    }\n  }";
}

class NameRows {
 public:
  explicit NameRows(const KinetoPlan& plan)
      : plan_(plan),
        trace_(plan.trace),
        time_(micros(plan.trace.first_ns() - plan.base_ns)),
        process_extras_(plan.trace.extras(), TableKind::Processes),
        track_extras_(plan.trace.extras(), TableKind::Tracks),
        device_extras_(plan.trace.extras(), TableKind::Devices) {}

  std::string render() {
    for (std::size_t i = 0; i < trace_.processes().size(); ++i) add_process(ProcessId(i));
    for (const WrittenDevice& device : plan_.identity.devices()) add_device(device);
    for (std::size_t i = 0; i < trace_.tracks().size(); ++i) add_track(i);
    return std::move(out_);
  }

 private:
  void add(MetaKind kind, const std::string& pid, const std::string& tid,
           const std::string& value) {
    const MetaRow& row = meta_row(kind);
    out_ += ",\n  {\n    \"name\": \"";
    out_ += row.name;
    out_ += "\", \"ph\": \"M\", \"ts\": " + time_ + ", \"pid\": " + pid + ", \"tid\": " + tid +
            one_argument(row.key, value);
  }

  // Whether nothing is known about a process. A file without events has one like that.
  bool is_blank(ProcessId process) const {
    const ProcessRow row = trace_.processes().row(process);
    const bool has_text = row.name.valid() || row.label.valid() || row.foreign_id.valid();
    return trace_.tracks().empty() && row.pid == 0 && row.rank < 0 && !has_text;
  }

  void add_process(ProcessId process) {
    if (is_blank(process)) return;
    const ProcessTable& table = trace_.processes();
    const std::string& pid = plan_.identity.pid(process);
    const std::string tid = plan_.identity.free_tid(pid);
    const bool is_foreign = table.foreign_id[process].valid();
    add(MetaKind::ProcessName, pid, tid, json_string(process_name(process)));
    if (table.label[process].valid()) {
      add(MetaKind::ProcessLabels, pid, tid, json_string(trace_.string(table.label[process])));
    } else if (!is_foreign && table.pid[process] >= 0) {
      add(MetaKind::ProcessLabels, pid, tid, "\"CPU\"");
    }
    if (table.sort_index[process] != table.sort_index.null_value()) {
      add(MetaKind::ProcessSortIndex, pid, tid, std::to_string(table.sort_index[process]));
    }
    add_again(process_extras_, process.value(), pid, tid);
  }

  std::string process_name(ProcessId process) const {
    const ProcessTable& table = trace_.processes();
    if (table.name[process].valid()) return std::string(trace_.string(table.name[process]));
    if (table.foreign_id[process].valid()) {
      return std::string(trace_.string(table.foreign_id[process]));
    }
    if (table.rank[process] >= 0) return "rank " + std::to_string(table.rank[process]);
    return "process " + std::to_string(table.pid[process]);
  }

  void add_device(const WrittenDevice& device) {
    const DeviceTable& table = trace_.devices();
    const std::string pid = std::to_string(device.pid);
    const std::string tid = plan_.identity.free_tid(pid);
    const std::string gpu = "GPU " + std::to_string(device.index);
    const bool has_row = device.row.valid();
    if (device.process.valid()) {
      add(MetaKind::ProcessName, pid, tid, json_string(process_name(device.process)));
    }
    const bool has_label = has_row && table.label[device.row].valid();
    add(MetaKind::ProcessLabels, pid, tid,
        json_string(has_label ? trace_.string(table.label[device.row]) : std::string_view(gpu)));
    const std::int64_t sort_index = has_row ? table.sort_index[device.row] : -1;
    add(MetaKind::ProcessSortIndex, pid, tid,
        std::to_string(sort_index >= 0 ? sort_index : kDeviceSortBase + device.index));
    if (has_row) add_again(device_extras_, device.row.value(), pid, tid);
  }

  void add_track(std::size_t track) {
    const TrackTable& table = trace_.tracks();
    const std::int64_t sort_index = table.sort_index[track];
    const bool is_sorted = sort_index != table.sort_index.null_value();
    const std::string name = track_name(track);
    const auto& lines = plan_.identity.lines(track);
    for (std::size_t lane = 0; lane < lines.size(); ++lane) {
      const auto& line = lines[lane];
      const std::string suffix = lane == 0 ? "" : " (overlap " + std::to_string(lane) + ")";
      add(MetaKind::ThreadName, line.pid, line.tid, json_string(name + suffix));
      if (is_sorted || lane > 0) {
        add(MetaKind::ThreadSortIndex, line.pid, line.tid,
            std::to_string(is_sorted ? sort_index : table.id[track]));
      }
      if (lane > 0) add(MetaKind::ThreadLaneOf, line.pid, line.tid, lines[0].tid);
    }
    add_again(track_extras_, static_cast<std::uint32_t>(track), lines[0].pid, lines[0].tid);
  }

  std::string track_name(std::size_t track) const {
    const TrackTable& table = trace_.tracks();
    if (table.name[track].valid()) return std::string(trace_.string(table.name[track]));
    const std::string id = std::to_string(table.id[track]);
    return table.kind[track] == TrackKind::Stream ? "stream " + id + " " : "thread " + id;
  }

  // Adds rows that name something a second time, as Kineto does.
  void add_again(const ExtraJoin& join, std::uint32_t row, const std::string& pid,
                 const std::string& tid) {
    join.find(row, extras_);
    for (const ExtraId extra : extras_) {
      const std::string_view name = trace_.string(trace_.extras().key[extra]);
      const std::string value(plan_.strings.value(trace_.extras().value[extra], scratch_));
      if (const MetaRow* const again = kept_row(name)) add(again->kind, pid, tid, value);
    }
  }

  const KinetoPlan& plan_;
  const Trace& trace_;
  std::string time_;
  ExtraJoin process_extras_;
  ExtraJoin track_extras_;
  ExtraJoin device_extras_;
  std::string out_;
  std::string scratch_;
  std::vector<ExtraId> extras_;
};

class WindowRows {
 public:
  explicit WindowRows(const KinetoPlan& plan) : plan_(plan), trace_(plan.trace) {}

  std::string render() {
    for (std::size_t i = 0; i < trace_.windows().size(); ++i) add_window(WindowId(i));
    return std::move(out_);
  }

 private:
  std::string operations(WindowId window) const {
    const ExtraTable& extras = trace_.extras();
    std::string scratch;
    for (std::size_t i = 0; i < extras.size(); ++i) {
      if (extras.of_table[i] != TableKind::Windows || extras.of_row[i] != window.value()) continue;
      if (trace_.string(extras.key[i]) == text_of(ArgKey::OpCount)) {
        return std::string(plan_.strings.value(extras.value[i], scratch));
      }
    }
    return "0";
  }

  void add_window(WindowId window) {
    const WindowTable& table = trace_.windows();
    const StringId given = table.name[window];
    const std::string name(given.valid() ? trace_.string(given) : kWindowName);
    const Nanos start = table.start_ns[window];
    const Nanos end = std::max(start, table.end_ns[window]);
    const Nanos closed = table.closed_ns[window] != 0 ? table.closed_ns[window] : end;
    const std::string ts = micros(start - plan_.base_ns);
    out_ += ",\n  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": " + ts +
            ", \"dur\": " + micros(end - start) +
            ",\n    \"pid\": \"Spans\", \"tid\": " + json_string(name) +
            ",\n    \"name\": " + json_string(name + " (0)") +
            one_argument(ArgKey::OpCount, operations(window));
    const MetaRow& order = meta_row(MetaKind::ProcessSortIndex);
    out_ += ",\n  {\n    \"name\": " + json_string(order.name) + ", \"ph\": \"M\", \"ts\": " + ts +
            ",\n    \"pid\": \"Spans\", \"tid\": 0" + one_argument(order.key, kWindowSort);
    out_ += ",\n  {\n    \"name\": " + json_string("Iteration Start: " + name) +
            ", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"Traces\", \"tid\": " +
            json_string("Trace " + name) + ", \"ts\": " + ts + "\n  }";
    out_ +=
        ",\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n"
        "    \"pid\": \"\", \"tid\": \"\", \"ts\": " +
        micros(closed - plan_.base_ns) + "\n  }";
  }

  const KinetoPlan& plan_;
  const Trace& trace_;
  std::string out_;
};

}  // namespace

bool is_name_row(std::string_view key) {
  return kept_row(key) != nullptr;
}

std::string kineto_name_rows(const KinetoPlan& plan) {
  return NameRows(plan).render();
}

void kineto_kept_events(const KinetoPlan& plan, const std::function<void(std::string_view)>& sink) {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  const ExtraTable& extras = plan.trace.extras();
  std::string out;
  std::string scratch;
  for (std::size_t i = 0; i < extras.size(); ++i) {
    if (extras.of_table[i] != TableKind::None) continue;
    if (plan.trace.string(extras.key[i]) != "event") continue;
    out += ",\n  ";
    out += plan.strings.value(extras.value[i], scratch);
    if (out.size() < kChunkBytes) continue;
    sink(out);
    out.clear();
  }
  if (!out.empty()) sink(out);
}

std::string kineto_window_rows(const KinetoPlan& plan) {
  return WindowRows(plan).render();
}

}  // namespace sonde
