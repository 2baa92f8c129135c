// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde info --format json`.

#include <cstdint>
#include <string_view>

#include "cli/answer/info_report.h"
#include "cli/print/json_writer.h"

namespace sonde::cli {
namespace {

class InfoJson {
 public:
  InfoJson(const InfoReport& report, Output& out)
      : report_(report),
        file_(report.file),
        trace_(report.file.trace),
        facts_(report.facts),
        json_(out) {}

  void write() {
    json_.begin_object();
    head();
    totals("lost", LedgerClass::Lost);
    totals("incomplete", LedgerClass::Incomplete);
    totals("cost", LedgerClass::Cost);
    processes();
    tracks();
    spans();
    windows();
    metadata();
    ledger();
    json_.end_object();
  }

 private:
  // In the tables -1 means "unknown"; JSON has null for that.
  void number_or_null(std::string_view key, std::int64_t number) {
    json_.key(key);
    number < 0 ? json_.null() : json_.value(number);
  }
  void text(std::string_view key, StringId id) { json_.key(key).value(trace_.string(id)); }
  void process(ProcessId id) {
    json_.key("process");
    id.valid() ? json_.value(id.value()) : json_.null();
  }

  // An array of objects. write_row(i) writes the members of each.
  template <typename Row>
  void table(std::string_view key, std::size_t count, Row write_row) {
    json_.key(key).begin_array();
    for (std::size_t i = 0; i < count; ++i) {
      json_.begin_object();
      write_row(i);
      json_.end_object();
    }
    json_.end_array();
  }

  std::string_view format_word() const {
    switch (file_.format) {
      case FileFormat::Sonde:
        return "sonde";
      case FileFormat::Database:
        return "sqlite";
      case FileFormat::Snapshot:
        return "snapshot";
      case FileFormat::Json:
        break;
    }
    return "json";
  }

  void head() {
    json_.key("file").value(report_.path);
    json_.key("bytes").value(file_.bytes);
    json_.key("format").value(format_word());
    json_.key("format_version");
    if (file_.version) {
      json_.value(*file_.version);
    } else {
      json_.null();
    }
    json_.key("complete").value(report_.complete);
    json_.key("start_ns").value(trace_.first_ns());
    json_.key("end_ns").value(trace_.last_ns());
    json_.key("duration_ns").value(trace_.last_ns() - trace_.first_ns());
  }

  void totals(std::string_view key, LedgerClass wanted) {
    json_.key(key).begin_object();
    for (const auto& [kind, total] : facts_.ledger) {
      if (ledger_class(kind) == wanted) json_.key(to_string(kind)).value(total.count);
    }
    json_.end_object();
  }

  void processes() {
    const ProcessTable& rows = trace_.processes();
    table("processes", rows.size(), [&](std::size_t i) {
      json_.key("pid").value(rows.pid[i]);
      number_or_null("rank", rows.rank[i]);
      number_or_null("world_size", rows.world_size[i]);
      text("host", rows.host[i]);
      text("name", rows.name[i]);
    });
  }

  void tracks() {
    const TrackTable& rows = trace_.tracks();
    table("tracks", rows.size(), [&](std::size_t i) {
      process(rows.process[i]);
      json_.key("kind").value(to_string(rows.kind[i]));
      json_.key("id").value(rows.id[i]);
      number_or_null("device", rows.device_index[i]);
      text("name", rows.name[i]);
      json_.key("spans").value(facts_.counts.spans_of_track[i]);
    });
  }

  void spans() {
    const TraceCounts& counts = facts_.counts;
    json_.key("spans").value(counts.spans);
    json_.key("spans_by_kind").begin_object();
    for (const auto& [kind, count] : counts.spans_by_kind) {
      json_.key(to_string(kind)).value(count);
    }
    json_.end_object();
    json_.key("steps").begin_object();
    json_.key("count").value(counts.steps.count);
    number_or_null("first", counts.steps.first);
    number_or_null("last", counts.steps.last);
    json_.key("total_ns").value(counts.steps.total_ns);
    json_.end_object();
    json_.key("instants").value(counts.instants);
    json_.key("counters").value(counts.counters);
    json_.key("flows");
    counts.flows ? json_.value(*counts.flows) : json_.null();
    json_.key("allocations").value(counts.allocations);
  }

  void windows() {
    const WindowTable& rows = trace_.windows();
    table("windows", rows.size(), [&](std::size_t i) {
      process(rows.process[i]);
      json_.key("start_ns").value(rows.start_ns[i]);
      json_.key("end_ns").value(rows.end_ns[i]);
      number_or_null("first_step", rows.first_step[i]);
    });
  }

  void metadata() {
    const MetadataTable& rows = trace_.metadata();
    table("metadata", rows.size(), [&](std::size_t i) {
      process(rows.process[i]);
      text("key", rows.key[i]);
      json_.key("value").embed(trace_.string(rows.value[i]));
    });
  }

  void ledger() {
    const LedgerTable& rows = trace_.ledger();
    table("ledger", rows.size(), [&](std::size_t i) {
      process(rows.process[i]);
      json_.key("kind").value(to_string(rows.kind[i]));
      text("source", rows.source[i]);
      json_.key("count").value(rows.count[i]);
      text("detail", rows.detail[i]);
    });
  }

  const InfoReport& report_;
  const OpenedFile& file_;
  const Trace& trace_;
  const TraceFacts& facts_;
  JsonWriter json_;
};

}  // namespace

void write_info_json(const InfoReport& report, Output& out) {
  InfoJson(report, out).write();
  out.write("\n");
}

}  // namespace sonde::cli
