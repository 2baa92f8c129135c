// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Copies between host and devices that could be cheaper or are unnecessary.

#include <algorithm>
#include <string>
#include <vector>

#include "analyse/report/findings.h"
#include "analyse/sum.h"
#include "base/format.h"
#include "base/text.h"

namespace sonde::detail {
namespace {

struct CopySum {
  explicit CopySum(const std::vector<CopyTime>& copies) {
    for (const CopyTime& copy : copies) {
      bytes += static_cast<std::uint64_t>(copy.bytes);
      add_to(time_ns, copy.time_ns);
      spans.add(copy.time_ns, copy.span);
    }
  }
  std::uint64_t bytes = 0;
  Nanos time_ns = 0;
  WorstSpans spans;
};

void pageable(Report& report) {
  CopySum sum(report.copies.pageable);
  if (!is_worth_saying(report, sum.time_ns)) return;
  report.findings.push_back(
      {.id = "pageable_copies",
       .title = "Copies use unpinned memory",
       .detail = format_text("{} in {} copies took {}. The driver copies unpinned memory a second "
                             "time, and the host waits for it.",
                             bytes_text(sum.bytes), count_text(report.copies.pageable.size()),
                             duration_text(sum.time_ns)),
       .advice =
           "Pin the memory on the host (pin_memory=True in a DataLoader, tensor.pin_memory()) and "
           "copy with non_blocking=True, so that copies run alongside kernels.",
       .command = "sonde table TRACE --sort-by self_device_time_total",
       .saving_ns = sum.time_ns,
       .count = report.copies.pageable.size(),
       .spans = sum.spans.take()});
}

void returned(Report& report) {
  CopySum sum(report.copies.returned);
  if (!is_worth_saying(report, sum.time_ns)) return;
  report.findings.push_back(
      {.id = "copies_there_and_back",
       .title = "Data seems to leave the device and come back",
       .detail = format_text("{} copies to the device had the same size as an earlier copy from "
                             "it: {} and {} in both directions.",
                             count_text(report.copies.returned.size()), bytes_text(sum.bytes),
                             duration_text(sum.time_ns)),
       .advice = "Do on the device what the host does with the data in between.",
       .command = "sonde events TRACE",
       .saving_ns = sum.time_ns,
       .count = report.copies.returned.size(),
       .spans = sum.spans.take()});
}

// Copies of pageable memory have their own finding and are left out.
void exposed(const ReportData& data, Report& report) {
  Nanos exposed_ns = 0;
  for (const DeviceTime& device : report.devices)
    add_to(exposed_ns, device.memory.union_ns - device.memory_hidden_ns);
  std::vector<SpanId> told;
  told.reserve(report.copies.pageable.size());
  for (const CopyTime& copy : report.copies.pageable) {
    take_from(exposed_ns, report.trace.spans().duration_ns[copy.span]);
    told.push_back(copy.span);
  }
  if (!is_worth_saying(report, exposed_ns)) return;
  std::sort(told.begin(), told.end());
  WorstSpans spans;
  for (const DeviceWork& device : data.work) {
    for (const Work& work : device.work) {
      if (!is_copy(report.trace.spans().kind[work.span])) continue;
      if (std::binary_search(told.begin(), told.end(), work.span)) continue;
      spans.add(work.end_ns - work.begin_ns, work.span);
    }
  }
  const std::uint64_t count = spans.count();
  report.findings.push_back(
      {.id = "exposed_copies",
       .title = "Copies and fills run while nothing computes",
       .detail = format_text("For at least {}, a device ran copies or fills and no kernel.",
                             duration_text(exposed_ns)),
       .advice = "Copy on a separate stream, one step ahead, with non_blocking=True. Create data "
                 "on the device where possible.",
       .command = "sonde export TRACE -o trace.json.gz",
       .saving_ns = exposed_ns,
       .count = count,
       .spans = spans.take()});
}

}  // namespace

void find_in_copies(const ReportData& data, Report& report) {
  pageable(report);
  returned(report);
  exposed(data, report);
}

}  // namespace sonde::detail
