// The way back from a reload: by order, and by itself where nobody confirmed.
#include "router/control/reload_control.hpp"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/beds/control.hpp"

namespace hecto::router::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kReloaded = R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24]}
)";
const std::string kRouted =
    std::string(kReloaded) + "routes: [{to: 203.0.113.0/24, via: 192.0.2.9}]\n";

class ReloadControlTest : public ::testing::Test {
 protected:
  ReloadResult reload(const std::string& yaml, std::optional<std::chrono::seconds> within = {}) {
    const config::Config wanted = read(yaml);
    ReadRouteFiles files = read_route_files(route_files_of_reload(bed_->parts(), wanted));
    return reloads_.reload(bed_->parts(), wanted, files, within, now_);
  }
  ReloadResult rollback() {
    ReadRouteFiles files = read_route_files(reloads_.route_files_of_rollback(bed_->parts()));
    return reloads_.rollback(bed_->parts(), files);
  }
  void pass(std::chrono::seconds time) {
    now_ += time;
    reloads_.tick(bed_->parts(), now_);
  }
  bool routed() { return bed_->way("203.0.113.5") != "no_route"; }

  const std::unique_ptr<ControlBed> bed_ = ControlBed::started(kReloaded);
  ReloadControl reloads_;
  ReloadControl::Clock::time_point now_ = ReloadControl::Clock::now();
};

TEST_F(ReloadControlTest, PreviewTellsAndTouchesNothing) {
  const auto changes = preview(bed_->parts(), read(kRouted), {});
  ASSERT_TRUE(changes);
  EXPECT_EQ(*changes, Said{"+ route {to: 203.0.113.0/24, via: 192.0.2.9}"});
  EXPECT_TRUE(bed_->said.empty());
  EXPECT_FALSE(routed());
  config::Config wrong = read(kReloaded);
  wrong.route_files = {"/nowhere/table.txt"};
  EXPECT_FALSE(preview(bed_->parts(), wrong, {}));
}

TEST_F(ReloadControlTest, RollsBackOnce) {
  EXPECT_FALSE(rollback());
  ASSERT_TRUE(reload(kRouted));
  EXPECT_TRUE(routed());
  const auto back = rollback();
  ASSERT_TRUE(back);
  EXPECT_EQ(back->size(), 1u);
  EXPECT_FALSE(routed());
  EXPECT_FALSE(rollback());
}

TEST_F(ReloadControlTest, AReloadThatChangesNothingKeepsTheWayBack) {
  ASSERT_TRUE(reload(kRouted));
  ASSERT_TRUE(reload(kRouted, 10s));
  EXPECT_FALSE(reloads_.unconfirmed());
  ASSERT_TRUE(rollback());
  EXPECT_FALSE(routed());
}

TEST_F(ReloadControlTest, ARefusedReloadKeepsTheWayBack) {
  ASSERT_TRUE(reload(kRouted));
  bed_->plane.refused = {"lan0"};
  config::Config wrong = read(kRouted);
  wrong.ports.push_back(wrong.ports[0]);
  wrong.ports[1].name = "lan0";
  wrong.ports[1].device = "eth2";
  wrong.ports[1].addresses.clear();
  ReadRouteFiles none;
  EXPECT_FALSE(reloads_.reload(bed_->parts(), wrong, none, 10s, now_));
  EXPECT_FALSE(reloads_.unconfirmed());
  ASSERT_TRUE(rollback());
  EXPECT_FALSE(routed());
}

TEST_F(ReloadControlTest, WithoutConfirmationTheEarlierComesBack) {
  ASSERT_TRUE(reload(kRouted, 300s));
  EXPECT_EQ(reloads_.left(now_), 300s);
  pass(299s);
  EXPECT_TRUE(routed());
  EXPECT_EQ(reloads_.left(now_), 1s);
  pass(1s);
  EXPECT_FALSE(routed());
  EXPECT_FALSE(reloads_.unconfirmed());
  EXPECT_TRUE(
      bed_->noted("t.yaml was not confirmed in time: the configuration before it runs again"));
}

// A file of the earlier configuration that comes slowly, as from a disk that is busy: a pipe.
class LateRollbackTest : public ReloadControlTest {
 protected:
  LateRollbackTest() {
    std::filesystem::remove(path_);
    std::ofstream(path_) << kRoutes;
    earlier_ = std::string(kReloaded) + "route_files: [" + path_ + "]\n";
    EXPECT_TRUE(reload(earlier_));
    load();
    EXPECT_TRUE(reload(kReloaded, 60s));
    load();
    std::filesystem::remove(path_);
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
  }
  ~LateRollbackTest() override { std::filesystem::remove(path_); }
  void load() {
    while (bed_->routes.loading()) bed_->routes.continue_loads();
  }
  // As control's turns until the configuration before runs, or not; false: too long.
  bool turns_until(const std::function<bool()>& done, unsigned most = 1000) {
    for (unsigned i = 0; i < most && !done(); ++i) {
      std::this_thread::sleep_for(5ms);
      pass(0s);
      load();
    }
    return done();
  }
  void write() { std::ofstream(path_) << kRoutes; }

  static constexpr const char* kRoutes = "203.0.113.0/24 via 192.0.2.9\n";
  const std::string path_ = testing::TempDir() + "hecto-late-rollback.txt";
  std::string earlier_;
};

TEST_F(LateRollbackTest, ItsRouteFilesAreReadBesideControl) {
  std::atomic<bool> written{false};
  std::thread disk([&] {
    std::this_thread::sleep_for(300ms);
    written = true;
    write();
  });
  pass(60s);
  EXPECT_FALSE(written) << "control has waited for the disk";
  EXPECT_TRUE(reloads_.unconfirmed());
  EXPECT_TRUE(turns_until([&] { return routed(); }));
  EXPECT_TRUE(written);
  EXPECT_FALSE(reloads_.unconfirmed());
  disk.join();
}

TEST_F(LateRollbackTest, WhatIsConfirmedMeanwhileStays) {
  pass(60s);
  ASSERT_TRUE(reloads_.confirm());
  write();
  EXPECT_FALSE(turns_until([&] { return routed(); }, 100)) << "half a second";
}

TEST_F(ReloadControlTest, WhatIsConfirmedStays) {
  EXPECT_FALSE(reloads_.confirm());
  ASSERT_TRUE(reload(kRouted, 300s));
  ASSERT_TRUE(reloads_.confirm());
  pass(1000s);
  EXPECT_TRUE(routed());
  EXPECT_FALSE(reloads_.confirm());
  EXPECT_TRUE(rollback()) << "by order it still goes";
}

TEST_F(ReloadControlTest, ASecondReloadAmidIsRefused) {
  ASSERT_TRUE(reload(kRouted, 300s));
  for (const std::optional<std::chrono::seconds> within :
       {std::optional<std::chrono::seconds>{}, std::optional(10s)}) {
    const auto second = reload(kReloaded, within);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error(),
              Said{"t.yaml runs and is not confirmed: hecto confirm keeps it, hecto rollback goes "
                   "back; then reload"});
  }
  EXPECT_TRUE(routed());
  pass(300s);
  EXPECT_FALSE(routed());
}

TEST_F(ReloadControlTest, ARollbackAmidEndsTheWait) {
  ASSERT_TRUE(reload(kRouted, 300s));
  ASSERT_TRUE(rollback());
  EXPECT_FALSE(reloads_.unconfirmed());
  ASSERT_TRUE(reload(kRouted));
  pass(1000s);
  EXPECT_TRUE(routed());
}

TEST_F(ReloadControlTest, ARefusedWayBackIsSaidAndTriedAgain) {
  const std::string two = std::string(kReloaded) + "  lan0: {device: eth2}\n";
  ASSERT_TRUE(reload(two));
  ASSERT_TRUE(reload(kReloaded, 60s));
  bed_->plane.refused = {"lan0"};
  pass(60s);
  EXPECT_TRUE(bed_->noted("going back is refused: port lan0: the driver refused"));
  EXPECT_TRUE(reloads_.unconfirmed());
  bed_->plane.refused.clear();
  pass(29s);
  EXPECT_FALSE(bed_->plane.port("lan0"));
  pass(1s);
  EXPECT_TRUE(bed_->plane.port("lan0"));
  EXPECT_FALSE(reloads_.unconfirmed());
}

}  // namespace
}  // namespace hecto::router::test
