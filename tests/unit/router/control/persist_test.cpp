// What the API was asked to keep: the file, and what a process after it makes of it.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "router/control/persist_control.hpp"
#include "router/control/run_state.hpp"
#include "router/ipsec/ipsec_config.hpp"
#include "tests/beds/control.hpp"
#include "tests/unit/router/api/scratch.hpp"
#include "tests/unit/router/control/kept_items.hpp"

namespace hecto::router::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPersisted = R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24, "2001:db8::1/64"]}
neighbors:
  - {address: 192.0.2.9, interface: wan0, mac: "02:00:00:00:00:09"}
  - {address: 192.0.2.8, interface: wan0, mac: "02:00:00:00:00:08"}
)";

// One process after the other, with one state directory.
class Persist : public testing::Test {
 protected:
  struct Run {
    std::unique_ptr<ControlBed> bed;
    PersistControl persist;
    explicit Run(const std::string& directory, const std::string& yaml)
        : bed(ControlBed::started(yaml)),
          persist(directory, kKeptSocket, bed->routes, bed->routing, bed->ipsec) {}
  };
  void start(const std::string& yaml = kPersisted, bool holds_ipsec = true) {
    run.reset();
    run = std::make_unique<Run>(scratch / "state", yaml);
    const std::vector<SaNumbers> left = run->persist.numbers_left();
    run->bed->ipsec.continue_from(left);
    run->persist.restore(left, holds_ipsec);
  }
  void SetUp() override { start(); }

  PersistControl& persist() { return run->persist; }
  std::string way(const std::string& address) { return run->bed->way(address); }
  std::string said() {
    const auto lines = persist().lines();
    return lines.empty() ? "" : lines.back();
  }
  Result<void> add_sa(Spi spi, bool wanted = true) {
    const config::IpsecSaConfig sa = sa_config(spi);
    return persist().add_sa(sa, *router::sa_state(sa, RouteOrigin::kApi), wanted);
  }
  std::optional<SaView> sa(Spi spi) { return run->bed->ipsec.find({ip("198.51.100.1"), spi}); }
  void sends(Spi spi, uint64_t sequence) {
    const IpAddress destination = ip("198.51.100.1");
    esp::Sa* found =
        run->bed->ipsec.view().sad->find(spi, destination.family, destination.bytes.data());
    ASSERT_NE(found, nullptr);
    found->sequence.store(sequence);
  }
  std::string file(const std::string& kind) {
    return state_path(scratch / "state", kKeptSocket, kind);
  }

  Scratch scratch;
  std::unique_ptr<Run> run;
};

// A disk that takes so many bytes of a file.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(Persist, WhatAskedForItIsThereAgainAndTheRestIsNot) {
  ASSERT_TRUE(persist().add_route(via("203.0.113.0/24", "192.0.2.9"), true));
  ASSERT_TRUE(persist().add_route(via("198.51.100.0/24", "192.0.2.9"), false));
  ASSERT_TRUE(persist().add_policy(policy_config(), true));
  EXPECT_TRUE(persist().keeps(net("203.0.113.0/24"), 0));
  EXPECT_FALSE(persist().keeps(net("198.51.100.0/24"), 0));
  start();
  EXPECT_EQ(way("203.0.113.7"), "wan0");
  EXPECT_EQ(way("198.51.100.7"), "no_route");
  ASSERT_EQ(run->bed->ipsec.policies().size(), 1u);
  EXPECT_TRUE(persist().keeps(run->bed->ipsec.policies()[0].policy));
  EXPECT_EQ(said(), "");
  const auto mode = fs::status(file("kept")).permissions();
  EXPECT_EQ(mode, fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Persist, WhatIsDeletedOrReplacedLeavesTheFile) {
  ASSERT_TRUE(persist().add_route(via("203.0.113.0/24", "192.0.2.9"), true));
  ASSERT_TRUE(persist().add_route(via("198.51.100.0/24", "192.0.2.9"), true));
  ASSERT_TRUE(persist().add_route(via("2001:db8:1::/48", "2001:db8::9"), true));
  ASSERT_TRUE(persist().add_policy(policy_config(), true));
  ASSERT_TRUE(persist().remove_route(net("203.0.113.0/24"), 0));
  ASSERT_TRUE(persist().add_route(via("198.51.100.0/24", "192.0.2.8"), false));
  // Without a metric a route of IPv6 has 1024.
  EXPECT_TRUE(persist().keeps(net("2001:db8:1::/48"), 1024));
  ASSERT_TRUE(persist().remove_route(net("2001:db8:1::/48"), 1024));
  ASSERT_TRUE(persist().remove_policy(policy_config()));
  EXPECT_FALSE(fs::exists(file("kept")));
  start();
  EXPECT_EQ(way("203.0.113.7"), "no_route");
  EXPECT_EQ(way("198.51.100.7"), "no_route");
  EXPECT_EQ(way("2001:db8:1::7"), "no_route");
  EXPECT_EQ(persist().remove_route(net("203.0.113.0/24"), 0).error().error_number, ENOENT);
}

TEST_F(Persist, RoutesThatALoadOrAListTookAwayLeaveTheFile) {
  for (const char* prefix : {"203.0.113.0/24", "198.51.100.0/24", "198.18.0.0/15"})
    ASSERT_TRUE(persist().add_route(via(prefix, "192.0.2.9"), true));
  auto table = std::make_shared<RouteTable>();
  table->next_hop_sets = {{*run->bed->routes.next_hop({ip("192.0.2.8"), "", 1})}};
  table->entries = {{net("203.0.113.0/24"), 0}};
  ASSERT_TRUE(run->bed->routing.load(table, {}));
  ASSERT_TRUE(run->bed->routes.remove(net("198.18.0.0/15"), 0, RouteOrigin::kApi));
  persist().find_routes();
  EXPECT_FALSE(persist().keeps(net("203.0.113.0/24"), 0));
  EXPECT_FALSE(persist().keeps(net("198.18.0.0/15"), 0));
  EXPECT_TRUE(persist().keeps(net("198.51.100.0/24"), 0));
  ASSERT_TRUE(persist().forget_routes());
  EXPECT_FALSE(fs::exists(file("kept")));
}

TEST_F(Persist, RoutesOfOnePrefixAreKeptByMetric) {
  ASSERT_TRUE(persist().add_route(via("203.0.113.0/24", "192.0.2.9", 5), true));
  ASSERT_TRUE(persist().add_route(via("203.0.113.0/24", "192.0.2.8", 9), true));
  persist().find_routes();
  EXPECT_TRUE(persist().keeps(net("203.0.113.0/24"), 5));
  EXPECT_TRUE(persist().keeps(net("203.0.113.0/24"), 9));
}

TEST_F(Persist, WaitingRoutesGoByListAndByWhatTakesTheirPlace) {
  config::RouteConfig listed = via("203.0.113.0/24", "192.0.2.9");
  config::RouteConfig loaded = via("198.51.100.0/24", "192.0.2.9");
  listed.via[0].interface = loaded.via[0].interface = "wan0";
  ASSERT_TRUE(persist().add_route(listed, true));
  ASSERT_TRUE(persist().add_route(loaded, true));
  start("workers: {0: [1]}\nports: {lan0: {device: eth2, addresses: [192.0.2.1/24]}}\n");
  auto table = std::make_shared<RouteTable>();
  table->next_hop_sets = {{*run->bed->routes.next_hop({ip("192.0.2.8"), "", 1})}};
  table->entries = {{net("203.0.113.0/24"), 0}};
  persist().forget_waiting(*table);
  EXPECT_FALSE(persist().keeps(net("203.0.113.0/24"), 0));
  EXPECT_NE(said().find("198.51.100.0/24"), std::string::npos) << said();
  table->entries = {{net("198.51.100.0/24"), 0}};
  ASSERT_TRUE(run->bed->routing.load(table, {}));
  persist().find_routes();
  EXPECT_FALSE(persist().keeps(net("198.51.100.0/24"), 0));
  EXPECT_EQ(said(), "");
  EXPECT_FALSE(fs::exists(file("kept")));
}

TEST_F(Persist, WhatCannotBeWrittenDownIsRefusedAndChangesNothing) {
  ASSERT_TRUE(persist().add_route(via("203.0.113.0/24", "192.0.2.9"), true));
  ASSERT_TRUE(add_sa(0x1001));
  const auto before = fs::file_size(file("kept"));
  {
    const FullDisk full(100);
    for (const Result<void>& refused :
         {persist().add_route(via("198.51.100.0/24", "192.0.2.9"), true),
          persist().add_route(via("203.0.113.0/24", "192.0.2.8"), true),
          persist().remove_route(net("203.0.113.0/24"), 0), persist().forget_routes(),
          persist().add_policy(policy_config(), true), add_sa(0x1002),
          persist().remove_sa({ip("198.51.100.1"), 0x1001})}) {
      ASSERT_FALSE(refused);
      EXPECT_NE(refused.error().message.find(": File too large; nothing was changed"),
                std::string::npos)
          << refused.error().message;
      EXPECT_NE(refused.error().error_number, ENOENT);  // that would be an answer of 404
    }
    // What does not ask for it, and is not kept, needs no disk.
    EXPECT_TRUE(persist().add_route(via("192.88.99.0/24", "192.0.2.9"), false));
  }
  EXPECT_EQ(way("198.51.100.7"), "no_route");
  EXPECT_EQ(way("203.0.113.7"), "wan0");
  EXPECT_TRUE(sa(0x1001));
  EXPECT_FALSE(sa(0x1002));
  EXPECT_TRUE(run->bed->ipsec.policies().empty());
  EXPECT_EQ(fs::file_size(file("kept")), before);
  const auto count = std::distance(fs::directory_iterator(scratch / "state"), {});
  EXPECT_EQ(count, 2) << "nothing half is left";
  start();
  EXPECT_EQ(way("203.0.113.7"), "wan0");
  EXPECT_TRUE(sa(0x1001));
}

TEST_F(Persist, WhatIsRefusedLeavesTheFileAsItWas) {
  EXPECT_FALSE(persist().add_route(via("203.0.113.0/24", "172.16.0.1"), true));
  EXPECT_FALSE(fs::exists(file("kept")));
  // The file's words have none of these.
  EXPECT_FALSE(persist().add_route(via("203.0.113.0/24", "2001:db8::9"), true));
  config::IpsecSaConfig sa = sa_config(0x1001);
  sa.lifetime.hard_packets = 7;
  const auto refused = persist().add_sa(sa, *router::sa_state(sa, RouteOrigin::kApi), true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("lifetime"), std::string::npos);
  EXPECT_FALSE(fs::exists(file("kept")));
  EXPECT_FALSE(fs::exists(file("numbers")));
}

TEST_F(Persist, AFileThatIsDamagedOrSomebodyElsesIsSaidAndLeftAlone) {
  ASSERT_TRUE(persist().add_route(via("203.0.113.0/24", "192.0.2.9"), true));
  fs::resize_file(file("kept"), 60);
  start();
  EXPECT_EQ(way("203.0.113.7"), "no_route");
  EXPECT_NE(said().find(file("kept") + " is damaged"), std::string::npos) << said();
  const auto refused = persist().add_route(via("203.0.113.0/24", "192.0.2.9"), true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("move it away"), std::string::npos);
  EXPECT_EQ(fs::file_size(file("kept")), 60u);
  fs::rename(file("kept"), scratch / "away");
  EXPECT_TRUE(persist().add_route(via("203.0.113.0/24", "192.0.2.9"), true));
  EXPECT_EQ(said(), "");

  fs::permissions(file("kept"), fs::perms::group_read, fs::perm_options::add);
  start();
  EXPECT_EQ(way("203.0.113.7"), "no_route");
  EXPECT_NE(said().find("this user alone"), std::string::npos) << said();
}

TEST_F(Persist, ARouteWaitsForItsInterface) {
  config::RouteConfig route = via("203.0.113.0/24", "192.0.2.9");
  route.via[0].interface = "wan0";
  ASSERT_TRUE(persist().add_route(route, true));
  start("workers: {0: [1]}\nports: {lan0: {device: eth2, addresses: [192.0.2.1/24]}}\n");
  EXPECT_NE(said().find("route 203.0.113.0/24"), std::string::npos) << said();
  EXPECT_NE(said().find("no interface wan0"), std::string::npos) << said();
  persist().tick();
  EXPECT_NE(said(), "");
  ASSERT_TRUE(persist().remove_route(net("203.0.113.0/24"), 0));
  EXPECT_EQ(said(), "");
  EXPECT_FALSE(fs::exists(file("kept")));
}

TEST_F(Persist, AnSaGoesOnBehindItsNumbers) {
  ASSERT_TRUE(add_sa(0x1001));
  sends(0x1001, 5000);
  start();  // killed: what was written down lies ahead
  ASSERT_TRUE(sa(0x1001));
  const uint64_t killed = sa(0x1001)->usage.sequence;
  EXPECT_GE(killed, 5000u);
  EXPECT_LE(killed, SaNumbers::kReserve);
  sends(0x1001, killed + 7);
  persist().end();
  start();
  ASSERT_TRUE(sa(0x1001));
  EXPECT_EQ(sa(0x1001)->usage.sequence, killed + 7);
  start();  // killed at once: not from there again
  EXPECT_GT(sa(0x1001)->usage.sequence, killed + 7);
}

TEST_F(Persist, NumbersAreWrittenDownBeforeTheReserveIsUsedUp) {
  ASSERT_TRUE(add_sa(0x1001));
  sends(0x1001, SaNumbers::kReserve / 2 + 1);
  persist().tick();
  sends(0x1001, SaNumbers::kReserve + 1);
  start();
  EXPECT_GT(sa(0x1001)->usage.sequence, SaNumbers::kReserve + 1);
}

TEST_F(Persist, AnSaWithoutARecordOfItsNumbersIsNotTakenUp) {
  ASSERT_TRUE(add_sa(0x1001));
  ASSERT_TRUE(add_sa(0x1002));
  fs::remove(file("numbers"));
  start();
  EXPECT_FALSE(sa(0x1001));
  EXPECT_NE(said().find("the record of its numbers is lost"), std::string::npos) << said();
  EXPECT_NE(said().find("and 1 more"), std::string::npos) << said();
  start();  // nor by the next
  EXPECT_FALSE(sa(0x1001));
  ASSERT_TRUE(persist().remove_sa({ip("198.51.100.1"), 0x1001}));
  ASSERT_TRUE(add_sa(0x1002));  // a new one, as whoever asks says
  EXPECT_EQ(said(), "");
  start();
  EXPECT_FALSE(sa(0x1001));
  EXPECT_TRUE(sa(0x1002));
}

TEST_F(Persist, ARecordThatCannotFollowGoes) {
  ASSERT_TRUE(add_sa(0x1001));
  sends(0x1001, SaNumbers::kReserve / 2 + 1);
  {
    const FullDisk full(10);
    persist().tick();
    EXPECT_NE(said().find("not taken up by a restart"), std::string::npos) << said();
  }
  EXPECT_FALSE(fs::exists(file("numbers")));
  persist().tick();  // there is room again
  EXPECT_EQ(said(), "");
  start();
  ASSERT_TRUE(sa(0x1001));
  EXPECT_GT(sa(0x1001)->usage.sequence, SaNumbers::kReserve);
}

TEST_F(Persist, ARunThatCannotHoldSasKeepsTheirRecords) {
  ASSERT_TRUE(add_sa(0x1001));
  sends(0x1001, 5000);
  persist().tick();
  start(kPersisted, false);
  EXPECT_FALSE(sa(0x1001));
  persist().tick();
  persist().end();
  start();
  ASSERT_TRUE(sa(0x1001)) << said();
  EXPECT_GE(sa(0x1001)->usage.sequence, 5000u);
}

TEST_F(Persist, ABlockedFileLeavesTheRecordsAlone) {
  ASSERT_TRUE(add_sa(0x1001));
  fs::permissions(file("kept"), fs::perms::group_read, fs::perm_options::add);
  start();
  EXPECT_FALSE(sa(0x1001));
  persist().tick();
  persist().end();
  fs::permissions(file("kept"), fs::perms::group_read, fs::perm_options::remove);
  start();
  EXPECT_TRUE(sa(0x1001)) << said();
}

TEST_F(Persist, AnSaThatLeftByAnotherWayCanBeForgotten) {
  ASSERT_TRUE(add_sa(0x1001));
  const SaId id{ip("198.51.100.1"), 0x1001};
  ASSERT_TRUE(run->bed->ipsec.remove_sa(id, RouteOrigin::kApi));
  ASSERT_TRUE(persist().remove_sa(id));
  EXPECT_FALSE(persist().keeps(id));
  EXPECT_FALSE(fs::exists(file("kept")));
  EXPECT_EQ(persist().remove_sa(id).error().error_number, ENOENT);
}

TEST_F(Persist, WhatAKilledRunWasWritingIsRemoved) {
  ASSERT_TRUE(add_sa(0x1001));
  fs::copy_file(file("kept"), file("kept") + ".new");
  start();
  EXPECT_FALSE(fs::exists(file("kept") + ".new"));
  EXPECT_TRUE(sa(0x1001));
}

TEST_F(Persist, AnSaWhoseNumbersAreUsedUpIsNotTakenUp) {
  ASSERT_TRUE(add_sa(0x1001));
  sends(0x1001, UINT32_MAX - 5);
  persist().tick();
  start();
  EXPECT_FALSE(sa(0x1001));
  EXPECT_NE(said().find("used up"), std::string::npos) << said();
}

TEST_F(Persist, SasAreNotTakenUpWhereTheirNumbersCannotBeWritten) {
  ASSERT_TRUE(add_sa(0x1001));
  {
    const FullDisk full(10);
    start();
    EXPECT_FALSE(sa(0x1001));
    EXPECT_NE(said().find("cannot be written down"), std::string::npos) << said();
  }
  start();
  EXPECT_TRUE(sa(0x1001));
}

TEST(StateFile, NoTwoInstancesHaveOne) {
  EXPECT_EQ(state_path("/var/lib/hecto", "/run/hecto/hecto.sock", "kept"),
            "/var/lib/hecto/run:hecto:hecto.sock.kept");
  EXPECT_EQ(state_path("/s", "/", "kept"), "/s/.kept");
}

}  // namespace
}  // namespace hecto::router::test
