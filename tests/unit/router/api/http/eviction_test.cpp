// A client that holds many connections, slowly, holds nobody off.
#include "router/api/http/eviction.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include "router/api/http/http.hpp"
#include "tests/unit/router/api/http/http_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr Peer kHonest{0, 10}, kGreedy{1000, 20}, kOther{1000, 30};

TEST(ChooseVictim, OfTheUserWithTheMostThenOfItsGreediestProcess) {
  const std::vector<Held> held = {{kHonest, Doing::kIdle, 1},
                                  {kHonest, Doing::kReading, 1},
                                  {kOther, Doing::kIdle, 2},
                                  {kGreedy, Doing::kReading, 9},
                                  {kGreedy, Doing::kReading, 8}};
  EXPECT_EQ(choose_victim(held), 4u);
}

TEST(ChooseVictim, TheIdleThenWhoReadsLongestThenWhoTakesHisAnswerSlowly) {
  std::vector<Held> held = {{kGreedy, Doing::kSending, 1},
                            {kGreedy, Doing::kReading, 5},
                            {kGreedy, Doing::kReading, 4},
                            {kGreedy, Doing::kIdle, 9},
                            {kGreedy, Doing::kAnswering, 0}};
  for (const size_t expected : {3u, 2u, 1u, 0u}) {
    EXPECT_EQ(choose_victim(held), expected);
    held[expected].doing = Doing::kAnswering;
  }
  EXPECT_EQ(choose_victim(held), std::nullopt) << "who is being answered stays";
  EXPECT_EQ(choose_victim({}), std::nullopt);
}

TEST_F(HttpTest, AHundredAndOneSlowOnesHoldNobodyOff) {
  HttpLimits limits = small();
  limits.connections = 64;
  limits.idle = limits.request = 60s;
  start(limits);
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 101; ++i) {
    slow.push_back(std::make_unique<RawClient>(path_));
    slow.back()->send("POST /x HTTP/1.1\r\nContent-Length: 1000\r\n\r\nx");
  }
  for (int i = 0; i < 20; ++i) expect_alive();
  // Those that had to go were told why.
  size_t told = 0;
  for (auto& client : slow) {
    const std::string text = client->read_all(50ms);
    told +=
        starts(text, "HTTP/1.1 503") && text.find("too many API connections") != std::string::npos;
  }
  EXPECT_GE(told, 101u - 64u);
}

// The kernel says who is at the other end: a process with one connection loses none to another
// process of its user that opens many.
TEST_F(HttpTest, AProcessWithOneConnectionKeepsIt) {
  HttpLimits limits = small();
  limits.idle = limits.request = 60s;
  start(limits);
  RawClient honest(path_);
  ASSERT_TRUE(honest.send("POST /mine HTTP/1.1\r\nContent-Length: 4\r\n\r\nab"));
  expect_alive();  // so that it is not the youngest
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t greedy = ::fork();
  ASSERT_GE(greedy, 0);
  if (greedy == 0) {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < 40; ++i) {
      clients.push_back(std::make_unique<RawClient>(path_));
      clients.back()->send("GET /x HT");
    }
    // Until some of them have been turned away.
    const auto gone = [](const auto& client) { return client->closed_by_peer(1ms); };
    for (int i = 0; i < 100 && std::none_of(clients.begin(), clients.end(), gone); ++i) continue;
    [[maybe_unused]] const ssize_t told = ::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  // Asked by no other connection of this process, which would have more than one then.
  EXPECT_TRUE(starts(honest.ask("cd"), "HTTP/1.1 200"));
  ::kill(greedy, SIGKILL);
  ::waitpid(greedy, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace hecto::router::test
