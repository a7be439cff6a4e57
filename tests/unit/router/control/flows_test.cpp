#include <gtest/gtest.h>

#include "config/file/flow_words.hpp"
#include "router/control/flow_control.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kFlowPorts =
    "linux: off\nports: {a0: {device: e, mtu: 1400, addresses: [10.1.0.254/24]}, b0: {device: f, "
    "vlans: {7: {}}}}\n";

struct FlowControlBed : ControlBed {
  FlowControlBed() : ControlBed(kFlowPorts) { EXPECT_TRUE(start()); }

  FlowControl control{interfaces.table(), routing, plane, notes};
  config::FlowsConfig wanted{{"a0"}, 16, "route"};
  size_t which = 99;

  InterfaceId id(const std::string& name) { return interfaces.table().find(name)->id; }
  Result<void> add(const std::vector<std::string>& lines) {
    std::vector<config::FlowConfig> flows;
    for (const std::string& line : lines) flows.push_back(*config::parse_flow(line));
    return control.add(flows, &which);
  }
  Result<void> erase(const std::string& line) {
    const std::vector<config::FlowConfig> flows = {*config::parse_flow(line, false)};
    return control.erase(flows, &which);
  }
};

TEST(FlowControl, OffItHasNoTableAndSaysSo) {
  FlowControlBed bed;
  bed.control.follow({});
  EXPECT_EQ(bed.plane.flows, nullptr);
  const auto done = bed.add({"from 10.0.0.1 drop"});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message,
            "flows: the flow table is off; name interfaces under `flows` in the file");
  EXPECT_FALSE(bed.control.erase_all());
}

TEST(FlowControl, WorkersKnowAnInterfaceBeforeAnEntryNamesIt) {
  FlowControlBed bed;
  bed.control.follow(bed.wanted);
  ASSERT_NE(bed.plane.flows, nullptr);
  EXPECT_TRUE(bed.plane.flows->on[bed.id("a0")]);
  EXPECT_FALSE(bed.plane.flows->on[bed.id("b0")]);
  EXPECT_EQ(bed.plane.flows->places[bed.id("b0")], 0);
  ASSERT_TRUE(bed.add({"interface a0 from 10.0.0.1 output b0.7"}));
  const FlowView& view = *bed.plane.flows;
  const FlowPlace in = view.places[bed.id("a0")], out = view.places[bed.id("b0.7")];
  ASSERT_TRUE(in != 0 && out != 0 && in != out);
  EXPECT_TRUE(view.outputs[out].present);
  EXPECT_EQ(view.outputs[out].interface, bed.id("b0.7"));
  EXPECT_EQ(view.outputs[out].header_length, 18);
  EXPECT_EQ(load16_be(view.outputs[out].header + 14), 7);
  EXPECT_EQ(view.outputs[in].mtu, 1400);
}

TEST(FlowControl, EntriesOutliveAReloadUnlessTheirRoomChanges) {
  FlowControlBed bed;
  bed.control.follow(bed.wanted);
  ASSERT_TRUE(bed.add({"from 10.0.0.1 drop"}));
  bed.wanted.miss = "b0";
  bed.wanted.interfaces = {"b0", "a0"};
  bed.control.follow(bed.wanted);
  EXPECT_EQ(bed.control.tables()->size(), 1u);
  EXPECT_EQ(bed.plane.flows->miss.verdict, FlowVerdict::kOutput);
  EXPECT_TRUE(bed.plane.flows->outputs[bed.plane.flows->miss.output].present);
  EXPECT_EQ(bed.plane.flows->outputs[bed.plane.flows->miss.output].interface, bed.id("b0"));
  bed.wanted.miss = "drop";
  bed.control.follow(bed.wanted);
  EXPECT_EQ(bed.plane.flows->miss.verdict, FlowVerdict::kDrop);
  const auto before = bed.plane.flows;
  bed.control.follow(bed.wanted);
  EXPECT_EQ(bed.plane.flows, before) << "nothing has changed";
  bed.wanted.entries = 17;
  bed.control.follow(bed.wanted);
  EXPECT_EQ(bed.control.tables()->size(), 0u);
  bed.control.follow({});
  EXPECT_EQ(bed.plane.flows, nullptr);
  EXPECT_FALSE(bed.control.on());
}

TEST(FlowControl, ARequestWithAWrongEntryChangesNothing) {
  FlowControlBed bed;
  bed.control.follow(bed.wanted);
  const auto done = bed.add({"from 10.0.0.1 drop", "from 10.0.0.2 output c0"});
  ASSERT_FALSE(done);
  EXPECT_EQ(bed.which, 1u);
  EXPECT_EQ(done.error().message, "there is no interface c0; use a port, PORT.ID or PORT.OUTER.ID");
  EXPECT_EQ(bed.control.tables()->size(), 0u);
}

TEST(FlowControl, DeletesByMatchAndWhereItIsGivenByPriority) {
  FlowControlBed bed;
  bed.control.follow(bed.wanted);
  ASSERT_TRUE(bed.add({"from 10.0.0.1 priority 3 drop", "from 10.0.0.2 drop"}));
  const auto other = bed.erase("from 10.0.0.1 priority 4");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message,
            "flows: the entry of this match has priority 3; leave priority out, or use that");
  EXPECT_EQ(other.error().error_number, ENOENT);
  EXPECT_TRUE(bed.erase("from 10.0.0.1 priority 3"));
  EXPECT_TRUE(bed.erase("from 10.0.0.2"));
  EXPECT_FALSE(bed.erase("from 10.0.0.2"));
  ASSERT_TRUE(bed.add({"from 10.0.0.1 drop", "from 10.0.0.2 drop"}));
  EXPECT_EQ(bed.control.erase_all().value_or(9), 2u);
}

TEST(FlowControl, TheClockEndsEntries) {
  FlowControlBed bed;
  bed.control.follow(bed.wanted);
  bed.control.tick(100);
  ASSERT_TRUE(bed.add({"from 10.0.0.1 hard_s 5 drop"}));
  bed.control.tick(104);
  EXPECT_EQ(bed.control.tables()->size(), 1u);
  bed.control.tick(105);
  EXPECT_EQ(bed.control.tables()->size(), 0u);
}

}  // namespace
}  // namespace hecto::router::test
