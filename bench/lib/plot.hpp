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
};

// The script that draws NAME.svg and NAME.png in the folder where gnuplot runs.
std::string gnuplot_script(const Plot& plot, const std::string& name);

// Writes NAME.gp, and draws it. An error where there is no gnuplot, with the package that brings
// it.
Result<void> draw(const Plot& plot, const std::filesystem::path& folder, const std::string& name);

}  // namespace hecto::bench
