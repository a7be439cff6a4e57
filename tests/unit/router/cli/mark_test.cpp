// `hecto clear`: counters since a mark, and which mark is of which router.
#include "router/cli/mark.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/unit/router/api/documented.hpp"
#include "tests/unit/router/api/scratch.hpp"

namespace hecto::cli {
namespace {

using hecto::test::documented;

TEST(Mark, CountsPortsAndInterfacesFromThere) {
  const json before = documented("ports");
  json now = before;
  now["ports"][0]["rx"]["packets"] = before["ports"][0]["rx"]["packets"].get<uint64_t>() + 7;
  now["ports"][0]["rx"]["missed"] = 3;
  json fresh = now["ports"][0];
  fresh["name"] = "lan9";
  now["ports"].push_back(fresh);
  const json since = since_mark("ports", now, before);
  EXPECT_EQ(since["ports"][0]["rx"]["packets"], 7);
  EXPECT_EQ(since["ports"][0]["rx"]["missed"], 3);
  EXPECT_EQ(since["ports"][0]["tx"]["bytes"], 0);
  EXPECT_EQ(since["ports"][0]["rx"]["pps"], now["ports"][0]["rx"]["pps"]) << "a rate is of now";
  EXPECT_EQ(since["ports"][1], fresh) << "it is new";
  const json interfaces = documented("interfaces");
  EXPECT_EQ(
      since_mark("interfaces", interfaces, interfaces)["interfaces"][0]["counters"]["tx_packets"],
      0);
}

TEST(Mark, ACounterThatBeganAnewIsWhole) {
  const json before = documented("ports");
  json now = before;
  now["ports"][0]["rx"]["packets"] = 5;
  EXPECT_EQ(since_mark("ports", now, before)["ports"][0]["rx"]["packets"], 5);
}

TEST(Mark, DropsOfNothingGoAndTheBalanceHolds) {
  json before = documented("drops");
  before["totals"]["received"] = before["totals"]["received"].get<uint64_t>() + 2;
  before["totals"]["in_flight"] = 2;
  json now = documented("drops");
  json& totals = now["totals"];
  const auto more = [&totals](const char* key, uint64_t by) {
    totals[key] = totals[key].get<uint64_t>() + by;
  };
  more("received", 12);  // those two, and ten more
  more("transmitted", 8);
  more("dropped", 4);
  now["drops"][0]["packets"] = now["drops"][0]["packets"].get<uint64_t>() + 4;
  json& where = now["drops"][0]["where"][0]["packets"];
  where = where.get<uint64_t>() + 4;
  const json since = since_mark("drops", now, before);
  ASSERT_EQ(since["drops"].size(), 1u);
  EXPECT_EQ(since["drops"][0]["where"][0]["packets"], 4);
  EXPECT_EQ(since["drops"][0]["packets"], 4);
  EXPECT_TRUE(since["punts"].empty());
  const json& t = since["totals"];
  EXPECT_EQ(t["received"], 12) << "what was in flight then is of now";
  EXPECT_EQ(t["received"].get<int>() + t["injected"].get<int>(),
            t["transmitted"].get<int>() + t["punted"].get<int>() + t["dropped"].get<int>() +
                t["in_flight"].get<int>());
}

TEST(Mark, PuntClassesByInterface) {
  const json before = documented("punt");
  json now = before;
  now["classes"][1]["where"][0]["dropped"] =
      before["classes"][1]["where"][0]["dropped"].get<uint64_t>() + 9;
  const json since = since_mark("punt", now, before);
  EXPECT_EQ(since["classes"][1]["where"][0]["dropped"], 9);
  EXPECT_EQ(since["classes"][1]["passed"], 0);
}

TEST(Mark, IsOfOneRunOfARouter) {
  const router::test::Scratch scratch;
  const std::string file = scratch / "mark";
  std::ofstream(file) << json{{"pid", 4711}, {"at_unix_s", 1000}};
  const auto of = [&](int pid, uint64_t uptime_s) {
    return read_mark(file, {{"pid", pid}, {"uptime_s", uptime_s}}, 1100).has_value();
  };
  EXPECT_TRUE(of(4711, 200));
  EXPECT_FALSE(of(4712, 200)) << "another process";
  EXPECT_FALSE(of(4711, 50)) << "the same number, started since";
  std::ofstream(file) << "no json";
  EXPECT_FALSE(of(4711, 200));
  EXPECT_FALSE(read_mark(scratch / "none", json::object(), 1100));
}

}  // namespace
}  // namespace hecto::cli
