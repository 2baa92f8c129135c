// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/output_file.h"
#include "base/parallel.h"
#include "convert/kineto/write/event_writer.h"
#include "convert/kineto/write/frame.h"
#include "convert/kineto/write/name_rows.h"
#include "convert/kineto/write/plan.h"
#include "convert/ordered_output.h"
#include "sonde/export.h"

namespace sonde {

namespace {

// Renderers that are not in use. There are never more than threads.
class RendererPool {
 public:
  explicit RendererPool(const KinetoPlan& plan) : plan_(plan) {}

  std::unique_ptr<KinetoEvents> take() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return std::make_unique<KinetoEvents>(plan_);
    auto renderer = std::move(idle_.back());
    idle_.pop_back();
    return renderer;
  }
  void give_back(std::unique_ptr<KinetoEvents> renderer) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(renderer));
  }

 private:
  const KinetoPlan& plan_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<KinetoEvents>> idle_;
};

// Writes events after the bracket that opens their list. Drops the first comma: every event begins
// with one.
class CommaDropper {
 public:
  explicit CommaDropper(bool is_first) : is_first_(is_first) {}
  std::string_view operator()(std::string_view events) {
    if (is_first_ && !events.empty()) {
      is_first_ = false;
      events.remove_prefix(1);
    }
    return events;
  }
  bool is_first() const { return is_first_; }

 private:
  bool is_first_;
};

// Part 0 is the head, the last part is the tail, and those between are blocks of events.
void write_all(const KinetoPlan& plan, const std::string& path, unsigned threads,
               OrderedOutput& output) {
  const std::vector<EventBlock> blocks = plan.blocks();
  CommaDropper head_comma(true);
  {
    OrderedOutput::Part part(output, 0);
    part.write(kineto_head(plan) + std::string(head_comma(kineto_name_rows(plan))));
  }
  RendererPool renderers(plan);
  const auto write_block = [&](std::size_t i) {
    OrderedOutput::Part part(output, i + 1);
    CommaDropper comma(head_comma.is_first() && i == 0);
    auto renderer = renderers.take();
    renderer->render(blocks[i], [&](std::string_view text) { return part.write(comma(text)); });
    renderers.give_back(std::move(renderer));
  };
  parallel_for(blocks.size(), write_block, threads);
  OrderedOutput::Part part(output, blocks.size() + 1);
  CommaDropper comma(head_comma.is_first() && blocks.empty());
  kineto_kept_events(plan, [&](std::string_view text) { part.write(comma(text)); });
  part.write(std::string(comma(kineto_window_rows(plan))) + kineto_tail(plan, path));
}

}  // namespace

Result<void> export_chrome_trace(const Trace& trace, const std::string& path,
                                 const ChromeExportOptions& options) {
  SONDE_TRY(OutputFile file, OutputFile::create(path));
  const KinetoPlan plan(trace);
  OrderedOutput output(file, path.ends_with(".gz"));
  write_all(plan, path, options.threads, output);
  SONDE_TRY_VOID(output.finish());
  return file.commit();
}

}  // namespace sonde
