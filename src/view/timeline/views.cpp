// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view/timeline/views.h"

#include "view/timeline/view_json.h"

namespace sonde::detail {
namespace {

constexpr int kFramesShown = 5;
constexpr std::string_view kCommunicationView = "communication";
constexpr std::string_view kTimelineView = "timeline";  // has no data of its own

struct View {
  std::string_view name;
  std::string (*json)(const TraceAnswers& answers);
  bool is_of_job = false;  // whether it says something of several ranks in one trace
};

constexpr View kViews[] = {
    {"overview", overview_json},
    {"operators", [](const TraceAnswers& answers) { return operators_json(answers, {}); }},
    {"operators-shapes",
     [](const TraceAnswers& answers) {
       return operators_json(answers, {.group_by_input_shape = true});
     }},
    {"operators-stacks",
     [](const TraceAnswers& answers) {
       return operators_json(answers, {.group_by_stack_n = kFramesShown});
     }},
    {"kernels", kernels_json},
    {"modules", modules_json},
    {"flame", flame_json},
    {"memory", memory_json},
    {kCommunicationView, communication_json, true},
    {"ledger", ledger_json, true},
};

}  // namespace

std::vector<std::string_view> view_names(const TraceAnswers& answers) {
  std::vector<std::string_view> out;
  const bool is_alone = answers.trace().spans().size() == 0 && !answers.more_views().empty();
  if (!is_alone) {
    out.push_back(kTimelineView);
    for (const View& view : kViews) {
      if (answers.is_job() && !view.is_of_job) continue;
      if (view.name == kCommunicationView && !has_communication(answers.trace())) continue;
      out.push_back(view.name);
    }
  }
  for (const PageView& view : answers.more_views()) out.push_back(view.name);
  return out;
}

Result<std::string> view_json(const TraceAnswers& answers, std::string_view name) {
  for (const PageView& view : answers.more_views())
    if (view.name == name) return view.json;
  for (const View& view : kViews)
    if (view.name == name) return view.json(answers);
  return Failure(ErrorCode::NotFound, "there is no view '" + std::string(name) + "'");
}

}  // namespace sonde::detail
