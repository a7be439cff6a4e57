// The result folder's picture and its report: one HTML file that needs nothing beside it.
#pragma once

#include <filesystem>
#include <string>

#include "bench/lib/plot.hpp"
#include "bench/run/run.hpp"

namespace hecto::bench {

Plot plot_of(const Outcome& outcome);

std::string escape_html(std::string_view text);

// `svg` may be empty, and `no_picture` says why then.
std::string to_html(const Outcome& outcome, const std::string& svg, const std::string& no_picture);

// Adds plot.gp, plot.svg, plot.png, report.html to the folder of a result. Without gnuplot the
// report has tables alone. Gives a line for the operator when there is no picture.
std::string write_report(const Outcome& outcome, const std::filesystem::path& folder);

}  // namespace hecto::bench
