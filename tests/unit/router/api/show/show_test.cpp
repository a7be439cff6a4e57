// What is shown of a router without a data plane and without Linux: shapes of docs/api.md.
#include "router/api/show/show.hpp"

#include <nlohmann/json.hpp>

#include "router/api/show/names.hpp"
#include "router/control/offload_watch.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "tests/unit/router/api/show/show_bed.hpp"

namespace hecto::router::test {
namespace {

TEST(ShowPorts, TellsWhatTheyAreAndDo) {
  const auto bed = ControlBed::started(kBase);
  PortStatus& wan = bed->plane.running.at("wan0");
  wan.mac = {2, 0, 0, 0, 0, 1};
  wan.asked = {"rss", "tso"};
  wan.given = {"rss"};
  wan.refused = {"it has no TSO"};
  wan.receive_path = "Vector AVX2";
  bed->plane.counted["wan0"] = {1, 2, 3, 4};
  second(*bed, [&](Totals& t) {
    t.ports[wan.id].rx_packets = 10;
    t.ports[wan.id].rx_bytes = 1000;
    t.ports[wan.id].tx_packets = 7;
    t.ports[wan.id].tx_bytes = 700;
  });
  bed->totals.ports[wan.id].rx_packets = 12;  // since the sample
  const json answer = show_ports(bed->plane, bed->sampler, bed->interfaces.table(), {}, {});
  ASSERT_EQ(answer["ports"].size(), 2u);
  EXPECT_EQ(row(answer["ports"], "name", "wan0"), json::parse(R"({
    "name": "wan0", "device": "eth1", "driver": "net_fake", "socket": 0,
    "link": {"up": true, "speed_mbps": 10000}, "mac": "02:00:00:00:00:01", "mtu": 1500,
    "queues": {"rx": 2, "tx": 1}, "offloads": {"asked": ["rss", "tso"], "given": ["rss"]},
    "paths": {"rx": "Vector AVX2", "tx": null}, "refused": ["it has no TSO"], "trouble": [],
    "rx": {"packets": 12, "bytes": 1000, "pps": 10, "bps": 8000, "missed": 1, "no_mbuf": 2,
           "errors": 3, "coalesced": 0, "unfinished": 0},
    "tx": {"packets": 7, "bytes": 700, "pps": 7, "bps": 5600, "errors": 4}})"));
}

TEST(ShowPorts, ADeviceThatIsGoneIsDown) {
  const auto bed = ControlBed::started(kBase);
  bed->plane.running.at("wan0").present = false;
  bed->plane.running.at("lan0").link = {true, 0};
  const json ports = show_ports(bed->plane, bed->sampler, bed->interfaces.table(), {}, {})["ports"];
  EXPECT_EQ(row(ports, "name", "wan0")["link"]["up"], false);
  EXPECT_EQ(row(ports, "name", "lan0")["link"], json::parse(R"({"up": true, "speed_mbps": null})"));
}

TEST(ShowPorts, OneWhoseDeviceRefusesStandsThereAndWhy) {
  const auto bed = ControlBed::started(kBase);
  bed->plane.running.at("wan0").present = false;
  bed->plane.running.at("wan0").device_back = true;
  bed->plane.refused = {"wan0"};
  (void)bed->interfaces.watch();
  const json ports = show_ports(bed->plane, bed->sampler, bed->interfaces.table(), {},
                                bed->interfaces.lost_ports())["ports"];
  EXPECT_EQ(row(ports, "name", "wan0"), json::parse(R"({
    "name": "wan0", "device": "eth1", "driver": "net_fake", "socket": 0,
    "link": {"up": false, "speed_mbps": null}, "mac": "02:00:00:00:00:00", "mtu": 1500,
    "queues": {"rx": 0, "tx": 0}, "offloads": {"asked": [], "given": []}, "refused": [],
    "paths": {"rx": null, "tx": null},
    "trouble": ["eth1 is back but cannot be used: port wan0: the driver refused"],
    "rx": {"packets": 0, "bytes": 0, "pps": 0, "bps": 0, "missed": 0, "no_mbuf": 0, "errors": 0,
           "coalesced": 0, "unfinished": 0},
    "tx": {"packets": 0, "bytes": 0, "pps": 0, "bps": 0, "errors": 0}})"));
}

TEST(ShowPorts, WhatSomebodyDidToThemIsTold) {
  const auto bed = ControlBed::started(kBase, true);
  bed->plane.running.at("lan0").trouble = "an XDP program of somebody else is there";
  LinuxLink link;
  link.ifindex = bed->interface("wan0").ifindex;
  link.name = "wan0";
  link.mtu = 1500;
  bed->events.link(link, false);
  const json ports = show_ports(bed->plane, bed->sampler, bed->interfaces.table(), {}, {})["ports"];
  EXPECT_EQ(row(ports, "name", "wan0")["trouble"],
            json::parse(R"(["interface wan0: set down in Linux"])"));
  EXPECT_EQ(row(ports, "name", "lan0")["trouble"],
            json::parse(R"(["an XDP program of somebody else is there"])"));
}

TEST(ShowInterfaces, WithLinux) {
  const auto bed = ControlBed::started(kBase, true);
  bed->events.address({11, *IpPrefix::parse_interface("198.18.0.1/24")}, false);
  const Interface& wan = bed->interface("wan0");
  second(*bed, [&](Totals& t) {
    t.interfaces[wan.id].rx_packets = 5;
    t.interfaces[wan.id].rx_bytes = 500;
  });
  const json list = show_interfaces(bed->interfaces.table(), bed->routing, bed->plane, bed->sampler,
                                    &bed->linux_side)["interfaces"];
  ASSERT_EQ(list.size(), 3u);
  json expected = json::parse(R"({
    "name": "wan0", "port": "wan0", "vlan": null, "outer_vlan": null, "tag_protocol": null, "tap": "wan0", "namespace": "blue",
    "ifindex": 11, "macvlan_of": null, "vrf": null, "master": null, "tunnel": null, "mac": "02:00:00:00:00:00", "mtu": 1500, "up": true,
    "addresses": ["192.0.2.1/24", "198.18.0.1/24"], "urpf": "strict",
    "switches": {"forwarding_ipv4": true, "forwarding_ipv6": true, "rp_filter": "off",
                 "send_redirects": false, "accept_local": false},
    "counters": {"rx_packets": 5, "rx_bytes": 500, "rx_pps": 5, "rx_bps": 4000, "tx_packets": 0,
                 "tx_bytes": 0, "tx_pps": 0, "tx_bps": 0}})");
  expected["id"] = wan.id.value();
  EXPECT_EQ(row(list, "name", "wan0"), expected);
  const json& vlan = row(list, "name", "wan0.7");
  EXPECT_EQ(vlan["vlan"], 7);
  EXPECT_EQ(vlan["mtu"], 1400);
  EXPECT_EQ(vlan["urpf"], "off");
  EXPECT_EQ(row(list, "name", "lan0")["counters"], nullptr);
}

TEST(ShowInterfaces, WithoutLinux) {
  const auto bed = ControlBed::started(kBase);
  bed->plane.running.at("lan0").link.up = false;
  bed->interfaces.poll_links();
  bed->plane.publish();
  const json list = show_interfaces(bed->interfaces.table(), bed->routing, bed->plane, bed->sampler,
                                    nullptr)["interfaces"];
  const json& lan = row(list, "name", "lan0");
  EXPECT_EQ(lan["up"], false);
  for (const char* key : {"tap", "namespace", "ifindex"}) EXPECT_EQ(lan[key], nullptr) << key;
}

TEST(ShowPorts, WhatOffloadsDidIsCountedAndNamed) {
  const auto bed = ControlBed::started(kBase);
  const PortId wan = bed->plane.running.at("wan0").id;
  OffloadWatch watch;
  second(*bed, [&](Totals& t) { t.ports[wan].rx_coalesced = 5; });
  (void)watch.sampled(bed->plane, bed->sampler, OffloadWatch::Clock::now());
  const json ports =
      show_ports(bed->plane, bed->sampler, bed->interfaces.table(), watch, {})["ports"];
  const json& row_of_wan = row(ports, "name", "wan0");
  EXPECT_EQ(row_of_wan["rx"]["coalesced"], 5);
  ASSERT_EQ(row_of_wan["trouble"].size(), 1u);
  EXPECT_NE(row_of_wan["trouble"][0].get<std::string>().find("ethtool -K eth1 gro off lro off"),
            std::string::npos);
  EXPECT_TRUE(row(ports, "name", "lan0")["trouble"].empty());
}

TEST(ShowPools, CountsWhatFoundNothing) {
  const auto bed = ControlBed::started(kBase, true);
  bed->plane.pool_list = {{"idle", 0, 100, 10, 2048, {}, nullptr},
                          {"busy", 0, 100, 90, 2048, {"lan0", "wan0"}, nullptr}};
  bed->plane.counted["wan0"].no_mbuf = 3;
  const json pools = show_pools(bed->plane, &bed->linux_side)["pools"];
  EXPECT_EQ(pools[0], json::parse(R"({"name": "busy", "socket": 0, "size": 100, "in_use": 90,
    "available": 10, "data_room_bytes": 2048, "exhausted": 8, "ports": ["lan0", "wan0"]})"));
  EXPECT_EQ(show_pools(bed->plane, nullptr)["pools"][0]["exhausted"], 3);
}

TEST(ShowWorkers, TheBusiestFirst) {
  const auto bed = ControlBed::started(kBase);
  bed->plane.worker_list = {{0, 1, 0, {{"wan0", 0}}, 0}, {1, 2, 0, {{"wan0", 1}, {"lan0", 0}}, 1}};
  bed->plane.worker_list[1].idle = IdleMode::kInterrupt;
  bed->plane.worker_list[1].queues[0].spread = "is spread by flow";
  bed->plane.worker_list[1].no_wakeup = {"lan0: it has none"};
  bed->plane.feature_bits = kFeatureVlan | kFeatureUrpf;
  for (WorkerTotals& worker : bed->totals.workers) worker.time = ThreadTime{};
  second(*bed, [](Totals& t) {
    t.workers[0].idle = 1000;
    t.workers[0].time.reset();
    t.workers[1].packets = 100;
    t.workers[1].busy = 25000;
    t.workers[1].idle = 75000;
    t.workers[1].busy_iterations = 40;
    t.workers[1].sampled_packets = 10;
    t.workers[1].stage_cycles = {100, 200, 300, 400, 555};
    t.workers[1].time = ThreadTime{3'000'000, 900'000'000};
  });
  const json answer = show_workers(bed->plane, bed->sampler, 2000000000);
  EXPECT_EQ(answer["tsc_hz"], 2000000000);
  const json& busy = answer["workers"][0];
  EXPECT_EQ(busy["id"], 1);
  EXPECT_EQ(busy["queues"], json::parse(R"([{"port": "wan0", "queue": 1},
                                            {"port": "lan0", "queue": 0}])"));
  EXPECT_EQ(busy["pps"], 100);
  EXPECT_EQ(busy["load_percent"], 25.0);
  EXPECT_EQ(busy["idle_percent"], 75.0);
  EXPECT_EQ(busy["idle"], "interrupt");
  EXPECT_EQ(busy["idle_in_force"], "sleep");
  EXPECT_EQ(busy["no_wakeup"], json{"lan0: it has none"});
  EXPECT_EQ(busy["spread"], json{"wan0:1 is spread by flow"});
  EXPECT_EQ(busy["cpu_percent"], 0.3);
  EXPECT_EQ(busy["waiting_percent"], 90.0);
  EXPECT_EQ(busy["cycles_per_packet"], 250.0);
  EXPECT_EQ(busy["burst_fill"], 2.5);
  EXPECT_EQ(busy["stages"], json::parse(R"({"receive": 10.0, "classify": 20.0, "lookup": 30.0,
                                            "rewrite": 40.0, "transmit": 55.5})"));
  EXPECT_EQ(busy["features"], (json{"vlan", "urpf"}));
  EXPECT_EQ(busy["burst"], 64);
  EXPECT_EQ(busy["remote_queues"], 1);
  const json& idle = answer["workers"][1];
  EXPECT_EQ(idle["stages"], nullptr);
  EXPECT_EQ(idle["waiting_percent"], nullptr);
  EXPECT_EQ(idle["cycles_per_packet"], nullptr);
}

TEST(ShowSummary, TellsTheWhole) {
  const auto bed = ControlBed::started(kBase, true);
  bed->plane.worker_list = {{0, 1, 0, {}, 0}};
  bed->plane.running.at("lan0").link.up = false;
  bed->linux_side.stats.resyncs = 2;
  bed->linux_side.stats.last_reason = "start";
  TableUse tables;
  tables.ipv4.prefixes = 9;
  tables.groups = 4;
  second(*bed, [](Totals& t) {
    t.received = 30;
    t.ports[0].rx_bytes = 1000;
    t.ports[1].rx_bytes = 2000;
  });
  const Summary summary{bed->running,   bed->plane,       bed->sampler,
                        tables,         &bed->linux_side, std::chrono::seconds(12),
                        {"one warning"}};
  const json answer = show_summary(summary);
  EXPECT_EQ(answer["uptime_s"], 12);
  EXPECT_EQ(answer["namespace"], "blue");
  EXPECT_EQ(answer["workers"], 1);
  EXPECT_EQ(answer["ports"], 2);
  EXPECT_EQ(answer["ports_up"], 1);
  EXPECT_EQ(answer["sockets"], json{0});
  EXPECT_EQ(answer["tables"][0]["family"], "ipv4");
  EXPECT_EQ(answer["tables"][0]["prefixes"], 9);
  EXPECT_EQ(answer["tables"][1]["replicas"], 1);
  EXPECT_EQ(answer["groups_used"], 4);
  EXPECT_EQ(answer["mirror"]["state"], "in sync");
  EXPECT_EQ(answer["mirror"]["resyncs"], 2);
  EXPECT_EQ(answer["rates"]["rx_pps"], 30);
  EXPECT_EQ(answer["rates"]["rx_bps"], 24000);
  EXPECT_EQ(answer["warnings"], json{"one warning"});
  bed->linux_side.stats.last_error = "dump failed";
  EXPECT_EQ(show_summary(summary)["mirror"]["state"], "dump failed");
}

TEST(ShowConfig, SaysWhatCameFromTheFile) {
  const auto bed = ControlBed::started(kBase);
  bed->running.loaded_unix_s = 1234;
  bed->plane.running.at("lan0").mtu = 1400;
  const json answer = show_config(bed->running, bed->plane);
  EXPECT_EQ(answer["file"], "t.yaml");
  EXPECT_EQ(answer["loaded_unix_s"], 1234);
  EXPECT_EQ(read(answer["yaml"].get<std::string>()), bed->running.config);
  const auto effective = [&](const std::string& key) {
    const json& found = row(answer["effective"], "key", key);
    return found["value"].get<std::string>() + " " + found["origin"].get<std::string>();
  };
  EXPECT_EQ(effective("workers"), "1, 2 file");
  EXPECT_EQ(effective("control_core"), "0 auto");
  EXPECT_EQ(effective("ports.wan0.queues"), "2 file");
  EXPECT_EQ(effective("ports.lan0.queues"), "1 auto");  // a kernel interface
  EXPECT_EQ(effective("ports.lan0.mtu"), "1400 file");
}

TEST(ShowPlan, IsOfThePlacementThatRuns) {
  const auto bed = ControlBed::started(kBase);
  EXPECT_NE(show_plan(bed->running).dump().find("lan0"), std::string::npos);
  remove_port(bed->running.placement, "lan0");
  EXPECT_EQ(show_plan(bed->running)["placement"].dump().find("lan0"), std::string::npos);
}

TEST(ShowPlan, HasTheBoxAndWhatTheModelSaysOfIt) {
  const auto bed = ControlBed::started(kBase);
  config::Topology& box = bed->running.topology;
  config::Nic& nic = box.nics.emplace_back();
  nic.pci = "0000:17:00.0";
  nic.interface = "eth9";
  nic.name = "spare";
  nic.socket = 0;
  box.gpus.emplace_back().name = "H100";
  const json answer = show_plan(bed->running);
  const json& socket = answer["topology"]["sockets"][0];
  EXPECT_EQ(socket["id"], box.sockets[0]);
  EXPECT_EQ(socket["cores"][0]["cpu"], box.cores[0].cpu);
  EXPECT_EQ(answer["topology"]["nics"].back()["interface"], "eth9");
  EXPECT_EQ(answer["topology"]["nics"].back()["pcie_lanes"], nullptr);
  EXPECT_EQ(answer["topology"]["gpus"][0]["name"], "H100");
  ASSERT_FALSE(answer["capacity"]["points"].empty());
  EXPECT_GT(answer["capacity"]["points"][0]["mpps"], 0);
  EXPECT_EQ(answer["capacity"].dump().find("spare"), std::string::npos) << "it has no port";
}

TEST(Names, ForNumbersWithoutOne) {
  const auto bed = ControlBed::started(kBase);
  EXPECT_EQ(port_text(bed->plane, 63), "port 63");
  EXPECT_EQ(port_text(bed->plane, bed->plane.running.at("lan0").id), "lan0");
  EXPECT_EQ(interface_text(bed->interfaces.table(), 77), "interface 77");
  EXPECT_EQ(protocol_text(186), "bgp");
  EXPECT_EQ(protocol_text(77), "77");
  EXPECT_EQ(neighbor_state_text(0x04, false), "stale");
  EXPECT_EQ(neighbor_state_text(0x04, true), "permanent");
}

}  // namespace
}  // namespace hecto::router::test
