// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A flame graph as one picture: the root at the top, calls below their callers.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "sonde/view/flame_graph.h"
#include "view/flame.h"

namespace sonde {
namespace {

constexpr double kFlameWidth = 1200;
constexpr double kFlameMargin = 10;
constexpr double kFlameTop = 40;
constexpr double kRowHeight = 18;
constexpr double kLetterWidth = 6.6;  // of the font, on average
constexpr double kNarrowest = 0.3;    // in pixels

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_sequence(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (first == '&') {
      out += "&amp;";
    } else if (first == '<') {
      out += "&lt;";
    } else if (first == '>') {
      out += "&gt;";
    } else if (size == 0 || first < 0x20) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
}

// The same name has the same colour in every picture.
std::string colour_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return format_text("#{:02x}{:02x}{:02x}", 225 + hash % 30, 120 + (hash >> 8U) % 90,
                     70 + (hash >> 16U) % 40);
}

// As many letters as fit, the last a sign that there are more.
std::string fitting(std::string_view name, double width) {
  const auto room = static_cast<std::size_t>(std::max(0.0, width - 6) / kLetterWidth);
  if (room < 3) return "";
  if (name.size() <= room) return std::string(name);
  return std::string(first_whole(name, room - 1)) + "…";
}

class FlamePicture {
 public:
  explicit FlamePicture(const std::vector<FlameNode>& flame)
      : flame_(flame), next_x_(flame.size()), x_(flame.size()) {}

  std::string draw(const std::string& title) {
    place();
    const double height = kFlameTop + kRowHeight * (deepest_ + 1) + kFlameMargin;
    std::string out = format_text(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" "
        "viewBox=\"0 0 {0:g} {1:g}\" font-family=\"monospace\" font-size=\"11\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        "<text x=\"{2:g}\" y=\"24\" font-size=\"15\">",
        kFlameWidth, height, kFlameMargin);
    append_escaped(out, title);
    out += "</text>\n";
    for (std::size_t i = 0; i < flame_.size(); ++i) add_box(out, i);
    return out + "</svg>\n";
  }

 private:
  double width_of(std::size_t node) const {
    const auto whole = static_cast<double>(std::max<Nanos>(flame_.front().total_ns, 1));
    return (kFlameWidth - 2 * kFlameMargin) * static_cast<double>(flame_[node].total_ns) / whole;
  }
  // Children lie side by side from their parent's left edge.
  void place() {
    for (std::size_t i = 0; i < flame_.size(); ++i) {
      x_[i] = i == 0 ? kFlameMargin : next_x_[flame_[i].parent];
      if (i > 0) next_x_[flame_[i].parent] += width_of(i);
      next_x_[i] = x_[i];
      if (width_of(i) >= kNarrowest) deepest_ = std::max(deepest_, flame_[i].depth);
    }
  }
  void add_box(std::string& out, std::size_t node) const {
    const double width = width_of(node);
    if (width < kNarrowest) return;
    const FlameNode& box = flame_[node];
    const double y = kFlameTop + kRowHeight * box.depth;
    out += "<g><title>";
    append_escaped(out, box.name);
    const double whole = static_cast<double>(std::max<Nanos>(flame_.front().total_ns, 1));
    out += format_text(
        "\n{}, {:.1f} %{}</title><rect x=\"{:.1f}\" y=\"{:g}\" width=\"{:.1f}\" height=\"{:g}\" "
        "fill=\"{}\" rx=\"1\"/>",
        duration_text(box.total_ns), 100 * static_cast<double>(box.total_ns) / whole,
        box.count == 0 ? "" : ", " + counted_text(box.count, "call"), x_[node], y,
        std::max(width - 0.3, 0.2), kRowHeight - 1, node == 0 ? "#d5d9de" : colour_of(box.name));
    if (const std::string label = fitting(box.name, width); !label.empty()) {
      out += format_text("<text x=\"{:.1f}\" y=\"{:g}\">", x_[node] + 3, y + 13);
      append_escaped(out, label);
      out += "</text>";
    }
    out += "</g>\n";
  }

  const std::vector<FlameNode>& flame_;
  std::vector<double> next_x_;
  std::vector<double> x_;
  std::uint32_t deepest_ = 0;
};

}  // namespace

std::string flame_graph_svg(const std::vector<FlameNode>& flame, const std::string& title) {
  if (flame.empty() || flame.front().total_ns <= 0) return "";
  const std::vector<FlameNode> shown = detail::flame_for_page(flame);
  return FlamePicture(shown).draw(title);
}

}  // namespace sonde
