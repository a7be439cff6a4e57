// The families of metrics: what each is called, counts and means. One table, from which the scrape
// and docs/metrics.md follow. No family has a series for each route, neighbor, SA or flow: a scrape
// is as large as the box has ports, workers and reasons.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hecto::router {

enum class MetricKind : uint8_t { kGauge, kCounter, kHistogram, kInfo };
std::string_view to_string(MetricKind kind) noexcept;  // the words of OpenMetrics

// OpenMetrics 1.0.0: the unit is the name's last part; samples of a counter add _total to the name,
// those of an info _info.
struct MetricFamily {
  std::string_view name;
  MetricKind kind;
  std::string_view unit;    // empty: a number of things
  std::string_view labels;  // with commas between; of histograms `le` comes besides
  std::string_view help;
};

std::span<const MetricFamily> metric_families();  // in the order of a scrape

std::string_view sample_suffix(MetricKind kind) noexcept;  // "_total", "_info"; else nothing
// As the name of a counter's or info's samples is.
std::string sample_name(const MetricFamily& family);
// | `hecto_…` | counter | port | … |
std::string markdown_row(const MetricFamily& family);

}  // namespace hecto::router
