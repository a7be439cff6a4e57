// The screen of `hecto top` as text, and its keys. Samples of docs/api.md.
#include <gtest/gtest.h>

#include "router/cli/render_top.hpp"
#include "router/cli/top_keys.hpp"
#include "tests/unit/router/api/documented.hpp"

namespace hecto::cli {
namespace {

using hecto::test::documented;
using nlohmann::json;

TopSample sample(double at_s = 100) {
  TopSample out;
  for (const char* noun : kTopNouns) out.answers[noun] = documented(noun);
  out.at_s = at_s;
  return out;
}

// Two seconds later.
TopSample later(TopSample sample) {
  json& a = sample.answers;
  sample.at_s += 2;
  a["summary"]["uptime_s"] = a["summary"]["uptime_s"].get<int>() + 2;
  json& port = a["ports"]["ports"][0];
  port["rx"]["packets"] = port["rx"]["packets"].get<uint64_t>() + 2'000'000;
  port["rx"]["bytes"] = port["rx"]["bytes"].get<uint64_t>() + 2'500'000'000;
  port["rx"]["missed"] = 500;
  a["drops"]["totals"]["received"] = a["drops"]["totals"]["received"].get<uint64_t>() + 2'000'000;
  a["drops"]["drops"][0]["packets"] = 1214;
  return sample;
}

std::string screen(const TopSample& now, const TopSample& before, TopView view, size_t columns,
                   bool color = false) {
  Style style;
  style.color = color;
  style.width = columns;
  std::string text;
  for (const std::string& line : render_top(now, before, view, style)) text += line + "\n";
  return text;
}

TopView on(size_t rows, TopPane pane = TopPane::kAll) {
  TopView view;
  view.rows = rows;
  view.pane = pane;
  view.clock = "12:00:01";
  return view;
}

TEST(Top, ShowsAllPanesIn80Columns) {
  EXPECT_EQ(screen(sample(), {}, on(24), 80),
            R"(hecto top  12:00:01  up 1d 00:00:23  2 of 2 ports up  4 workers  every 1 s
in 36.1 Mpps 48.1 Gb/s  out 36.1 Mpps 48.1 Gb/s  punted 12 pps  dropped 3 pps
missed 0 pps
! lan0: the driver ixgbe refused 16 receive queues: using 8

port  link             rx         rx         tx         tx  load  missed
wan0  100 Gb/s  18.2 Mpps  48.1 Gb/s  18.2 Mpps  48.1 Gb/s   52%       0

core  socket  load    Mpps  cycles/packet  burst  waits  queues
   2       0   71%    18.2           58.1   41.7    <1%  wan0:0 lan0:0

drops          rate  packets  stage
no_route      3 pps    1,204  lookup, over the bucket  e.g. 203.0.113.77 from w…

egress           tx         tx  share  addresses
wan0.100      1 pps    672 b/s   100%  192.0.2.1/31 2001:db8::1/127

punt         passed     dropped      limit
closed      200 pps  361.0 kpps    200 pps  to ports at which nobody is
sessions     12 pps           0  20.0 kpps  of connections that Linux has



q quit  h help  space pause  0-6 panes  p/b sort  +/- interval
)");
}

TEST(Top, ShowsAllPanesIn40Columns) {
  EXPECT_EQ(screen(sample(), {}, on(24), 40), R"(hecto top  12:00:01  up 1d 00:00:23  2 …
in 36.1 Mpps 48.1 Gb/s
out 36.1 Mpps 48.1 Gb/s  punted 12 pps
dropped 3 pps  missed 0 pps
! lan0: the driver ixgbe refused 16 rec…

port         rx         tx  load  missed
wan0  18.2 Mpps  18.2 Mpps   52%       0

core  load    Mpps  cycles/packet  burst
   2   71%    18.2           58.1   41.7

drops          rate  packets
no_route      3 pps    1,204

egress           tx         tx  share
wan0.100      1 pps    672 b/s   100%

punt         passed     dropped
closed      200 pps  361.0 kpps
sessions     12 pps           0


q quit  h help  space pause  0-6 panes …
)");
}

TEST(Top, CountsBetweenTwoAnswersAndShowsOnlyWhatGrows) {
  EXPECT_EQ(screen(later(sample()), sample(), on(24), 80),
            R"(hecto top  12:00:01  up 1d 00:00:25  2 of 2 ports up  4 workers  every 1 s
in 1.0 Mpps 10.0 Gb/s  out 0 pps 0 b/s  punted 0 pps  dropped 0 pps
missed 250 pps
! lan0: the driver ixgbe refused 16 receive queues: using 8

port  link             rx         rx         tx         tx  load   missed
wan0  100 Gb/s   1.0 Mpps  10.0 Gb/s      0 pps      0 b/s   10%  250 pps

core  socket  load    Mpps  cycles/packet  burst  waits  queues
   2       0   71%    18.2           58.1   41.7    <1%  wan0:0 lan0:0

drops          rate  packets  stage
no_route      5 pps    1,214  lookup, over the bucket  e.g. 203.0.113.77 from w…

egress: nothing is sent

punt: nothing goes to Linux






q quit  h help  space pause  0-6 panes  p/b sort  +/- interval
)");
}

TEST(Top, SaysThatAnAnswerIsOldAndWhy) {
  TopView view = on(8);
  view.trouble = "no router answers at /run/hecto/hecto.sock";
  view.age_s = 12.3;
  EXPECT_EQ(screen(sample(), {}, view, 80),
            R"(hecto top  12:00:01  up 1d 00:00:23  2 of 2 ports up  4 workers  every 1 s
! OLD by 12 s, trying again: no router answers at /run/hecto/hecto.sock
in 36.1 Mpps 48.1 Gb/s  out 36.1 Mpps 48.1 Gb/s  punted 12 pps  dropped 3 pps
missed 0 pps
port  link             rx         rx         tx         tx  load  missed
wan0  100 Gb/s  18.2 Mpps  48.1 Gb/s  18.2 Mpps  48.1 Gb/s   52%       0

q quit  h help  space pause  0-6 panes  p/b sort  +/- interval
)");
}

TEST(Top, KeepsPortsInTheSmallestWindows) {
  EXPECT_EQ(screen(sample(), {}, on(8), 40), R"(hecto top  12:00:01  up 1d 00:00:23  2 …
in 36.1 Mpps 48.1 Gb/s
out 36.1 Mpps 48.1 Gb/s  punted 12 pps
dropped 3 pps  missed 0 pps
port         rx         tx  load  missed
wan0  18.2 Mpps  18.2 Mpps   52%       0

q quit  h help  space pause  0-6 panes …
)");
}

TEST(Top, HasAPictureBeforeTheRouterEverAnswered) {
  TopView view = on(5);
  view.trouble = "no router answers";
  EXPECT_EQ(screen({}, {}, view, 60), R"(hecto top  12:00:01  every 1 s
! trying again: no router answers


q quit  h help  space pause  0-6 panes  p/b sort  +/- inter…
)");
}

TEST(Top, PrintsEverythingWithoutAScreen) {
  Style whole;
  whole.whole = true;
  TopView view = on(0);
  std::string text;
  for (const std::string& line : render_top(sample(), {}, view, whole)) text += line + "\n";
  EXPECT_EQ(text, R"(hecto top  12:00:01  up 1d 00:00:23  2 of 2 ports up  4 workers  every 1 s
in 36.1 Mpps 48.1 Gb/s  out 36.1 Mpps 48.1 Gb/s  punted 12 pps  dropped 3 pps  missed 0 pps
! lan0: the driver ixgbe refused 16 receive queues: using 8

port  link             rx         rx         tx         tx  load  missed
wan0  100 Gb/s  18.2 Mpps  48.1 Gb/s  18.2 Mpps  48.1 Gb/s   52%       0

core  socket  load    Mpps  cycles/packet  burst  waits  queues
   2       0   71%    18.2           58.1   41.7    <1%  wan0:0 lan0:0

drops          rate  packets  stage
no_route      3 pps    1,204  lookup, over the bucket  e.g. 203.0.113.77 from wan0

egress           tx         tx  share  addresses
wan0.100      1 pps    672 b/s   100%  192.0.2.1/31 2001:db8::1/127

punt         passed     dropped      limit
closed      200 pps  361.0 kpps    200 pps  to ports at which nobody is
sessions     12 pps           0  20.0 kpps  of connections that Linux has
)");
}

TEST(Top, ShowsFlowsWhereTheyWereAskedFor) {
  TopSample now = sample();
  const std::string not_yet = screen(now, {}, on(24, TopPane::kFlows), 100);
  EXPECT_NE(not_yet.find("flows: not asked for yet"), std::string::npos) << not_yet;
  now.answers[kTopFlows] = documented("flows/top");
  const std::string flows = screen(now, {}, on(24, TopPane::kFlows), 100);
  EXPECT_NE(flows.find("198.51.100.7:443"), std::string::npos) << flows;
  EXPECT_EQ(screen(now, {}, on(24), 100).find("198.51.100.7:443"), std::string::npos)
      << "nobody has asked in a picture of all";
  TopView printed = on(0, TopPane::kFlows);
  EXPECT_NE(screen(now, {}, printed, 100).find("198.51.100.7:443"), std::string::npos);
}

TEST(Top, ScrollsOnePaneUnderItsHeadings) {
  TopSample many = sample();
  json& workers = many.answers["workers"]["workers"];
  for (int core = 3; core < 23; ++core) {
    workers.push_back(workers[0]);
    workers.back()["cpu"] = core;
    workers.back()["load_percent"] = 71.0 - core;
  }
  TopView view = on(10, TopPane::kWorkers);
  view.first = 2;
  EXPECT_EQ(screen(many, {}, view, 60),
            R"(hecto top  12:00:01  up 1d 00:00:23  2 of 2 ports up  4 wor…
in 36.1 Mpps 48.1 Gb/s  out 36.1 Mpps 48.1 Gb/s
punted 12 pps  dropped 3 pps  missed 0 pps
! lan0: the driver ixgbe refused 16 receive queues: using 8
core  socket  load    Mpps  cycles/packet  burst  waits
   4       0   67%    18.2           58.1   41.7    <1%
   5       0   66%    18.2           58.1   41.7    <1%
   6       0   65%    18.2           58.1   41.7    <1%
… 16 more
q quit  h help  space pause  0-6 panes  p/b sort  +/- inter…
)");
}

// Another run of the router: its counters have nothing to do with those before.
TEST(Top, ForgetsTheCountersOfAnotherRun) {
  const TopSample before = sample();
  TopSample now = later(before);
  now.answers["summary"]["pid"] = 4712;
  EXPECT_EQ(screen(now, before, on(24), 80), screen(now, {}, on(24), 80));
}

TEST(Top, CountsAReasonFromItsFirstPacketOn) {
  TopSample before = sample(), now = later(before);
  before.answers["drops"]["drops"] = json::array();
  now.answers["drops"]["drops"].erase(1);
  const std::string text = screen(now, before, on(24, TopPane::kDrops), 80);
  EXPECT_NE(text.find("no_route    607 pps    1,214"), std::string::npos) << text;
}

TEST(Top, TellsEgressByPortWhereInterfacesAreNotCounted) {
  TopSample now = sample();
  now.answers["interfaces"]["interfaces"][0]["counters"] = nullptr;
  const std::string text = screen(now, {}, on(10, TopPane::kEgress), 80);
  EXPECT_NE(text.find("wan0    18.2 Mpps  48.1 Gb/s   100%  interface counters are off: by port"),
            std::string::npos)
      << text;
}

TEST(Top, SortsByPacketsOrBits) {
  TopSample now = sample();
  json& ports = now.answers["ports"]["ports"];
  ports.push_back(ports[0]);
  ports[1]["name"] = "lan0";
  ports[1]["rx"]["pps"] = 1000;
  ports[1]["rx"]["bps"] = 99e9;
  TopView view = on(10, TopPane::kPorts);
  const std::string by_packets = screen(now, {}, view, 40);
  view.by_bits = true;
  const std::string by_bits = screen(now, {}, view, 40);
  EXPECT_LT(by_packets.find("wan0 "), by_packets.find("lan0 ")) << by_packets;
  EXPECT_LT(by_bits.find("lan0 "), by_bits.find("wan0 ")) << by_bits;
  EXPECT_NE(by_packets.find("18.2 Mpps"), std::string::npos);
  EXPECT_NE(by_bits.find("99.0 Gb/s"), std::string::npos) << "what is sorted by stays";
}

TEST(Top, CountsTheWholeWireAsLoad) {
  TopSample now = sample();
  json& port = now.answers["ports"]["ports"][0];
  port["link"]["speed_mbps"] = 10000;
  port["rx"]["pps"] = 14880952;
  port["rx"]["bps"] = 14880952.0 * 60 * 8;  // 64 bytes with FCS: line rate
  port["tx"]["pps"] = port["tx"]["bps"] = 0;
  const std::string text = screen(now, {}, on(10, TopPane::kPorts), 80);
  EXPECT_NE(text.find("  99%"), std::string::npos) << text;
}

// Any size, any view, any pane: never a line or a column more than there is.
TEST(Top, NeverLeavesTheScreen) {
  const TopSample before = sample(), now = later(before);
  for (size_t columns = 1; columns <= 130; columns += 3) {
    for (size_t rows = 1; rows <= 30; ++rows) {
      for (unsigned pane = 0; pane < kTopPanes; ++pane) {
        TopView view = on(rows, static_cast<TopPane>(pane));
        view.help = (columns + rows) % 7 == 0;
        view.trouble = rows % 2 == 0 ? "no router answers" : "";
        Style style;
        style.color = true;
        style.width = columns;
        const auto lines = render_top(now, before, view, style);
        ASSERT_EQ(lines.size(), rows);
        for (const std::string& line : lines) {
          std::string plain;
          for (size_t at = 0; at < line.size(); ++at) {
            if (line[at] == '\033')
              at = line.find('m', at);
            else
              plain += line[at];
          }
          ASSERT_LE(display_width(plain), columns) << line;
          ASSERT_EQ(plain.find_first_of("\r\n\t"), std::string::npos) << line;
        }
      }
    }
  }
}

TEST(Top, LetsNoNameSteerTheTerminal) {
  TopSample now = sample();
  now.answers["ports"]["ports"][0]["name"] = "wan\033[2J0";
  now.answers["summary"]["warnings"][0] = "a\033]0;b\nc";
  const std::string text = screen(now, {}, on(24), 80);
  EXPECT_EQ(text.find('\033'), std::string::npos);
}

TEST(Top, BelievesNoRouterThatSaysNothing) {
  TopSample now;
  for (const char* noun : kTopNouns) now.answers[noun] = json::object();
  EXPECT_NE(screen(now, now, on(24), 80).find("drops: none grow"), std::string::npos);
}

bool press(TopView& view, std::string_view bytes) {
  for (const TopEvent& event : keys_in(bytes))
    if (!apply_key(event, view)) return false;
  return true;
}

TEST(TopKeys, DoWhatTheHelpSays) {
  TopView view = on(24);
  EXPECT_TRUE(press(view, "3b +"));
  EXPECT_EQ(view.pane, TopPane::kDrops);
  EXPECT_TRUE(view.by_bits);
  EXPECT_TRUE(view.paused);
  EXPECT_EQ(view.interval_s, 2);
  EXPECT_TRUE(press(view, " --p\t\t\t\t"));
  EXPECT_FALSE(view.paused);
  EXPECT_EQ(view.interval_s, 0.5);
  EXPECT_FALSE(view.by_bits);
  EXPECT_EQ(view.pane, TopPane::kAll) << "behind the last the first";
  EXPECT_FALSE(press(view, "q"));
}

TEST(TopKeys, AnyLeavesTheHelp) {
  TopView view = on(24);
  press(view, "?");
  EXPECT_TRUE(view.help);
  EXPECT_TRUE(press(view, "3"));
  EXPECT_FALSE(view.help);
  EXPECT_EQ(view.pane, TopPane::kAll);
}

TEST(TopKeys, MoveRowsWithArrowsAndIgnoreOtherSequences) {
  TopView view = on(24, TopPane::kPorts);
  press(view, "\033[B\033OBj\033[A\033[5~\033[1;5C\033");
  EXPECT_EQ(view.first, 2u);
  press(view, "\033[A\033[A\033[A");
  EXPECT_EQ(view.first, 0u);
}

TEST(TopKeys, EndWhereIntervalsEnd) {
  TopView view = on(24);
  press(view, "++++++++++");
  EXPECT_EQ(view.interval_s, 60);
  press(view, "--------------");
  EXPECT_EQ(view.interval_s, 0.2);
  view.interval_s = 3600;
  press(view, "+");
  EXPECT_EQ(view.interval_s, 3600);
  press(view, "-");
  EXPECT_EQ(view.interval_s, 60);
}

}  // namespace
}  // namespace hecto::cli
