// Pictures by gnuplot: lines over a number, or bars over words.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace hecto::bench {

struct PlotPoint {
  double x = 0;  // with categories: its place among them
  double y = 0, least = 0, most = 0;
};

struct PlotLine {
  std::string name;
  std::vector<PlotPoint> points;
};

struct Plot {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<std::string> categories;  // not empty: bars over these words
  std::vector<PlotLine> lines;
  bool values = false;  // each point's y in figures above it
};

// Plots side by side under one title, with small print below them.
struct Picture {
  std::string title;
  std::vector<Plot> plots;
  std::vector<std::string> notes;  // lines
};

// The scripts that draw NAME.svg and NAME.png, or `file`, an SVG, in the folder where gnuplot runs.
std::string gnuplot_script(const Plot& plot, const std::string& name);
std::string gnuplot_script(const Picture& picture, const std::string& file);

// Writes NAME.gp, and draws it. An error where there is no gnuplot (ENOPKG), with the package that
// brings it.
Result<void> draw(const Plot& plot, const std::filesystem::path& folder, const std::string& name);
// An SVG with the script beside it. Makes the folder.
Result<void> draw(const Picture& picture, const std::filesystem::path& file);

}  // namespace hecto::bench
