#include "bench/run/plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "bench/lib/child.hpp"

namespace hecto::bench {
namespace {

constexpr double kDraw_s = 60;
constexpr size_t kMostTics = 16;  // of x; more are left to gnuplot

// Within single quotes gnuplot replaces nothing, and a quote is written twice.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "'";
}

std::string tics(const Plot& plot) {
  std::vector<std::string> places;
  for (size_t i = 0; i < plot.categories.size(); ++i)
    places.push_back(fmt::format("{} {}", quoted(plot.categories[i]), i));
  if (plot.categories.empty()) {
    std::set<double> values;
    for (const PlotLine& line : plot.lines)
      for (const PlotPoint& point : line.points) values.insert(point.x);
    if (values.size() > kMostTics) return "";
    for (const double value : values) places.push_back(fmt::format("'{0:.10g}' {0:.10g}", value));
  }
  return fmt::format("set xtics ({})\n", fmt::join(places, ", "));
}

}  // namespace

std::string gnuplot_script(const Plot& plot, const std::string& name) {
  const bool bars = !plot.categories.empty();
  const double bar = 0.8 / static_cast<double>(std::max<size_t>(1, plot.lines.size()));
  std::string script =
      "set encoding utf8\nset grid ytics lc rgb '#cccccc'\nset border 3\n"
      "set key outside below\nset xtics nomirror\nset ytics nomirror\n";
  script +=
      fmt::format("set title {} noenhanced\nset xlabel {} noenhanced\nset ylabel {} noenhanced\n",
                  quoted(plot.title), quoted(plot.x_label), quoted(plot.y_label));
  script += tics(plot);
  if (plot.log_x) script += "set autoscale xfix\nset offsets graph 0.03, graph 0.03\n";
  if (plot.log_x) script += "set logscale x\n";
  if (plot.log_y) script += "set logscale y\n";
  if (!plot.log_y) script += "set yrange [0:*]\n";
  if (bars)
    script += fmt::format("set style fill solid 0.7\nset boxwidth {}\nset xrange [-0.5:{}]\n",
                          bar * 0.9, static_cast<double>(plot.categories.size()) - 0.5);
  std::vector<std::string> drawn;
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    const double shift =
        bars ? (static_cast<double>(i) - static_cast<double>(plot.lines.size() - 1) / 2) * bar : 0;
    script += fmt::format("$line{} << END\n", i);
    for (const PlotPoint& point : plot.lines[i].points)
      script += fmt::format("{:.10g} {:.10g} {:.10g} {:.10g}\n", point.x + shift, point.y,
                            point.least, point.most);
    script += "END\n";
    drawn.push_back(fmt::format("$line{} using 1:2:3:4 with {} title {} noenhanced", i,
                                bars ? "boxerrorbars" : "yerrorlines pt 7 ps 0.5",
                                quoted(plot.lines[i].name)));
  }
  for (const auto& [terminal, ending] :
       {std::pair("svg noenhanced size 900,540 font 'sans-serif,13' background 'white'", "svg"),
        std::pair("pngcairo noenhanced size 900,540 font 'sans-serif,10'", "png")})
    script += fmt::format("set terminal {}\nset output {}\nplot {}\n", terminal,
                          quoted(name + "." + ending), fmt::join(drawn, ", "));
  return script;
}

Result<void> draw(const Plot& plot, const std::filesystem::path& folder, const std::string& name) {
  if (std::none_of(plot.lines.begin(), plot.lines.end(),
                   [](const PlotLine& line) { return !line.points.empty(); }))
    return fail("nothing to draw: there is no figure");
  std::ofstream(folder / (name + ".gp")) << gnuplot_script(plot, name);
  if (!find_program("gnuplot"))
    return fail("no picture: gnuplot is not installed; the package is gnuplot-nox");
  const auto log = folder / (name + ".log");
  const std::string there = quoted(std::filesystem::absolute(folder).string());
  auto child =
      Child::start({"gnuplot", "-e", "cd " + there, name + ".gp"}, {.log = log, .cpus = {}});
  if (!child) return fail("no picture: " + child.error().message);
  const auto code = (*child)->wait(kDraw_s);
  const auto lines = last_lines(log, 1);
  std::filesystem::remove(log);
  if (!code) return fail(fmt::format("no picture: gnuplot still ran after {} s", kDraw_s));
  if (*code != 0)
    return fail(
        fmt::format("no picture: gnuplot: {}", lines.empty() ? describe_exit(*code) : lines[0]));
  return {};
}

}  // namespace hecto::bench
