#include "router/dataplane/transmit_queues.hpp"

#include <gtest/gtest.h>

#include "router/dataplane/pool_feeds.hpp"

namespace hecto::router::test {
namespace {

using Shares = std::vector<std::pair<unsigned, int>>;  // queue, owner; -1: its own

Shares share(unsigned queues, const std::vector<TransmitThread>& threads, int socket = 0) {
  Shares shares;
  for (const TransmitShare& s : share_transmit_queues(queues, threads, socket))
    shares.emplace_back(s.queue, s.owner ? static_cast<int>(*s.owner) : -1);
  return shares;
}

TEST(TransmitQueues, EachThreadHasItsOwnWhereThereAreEnough) {
  EXPECT_EQ(share(4, {{0, false}, {0, true}, {0, false}}), (Shares{{0, -1}, {1, -1}, {2, -1}}));
}

TEST(TransmitQueues, TheSlowPathIsTheFirstToGoWithout) {
  EXPECT_EQ(share(2, {{0, true}, {0, true}, {0, false}}), (Shares{{0, -1}, {1, -1}, {0, 0}}));
}

TEST(TransmitQueues, OneQueueIsAReceiversAndAllOthersHandOverToIt) {
  EXPECT_EQ(share(1, {{0, false}, {0, true}, {0, false}, {0, false}}),
            (Shares{{0, 1}, {0, -1}, {0, 1}, {0, 1}}));
}

TEST(TransmitQueues, ThoseWithoutSpreadOverOwnersOfTheirSocket) {
  // Workers 0 and 1 on socket 0, 2 to 4 on 1; the port is 1's and worker 4 receives from it.
  EXPECT_EQ(share(3, {{0, false}, {0, false}, {1, false}, {1, false}, {1, true}, {0, false}}, 1),
            (Shares{{0, 2}, {1, 3}, {0, -1}, {1, -1}, {2, -1}, {2, 4}}));
  EXPECT_EQ(share(2, {{0, true}, {1, true}, {1, false}, {1, false}, {0, false}}),
            (Shares{{0, -1}, {1, -1}, {1, 1}, {1, 1}, {0, 0}}));
}

TEST(PoolFeeds, KnowWhetherAThreadHoldsPlainMbufsOfOnePoolOnly) {
  const auto* const own = reinterpret_cast<const rte_mempool*>(0x1000);
  const auto* const other = reinterpret_cast<const rte_mempool*>(0x2000);
  PoolFeeds feeds(2);
  EXPECT_TRUE(feeds.only(0, own)) << "it holds nothing";
  feeds.add(0, own, true);
  feeds.add(0, own, true);
  EXPECT_TRUE(feeds.only(0, own));
  EXPECT_FALSE(feeds.only(0, other));
  feeds.add(0, other, true);
  EXPECT_FALSE(feeds.only(0, own));
  EXPECT_TRUE(feeds.only(1, own)) << "another thread";
  feeds.forget(other);
  EXPECT_TRUE(feeds.only(0, own));
  feeds.add(0, own, false);
  feeds.add(0, own, true);
  EXPECT_FALSE(feeds.only(0, own)) << "once lent, never again plain";
}

}  // namespace
}  // namespace hecto::router::test
