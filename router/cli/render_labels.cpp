// `hecto show labels` as text.
#include <fmt/format.h>

#include "router/cli/fields.hpp"
#include "router/cli/render.hpp"

namespace hecto::cli {

std::string render_labels(const json& answer, Style style) {
  const std::vector<json> labels = list(answer, "labels");
  if (labels.empty())
    return whole(answer, "platform_labels") == 0 ? "Linux forwards no labels (MPLS) here\n"
                                                 : "Linux has no routes of labels\n";
  Table table({{"label", Align::kRight},
               {"action"},
               {"gateway", Align::kLeft, true},
               {"interface", Align::kLeft, true},
               {"protocol"},
               {"by"},
               {"why", Align::kLeft, true}});
  for (const json& label : labels) {
    const std::vector<json> hops = list(label, "next_hops");
    const json first = hops.empty() ? json::object() : hops[0];
    const bool by_linux = text(label, "done_by") == "linux";
    table.row({text(label, "label"), text(label, "action"), text(first, "gateway"),
               text(first, "interface"), text(label, "protocol"),
               Cell(text(label, "done_by"), by_linux ? Paint::kWarn : Paint::kPlain),
               has(label, "trouble") ? text(label, "trouble") : std::string()});
    for (size_t i = 1; i < hops.size(); ++i)
      table.row({"", "", text(hops[i], "gateway"), text(hops[i], "interface")});
  }
  std::string out = table.text(style);
  if (const auto total = whole(answer, "total"); total > labels.size())
    out += fmt::format("{} of {} labels\n", count(labels.size()), count(total));
  return out;
}

}  // namespace hecto::cli
