// A scrape of a router without a data plane and without Linux.
#include "router/api/metrics/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "router/api/show/show.hpp"
#include "router/control/turn_times.hpp"
#include "tests/beds/control.hpp"
#include "tests/beds/growth.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kBase = R"(
workers: {0: [1, 2]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24], counters: true, queues: 2}
  lan0: {device: eth2, addresses: [10.1.0.1/24]}
routes:
  - {to: 203.0.113.0/24, via: 192.0.2.9}
neighbors: [{address: 192.0.2.9, interface: wan0, mac: "02:00:00:00:00:09"}]
)";

class MetricsTest : public ::testing::Test {
 protected:
  std::string scrape(MetricsFormat format = MetricsFormat::kOpenMetrics) {
    const TableUse tables{{3, 100, 200, 1, ""}, {1, 10, 20, 1, ""}, 5, 64};
    return metrics_text(
        {bed->plane, bed->sampler, bed->interfaces.table(), bed->interfaces.lost_ports(),
         bed->routing, tables, 1, with_linux ? &bed->linux_side : nullptr, bed->ipsec,
         &bed->filters, nullptr, nullptr, times, 2'000'000'000, 12.5, 2, true, false},
        format);
  }
  void start(bool linux) {
    with_linux = linux;
    bed = ControlBed::started(kBase, linux);
    bed->plane.worker_list = {{0, 1, 0, {{"wan0", 0}}, 0},
                              {1, 2, 0, {{"wan0", 1}, {"lan0", 0}}, 1}};
    bed->plane.pool_list = {{"pool0", 0, 100, 90, 2048, {"lan0", "wan0"}, nullptr}};
    bed->plane.counted["wan0"] = {1, 2, 3, 4};
  }
  void expect(const std::string& text, const std::string& line) {
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line << "\n\n" << text;
  }
  // A second goes by in which `change` happens.
  template <typename Change>
  void second(Change change) {
    bed->totals.time = {};
    bed->sampler.sample();
    change(bed->totals);
    bed->totals.time += std::chrono::seconds(1);
    bed->sampler.sample();
  }

  bool with_linux = false;
  TurnTimes times;
  std::unique_ptr<ControlBed> bed;
};

TEST_F(MetricsTest, EveryFamilyIsThereOnceInTheTablesOrder) {
  for (const bool linux : {false, true}) {
    start(linux);
    const std::string text = scrape();
    size_t at = 0;
    for (const MetricFamily& family : metric_families()) {
      const std::string head =
          "# TYPE " + std::string(family.name) + " " + std::string(to_string(family.kind)) + "\n";
      const size_t found = text.find(head, at);
      ASSERT_NE(found, std::string::npos) << family.name << " is missing, or out of order";
      at = found + head.size();
    }
    EXPECT_EQ(text.find("# TYPE ", at), std::string::npos);
    EXPECT_TRUE(text.ends_with("# EOF\n"));
  }
}

TEST_F(MetricsTest, NoSeriesComesTwice) {
  start(true);
  second([&](Totals& t) {
    t.punt_classes[0].dropped_at = {{InterfaceId{998}, 4}, {InterfaceId{999}, 6}};
  });
  std::set<std::string> series;
  std::istringstream lines(scrape());
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with('#')) {
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
    }
  EXPECT_GT(series.size(), 200u);
}

TEST_F(MetricsTest, TellsOfBondsHowMuchOfTcpWasReordered) {
  start(false);
  PortStatus& lan = bed->plane.running.at("lan0");
  lan.config.bond.emplace();
  second([&](Totals& t) {
    t.ports[lan.id].rx_segments = 50;
    t.ports[lan.id].rx_reordered = 3;
  });
  const std::string text = scrape();
  expect(text, "hecto_bond_receive_tcp_segments_total{port=\"lan0\"} 50");
  expect(text, "hecto_bond_receive_reordered_segments_total{port=\"lan0\"} 3");
  EXPECT_EQ(text.find("hecto_bond_receive_tcp_segments_total{port=\"wan0\"}"), std::string::npos);
}

TEST_F(MetricsTest, TellsPortsAndPools) {
  start(true);
  const uint16_t wan = bed->plane.running.at("wan0").id;
  second([&](Totals& t) {
    t.ports[wan] = {10, 1000, 7, 700};
    t.interfaces[bed->interface("wan0").id].rx_packets = 9;
  });
  bed->totals.ports[wan].rx_packets = 12;  // since the sample
  bed->plane.running.at("lan0").link.up = false;
  bed->plane.counted["wan0"].queues = {{6, 600, 5, 500}, {4, 400, 2, 200}};
  const std::string text = scrape();
  expect(text, "hecto_queue_receive_packets_total{port=\"wan0\",queue=\"0\"} 6");
  expect(text, "hecto_queue_receive_bytes_total{port=\"wan0\",queue=\"1\"} 400");
  expect(text, "hecto_queue_transmit_packets_total{port=\"wan0\",queue=\"1\"} 2");
  expect(text, "hecto_queue_transmit_bytes_total{port=\"wan0\",queue=\"0\"} 500");
  EXPECT_EQ(text.find("hecto_queue_receive_packets_total{port=\"lan0\""), std::string::npos)
      << "its driver does not tell";
  expect(text, "hecto_port_info{port=\"wan0\",device=\"eth1\",driver=\"net_fake\",socket=\"0\"} 1");
  expect(text, "hecto_port_up{port=\"wan0\"} 1");
  expect(text, "hecto_port_up{port=\"lan0\"} 0");
  expect(text, "hecto_port_speed_bytes_per_second{port=\"wan0\"} 1250000000");
  expect(text, "hecto_port_queues{port=\"wan0\",direction=\"receive\"} 2");
  expect(text, "hecto_port_receive_packets_total{port=\"wan0\"} 10");
  expect(text, "hecto_port_receive_bytes_total{port=\"wan0\"} 1000");
  expect(text, "hecto_port_transmit_packets_total{port=\"wan0\"} 7");
  expect(text, "hecto_port_receive_missed_packets_total{port=\"wan0\"} 1");
  expect(text, "hecto_port_receive_no_mbuf_packets_total{port=\"wan0\"} 2");
  expect(text, "hecto_port_receive_errors_total{port=\"wan0\"} 3");
  expect(text, "hecto_port_transmit_errors_total{port=\"wan0\"} 4");
  expect(text, "hecto_interface_receive_packets_total{interface=\"wan0\"} 9");
  EXPECT_EQ(text.find("hecto_interface_receive_packets_total{interface=\"lan0\"}"),
            std::string::npos)
      << "its interface does not count";
  expect(text, "hecto_pool_size_mbufs{pool=\"pool0\",socket=\"0\"} 100");
  expect(text, "hecto_pool_used_mbufs{pool=\"pool0\",socket=\"0\"} 90");
  expect(text, "hecto_pool_exhausted_total{pool=\"pool0\",socket=\"0\"} 7");
}

TEST_F(MetricsTest, TellsReasonsAndWorkers) {
  start(false);
  second([&](Totals& t) {
    t.received = 20;
    t.dropped[static_cast<size_t>(Reason::kNoRoute)] = 5;
    t.dropped_at[static_cast<size_t>(Reason::kNoRoute)] = {
        {bed->interface("wan0").id, 3}, {InterfaceId{998}, 1}, {kNoInterface, 1}};
    t.punted_at[static_cast<size_t>(Reason::kArp)] = {{bed->interface("wan0").id, 2}};
    t.punted[static_cast<size_t>(Reason::kArp)] = 2;
    t.punt_classes[0].passed = 3;
    t.punt_classes[0].dropped = 10;
    t.punt_classes[0].dropped_at = {{bed->interface("wan0").id, 10}};
    t.workers[1].packets = 100;
    t.workers[1].busy = 25000;
    t.workers[1].idle = 75000;
    t.workers[1].busy_iterations = 40;
    t.workers[1].sampled_packets = 10;
    t.workers[1].stage_cycles = {100, 200, 300, 400, 555};
    t.workers[1].time = ThreadTime{3'000'000, 900'000'000};
  });
  const std::string text = scrape();
  expect(text, "hecto_received_packets_total 20");
  expect(text,
         "hecto_dropped_packets_total{reason=\"no_route\",stage=\"lookup\",kind=\"punt_limited\"} "
         "5");
  expect(text,
         "hecto_dropped_packets_total{reason=\"blackhole\",stage=\"lookup\",kind=\"drop\"} 0");
  expect(text, "hecto_punted_packets_total{reason=\"arp\"} 2");
  expect(text, "hecto_interface_dropped_packets_total{reason=\"no_route\",interface=\"wan0\"} 3");
  expect(text, "hecto_interface_dropped_packets_total{reason=\"no_route\",interface=\"\"} 2");
  expect(text, "hecto_interface_punted_packets_total{reason=\"arp\",interface=\"wan0\"} 2");
  expect(text, "hecto_punt_class_passed_packets_total{class=\"sessions\"} 3");
  expect(text, "hecto_punt_class_dropped_packets_total{class=\"sessions\"} 10");
  expect(text,
         "hecto_punt_class_interface_dropped_packets_total{class=\"sessions\",interface=\"wan0\"} "
         "10");
  expect(text, "hecto_worker_queue_info{worker=\"1\",port=\"lan0\",queue=\"0\"} 1");
  expect(text, "hecto_worker_packets_total{worker=\"1\"} 100");
  expect(text, "hecto_worker_busy_ratio{worker=\"1\"} 0.25");
  expect(text, "hecto_worker_busy_cycles_total{worker=\"1\"} 25000");
  expect(text, "hecto_worker_bursts_total{worker=\"1\"} 40");
  expect(text, "hecto_worker_stage_cycles_total{worker=\"1\",stage=\"transmit\"} 555");
  expect(text, "hecto_worker_cpu_seconds_total{worker=\"1\",state=\"waiting\"} 0.9");
  EXPECT_EQ(text.find("hecto_worker_cpu_seconds_total{worker=\"0\""), std::string::npos)
      << "the kernel does not count";
}

TEST_F(MetricsTest, TellsRoutesNeighborsAndControl) {
  start(true);
  bed->linux_side.stats.overruns = 3;
  times.begins();
  times.reads_routes();
  times.committed();
  times.committed();  // without a change
  times.ends();
  const std::string text = scrape();
  expect(text, "hecto_routes_by_origin{origin=\"file\"} " +
                   std::to_string(bed->routing.counts().by_origin[1]));
  expect(text, "hecto_fib_used_bytes{family=\"ipv4\"} 100");
  expect(text, "hecto_next_hop_groups_limit 64");
  expect(text, "hecto_neighbors{state=\"permanent\"} 1");
  expect(text, "hecto_mirror_overruns_total 3");
  expect(text, "hecto_route_update_seconds_count 1");
  expect(text, "hecto_control_turn_seconds_count 1");
  expect(text, "hecto_uptime_seconds 12.5");
  expect(text, "hecto_gate_open 1");
  start(false);
  EXPECT_EQ(scrape().find("\nhecto_mirror_synchronized "), std::string::npos)
      << "no mirror, no sample";
}

// A scrape is control's: its work grows with the series, not by their square.
TEST_F(MetricsTest, AScrapeIsInProportionToItsSeries) {
  start(true);
  unsigned workers = 2;
  const auto with_workers = [&](unsigned count) {
    for (; workers < count; ++workers)
      bed->plane.worker_list.push_back({workers, workers, 0, {}, 0});
    second([count](Totals& t) { t.workers.resize(count); });
  };
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  with_workers(40);
  const auto few = lines(scrape());
  const double few_ms = least_ms(20, [&] { (void)scrape(); });
  with_workers(400);
  const auto many = lines(scrape());
  const double many_ms = least_ms(20, [&] { (void)scrape(); });
  EXPECT_GT(many, 4000);
  EXPECT_LT(many_ms / few_ms, 4.0 * static_cast<double>(many) / static_cast<double>(few));
}

TEST(MetricsDocumentation, HasTheRowOfEveryFamilyAndNoOther) {
  std::ifstream file(HECTO_SOURCE_ROOT "/docs/metrics.md");
  std::vector<std::string> rows, wanted;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `hecto_")) rows.push_back(line);
  for (const MetricFamily& family : metric_families()) wanted.push_back(markdown_row(family));
  for (size_t i = 0; i < std::max(rows.size(), wanted.size()); ++i)
    ASSERT_EQ(i < rows.size() ? rows[i] : "", i < wanted.size() ? wanted[i] : "")
        << "docs/metrics.md: row " << i + 1 << " of its tables";
}

}  // namespace
}  // namespace hecto::router::test
