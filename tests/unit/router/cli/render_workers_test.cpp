// Tables of workers, and of packets that they did not forward: samples of docs/api.md.
#include "tests/unit/router/cli/render_bed.hpp"

namespace hecto::cli {
namespace {

TEST(Render, WorkersBusiestFirst) {
  json answer = documented("workers");
  json idle = answer["workers"][0], remote = answer["workers"][0];
  idle["cpu"] = 3;
  idle["pps"] = 0;
  idle["load_percent"] = 0;
  idle["idle_percent"] = 100;
  idle["cycles_per_packet"] = nullptr;
  idle["burst_fill"] = nullptr;
  for (auto& stage : idle["stages"]) stage = nullptr;
  remote["cpu"] = 4;
  remote["load_percent"] = 97;
  remote["idle_percent"] = 3;
  remote["remote_queues"] = 1;
  answer["workers"].insert(answer["workers"].begin(), idle);
  answer["workers"].push_back(remote);
  EXPECT_EQ(render_workers(answer, {}),
            R"(socket  core  queues         load  Mpps  cycles/packet  burst  idle
     0     4  wan0:0 lan0:0   97%  18.2           58.1   41.7    3%
     0     2  wan0:0 lan0:0   71%  18.2           58.1   41.7   29%
     0     3  wan0:0 lan0:0    0%   0.0              -      -  100%

cycles per packet by stage
core  receive  classify  lookup  rewrite  transmit  isa   when idle  features
   4     11.0       9.2    20.3      7.1      10.5  avx2  sleep      vlan urpf counters
   2     11.0       9.2    20.3      7.1      10.5  avx2  sleep      vlan urpf counters
   3        -         -       -        -         -  avx2  sleep      vlan urpf counters
core 4: wan0:0 is spread by flow, 33 % here, the rest to core 3 (spread: always)
core 2: wan0:0 is spread by flow, 33 % here, the rest to core 3 (spread: always)
core 3: wan0:0 is spread by flow, 33 % here, the rest to core 3 (spread: always)
! core 4 polls 1 queue of another socket; see hecto plan
)");
}

TEST(Render, WorkersThatWaitForTheirCpu) {
  json answer = documented("workers");
  EXPECT_EQ(render_workers(answer, {}).find("waits"), std::string::npos);
  json& worker = answer["workers"][0];
  worker["load_percent"] = 0.0;
  worker["idle_percent"] = 100.0;
  worker["cpu_percent"] = 0.3;
  worker["waiting_percent"] = 99.4;
  const std::string text = render_workers(answer, {});
  EXPECT_NE(text.find("idle  waits\n"), std::string::npos) << text;
  EXPECT_NE(text.find("! core 2: the worker waits for its CPU 99% of the time and runs <1%"),
            std::string::npos)
      << text;
}

TEST(Render, WorkersThatCannotWaitAsTheyWereAsked) {
  json answer = documented("workers");
  answer["workers"][0]["idle"] = "interrupt";
  answer["workers"][0]["no_wakeup"] = {"lan0: the driver net_memif has no receive interrupts"};
  const std::string text = render_workers(answer, {});
  EXPECT_NE(
      text.find("! core 2: idle: interrupt, but it sleeps where it would wait: lan0: the driver"),
      std::string::npos)
      << text;
}

TEST(Render, QueuesThatGoOverSeveralWorkers) {
  json answer = documented("workers");
  const std::string text = render_workers(answer, {});
  EXPECT_NE(text.find("core 2: wan0:0 is spread by flow, 33 % here, the rest to core 3"),
            std::string::npos)
      << text;
  answer["workers"][0]["spread"] = json::array();
  EXPECT_EQ(render_workers(answer, {}).find("spread"), std::string::npos);
}

TEST(Render, DropsAndTheBalance) {
  EXPECT_EQ(render_drops(documented("drops"), {}),
            R"(reason        packets   rate  where
no_route        1,204  3 pps  lookup (punted, over the bucket)  e.g. 203.0.113.77 from wan0
bad_checksum        7  0 pps  classify                          IPv4 header checksum

punted to Linux  packets   rate     limit
arp                   31  0 pps  1.0 kpps  RFC 826

received 1,300,000 + from Linux 640 = transmitted 1,298,640 + punted 789 + dropped 1,211
of those transmitted 12 are answers to senders: too big for the way on (hecto show mtu)
)");
}

TEST(Render, DropsSayWhenPacketsAreUnaccountedFor) {
  json answer = documented("drops");
  json& totals = answer["totals"];
  totals["received"] = 1300256;
  totals["in_flight"] = 256;  // under load
  EXPECT_EQ(render_drops(answer, {}).find('!'), std::string::npos) << render_drops(answer, {});
  EXPECT_NE(render_drops(answer, {}).find("in flight\n256"), std::string::npos);
  totals["unaccounted"] = 5;
  EXPECT_NE(render_drops(answer, {})
                .find("! the sum does not fit: 5 packets are unaccounted for: a fault"),
            std::string::npos)
      << render_drops(answer, {});
  totals["unaccounted"] = -5;
  EXPECT_NE(render_drops(answer, {}).find("5 packets are counted twice"), std::string::npos);
}

TEST(Render, PuntClassesAndWhereTheyDrop) {
  json answer = documented("punt");
  EXPECT_EQ(render_punt(answer, {}),
            R"(class     order      limit  passed     rate    dropped        rate  where
sessions      0  20.0 kpps  81,204   12 pps          0       0 pps
closed        3    200 pps   2,210  200 pps  9,120,450  361.0 kpps  lan0 9,120,450

the router itself: 4 connections, 3 TCP and 2 UDP ports, 2 known peers
)");
  for (const char* name : {"lan1", "lan2", "lan3", "lan4"})
    answer["classes"][1]["where"].push_back({{"interface", name}, {"dropped", 1}});
  answer["sessions"] = nullptr;
  const std::string text = render_punt(answer, {});
  EXPECT_NE(text.find("  lan0 9,120,450, lan1 1, 3 more\n"), std::string::npos) << text;
  EXPECT_NE(text.find("no port counts as closed"), std::string::npos) << text;
}

}  // namespace
}  // namespace hecto::cli
