// The rules of OpenMetrics 1.0.0 and of the text format 0.0.4.
#include "router/api/metrics/writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace hecto::router {
namespace {

MetricsWriter writer(MetricsFormat format = MetricsFormat::kOpenMetrics) {
  return MetricsWriter(format);
}

TEST(MetricsWriter, HeadsAFamilyAndEndsWithEof) {
  auto out = writer();
  out.family("hecto_port_receive_bytes").add({"wan0"}, uint64_t{42}).add({"lan0"}, uint64_t{0});
  EXPECT_EQ(std::move(out).finish(),
            "# TYPE hecto_port_receive_bytes counter\n"
            "# UNIT hecto_port_receive_bytes bytes\n"
            "# HELP hecto_port_receive_bytes Of them, as whole Ethernet frames.\n"
            "hecto_port_receive_bytes_total{port=\"wan0\"} 42\n"
            "hecto_port_receive_bytes_total{port=\"lan0\"} 0\n"
            "# EOF\n");
}

TEST(MetricsWriter, InThePlainFormatAFamilyIsCalledAsItsSamples) {
  auto out = writer(MetricsFormat::kPlain);
  out.family("hecto_port_receive_bytes").add({"wan0"}, uint64_t{42});
  out.family("hecto_worker").add({"0", "2", "1"}, true);
  EXPECT_EQ(std::move(out).finish(),
            "# TYPE hecto_port_receive_bytes_total counter\n"
            "# HELP hecto_port_receive_bytes_total Of them, as whole Ethernet frames.\n"
            "hecto_port_receive_bytes_total{port=\"wan0\"} 42\n"
            "# TYPE hecto_worker_info gauge\n"
            "# HELP hecto_worker_info Workers.\n"
            "hecto_worker_info{worker=\"0\",cpu=\"2\",socket=\"1\"} 1\n");
}

TEST(MetricsWriter, EscapesWhatALabelMayNotHold) {
  auto out = writer();
  out.family("hecto_port").add({"a\"b\\c\nd", "net_x,y={1}", "\xc3\x28", ""}, true);
  EXPECT_NE(std::move(out).finish().find(
                R"(hecto_port_info{port="a\"b\\c\nd",device="net_x,y={1}",driver="?(",socket=""} 1)"
                "\n"),
            std::string::npos);
}

TEST(MetricsWriter, WritesNumbersAsBothFormatsReadThem) {
  auto out = writer();
  out.family("hecto_routes")
      .add({"ipv4"}, std::numeric_limits<uint64_t>::max())
      .add({"ipv6"}, 0.25);
  out.family("hecto_uptime_seconds")
      .add({}, std::nan(""))
      .add({}, std::numeric_limits<double>::infinity())
      .add({}, -std::numeric_limits<double>::infinity())
      .add({}, 1e-9);
  const std::string text = std::move(out).finish();
  for (const char* line : {"hecto_routes{family=\"ipv4\"} 18446744073709551615\n",
                           "hecto_routes{family=\"ipv6\"} 0.25\n", "hecto_uptime_seconds NaN\n",
                           "hecto_uptime_seconds +Inf\n", "hecto_uptime_seconds -Inf\n",
                           "hecto_uptime_seconds 1e-09\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(MetricsWriter, CountsAHistogramUp) {
  auto out = writer();
  const std::array<double, 2> bounds = {0.001, 0.01};
  const std::array<uint64_t, 3> counts = {5, 0, 2};
  out.family("hecto_control_turn_seconds").histogram(bounds, counts, 1.5);
  const std::string text = std::move(out).finish();
  EXPECT_NE(text.find("hecto_control_turn_seconds_bucket{le=\"0.001\"} 5\n"
                      "hecto_control_turn_seconds_bucket{le=\"0.01\"} 5\n"
                      "hecto_control_turn_seconds_bucket{le=\"+Inf\"} 7\n"
                      "hecto_control_turn_seconds_count 7\n"
                      "hecto_control_turn_seconds_sum 1.5\n"),
            std::string::npos)
      << text;
}

TEST(MetricsWriter, RefusesWhatTheTableDoesNotSay) {
  auto out = writer();
  EXPECT_THROW(out.add({}, uint64_t{1}), std::logic_error) << "no family yet";
  EXPECT_THROW(out.family("hecto_nothing"), std::logic_error);
  out.family("hecto_port_up");
  EXPECT_THROW(out.add({}, true), std::logic_error);
  EXPECT_THROW(out.add({"a", "b"}, true), std::logic_error);
  EXPECT_THROW(out.family("hecto_port_up"), std::logic_error) << "once";
}

TEST(MetricFamilies, HaveNamesByTheRules) {
  std::set<std::string> names;
  for (const MetricFamily& family : metric_families()) {
    const std::string name(family.name);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(name.starts_with("hecto_")) << name;
    EXPECT_TRUE(std::ranges::all_of(name, [](char c) {
      return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    })) << name;
    EXPECT_TRUE(
        name.ends_with(std::string(family.unit.empty() ? "" : "_") + std::string(family.unit)))
        << name << ": the unit is the last part";
    for (const char* suffix : {"_total", "_info", "_count", "_sum", "_bucket", "_created"})
      EXPECT_FALSE(name.ends_with(suffix)) << name << ": suffixes are the samples'";
    EXPECT_FALSE(family.kind == MetricKind::kInfo && !family.unit.empty()) << name;
    EXPECT_TRUE(family.help.ends_with('.')) << name;
    EXPECT_EQ(family.labels.find(' '), std::string::npos) << name;
  }
  EXPECT_GE(names.size(), 70u);
}

TEST(MetricsFormat, IsOpenMetricsUnlessOnlyPlainTextIsAsked) {
  using enum MetricsFormat;
  EXPECT_EQ(metrics_format(std::nullopt), kOpenMetrics);
  EXPECT_EQ(metrics_format("*/*"), kOpenMetrics);
  EXPECT_EQ(metrics_format("text/plain"), kPlain);
  EXPECT_EQ(metrics_format("Text/Plain;version=0.0.4"), kPlain);
  EXPECT_EQ(metrics_format("application/openmetrics-text;version=1.0.0;q=0.75,text/plain;"
                           "version=0.0.4;q=0.5,*/*;q=0.1"),
            kOpenMetrics)
      << "as Prometheus asks";
}

}  // namespace
}  // namespace hecto::router
