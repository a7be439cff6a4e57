// `hecto check` and `hecto plan`, which need no router: files and boxes, right and wrong ones.
#include <gtest/gtest.h>

#include "router/cli/table.hpp"
#include "tests/unit/router/cli/hecto_bed.hpp"

namespace hecto::cli {
namespace {

TEST_F(HectoTest, ChecksAndPlansWithoutARouter) {
  server_->stop();
  const std::string good = write("good.yaml", "ports: {wan0: {device: eth1}}\n");
  const Outcome silent = run("check '" + good + "'");
  EXPECT_EQ(silent.code, 0) << silent.err;
  EXPECT_EQ(silent.out + silent.err, "");
  const std::string bad = write("bad.yaml", "ports:\n  wan0: {device: eth1, mtu: 90000}\n");
  const Outcome problem = run("check '" + bad + "'");
  EXPECT_EQ(problem.code, 1);
  EXPECT_EQ(problem.err.rfind(bad + ":2: ports.wan0.mtu: 90000", 0), 0u) << problem.err;
  const json answer = json::parse(run("check --json '" + bad + "'").out);
  EXPECT_EQ(answer["ok"], false);
  EXPECT_EQ(answer["problems"].size(), 1u);

  const std::string gone = write("gone.yaml", "ports: {a: {device: eth1}}\ncontrol_core: 4000\n");
  const Outcome not_here = run("check '" + gone + "'");
  EXPECT_EQ(not_here.code, 1);
  EXPECT_EQ(not_here.err.rfind(gone + ": control_core: there is no core 4000", 0), 0u);
  EXPECT_EQ(run("check --elsewhere '" + gone + "'").code, 0);

  const Outcome plan = run("plan '" + good + "'");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("wan0"), std::string::npos);
  EXPECT_NE(plan.out.find("No figures: all ports are kernel interfaces"), std::string::npos);
  EXPECT_EQ(plan.out.find("Mpps"), std::string::npos) << "what no model tells is not told";
  EXPECT_TRUE(json::parse(run("plan --json '" + good + "'").out).contains("placement"));
  EXPECT_EQ(run("plan '" + bad + "'").code, 1);
  const Outcome no_box = run("plan '" + good + "' --topology /none.xml");
  EXPECT_EQ(no_box.code, 1);
  EXPECT_EQ(no_box.err.rfind("hecto: ", 0), 0u) << no_box.err;
}

// What is legal and does nothing is told, and is no problem.
TEST_F(HectoTest, ChecksFilters) {
  const std::string file = write(
      "dead.yaml",
      "ports: {wan0: {device: eth1}}\nfilters: {edge: {in: [wan0], rules: [{protocol: tcp}, {name: "
      "ssh, protocol: tcp, dport: 22}]}}\n");
  const Outcome told = run("check --elsewhere '" + file + "'");
  EXPECT_EQ(told.code, 0);
  EXPECT_EQ(told.err, "! " + file +
                          ": filters.edge: rule 2 (ssh) never holds: rule 1 holds for all that it "
                          "asks for\n");
  const json answer = json::parse(run("check --elsewhere --json '" + file + "'").out);
  EXPECT_EQ(answer["ok"], true);
  EXPECT_EQ(answer["notes"].size(), 1u);
}

// A box of config/boxes, as an option.
std::string shipped(const std::string& box) {
  return "--box '" HECTO_SOURCE_ROOT "/config/boxes/" + box + ".yaml'";
}

TEST_F(HectoTest, PlansFromWhatAnotherMachineCollected) {
  const std::string file = write("box7.yaml", "");
  const Outcome collected = run("plan --collect '" + file + "'");
  EXPECT_EQ(collected.code, 0) << collected.err;
  EXPECT_EQ(collected.out.rfind(file + ": ", 0), 0u) << collected.out;
  EXPECT_EQ(run("plan --collect -").out.rfind("# Written by `hecto plan --collect`", 0), 0u);
  EXPECT_EQ(run("plan --collect /none/box.yaml").code, 1);
  const Outcome explained = run("plan --explain --box '" + file + "'");
  EXPECT_EQ(explained.code, 0) << explained.err;
  const std::string cut = write("cut.yaml", "collected: 1\nnics: {}\n");
  const Outcome refused = run("plan --box '" + cut + "'");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("is cut: its hwloc part does not end"), std::string::npos)
      << refused.err;
  const Outcome empty = run("plan --box '" + write("empty.xml", "<topology>") + "'");
  EXPECT_EQ(empty.code, 1);
  EXPECT_NE(empty.err.find("within the export; copy it again"), std::string::npos) << empty.err;
}

TEST_F(HectoTest, ComparesABoxWithAnotherAndWithItselfChanged) {
  const Outcome changed = run("plan " + shipped("server-1s-2x100g") + " --what-if cores=4");
  EXPECT_EQ(changed.code, 0) << changed.err;
  EXPECT_NE(changed.out.find("as it is"), std::string::npos);
  EXPECT_NE(changed.out.find("\nIPv4 forwarding 64 B "), std::string::npos);
  const std::string other = shipped("lanman2010");
  const Outcome both = run("plan " + shipped("server-1s-2x100g") + " --against" + other.substr(5));
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_NE(both.out.find("hubs both ways"), std::string::npos);
  for (const std::string& out : {changed.out, both.out})
    for (size_t at = 0; at < out.size(); at = out.find('\n', at) + 1)
      EXPECT_LE(display_width(out.substr(at, out.find('\n', at) - at)), kWidth);
  const json answer =
      json::parse(run("plan --json " + shipped("server-1s-2x100g") + " --what-if cores=4").out);
  EXPECT_EQ(answer["box"]["sockets"][0]["cores"], 4);
  EXPECT_EQ(answer["compared"]["box"]["sockets"][0]["cores"], 32);
  EXPECT_EQ(run("plan " + other + " --what-if colour=red").code, 2);
  EXPECT_EQ(run("plan " + other + " --what-if cores=4 --against /none.yaml").code, 2);
  EXPECT_EQ(run("plan " + other + " --against /none.yaml").code, 1);
}

TEST_F(HectoTest, PlansTheCapacityOfABox) {
  const Outcome plan = run("plan " + shipped("lanman2010"));
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("n5p1"), std::string::npos) << "the placement";
  EXPECT_NE(plan.out.find("\nGb/s on the wire"), std::string::npos) << "the capacity";
  EXPECT_NE(plan.out.find("\n! The I/O hubs stop forwarding"), std::string::npos) << "the advice";
  for (size_t at = 0; at < plan.out.size(); at = plan.out.find('\n', at) + 1)
    EXPECT_LE(display_width(plan.out.substr(at, plan.out.find('\n', at) - at)), kWidth);

  const json answer = json::parse(run("plan --json " + shipped("lanman2010")).out);
  EXPECT_TRUE(answer.contains("placement"));
  const json& points = answer["capacity"]["points"];
  ASSERT_EQ(points.size(), 64u);
  for (const char* key : {"mpps", "gbps", "bottleneck", "headroom", "cores_needed"})
    EXPECT_TRUE(points[0].contains(key)) << key;
  EXPECT_EQ(points[0]["experiment"], "receive");
  EXPECT_EQ(points[0]["headroom"][points[0]["bottleneck"].get<std::string>()], 1.0);
  EXPECT_EQ(answer["constants"]["nic_rx_cycles"]["value"], 600);
}

TEST_F(HectoTest, PlansAConfigurationForABoxAndDrawsIt) {
  const std::string config = write("two.yaml",
                                   "ports: {wan0: {device: \"0000:01:00.0\"}, lan0: {device: "
                                   "\"0000:02:00.0\"}}\n");
  const std::string picture = scratch_ / "box.svg";
  const Outcome plan = run("plan '" + config + "' " + shipped("server-1s-2x100g") + " --svg '" +
                           picture + "' --size imix --traffic ipsec");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("wires: 200 Gb/s"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("IPsec forwarding, IMIX: "), std::string::npos) << plan.out;
  EXPECT_NE(read("box.svg").find("forward_local ipsec, IMIX"), std::string::npos);
  EXPECT_EQ(run("plan " + shipped("cloud-4x25g") + " --svg /none/box.svg").code, 1);
}

TEST_F(HectoTest, ExplainsConstantsAndTakesACalibration) {
  const Outcome plain = run("plan --explain " + shipped("cloud-4x25g"));
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_NE(plain.out.find("  lookup_ipv4_cycles "), std::string::npos);
  const std::string slow =
      write("slow.yaml", "machine: \"a slow one\"\nconstants: {lookup_ipv4_cycles: 5000}\n");
  const Outcome measured = run("plan --explain --calibration '" + slow + "'");
  EXPECT_NE(measured.out.find("5000 cycles/packet  calibrated on a slow one"), std::string::npos)
      << measured.out;
  const json answer = json::parse(
      run("plan --json " + shipped("server-1s-2x100g") + " --calibration '" + slow + "'").out);
  for (const json& point : answer["capacity"]["points"]) {
    if (point["traffic"] != "ipv4" || point["size"] != "64") continue;
    EXPECT_EQ(point["bottleneck"], "cores of socket 0");
  }
}

TEST_F(HectoTest, RefusesToPlanWhatCannotBe) {
  const std::string bad =
      write("bad-box.yaml", "cores: 4\nghz: 3\nnics:\n  n: {slot: s9, gbit_s: 100}\n");
  const Outcome box = run("plan --box '" + bad + "'");
  EXPECT_EQ(box.code, 1);
  EXPECT_EQ(box.err, bad + ":4: nics.n.slot: s9 is no slot of this box; add it under slots\n");
  const std::string wrong = write("bad-cal.yaml", "constants: {lookup_cycles: 1}\n");
  const Outcome calibration = run("plan --explain --calibration '" + wrong + "'");
  EXPECT_EQ(calibration.code, 1);
  EXPECT_EQ(calibration.err.rfind(wrong + ":1: constants.lookup_cycles: no such constant", 0), 0u);
  EXPECT_EQ(run("plan " + shipped("cloud-4x25g") + " --topology x.xml").code, 2);
  EXPECT_EQ(run("plan " + shipped("cloud-4x25g") + " --size 65").code, 2);
  EXPECT_EQ(run("plan " + shipped("cloud-4x25g") + " --traffic ipx").code, 2);
  const std::string empty = write("no-nics.yaml", "cores: 4\nghz: 3\n");
  const Outcome none = run("plan --box '" + empty + "'");
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("has no NIC; name a configuration file"), std::string::npos) << none.err;
}

// By hand: 2 leaves of 100 Gb/s to each other over one spine: each link carries 100 of its 400.
TEST_F(HectoTest, PlansAClusterAndWhatAFailureLeaves) {
  const std::string file =
      write("fabric.yaml",
            "design: clos\nleaves: 2\nspines: 2\nleaf: {gbit_s: 800}\nspine: {gbit_s: 600}\n"
            "links: {gbit_s: 200}\ntraffic: {each_gbit_s: 100}\n");
  const Outcome text = run("plan --cluster '" + file + "'");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("2 spines of 600 Gb/s (given), 2 leaves of 800 Gb/s (given)\n"),
            std::string::npos)
      << text.out;
  const json answer = json::parse(run("plan --json --cluster '" + file + "'").out);
  EXPECT_EQ(answer["all"]["factor"], 4);  // 50 on each link of 200, 200 through leaves of 800
  EXPECT_EQ(answer["all"]["carried_gbit_s"], 800);
  EXPECT_EQ(answer["failures"][0]["without"], "a spine");
  EXPECT_EQ(answer["failures"][0]["carried_gbit_s"], 400);

  const std::string boxes =
      write("boxes.yaml", "design: mesh\nboxes: 3\nbox: {box: " HECTO_SOURCE_ROOT
                          "/config/boxes/server-1s-2x100g.yaml}\nlinks: {gbit_s: 100}\n"
                          "traffic: {each_gbit_s: 20}\n");
  const json mesh = json::parse(run("plan --json --size 1518 --cluster '" + boxes + "'").out);
  EXPECT_NEAR(mesh["edge_gbit_s"].get<double>(), 200, 1) << "both of its ports are full";
  EXPECT_EQ(run("plan --cluster '" + boxes + "' --box x.yaml").code, 2);
  const Outcome none = run("plan --cluster /none.yaml");
  EXPECT_EQ(none.code, 1);
  const Outcome bad = run("plan --cluster '" + write("bad.yaml", "design: ring\n") + "'");
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.err.find("bad.yaml:1: design: ring"), std::string::npos) << bad.err;
}

}  // namespace
}  // namespace hecto::cli
