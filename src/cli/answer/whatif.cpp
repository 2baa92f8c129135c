// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// `sonde whatif`: how long it would have taken if something were different.

#include <charconv>
#include <string>

#include "base/format.h"
#include "base/readable.h"
#include "base/text.h"
#include "cli/answers.h"
#include "cli/print/json_writer.h"
#include "cli/print/progress.h"
#include "sonde/analyse/what_if.h"

namespace sonde::cli {
namespace {

Result<WhatIf::Scale> scale_of(const std::string& text) {
  const std::size_t at = text.rfind('=');
  const std::string factor = at == std::string::npos ? "" : text.substr(at + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), value);
  const bool is_number = error == std::errc() && end == factor.data() + factor.size();
  if (at == 0 || !is_number || !(value >= 0 && value <= 1000))
    return Failure(ErrorCode::Invalid,
                   "--scale " + text +
                       ": write PATTERN=FACTOR with a factor from 0 to 1000, such as aten::mm=0.5");
  return WhatIf::Scale{text.substr(0, at), value};
}

Result<WhatIf> changes_of(const WhatIfCommand& options) {
  WhatIf changes;
  for (const std::string& text : options.scale) {
    SONDE_TRY(WhatIf::Scale one, scale_of(text));
    changes.scale.push_back(std::move(one));
  }
  changes.remove = options.remove;
  changes.no_sync = options.no_sync;
  return changes;
}

double percent_of(Nanos part_ns, Nanos whole_ns) {
  return whole_ns > 0 ? 100.0 * static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0.0;
}

void saving_row(std::string_view what, Nanos before_ns, Nanos after_ns, Output& out) {
  out.line(format_text("{:<18}{:>14}{:>14}{:>14}{:>10}", what, duration_text(before_ns),
                       duration_text(after_ns), duration_text(before_ns - after_ns),
                       format_text("{:.1f} %", percent_of(before_ns - after_ns, before_ns))));
}

void write_whatif_text(const WhatIfAnswer& answer, const WhatIfCommand& options, Output& out) {
  out.line(readable_line(options.file));
  for (const WhatIfAnswer::Match& match : answer.matches)
    out.line(match.spans == 0
                 ? format_text("  {}: no span has a name like this", readable_line(match.pattern))
                 : format_text("  {}: {}, {}", readable_line(match.pattern),
                               counted_text(match.spans, "span"), duration_text(match.time_ns)));
  if (options.no_sync)
    out.line(format_text("  calls that waited for a device and now do not: {}",
                         count_text(answer.waits)));
  out.line(
      format_text("\n{:<18}{:>14}{:>14}{:>14}{:>10}", "", "recorded", "simulated", "saved", ""));
  saving_row("whole trace", answer.recorded_ns, answer.simulated_ns, out);
  if (answer.recorded_step_ns > 0)
    saving_row("median host step", answer.recorded_step_ns, answer.simulated_step_ns, out);
}

void write_whatif_json(const WhatIfAnswer& answer, const WhatIfCommand& options, Output& out) {
  JsonWriter json(out);
  json.begin_object();
  json.key("trace").value(options.file);
  json.key("recorded_ns").value(answer.recorded_ns);
  json.key("simulated_ns").value(answer.simulated_ns);
  json.key("recorded_step_ns").value(answer.recorded_step_ns);
  json.key("simulated_step_ns").value(answer.simulated_step_ns);
  json.key("waits").value(answer.waits);
  json.key("matches").begin_array();
  for (const WhatIfAnswer::Match& match : answer.matches) {
    json.begin_object();
    json.key("pattern").value(match.pattern);
    json.key("spans").value(match.spans);
    json.key("time_ns").value(match.time_ns);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace

Result<void> check(const WhatIfCommand& options) {
  if (options.scale.empty() && options.remove.empty() && !options.no_sync)
    return Failure(ErrorCode::Invalid, "say what to change: --scale, --remove or --no-sync");
  const Result<WhatIf> changes = changes_of(options);
  return changes ? Result<void>() : Failure(changes.error());
}

Result<void> run_whatif(const WhatIfCommand& options, Output& out) {
  SONDE_TRY(const Trace trace, open_to_answer(options.file, options.open));
  return answer_whatif(trace, options, out);
}

Result<void> answer_whatif(const Trace& trace, const WhatIfCommand& options, Output& out) {
  SONDE_TRY(const WhatIf changes, changes_of(options));
  const WhatIfAnswer answer = [&] {
    const Progress progress("simulating " + options.file);
    return what_if(trace, changes);
  }();
  if (options.format == Format::Json) {
    write_whatif_json(answer, options, out);
  } else {
    write_whatif_text(answer, options, out);
  }
  return {};
}

}  // namespace sonde::cli
