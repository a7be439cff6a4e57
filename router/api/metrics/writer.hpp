// A scrape as text: OpenMetrics 1.0.0, or Prometheus' text format 0.0.4 for who asks for that.
// One family after the other, each of the table in families.hpp, with its samples behind it.
//
//   MetricsWriter out(MetricsFormat::kOpenMetrics);
//   out.family("hecto_port_receive_packets").add({"wan0"}, 42);
//   std::move(out).finish()
//
// A name that the table has not, a family that comes twice, and labels that are not as many as the
// table says are programming errors (std::logic_error). Not thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "router/api/metrics/families.hpp"
#include "router/api/metrics_format.hpp"

namespace hecto::router {

class MetricsWriter {
 public:
  using Labels = std::initializer_list<std::string_view>;  // values, in the table's order

  explicit MetricsWriter(MetricsFormat format) : format_(format) {}

  MetricsWriter& family(std::string_view name);  // its head; samples follow
  MetricsWriter& add(Labels labels, uint64_t value);
  MetricsWriter& add(Labels labels, double value);
  MetricsWriter& add(Labels labels, bool value) { return add(labels, uint64_t{value}); }
  // `counts`: of each bound those up to it and above the one before, then those above the last.
  void histogram(std::span<const double> bounds, std::span<const uint64_t> counts, double sum);
  std::string finish() &&;

 private:
  void begin_sample(std::string_view suffix);
  void add_labels(Labels labels);

  const MetricsFormat format_;
  const MetricFamily* family_ = nullptr;
  std::string_view suffix_;  // of its samples' names
  std::set<std::string_view> seen_;
  std::string text_;
};

}  // namespace hecto::router
