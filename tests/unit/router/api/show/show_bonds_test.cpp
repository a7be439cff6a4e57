// What is shown of bonds: shapes of docs/api.md.
#include "router/control/reorder_watch.hpp"
#include "tests/unit/router/api/show/show_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kBond = R"(
workers: {0: [1, 2]}
ports: {uplink: {bond: {members: [eth1, eth2], mode: balance-xor}, addresses: [192.0.2.1/24]}}
)";

TEST(ShowBonds, TellsMembersAndTheOrderOfTcp) {
  const auto bed = ControlBed::started(kBond);
  BondStatus bond;
  bond.name = "uplink";
  bond.config.mode = config::BondMode::kBalanceXor;
  bond.mac = {2, 0, 0, 0, 0, 5};
  bond.up = true;
  bond.active = 2;
  bond.members.resize(1);
  bond.members[0].device = "eth1";
  bond.members[0].carrier = bond.members[0].active = true;
  bond.members[0].traffic = {1, 2, 3, 4, 5};
  bond.troubles = {"of its own"};
  bed->plane.bond_list = {bond};
  ReorderWatch order;
  EXPECT_EQ(show_bonds(bed->plane, order)["bonds"], json::parse(R"([{
    "name": "uplink", "mode": "balance-xor", "hash": "layer3+4", "lacp_rate": null,
    "mac": "02:00:00:00:00:05", "up": true, "active": 2, "min_links": 1,
    "members": [{"device": "eth1", "state": "active", "speed_mbps": null, "lacp": null,
                 "rx": {"packets": 1, "bytes": 3}, "tx": {"packets": 2, "bytes": 4}, "lost": 5,
                 "changes": 0, "last_change_s": null, "trouble": []}],
    "reorder": {"segments": 0, "reordered": 0, "percent": null}, "trouble": ["of its own"]}])"));

  second(*bed, [&](Totals& t) {
    TrafficTotals& port = t.ports[bed->plane.running.at("uplink").id];
    port.rx_segments = 3000;
    port.rx_reordered = 1000;
  });
  (void)order.sampled(bed->plane, bed->sampler, ReorderWatch::Clock::now());
  const json shown = show_bonds(bed->plane, order)["bonds"][0];
  EXPECT_EQ(shown["reorder"],
            json::parse(R"({"segments": 3000, "reordered": 1000, "percent": 33.33})"));
  ASSERT_EQ(shown["trouble"].size(), 2u);
  EXPECT_EQ(shown["trouble"][1],
            "33.3 % of the TCP segments that come in are out of order: the partner shares out the "
            "packets of a flow over members (round robin); choose a hash of flows there");
}

}  // namespace
}  // namespace hecto::router::test
