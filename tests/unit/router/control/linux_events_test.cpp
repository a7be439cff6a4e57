// Who hears of a link, in which order, and what a resync leaves out.
#include "router/control/linux_events.hpp"

#include <gtest/gtest.h>

namespace hecto::router::test {
namespace {

using Lines = std::vector<std::string>;

// Writes down what arrives, as "routing +if0".
class Recorder final : public LinuxEvents {
 public:
  explicit Recorder(Lines& lines) : lines_(lines) {}
  void link(const LinuxLink& link, bool removed) override {
    lines_.push_back((removed ? "routing -" : "routing +") + link.name);
  }
  void address(const LinuxAddress&, bool) override { lines_.push_back("address"); }
  void neighbor(const LinuxNeighbor&, bool) override { lines_.push_back("neighbor"); }
  void nexthop_object(const NextHopObject&, bool) override { lines_.push_back("object"); }
  void route(const Route&, bool, bool) override { lines_.push_back("route"); }
  void resync_begin(const std::string& why) override { lines_.push_back("begin " + why); }
  void device_resync_begin(int ifindex, const std::string& why) override {
    lines_.push_back("begin " + std::to_string(ifindex) + " " + why);
  }
  void resync_end() override { lines_.push_back("end"); }

 private:
  Lines& lines_;
};

class LinuxEventsTest : public testing::Test {
 protected:
  static LinuxLink link(int ifindex) {
    LinuxLink link;
    link.ifindex = ifindex;
    link.name = "if" + std::to_string(ifindex);
    return link;
  }
  Lines lines;
  Recorder routing{lines};
  LinuxEventFanOut events{
      {}, routing, [this](const LinuxLink& link, bool removed) {
        lines.push_back((removed ? "interfaces -" : "interfaces +") + link.name);
      }};
};

TEST_F(LinuxEventsTest, BeforeANeighborThatCanBeSentToRoutingIsPaused) {
  LinuxEventFanOut with_neighbors({}, routing, {}, [this] { lines.push_back("pause"); });
  LinuxNeighbor neighbor;
  with_neighbors.neighbor(neighbor, false);
  neighbor.usable = true;
  with_neighbors.neighbor(neighbor, true);
  EXPECT_EQ(lines, (Lines{"neighbor", "neighbor"}));
  with_neighbors.neighbor(neighbor, false);
  EXPECT_EQ(lines, (Lines{"neighbor", "neighbor", "pause", "neighbor"}));
}

TEST_F(LinuxEventsTest, RoutingLooksAtALinkBeforeTheInterfaces) {
  events.link(link(0), false);
  events.link(link(0), true);
  EXPECT_EQ(lines, (Lines{"routing +if0", "interfaces +if0", "routing -if0", "interfaces -if0"}));
}

TEST_F(LinuxEventsTest, EverythingElseIsRoutingsAlone) {
  events.address({}, false);
  events.neighbor({}, false);
  events.nexthop_object({}, false);
  events.route({}, false, false);
  EXPECT_EQ(lines, (Lines{"address", "neighbor", "object", "route"}));
}

TEST_F(LinuxEventsTest, ResyncTellsTheInterfacesOfLinksThatWent) {
  events.link(link(0), false);
  events.link(link(1), false);
  events.link(link(2), false);
  events.link(link(2), true);
  events.resync_begin("a test");
  events.link(link(0), false);
  lines.clear();
  events.resync_end();
  EXPECT_EQ(lines, (Lines{"end", "interfaces -if1"}));  // behind routing's own sweep
  lines.clear();
  events.resync_begin("again");
  events.link(link(0), false);
  lines.clear();
  events.resync_end();
  EXPECT_EQ(lines, (Lines{"end"}));
}

TEST_F(LinuxEventsTest, EndOfAResyncThatNeverBeganTakesNothing) {
  events.link(link(0), false);
  lines.clear();
  events.resync_end();
  EXPECT_EQ(lines, (Lines{"end"}));
}

}  // namespace
}  // namespace hecto::router::test
