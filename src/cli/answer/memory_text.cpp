// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde memory` as text.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/readable.h"
#include "base/text.h"
#include "cli/answer/memory.h"
#include "cli/print/text_lines.h"

namespace sonde::cli {
namespace {

constexpr std::size_t kLongestPlace = 110;

std::string signed_bytes(std::int64_t bytes) {
  if (bytes >= 0) return bytes_text(static_cast<std::uint64_t>(bytes));
  return "-" + bytes_text(0 - static_cast<std::uint64_t>(bytes));
}

std::string grown_bytes(std::int64_t bytes) {
  return bytes > 0 ? "+" + signed_bytes(bytes) : signed_bytes(bytes);
}

class MemoryText : TextLines {
 public:
  MemoryText(const MemoryReport& report, std::size_t row_limit, Output& out)
      : TextLines(out, row_limit, "--row-limit -1"), report_(report) {}

  void write() {
    head();
    if (has_categories(report_.peak) || !has_names(report_.peak.by_op)) {
      categories(report_.peak, "At the peak");
    } else {
      shares("By operator at the peak", report_.peak.by_op);
    }
    shares("By module at the peak", report_.peak.by_module);
    shares("By stack at the peak", report_.peak.by_stack);
    blocks();
    ops();
    steps();
    leaks();
    out_of_memory();
    problems();
    line("");
  }

 private:
  Nanos since_start(Nanos time_ns) const { return time_ns - report_.profile.trace.first_ns(); }

  void head() {
    const MemoryMoment& peak = report_.peak;
    line("{}: peak {} at {}", to_string(report_.device.device), signed_bytes(peak.live_bytes),
         duration_text(since_start(peak.time_ns)));
    line("  {}, {}", counted_text(report_.device.blocks.size(), "block"),
         counted_text(report_.device.events.size(), "event"));
    allocator(peak);
  }

  void allocator(const MemoryMoment& moment) {
    if (moment.allocated_bytes <= 0) return;
    std::string text = "  the allocator had handed out " + signed_bytes(moment.allocated_bytes);
    if (moment.unseen_bytes > 0)
      text += ", " + signed_bytes(moment.unseen_bytes) + " of it before recording began";
    if (moment.reserved_bytes >= moment.allocated_bytes) {
      text += "; it held " + signed_bytes(moment.reserved_bytes) + ", " +
              signed_bytes(moment.reserved_bytes - moment.allocated_bytes) + " of it unused";
    }
    out_.line(text);
  }

  // Without gradients, as in inference, nothing is known of what blocks were for.
  static bool has_categories(const MemoryMoment& moment) {
    for (std::size_t i = 0; i < kMemoryCategories; ++i)
      if (moment.by_category[i] != 0 && static_cast<MemoryCategory>(i) != MemoryCategory::Unknown)
        return true;
    return false;
  }

  void categories(const MemoryMoment& moment, std::string_view title) {
    line("\n{:<30}{:>12}{:>9}", title, "bytes", "share");
    for (std::size_t i = 0; i < kMemoryCategories; ++i) {
      if (moment.by_category[i] == 0) continue;
      line("  {:<28}{:>12}{:>8.1f}%", to_string(static_cast<MemoryCategory>(i)),
           signed_bytes(moment.by_category[i]),
           100.0 * static_cast<double>(moment.by_category[i]) /
               static_cast<double>(std::max<std::int64_t>(moment.live_bytes, 1)));
    }
  }

  static bool has_names(const std::vector<MemoryShare>& all) {
    return std::any_of(all.begin(), all.end(), [](const MemoryShare& share) {
      return !share.name.empty() && share.name.front() != '(';
    });
  }

  // Prints nothing if the trace has no such places.
  void shares(std::string_view title, const std::vector<MemoryShare>& all) {
    if (!has_names(all)) return;
    line("\n{:>12}{:>10}  {}", "bytes", "blocks", title);
    rows(all.size(), [&](std::size_t i) {
      const std::string name = all[i].name.empty() ? "(no stack)" : all[i].name;
      line("{:>12}{:>10}  {}", signed_bytes(all[i].bytes), count_text(all[i].blocks),
           readable_start(name, kLongestPlace));
    });
  }

  void blocks() {
    const MemoryMoment& peak = report_.peak;
    if (peak.blocks.empty()) return;
    line(
        "\n{:>12}  {:<16}{:>12}{:>12}  Largest blocks at the peak, and the operator that allocated "
        "each",
        "bytes", "category", "allocated", "held");
    rows(peak.blocks.size(), [&](std::size_t i) {
      const MemoryBlock block = report_.device.blocks[peak.blocks[i]];
      const Nanos born_ns = report_.profile.born_ns(block);
      const Nanos died_ns = report_.profile.died_ns(block);
      const bool before = !block.birth.valid();
      std::string_view op = "(outside operators)";
      if (before) op = "(before recording)";
      if (block.op.valid()) op = report_.profile.trace.name(block.op);
      line("{:>12}  {:<16}{:>12}{:>12}  {}", signed_bytes(block.bytes),
           to_string(peak.categories[i]), before ? "before" : duration_text(since_start(born_ns)),
           block.death.valid() ? duration_text(died_ns - born_ns) : "to the end",
           readable_start(op, kLongestPlace));
    });
  }

  void ops() {
    line("\n{:>12}{:>12}{:>12}{:>12}{:>10}  Operators", "at peak", "maximum", "allocated", "at end",
         "times");
    rows(report_.ops.size(), [&](std::size_t i) {
      const OpMemory& op = report_.ops[i];
      line("{:>12}{:>12}{:>12}{:>12}{:>10}  {}", signed_bytes(op.live_at_peak_bytes),
           signed_bytes(op.most_live_bytes), signed_bytes(op.allocated_bytes),
           signed_bytes(op.live_at_end_bytes), count_text(op.allocations),
           readable_start(op.name, kLongestPlace));
    });
  }

  void steps() {
    if (report_.steps.empty()) return;
    if (!report_.steps.front().is_recorded)
      line("\nNo steps were recorded, but the same operators repeat: each repetition is a step.");
    line("\n{:>8}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}", "Step", "at start", "peak", "allocated",
         "freed", "at end", "growth");
    rows(report_.steps.size(), [&](std::size_t i) {
      const StepMemory& step = report_.steps[i];
      line("{:>8}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}", step.step,
           signed_bytes(step.live_at_start_bytes), signed_bytes(step.peak_bytes),
           signed_bytes(step.allocated_bytes), signed_bytes(step.freed_bytes),
           signed_bytes(step.live_at_end_bytes), i == 0 ? "" : grown_bytes(step.growth_bytes));
    });
  }

  void leaks() {
    if (report_.steps.size() < 2) return;
    if (report_.leaks.empty()) {
      line(
          "\nNo leaks: everything that earlier steps allocated was freed by the end of the last "
          "step.");
      return;
    }
    line(
        "\n{:>12}{:>10}{:>8}  {:<16}Possible leaks: allocated in earlier steps, still held when "
        "the last step ended",
        "bytes", "blocks", "steps", "category");
    rows(report_.leaks.size(), [&](std::size_t i) {
      const MemoryLeak& leak = report_.leaks[i];
      const std::string place = leak.stack.empty() ? leak.op : leak.op + " < " + leak.stack;
      line("{:>12}{:>10}{:>8}  {:<16}{}", signed_bytes(leak.bytes), count_text(leak.blocks),
           count_text(leak.steps), to_string(leak.category), readable_start(place, kLongestPlace));
    });
  }

  void out_of_memory() {
    for (const OutOfMemory& failed : report_.out_of_memory) {
      const AllocationTable& allocations = report_.profile.trace.allocations();
      line("\nOut of memory at {}: {} requested, {} in use",
           duration_text(since_start(allocations.time_ns[failed.row])),
           signed_bytes(allocations.bytes[failed.row]), signed_bytes(failed.moment.live_bytes));
      allocator(failed.moment);
      categories(failed.moment, "In use then");
      shares("By operator then", failed.moment.by_op);
    }
    const std::size_t shown = report_.out_of_memory.size();
    if (report_.device.out_of_memory.size() > shown)
      line("  … and {} more requests failed",
           count_text(report_.device.out_of_memory.size() - shown));
  }

  void problems() {
    const MemoryProblems& all = report_.device.problems;
    const auto say = [this](std::uint64_t count, std::string_view what) {
      if (count > 0) line("Ignored: {} {}", count_text(count), what);
    };
    say(all.double_frees, "frees of blocks that were already free");
    say(all.without_meaning, "records with an impossible size");
    if (all.double_births > 0)
      line("Doubtful: {} allocations at an address that was in use", count_text(all.double_births));
    if (all.sizes_that_differ > 0)
      line("Doubtful: {} frees with a different size from the allocation",
           count_text(all.sizes_that_differ));
  }

  const MemoryReport& report_;
};

}  // namespace

void write_memory_text(const MemoryReport& report, std::size_t row_limit, Output& out) {
  MemoryText(report, row_limit, out).write();
}

}  // namespace sonde::cli
