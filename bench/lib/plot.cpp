#include "bench/lib/plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "bench/lib/child.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;

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

// A label of a tic is a format of numbers.
std::string literal(const std::string& label) {
  std::string out;
  for (const char c : label) out.append(c == '%' ? 2 : 1, c);
  return out;
}

std::string tics(const Plot& plot) {
  std::vector<std::string> places;
  for (size_t i = 0; i < plot.categories.size(); ++i)
    places.push_back(fmt::format("{} {}", quoted(literal(plot.categories[i])), i));
  if (plot.categories.empty()) {
    std::set<double> values;
    for (const PlotLine& line : plot.lines)
      for (const PlotPoint& point : line.points) values.insert(point.x);
    if (values.size() > kMostTics) return "";
    for (const double value : values) places.push_back(fmt::format("'{0:.10g}' {0:.10g}", value));
  }
  return fmt::format("set xtics ({})\n", fmt::join(places, ", "));
}

double bar_width(const Plot& plot) {
  return 0.8 / static_cast<double>(std::max<size_t>(1, plot.lines.size()));
}

// Axes, tics, legend and titles.
std::string settings(const Plot& plot) {
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
  if (!plot.categories.empty())
    script += fmt::format("set style fill solid 0.7\nset xrange [-0.5:{}]\n",
                          static_cast<double>(plot.categories.size()) - 0.5);
  return script;
}

// The points as blocks $PREFIX0, $PREFIX1 and so on.
std::string data(const Plot& plot, const std::string& prefix) {
  std::string script;
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    const double shift =
        plot.categories.empty()
            ? 0
            : (static_cast<double>(i) - static_cast<double>(plot.lines.size() - 1) / 2) *
                  bar_width(plot);
    script += fmt::format("${}{} << END\n", prefix, i);
    for (const PlotPoint& point : plot.lines[i].points)
      script += fmt::format("{:.10g} {:.10g} {:.10g} {:.10g}\n", point.x + shift, point.y,
                            point.least, point.most);
    script += "END\n";
  }
  return script;
}

std::string plot_command(const Plot& plot, const std::string& prefix) {
  // A bar's width stands in the fifth column: of four, gnuplot takes the last one for it.
  const std::string style =
      plot.categories.empty()
          ? "1:2:3:4 with yerrorlines pt 7 ps 0.5"
          : fmt::format("1:2:3:4:({:g}) with boxerrorbars", bar_width(plot) * 0.9);
  std::vector<std::string> drawn;
  for (size_t i = 0; i < plot.lines.size(); ++i)
    drawn.push_back(fmt::format("${}{} using {} title {} noenhanced", prefix, i, style,
                                quoted(plot.lines[i].name)));
  for (size_t i = 0; plot.values && i < plot.lines.size(); ++i)
    drawn.push_back(fmt::format(
        "${}{} using 1:4:(sprintf('%.1f', $2)) with labels offset 0,0.6 font ',9' notitle", prefix,
        i));
  return fmt::format("plot {}\n", fmt::join(drawn, ", "));
}

bool is_empty(const Plot& plot) {
  return std::all_of(plot.lines.begin(), plot.lines.end(),
                     [](const PlotLine& line) { return line.points.empty(); });
}

// Runs gnuplot in the script's folder.
Result<void> run_gnuplot(const fs::path& file, const std::string& script) {
  std::ofstream stream(file);
  stream << script;
  if (!stream.flush()) return fail(fmt::format("{}: cannot be written", file.string()));
  stream.close();
  if (!find_program("gnuplot"))
    return fail("no picture: gnuplot is not installed; the package is gnuplot-nox", ENOPKG);
  const fs::path log = file.string() + ".log";  // of the script, nobody else's
  const std::string there = quoted(fs::absolute(file).parent_path().string());
  auto child = Child::start({"gnuplot", "-e", "cd " + there, file.filename().string()},
                            {.log = log, .cpus = {}});
  if (!child) return fail("no picture: " + child.error().message);
  const auto code = (*child)->wait(kDraw_s);
  const auto lines = last_lines(log, 1);
  fs::remove(log);
  if (!code) return fail(fmt::format("no picture: gnuplot still ran after {} s", kDraw_s));
  if (*code != 0)
    return fail(
        fmt::format("no picture: gnuplot: {}", lines.empty() ? describe_exit(*code) : lines[0]));
  return {};
}

}  // namespace

std::string gnuplot_script(const Plot& plot, const std::string& name) {
  std::string script = settings(plot) + data(plot, "line");
  for (const auto& [terminal, ending] :
       {std::pair("svg noenhanced size 900,540 font 'sans-serif,13' background 'white'", "svg"),
        std::pair("pngcairo noenhanced size 900,540 font 'sans-serif,10'", "png")})
    script += fmt::format("set terminal {}\nset output {}\n{}", terminal,
                          quoted(name + "." + ending), plot_command(plot, "line"));
  return script;
}

std::string gnuplot_script(const Picture& picture, const std::string& file) {
  const size_t count = picture.plots.size();
  std::string script;
  for (size_t i = 0; i < count; ++i)
    script += data(picture.plots[i], fmt::format("plot{}_line", i));
  script += fmt::format(
      "set terminal svg noenhanced size {},560 font 'sans-serif,13' background 'white'\n"
      "set output {}\nset multiplot layout 1,{} title {} noenhanced "
      "margins screen 0.07, 0.98, 0.27, 0.84 spacing screen 0.07\n",
      200 + 500 * count, quoted(file), count, quoted(picture.title));
  for (size_t i = 0; i < count; ++i) {
    script += "reset\n" + settings(picture.plots[i]) +
              "set key at graph 0.5, graph -0.2 center top horizontal\n";
    for (size_t line = 0; i == 0 && line < picture.notes.size(); ++line)
      script += fmt::format("set label {} at screen 0.02, {} left noenhanced font ',11'\n",
                            quoted(picture.notes[line]),
                            0.03 + 0.04 * static_cast<double>(picture.notes.size() - 1 - line));
    script += plot_command(picture.plots[i], fmt::format("plot{}_line", i));
  }
  return script + "unset multiplot\n";
}

Result<void> draw(const Plot& plot, const fs::path& folder, const std::string& name) {
  if (is_empty(plot)) return fail("nothing to draw: there is no figure");
  return run_gnuplot(folder / (name + ".gp"), gnuplot_script(plot, name));
}

Result<void> draw(const Picture& picture, const fs::path& file) {
  if (std::all_of(picture.plots.begin(), picture.plots.end(), is_empty))
    return fail("nothing to draw: there is no figure");
  std::error_code ignored;  // the stream says what is wrong
  fs::create_directories(fs::absolute(file).parent_path(), ignored);
  return run_gnuplot(fs::path(file).replace_extension(".gp"),
                     gnuplot_script(picture, file.filename().string()));
}

}  // namespace hecto::bench
