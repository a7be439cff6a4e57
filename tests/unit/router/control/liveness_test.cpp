// What the service manager hears when a worker is stuck. The manager is a socket here.
#include "router/control/liveness.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file_descriptor.hpp"
#include "router/process/service/service_manager.hpp"
#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

using namespace std::chrono_literals;

class LivenessTest : public testing::Test {
 protected:
  LivenessTest() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    setenv("WATCHDOG_USEC", "2000000", 1);
    unsetenv("WATCHDOG_PID");
    manager_ = ServiceManager::from_environment();
    unsetenv("NOTIFY_SOCKET");
    bed_->plane.worker_list = {WorkerStatus{0, 2, 0, {}, 0}, WorkerStatus{1, 3, 0, {}, 0}};
    // The manager is told by what the environment names when it is told.
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    liveness_.report_to(manager_);
  }
  ~LivenessTest() override {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unlink(path_.c_str());
  }

  // Seconds of control's, in which worker 0 comes round and worker 1 if it is said to. What the
  // manager has heard in them.
  std::string seconds(unsigned count, bool both) {
    for (unsigned i = 0; i < count; ++i) {
      now_ += 1s;
      bed_->totals.workers[0].iterations += 1000;
      if (both) bed_->totals.workers[1].iterations += 1000;
      bed_->sampler.sample();
      liveness_.sampled(unix_s_++);
      liveness_.tick(true, now_);
    }
    std::string heard;
    char text[512];
    for (ssize_t got; (got = recv(socket_.get(), text, sizeof text, MSG_DONTWAIT)) > 0;)
      heard += std::string(text, static_cast<size_t>(got)) + "\n";
    return heard;
  }
  static bool fed(const std::string& heard) { return heard.find("WATCHDOG=1") != heard.npos; }

  std::string path_ = fmt::format("/tmp/hecto-liveness-{}", getpid());
  FileDescriptor socket_{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ServiceManager manager_;
  std::unique_ptr<ControlBed> bed_ = ControlBed::started("ports: {wan0: {device: eth1}}\n");
  Liveness liveness_{bed_->running, bed_->plane, bed_->routing, bed_->sampler};
  ServiceReport::Clock::time_point now_{1h};
  std::time_t unix_s_ = 1'000'000'000;
};

TEST_F(LivenessTest, TellsWhatForwards) {
  EXPECT_EQ(seconds(1, true), "READY=1\nSTATUS=forwarding: 1 port; 0 routes\nWATCHDOG=1\n");
}

TEST_F(LivenessTest, AStuckWorkerIsToldAndTheWatchdogFed) {
  seconds(10, true);
  EXPECT_TRUE(fed(seconds(StuckWorkers::kSeconds - 1, false)));
  EXPECT_TRUE(liveness_.lines().empty());
  EXPECT_TRUE(fed(seconds(10, false)));
  EXPECT_EQ(liveness_.lines(),
            std::vector<std::string>{"worker 1 on cpu 3 does not come round since "
                                     "2001-09-09T01:46:49Z: nothing that its queues receive is "
                                     "forwarded"});
  EXPECT_NE(seconds(10, false).find("STATUS=forwarding: 1 port; 0 routes; 1 of the workers stuck"),
            std::string::npos);
  seconds(1, true);
  EXPECT_TRUE(liveness_.lines().empty());
}

TEST_F(LivenessTest, WithRestartTheWatchdogIsFedNoMoreUntilItGoesOn) {
  bed_->running.config.stuck_worker = config::StuckWorker::kRestart;
  EXPECT_TRUE(fed(seconds(10, true)));
  seconds(StuckWorkers::kSeconds, false);
  EXPECT_FALSE(fed(seconds(20, false)));
  EXPECT_TRUE(fed(seconds(2, true)));
}

}  // namespace
}  // namespace hecto::router::test
