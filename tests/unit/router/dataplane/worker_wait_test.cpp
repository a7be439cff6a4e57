// A worker that waits between packets: whoever has something for it wakes it, and control does not
// wait for it. Without any of these it would wait longer than the tests do.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <thread>

#include "router/dataplane/tables/tables.hpp"
#include "router/dataplane/worker.hpp"
#include "tests/beds/gateway.hpp"

namespace hecto::router::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kSoon{10};

class WaitingWorker : public testing::Test {
 protected:
  WaitingWorker() {
    ring_ = rte_ring_create("wait-handoff", 64, SOCKET_ID_ANY, RING_F_SC_DEQ);
    first_ = snapshot(1);
    current_ = first_.get();
    Worker::Options options;
    options.tables = gateway_.tables();
    options.snapshot = &current_;
    options.qsbr = qsbr_.get();
    options.longest_wait = std::chrono::minutes(1);
    worker_ = std::make_unique<Worker>(options);
    thread_ = std::thread([this] { worker_->run(); });
    EXPECT_TRUE(soon([this] { return at_rest(); }));
  }
  ~WaitingWorker() override {
    end();
    rte_ring_free(ring_);
  }

  std::unique_ptr<Snapshot> snapshot(uint64_t generation) {
    auto made = std::make_unique<Snapshot>(gateway_.snapshot());
    made->generation = generation;
    made->features = 0;
    made->workers.resize(1);
    made->workers[0].idle = IdleMode::kInterrupt;
    return made;
  }
  void end() {
    if (!thread_.joinable()) return;
    worker_->stop();
    thread_.join();
  }
  template <typename Condition>
  static bool soon(Condition condition) {
    for (const auto until = Clock::now() + kSoon; Clock::now() < until;
         std::this_thread::sleep_for(std::chrono::milliseconds(1)))
      if (condition()) return true;
    return condition();
  }
  uint64_t turns() const { return worker_->turns().all; }
  // Several hundred empty polls are behind it, and none has followed for a while.
  bool at_rest() const {
    const uint64_t before = turns();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return before > 200 && turns() == before;
  }

  Gateway gateway_{1};
  Qsbr qsbr_{1};
  rte_ring* ring_ = nullptr;
  std::unique_ptr<Snapshot> first_, second_;
  std::atomic<const Snapshot*> current_{nullptr};
  std::array<PortCounters, kMaxPorts> ports_;
  ReasonCounters reasons_;
  std::unique_ptr<Worker> worker_;
  std::thread thread_;
};

TEST_F(WaitingWorker, EndsWhenItIsStopped) {
  const auto since = Clock::now();
  end();
  EXPECT_LT(Clock::now() - since, kSoon);
}

TEST_F(WaitingWorker, SleepsNoLongerThanItWasTold) {
  end();
  std::thread([this] {
    prctl(PR_SET_TIMERSLACK, 50'000ul);  // who runs the tests may have another
    worker_->stop();
    worker_->run();
    EXPECT_EQ(prctl(PR_GET_TIMERSLACK), 1);
  }).join();
}

TEST_F(WaitingWorker, IsOfflineSoThatControlDoesNotWaitForIt) {
  const auto since = Clock::now();
  qsbr_.synchronize();
  EXPECT_LT(Clock::now() - since, kSoon);
  EXPECT_TRUE(at_rest()) << "and it was not woken for that";
}

TEST_F(WaitingWorker, TakesANewSnapshot) {
  second_ = snapshot(2);
  second_->workers[0].idle = IdleMode::kPoll;
  current_ = second_.get();
  worker_->wakeup().ring();
  const uint64_t before = turns();
  EXPECT_TRUE(soon([&] { return turns() > before + 100'000; })) << "it polls";
}

TEST_F(WaitingWorker, LooksWhenAnotherThreadHandsItPackets) {
  Transmitter sender(ports_, reasons_);
  std::array<TransmitPath, kMaxPorts> paths{};
  paths[1] = {0, false, false, ring_, &worker_->wakeup()};
  sender.use(&paths);
  for (int i = 0; i < 3; ++i) {
    sender.enqueue(1, packet(ipv4_frame()));
    const uint64_t before = turns();
    sender.flush_all();
    EXPECT_TRUE(soon([&] { return turns() > before; }));
    EXPECT_TRUE(soon([this] { return at_rest(); }));
  }
  void* handed = nullptr;
  while (rte_ring_sc_dequeue(ring_, &handed) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(handed));
}

TEST_F(WaitingWorker, LooksWhenAQueueHasSomething) {
  const FileDescriptor queue(eventfd(0, EFD_CLOEXEC));
  ASSERT_TRUE(worker_->wakeup().watch(queue.get()));
  const uint64_t before = turns();
  ASSERT_EQ(eventfd_write(queue.get(), 1), 0);
  EXPECT_TRUE(soon([&] { return turns() > before; }));
}

}  // namespace
}  // namespace hecto::router::test
