// Route files of a start that already forwards: bring_up() leaves them out, and they come later.
#include "router/control/late_route_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/unit/router/control/reload_files.hpp"

namespace hecto::router::test {
namespace {

class LateFiles : public testing::Test {
 protected:
  LateFiles() {
    std::filesystem::create_directories(folder_);
    write("one", 600);
  }
  ~LateFiles() override { std::filesystem::remove_all(folder_); }

  // Of so many /24s behind 100.x, after the first `from`.
  void write(const std::string& name, unsigned count, unsigned from = 0) {
    std::ofstream file(path(name));
    for (unsigned i = from; i < from + count; ++i)
      file << fmt::format("100.{}.{}.0/24 via 192.0.2.9\n", i >> 8, i & 255);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string yaml(const std::vector<std::string>& names, const std::string& ports = kWan) const {
    std::string files;
    for (const std::string& name : names) files += path(name) + ", ";
    return file(ports, "route_files: [" + files + "]\n");
  }
  std::unique_ptr<ControlBed> started(const std::vector<std::string>& names,
                                      const std::string& ports = kWan) {
    auto bed = std::make_unique<ControlBed>(yaml(names, ports));
    EXPECT_TRUE(probe_ports(bed->running, bed->plane));
    EXPECT_TRUE(bring_up(bed->parts(), StartRouteFiles::kLater));
    late_.expect();
    return bed;
  }
  void turn(ControlBed& bed) {
    late_.tick(bed.parts());
    bed.routes.continue_loads();
    std::this_thread::yield();
  }
  void turns(ControlBed& bed) {
    while (late_.pending()) turn(bed);
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("late-{}", getpid());
  LateRouteFiles late_;
};

TEST_F(LateFiles, AreReadInTurnsAndPendingTillTheyAreLoaded) {
  const auto bed = started({"one"});
  EXPECT_EQ(bed->way("100.0.0.1"), "no_route") << "the start has left it out";
  while (bed->way("100.0.0.1") == "no_route") {
    ASSERT_TRUE(late_.pending());
    turn(*bed);
  }
  turns(*bed);
  EXPECT_EQ(bed->way("100.2.87.1"), "glean");
  EXPECT_TRUE(bed->notes.lines().empty());
}

TEST_F(LateFiles, WithoutAFilesOwnWantNothingIsPending) {
  EXPECT_FALSE(late_.pending());
  const auto bed = ControlBed::started(yaml({"one"}));
  EXPECT_EQ(bed->way("100.0.0.1"), "glean") << "at once, where nothing is forwarded yet";
}

TEST_F(LateFiles, OneThatCannotBeReadIsSaidAndTheOthersCome) {
  const auto bed = started({"absent", "one"});
  turns(*bed);
  EXPECT_EQ(bed->way("100.0.0.1"), "glean");
  ASSERT_EQ(bed->notes.lines().size(), 1u);
  EXPECT_TRUE(bed->noted("restart: " + path("absent")));
  EXPECT_TRUE(bed->noted("its routes are missing"));
}

TEST_F(LateFiles, OneThatAReloadHasRemovedMeanwhileDoesNotCome) {
  write("two", 10, 1024);
  const auto bed = started({"one", "two"});
  late_.tick(bed->parts());  // they are being read
  ASSERT_TRUE(reload(bed->parts(), read(yaml({"two"}))));
  turns(*bed);
  EXPECT_EQ(bed->way("100.0.0.1"), "no_route");
  EXPECT_EQ(bed->way("100.4.0.1"), "glean");
}

TEST_F(LateFiles, OfAPortThatAReloadHasRemovedMeanwhileOnlyItsRoutesAreMissing) {
  std::ofstream(path("one"), std::ios::app) << "100.8.0.0/24 via 10.1.0.9 dev lan0\n"
                                               "100.8.1.0/24 via 10.1.0.9 dev lan0\n"
                                               "100.9.0.0/24 via 10.1.0.9 dev lan0 "
                                               "via 192.0.2.9 dev wan0\n";
  const std::string both = std::string(kWan) + kLan;
  const auto bed = started({"one"}, both);
  late_.tick(bed->parts());
  ASSERT_TRUE(reload(bed->parts(), read(yaml({"one"}))));
  turns(*bed);
  EXPECT_EQ(bed->way("100.0.0.1"), "glean");
  EXPECT_EQ(bed->way("100.2.87.1"), "glean");
  EXPECT_EQ(bed->way("100.8.0.1"), "no_route");
  EXPECT_EQ(bed->way("100.9.0.1"), "glean") << "by what is left of its next hops";
  EXPECT_EQ(
      bed->notes.lines(),
      Lines{"restart: " + path("one") +
            ": 2 of its routes are left out, as the interface they lead by is not there any more: "
            "lan0; once it is, take the file out of route_files, reload, and put it in again"});
}

TEST_F(LateFiles, OneThatReloadsHaveTakenOutAndBroughtBackIsLoadedOnce) {
  const auto bed = started({"one"});
  late_.tick(bed->parts());
  ASSERT_TRUE(reload(bed->parts(), read(yaml({}))));
  ASSERT_TRUE(reload(bed->parts(), read(yaml({"one"}))));
  turns(*bed);
  EXPECT_EQ(bed->way("100.0.0.1"), "glean");
  ASSERT_TRUE(reload(bed->parts(), read(yaml({}))));
  while (bed->routes.loading()) bed->routes.continue_loads();
  EXPECT_EQ(bed->way("100.0.0.1"), "no_route") << "a second load of it would have stayed";
}

}  // namespace
}  // namespace hecto::router::test
