// Clusters small enough to be worked out by hand.
#include "config/capacity/cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hecto::config {
namespace {

using Part = ClusterPart::Kind;

// Each edge sends `each` Gb/s, to all others alike.
Cluster uniform(ClusterDesign design, size_t edges, size_t spines, double each) {
  Cluster cluster;
  cluster.design = design;
  cluster.edges = edges;
  cluster.spines = spines;
  cluster.edge.gbit_s = cluster.spine.gbit_s = 1000;
  cluster.link_gbit_s = 100;
  cluster.demand.assign(edges * edges, 0);
  for (size_t i = 0; i < edges; ++i)
    for (size_t j = 0; j < edges; ++j)
      if (i != j) cluster.demand[i * edges + j] = each / static_cast<double>(edges - 1);
  return cluster;
}

double load_of(const ClusterLoad& load, const ClusterPart& part) {
  for (const auto& [each, gbit_s] : load.loads)
    if (each == part) return gbit_s;
  return 0;
}

// 4 leaves of 100 Gb/s over 2 spines: 50 on each uplink, 200 through each spine, 200 through each leaf.
TEST(ClusterLoadOf, AClosDividesOverItsSpines) {
  const Cluster cluster = uniform(ClusterDesign::kClos, 4, 2, 100);
  const ClusterLoad load = cluster_load(cluster);
  EXPECT_DOUBLE_EQ(load_of(load, {Part::kLink, 0, 4}), 50);
  EXPECT_DOUBLE_EQ(load_of(load, {Part::kLink, 5, 3}), 50);
  EXPECT_DOUBLE_EQ(load_of(load, {Part::kBox, 4, 0}), 200);
  EXPECT_DOUBLE_EQ(load_of(load, {Part::kBox, 0, 0}), 200);
  EXPECT_DOUBLE_EQ(load.factor, 2);  // of its links; boxes would do five times as much
  EXPECT_DOUBLE_EQ(load.carried, 800);
  EXPECT_EQ(load.binds.kind, Part::kLink);
  EXPECT_DOUBLE_EQ(load.cut_off, 0);
}

TEST(ClusterLoadOf, WhatIsFullFirstBinds) {
  Cluster cluster = uniform(ClusterDesign::kClos, 4, 2, 100);
  cluster.spine.gbit_s = 300;  // of 200
  ClusterLoad load = cluster_load(cluster);
  EXPECT_DOUBLE_EQ(load.carried, 600);
  EXPECT_EQ(name_of(cluster, load.binds), "spine1");
  cluster.edge.gbit_s = 100;  // of 200
  load = cluster_load(cluster);
  EXPECT_DOUBLE_EQ(load.carried, 200);
  EXPECT_EQ(name_of(cluster, load.binds), "leaf1");
  cluster.host_gbit_s = 40;  // of 100
  load = cluster_load(cluster);
  EXPECT_DOUBLE_EQ(load.carried, 160);
  EXPECT_EQ(name_of(cluster, load.binds), "the hosts of leaf1");
}

TEST(ClusterLoadOf, WhatAFailureOfAClosLeaves) {
  const Cluster cluster = uniform(ClusterDesign::kClos, 4, 2, 100);
  EXPECT_DOUBLE_EQ(cluster_load(cluster, {{Part::kBox, 4, 0}}).carried, 400);
  // Without its link to spine1 leaf1 has 100 on the other, and others' packets to it as well.
  const ClusterLoad link = cluster_load(cluster, {{Part::kLink, 4, 0}});
  EXPECT_DOUBLE_EQ(load_of(link, {Part::kLink, 0, 5}), 100);
  EXPECT_DOUBLE_EQ(load_of(link, {Part::kLink, 5, 0}), 100);
  EXPECT_DOUBLE_EQ(link.carried, 400);
  // Of 400 half is from leaf1 or to it; three leaves of 66.7 go on, 33.3 on each link.
  const ClusterLoad leaf = cluster_load(cluster, {{Part::kBox, 0, 0}});
  EXPECT_DOUBLE_EQ(leaf.cut_off, 200);
  EXPECT_DOUBLE_EQ(leaf.factor, 3);
  EXPECT_DOUBLE_EQ(leaf.carried, 600);
  const auto failures = cluster_failures(cluster);
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_EQ(failures[0].what, "a spine");
  EXPECT_DOUBLE_EQ(failures[0].left.carried, 400);
  EXPECT_EQ(failures[2].what, "a leaf");
}

TEST(ClusterLoadOf, WithoutAnySpineNothingHasAWay) {
  const Cluster cluster = uniform(ClusterDesign::kClos, 3, 1, 30);
  const ClusterLoad load = cluster_load(cluster, {{Part::kBox, 3, 0}});
  EXPECT_DOUBLE_EQ(load.carried, 0);
  EXPECT_DOUBLE_EQ(load.cut_off, 90);
  EXPECT_NE(describe(cluster).find("nothing has a way"), std::string::npos);
}

TEST(ClusterLoadOf, AMeshGoesStraightAndAroundWhereItMust) {
  const Cluster cluster = uniform(ClusterDesign::kMesh, 3, 0, 20);
  const ClusterLoad whole = cluster_load(cluster);
  EXPECT_DOUBLE_EQ(load_of(whole, {Part::kLink, 0, 1}), 10);
  EXPECT_DOUBLE_EQ(load_of(whole, {Part::kBox, 2, 0}), 40);
  const ClusterLoad around = cluster_load(cluster, {{Part::kLink, 0, 1}});
  EXPECT_DOUBLE_EQ(load_of(around, {Part::kLink, 0, 2}), 20);
  EXPECT_DOUBLE_EQ(load_of(around, {Part::kLink, 0, 1}), 0);
  EXPECT_DOUBLE_EQ(load_of(around, {Part::kBox, 2, 0}), 60);
}

// RouteBricks §3.2: a link carries 2R/N and a box 2R and what it passes on, R (N-2)/N: 3R where N is large.
TEST(ClusterLoadOf, ValiantIsRouteBricks) {
  const Cluster four = uniform(ClusterDesign::kValiant, 4, 0, 90);
  const ClusterLoad load = cluster_load(four);
  EXPECT_DOUBLE_EQ(load_of(load, {Part::kLink, 1, 2}), 45);
  EXPECT_DOUBLE_EQ(load_of(load, {Part::kBox, 1, 0}), 225);
  const Cluster many = uniform(ClusterDesign::kValiant, 32, 0, 32);
  EXPECT_NEAR(load_of(cluster_load(many), {Part::kLink, 0, 31}), 2, 1e-9);
  EXPECT_NEAR(load_of(cluster_load(many), {Part::kBox, 0, 0}), 2 * 32 + 30, 1e-9);
}

// All that it is for: one edge sends all to one other. Straight on that is R on one link, by Valiant 2R/N.
TEST(ClusterLoadOf, ValiantDoesNotMindTheWorstMatrix) {
  for (const ClusterDesign design : {ClusterDesign::kMesh, ClusterDesign::kValiant}) {
    Cluster cluster = uniform(design, 4, 0, 0);
    cluster.demand[0 * 4 + 1] = 80;
    const ClusterLoad load = cluster_load(cluster);
    double most = 0;
    for (const auto& [part, gbit_s] : load.loads)
      if (part.kind == Part::kLink) most = std::max(most, gbit_s);
    EXPECT_DOUBLE_EQ(most, design == ClusterDesign::kMesh ? 80 : 40);
  }
}

TEST(ClusterLoadOf, WhatStaysAtItsEdgeLoadsNoLink) {
  Cluster cluster = uniform(ClusterDesign::kClos, 2, 1, 0);
  cluster.demand[0] = 500;
  const ClusterLoad load = cluster_load(cluster);
  EXPECT_DOUBLE_EQ(load_of(load, {Part::kBox, 0, 0}), 500);
  EXPECT_DOUBLE_EQ(load.carried, 1000);
}

TEST(ClusterFile, IsReadAndSaysWhatItMeans) {
  const auto cluster = parse_cluster(
      "design: clos\nleaves: 4\nspines: 2\nleaf: {gbit_s: 1000}\nspine: {box: s.yaml}\n"
      "links: {gbit_s: 50, each: 2}\nhosts: {gbit_s: 400}\ntraffic: {each_gbit_s: 100}\n",
      "c.yaml");
  ASSERT_TRUE(cluster) << cluster.error()[0];
  EXPECT_EQ(cluster->edges, 4u);
  EXPECT_EQ(cluster->spine.box, "s.yaml");
  EXPECT_EQ(cluster->spine.line, 5u);
  EXPECT_DOUBLE_EQ(cluster->link_gbit_s, 100);
  EXPECT_DOUBLE_EQ(cluster->asked(), 400);
  const auto matrix = parse_cluster(
      "design: mesh\nboxes: 2\nbox: {gbit_s: 10}\nlinks: {gbit_s: 10}\n"
      "traffic: {matrix: [[0, 4], [1.5, 0]]}\n",
      "c.yaml");
  ASSERT_TRUE(matrix) << matrix.error()[0];
  EXPECT_DOUBLE_EQ(matrix->demand[1], 4);
  EXPECT_DOUBLE_EQ(matrix->demand[2], 1.5);
}

TEST(ClusterFile, RefusesWhatDoesNotFit) {
  const std::string mesh = "design: mesh\nbox: {gbit_s: 10}\nlinks: {gbit_s: 10}\n";
  const std::pair<std::string, std::string> cases[] = {
      {mesh + "boxes: 1\ntraffic: {each_gbit_s: 1}\n", "c.yaml:4: boxes: 1"},
      {mesh + "boxes: 33\ntraffic: {each_gbit_s: 1}\n", "c.yaml:4: boxes: 33"},
      {mesh + "boxes: 3\nspines: 2\ntraffic: {each_gbit_s: 1}\n", "does not go with design: mesh"},
      {mesh + "boxes: 2\ntraffic: {matrix: [[0, 1]]}\n", "has 1 rows where there are 2 edges"},
      {mesh + "boxes: 2\ntraffic: {matrix: [[0, 1], [0]]}\n", "has 1 numbers where there are 2"},
      {mesh + "boxes: 2\ntraffic: {matrix: [[0, 0], [0, 0]]}\n", "asks for nothing"},
      {mesh + "boxes: 2\ntraffic: {matrix: [[0, -1], [0, 0]]}\n", "-1"},
      {mesh + "boxes: 2\ntraffic: {}\n", "each_gbit_s"},
      {mesh + "boxes: 2\n", "traffic"},
      {mesh + "boxs: 2\ntraffic: {each_gbit_s: 1}\n", "boxs"},
      {"design: ring\n", "design: ring"},
      {"design: clos\nleaves: 2\nspines: 1\nleaf: {}\nspine: {gbit_s: 1, box: x}\nlinks: {gbit_s: "
       "1}\n"
       "traffic: {each_gbit_s: 1}\n",
       "one of them"},
      {"[", "c.yaml:"}};
  for (const auto& each : cases) {
    const std::string &text = each.first, &wanted = each.second;
    const auto cluster = parse_cluster(text, "c.yaml");
    ASSERT_FALSE(cluster) << text;
    EXPECT_TRUE(std::ranges::any_of(
        cluster.error(),
        [&](const std::string& line) { return line.find(wanted) != std::string::npos; }))
        << wanted << "\n"
        << cluster.error()[0];
  }
}

}  // namespace
}  // namespace hecto::config
