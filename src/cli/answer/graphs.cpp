// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde graphs`: how much of a program ran in captured graphs.

#include "sonde/analyse/graphs.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/format.h"
#include "base/readable.h"
#include "base/text.h"
#include "cli/answers.h"
#include "cli/print/csv.h"
#include "cli/print/json_writer.h"
#include "cli/print/progress.h"
#include "cli/print/text_lines.h"

namespace sonde::cli {
namespace {

// The share of the whole.
template <typename Part>
std::string percent_of_all(Part part, double all) {
  return all > 0 ? format_text("{:.1f}%", 100.0 * static_cast<double>(part) / all) : "-";
}

class GraphsText : TextLines {
 public:
  GraphsText(const GraphCoverage& graphs, std::size_t row_limit, Output& out)
      : TextLines(out, row_limit, "--row-limit -1"), graphs_(graphs) {}

  void write() {
    for (const std::string& sentence : graphs_.missing) line("Note: {}.\n", sentence);
    shares();
    regions();
    breaks();
    outside();
  }

 private:
  template <typename Rows, typename Write>
  void each(const Rows& all, Write write) {
    rows(all.size(), [&](std::size_t i) { write(all[i]); });
  }

  void shares() {
    line("{:<24}{:>8}{:>8}{:>14}{:>8}{:>14}{:>8}{:>10}{:>9}", "", "ops", "share", "host", "share",
         "device", "share", "work", "Triton");
    share("in graphs", graphs_.inside);
    share("outside graphs", graphs_.outside);
    const GraphOverhead& overhead = graphs_.overhead;
    if (overhead.host_ns == 0 && overhead.guard_checks == 0) return;
    line("{:<24}{:>8}{:>8}{:>14}{:>8}  {} guard checks took {}", "torch.compile itself", "", "",
         duration_text(overhead.host_ns), percent_of_all(overhead.host_ns, all_host_ns()),
         count_text(overhead.guard_checks), duration_text(overhead.guard_ns));
  }

  double all_host_ns() const {
    return static_cast<double>(graphs_.inside.host_ns) +
           static_cast<double>(graphs_.outside.host_ns) +
           static_cast<double>(graphs_.overhead.host_ns);
  }

  void share(std::string_view title, const GraphShare& share) {
    const auto all_ops = static_cast<double>(graphs_.inside.ops + graphs_.outside.ops);
    const double all_device_ns = static_cast<double>(graphs_.inside.device_ns) +
                                 static_cast<double>(graphs_.outside.device_ns);
    line("{:<24}{:>8}{:>8}{:>14}{:>8}{:>14}{:>8}{:>10}{:>9}", title, count_text(share.ops),
         percent_of_all(share.ops, all_ops), duration_text(share.host_ns),
         percent_of_all(share.host_ns, all_host_ns()), duration_text(share.device_ns),
         percent_of_all(share.device_ns, all_device_ns), count_text(share.device_pieces),
         count_text(share.triton_kernels));
  }

  void regions() {
    line("\n{:>8}{:>8}{:>14}{:>14}{:>10}{:>9}  {:<12} Graph", "calls", "ops", "host", "device",
         "work", "Triton", "kind");
    each(graphs_.regions, [&](const GraphRegion& region) {
      const GraphShare& share = region.share;
      line("{:>8}{:>8}{:>14}{:>14}{:>10}{:>9}  {:<12} {}", count_text(region.calls),
           count_text(share.ops), duration_text(share.host_ns), duration_text(share.device_ns),
           count_text(share.device_pieces), count_text(share.triton_kernels),
           to_string(region.kind), readable_line(region.name));
    });
  }

  void breaks() {
    if (graphs_.breaks.empty()) return;
    line("\n{:>8}  Graph break, and where it continued", "times");
    each(graphs_.breaks, [&](const GraphBreak& one) {
      line("{:>8}  {} -> {}", count_text(one.count), readable_line(one.from),
           readable_line(one.into));
    });
  }

  void outside() {
    if (graphs_.outside_ops.empty()) return;
    line("\n{:>8}{:>14}{:>14}  Operators outside graphs", "calls", "host", "device");
    each(graphs_.outside_ops, [&](const OutsideOp& op) {
      line("{:>8}{:>14}{:>14}  {}{}", count_text(op.count), duration_text(op.host_ns),
           duration_text(op.device_ns), readable_line(op.name),
           op.broken.empty() ? "" : ", where " + readable_line(op.broken) + " broke");
    });
  }

  const GraphCoverage& graphs_;
};

class GraphsJson {
 public:
  GraphsJson(const GraphCoverage& graphs, std::size_t row_limit, Output& out)
      : graphs_(graphs), row_limit_(row_limit), json_(out) {}

  void write() {
    json_.begin_object();
    json_.key("inside").object([&] { share(graphs_.inside); });
    json_.key("outside").object([&] { share(graphs_.outside); });
    json_.key("overhead").object([&] {
      json_.key("guard_checks").value(graphs_.overhead.guard_checks);
      json_.key("guard_us").microseconds(graphs_.overhead.guard_ns);
      json_.key("host_us").microseconds(graphs_.overhead.host_ns);
    });
    list("regions", graphs_.regions, [&](const GraphRegion& region) {
      json_.key("kind").value(to_string(region.kind));
      json_.key("name").value(region.name);
      json_.key("calls").value(region.calls);
      share(region.share);
    });
    list("breaks", graphs_.breaks, [&](const GraphBreak& one) {
      json_.key("from").value(one.from);
      json_.key("into").value(one.into);
      json_.key("count").value(one.count);
    });
    list("outside_ops", graphs_.outside_ops, [&](const OutsideOp& op) {
      json_.key("name").value(op.name);
      json_.key("broken").value(op.broken);
      json_.key("count").value(op.count);
      json_.key("host_us").microseconds(op.host_ns);
      json_.key("device_us").microseconds(op.device_ns);
    });
    json_.key("missing").begin_array();
    for (const std::string& sentence : graphs_.missing) json_.value(sentence);
    json_.end_array();
    json_.end_object();
  }

 private:
  template <typename Rows, typename Fill>
  void list(std::string_view key, const Rows& rows, Fill fill) {
    json_.key(key).list(rows, fill, row_limit_);
  }

  void share(const GraphShare& share) {
    json_.key("ops").value(share.ops);
    json_.key("host_us").microseconds(share.host_ns);
    json_.key("device_us").microseconds(share.device_ns);
    json_.key("device_pieces").value(share.device_pieces);
    json_.key("triton_kernels").value(share.triton_kernels);
  }

  const GraphCoverage& graphs_;
  const std::size_t row_limit_;
  JsonWriter json_;
};

// One table. The first column says what a row is about.
void write_csv(const GraphCoverage& graphs, std::size_t row_limit, Output& out) {
  out.for_programs();
  out.line("row,kind,name,calls,ops,host_us,device_us,device_pieces,triton_kernels,broken");
  const auto share = [&](std::string_view row, std::string_view kind, std::string_view name,
                         std::string_view calls, const GraphShare& of) {
    out.line(format_text("{},{},{},{},{},{},{},{},{},", row, kind, csv_cell(name), calls, of.ops,
                         microseconds_text(of.host_ns), microseconds_text(of.device_ns),
                         of.device_pieces, of.triton_kernels));
  };
  share("inside", "", "", "", graphs.inside);
  share("outside", "", "", "", graphs.outside);
  out.line(format_text("overhead,,,{},,{},,,,", graphs.overhead.guard_checks,
                       microseconds_text(graphs.overhead.host_ns)));
  for (std::size_t i = 0; i < std::min(graphs.regions.size(), row_limit); ++i) {
    const GraphRegion& region = graphs.regions[i];
    share("region", to_string(region.kind), region.name, std::to_string(region.calls),
          region.share);
  }
  for (std::size_t i = 0; i < std::min(graphs.breaks.size(), row_limit); ++i) {
    const GraphBreak& one = graphs.breaks[i];
    out.line(
        format_text("break,,{},{},,,,,,{}", csv_cell(one.into), one.count, csv_cell(one.from)));
  }
  for (std::size_t i = 0; i < std::min(graphs.outside_ops.size(), row_limit); ++i) {
    const OutsideOp& op = graphs.outside_ops[i];
    out.line(format_text("outside_op,,{},{},,{},{},,,{}", csv_cell(op.name), op.count,
                         microseconds_text(op.host_ns), microseconds_text(op.device_ns),
                         csv_cell(op.broken)));
  }
}

GraphCoverage coverage_of(const Trace& trace, const std::string& path) {
  const Progress progress("looking for graphs in " + path);
  return graph_coverage(trace);
}

}  // namespace

Result<void> run_graphs(const GraphsCommand& options, Output& out) {
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  return answer_graphs(trace, options, out);
}

Result<void> answer_graphs(const Trace& trace, const GraphsCommand& options, Output& out) {
  const GraphCoverage graphs = coverage_of(trace, options.file);
  const std::size_t rows = options.row_limit < 0 ? std::numeric_limits<std::size_t>::max()
                                                 : static_cast<std::size_t>(options.row_limit);
  switch (options.format) {
    case Format::Text:
      if (graphs.regions.empty() && graphs.outside_ops.empty()) {
        return Failure(ErrorCode::NotFound, options.file + ": has no operators and no graphs");
      }
      GraphsText(graphs, rows, out).write();
      break;
    case Format::Json:
      GraphsJson(graphs, rows, out).write();
      break;
    case Format::Csv:
      write_csv(graphs, rows, out);
      break;
  }
  return {};
}

}  // namespace sonde::cli
