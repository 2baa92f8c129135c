// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sonde/view/trace_page.h"

#include <utility>

#include "base/json.h"
#include "base/output_file.h"
#include "base/readable.h"
#include "sonde/trace/builder.h"
#include "view/compressed.h"
#include "view/page.h"
#include "view/timeline/page_data.h"
#include "view/viewer_dist.h"
#include "view/viewer_parts.h"

namespace sonde {
namespace {

template <typename Parts>
std::string joined(const Parts& parts) {
  std::string out;
  for (const char* const part : parts) out += part;
  return out;
}

// Escapes text between tags.
std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

// A page in one file asks nobody for anything.
constexpr std::string_view kFilePolicy =
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
    "'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action "
    "'none'\">";

}  // namespace

std::string detail::viewer_script() {
  return joined(kViewerScript);
}
std::string detail::viewer_style() {
  return joined(kViewerStyle);
}
std::string detail::viewer_page() {
  std::string page = joined(kViewerPage);
  // Without an icon of its own, browsers ask for one.
  replace_mark(page, "{{HEAD}}",
               "<link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"viewer.css\">");
  replace_mark(page, "{{TITLE}}", "Sonde");
  replace_mark(page, "{{DATA}}", "");
  replace_mark(page, "{{SCRIPT}}", "<script src=\"viewer.js\"></script>");
  return page;
}

Result<std::string> trace_page(const Trace& trace, std::string_view name,
                               const TracePageOptions& options) {
  const detail::TraceAnswers answers(trace, std::string(name), options.more_views, options.is_job);
  const detail::PageDataOptions wanted{options.most_spans, options.from_ns, options.at};
  SONDE_TRY(const std::vector<std::uint8_t> bytes,
            detail::compressed(detail::page_data(answers, wanted)));
  // Data last: no name in it is taken for a mark.
  std::string page = joined(detail::kViewerPage);
  detail::replace_mark(page, "{{TITLE}}", html_text(readable_line(name)) + " - Sonde");
  detail::replace_mark(page, "{{HEAD}}",
                       std::string(kFilePolicy) + "<style>" + detail::viewer_style() + "</style>");
  detail::replace_mark(page, "{{SCRIPT}}", "<script>" + detail::viewer_script() + "</script>");
  detail::replace_mark(
      page, "{{DATA}}",
      "<script id=\"data\" type=\"text/plain\">" + detail::base64(bytes) + "</script>");
  return page;
}

Result<std::string> view_page(PageView view, std::string_view name) {
  SONDE_TRY(const Trace none, TraceBuilder().build());
  TracePageOptions options;
  options.at = "view=" + view.name;
  options.more_views.push_back(std::move(view));
  return trace_page(none, name, options);
}

Result<void> save_trace_page(const Trace& trace, const std::string& path, std::string_view name,
                             const TracePageOptions& options) {
  SONDE_TRY(const std::string page, trace_page(trace, name, options));
  return write_file_whole(path, page);
}

}  // namespace sonde
