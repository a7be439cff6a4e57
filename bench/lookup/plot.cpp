#include "bench/lookup/plot.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::bench {
namespace {

// Where `name` stands among the names; they get it where it is new.
template <typename Named, typename Name>
size_t place(std::vector<Named>& all, const std::string& name, Name name_of) {
  const auto at =
      std::find_if(all.begin(), all.end(), [&](Named& named) { return name_of(named) == name; });
  const auto index = static_cast<size_t>(at - all.begin());
  if (at == all.end()) name_of(all.emplace_back()) = name;
  return index;
}

Plot plot_of(const LookupResult& result, unsigned family) {
  Plot plot;
  plot.title = fmt::format("IPv{}", family);
  plot.x_label = "destinations";
  plot.y_label = "TSC cycles per look-up";
  plot.values = true;
  for (const LookupRow& row : result.rows) {
    if (row.family != family || row.state != "warm") continue;
    const size_t kind = place(plot.categories, row.destinations,
                              [](std::string& name) -> std::string& { return name; });
    const size_t engine =
        place(plot.lines, row.engine, [](PlotLine& line) -> std::string& { return line.name; });
    plot.lines[engine].points.push_back(
        {static_cast<double>(kind), row.cycles, row.cycles_q1, row.cycles_q3});
  }
  return plot;
}

}  // namespace

Picture picture_of(const LookupResult& result) {
  Picture picture;
  picture.title = fmt::format(
      "TSC cycles per look-up, warm: medians and quartiles; batches of {}, {} passes "
      "in turn",
      result.batch, result.rounds);
  for (const unsigned family : {4u, 6u})
    if (Plot plot = plot_of(result, family); !plot.lines.empty())
      picture.plots.push_back(std::move(plot));
  picture.notes = {fmt::format("{}, TSC {:.2f} GHz; {}", result.machine,
                               static_cast<double>(result.tsc_hz) / 1e9, result.memory),
                   fmt::format("{} IPv4 and {} IPv6 routes ({}), {} next hops; {}", result.routes4,
                               result.routes6, result.table, result.next_hops, result.dpdk)};
  return picture;
}

}  // namespace hecto::bench
