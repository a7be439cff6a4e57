// Sessions on NICs, from SAs and ports that come and go.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "router/dataplane/nic_crypto/sessions.hpp"
#include "tests/beds/packets.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/nic_crypto/scripted_nic.hpp"
#include "tests/unit/router/ipsec/ipsec_bed.hpp"

namespace hecto::router::test {
namespace {

constexpr PortId kPort = 1;

// To us. sa_state(): from us.
SaState inbound_state(Spi spi, uint8_t key = 1) {
  SaState state = sa_state(spi, 1, key);
  std::swap(state.id.destination, state.source);
  return state;
}
SaId to_here(Spi spi) {
  return {ip(kHere), spi};
}
SaId to_there(Spi spi) {
  return {ip(kThere), spi};
}

class NicSessionsTest : public IpsecBed {
 protected:
  NicSessionsTest() {
    pool();
    nic = &sessions;
  }

  static NicSessions::Options options(NicSessionsTest& bed) {
    NicSessions::Options options;
    options.own = [&bed](const IpAddress& address) { return bed.own.contains(address); };
    options.now_s = [&bed] { return bed.now_s; };
    options.log = [&bed](LogLevel, const std::string& line) { bed.lines.push_back(line); };
    return options;
  }
  void plug(ScriptedNic& one) {
    ASSERT_TRUE(sessions.add_port(one.port()));
    ipsec->offer_to_nics();
  }
  void unplug(PortId port = kPort) {
    sessions.withdraw(port);
    sessions.drop_port(port);
  }
  esp::Sa* sa(const SaId& id) const {
    return ipsec->view().sad->find(id.spi, Family::kIpv4, id.destination.bytes.data());
  }
  const NicSession* seals(Spi spi, PortId port = kPort) const {
    const NicSa* of = sa(to_there(spi))->nic.load();
    return of == nullptr ? nullptr : of->seals[port].load();
  }
  bool opens(Spi spi, PortId port = kPort) const {
    const NicSa* of = sa(to_here(spi))->nic.load();
    return of != nullptr && of->opened_by(port);
  }
  void pass(uint32_t seconds) {
    for (uint32_t i = 0; i < seconds; ++i) {
      ++now_s;
      sessions.tick();
    }
  }
  // No worker holds what was removed any more.
  void let_go() {
    ipsec->commit();
    readers.quiescent();
    ipsec->commit();
  }

  std::set<IpAddress> own{ip(kHere)};
  ScriptedNic first{kPort}, second{2};
  NicSessions sessions{options(*this)};
};

TEST_F(NicSessionsTest, AreMadeForWhatFitsByDirection) {
  plug(first);
  ipsec->sa(sa_state(0x100));
  ipsec->sa(inbound_state(0x200));
  SaState other = sa_state(0x300);
  other.transform.icv_bytes = 8;
  ipsec->sa(other);
  SaState foreign = sa_state(0x400);
  foreign.source = ip("198.51.100.77");
  ipsec->sa(foreign);
  ASSERT_EQ(first.alive(), 2u);
  EXPECT_FALSE(first.alive(0x100)->inbound);
  EXPECT_TRUE(first.alive(0x200)->inbound);
  EXPECT_EQ(first.alive(0x100)->rule, nullptr);
  EXPECT_NE(first.alive(0x200)->rule, nullptr);
  EXPECT_EQ(first.alive(0x100)->key, std::vector<uint8_t>(16, 1));
  ASSERT_NE(seals(0x100), nullptr);
  EXPECT_EQ(seals(0x100)->session, first.alive(0x100)->object);
  EXPECT_EQ(seals(0x100)->context, first.context());
  EXPECT_TRUE(seals(0x100)->metadata);
  EXPECT_TRUE(opens(0x200));
  EXPECT_FALSE(opens(0x200, 2));
  EXPECT_EQ(sa(to_there(0x300))->nic.load(), nullptr);
  EXPECT_EQ(seals(0x400), nullptr);
  EXPECT_EQ(ipsec->find(to_there(0x100))->nic.ports, std::vector<std::string>{"nic1"});
  EXPECT_TRUE(ipsec->find(to_there(0x300))->nic.ports.empty());
  unplug();
}

TEST_F(NicSessionsTest, KeepToTheDirectionsThatThePortWasGiven) {
  NicSessions::Port port = first.port();
  port.opens = false;
  ASSERT_TRUE(sessions.add_port(port));
  ipsec->sa(sa_state(0x100));
  ipsec->sa(inbound_state(0x200));
  EXPECT_EQ(first.alive(), 1u);
  EXPECT_NE(first.alive(0x100), nullptr);
  unplug();
}

TEST_F(NicSessionsTest, RefusalsGoByCpuAreToldOnceAndCounted) {
  plug(first);
  first.refuses_sessions = true;
  ipsec->sa(sa_state(0x100));
  ipsec->sa(sa_state(0x200));
  EXPECT_EQ(seals(0x100), nullptr);
  pass(3);  // not asked again
  EXPECT_EQ(sessions.ports()[0].refused, 2u);
  EXPECT_EQ(told("refused SA"), 1u);
  EXPECT_FALSE(sessions.busy());
  first.refuses_sessions = false;
  ipsec->sa(sa_state(0x300));
  EXPECT_NE(seals(0x300), nullptr);
  EXPECT_TRUE(sessions.busy());
  unplug();
}

TEST_F(NicSessionsTest, ARefusedRuleEndsItsSession) {
  plug(first);
  first.refuses_rules = true;
  ipsec->sa(inbound_state(0x100));
  EXPECT_EQ(first.sessions.size(), 1u);
  EXPECT_EQ(first.alive(), 0u);
  EXPECT_FALSE(opens(0x100));
  EXPECT_FALSE(sessions.busy());
  EXPECT_EQ(sessions.ports()[0].refused, 1u);
  unplug();
}

TEST_F(NicSessionsTest, ADriverWithoutRulesGoesByTheSessionItself) {
  plug(first);
  first.has_rules = false;
  ipsec->sa(inbound_state(0x100));
  EXPECT_TRUE(opens(0x100));
  EXPECT_EQ(first.alive(), 1u);
  ipsec->sa_removed(to_here(0x100));
  EXPECT_EQ(first.alive(), 0u);
  unplug();
}

TEST_F(NicSessionsTest, OutboundOnesEndWhenNoWorkerAndNoRingHoldsThem) {
  plug(first);
  ipsec->sa(sa_state(0x100));
  const NicSession* held = seals(0x100);
  ipsec->sa_removed(to_there(0x100));
  ipsec->commit();
  pass(100);
  EXPECT_EQ(first.alive(), 1u) << "a worker may hold the SA";
  EXPECT_EQ(held->session, first.alive(0x100)->object);
  readers.quiescent();
  ipsec->commit();
  pass(NicSessions::kDrain_s);
  EXPECT_EQ(first.alive(), 1u) << "and the rings its packets";
  first.link_up = false;
  pass(100);
  EXPECT_EQ(first.alive(), 1u) << "which do not leave without a link";
  first.link_up = true;
  pass(NicSessions::kDrain_s);
  EXPECT_EQ(first.alive(), 1u);
  EXPECT_TRUE(sessions.busy());
  pass(1);
  EXPECT_EQ(first.alive(), 0u);
  EXPECT_FALSE(sessions.busy());
  pass(20);
  EXPECT_EQ(std::ranges::count(first.calls, std::string_view("destroy")), 1);
  unplug();
}

TEST_F(NicSessionsTest, InboundOnesEndAtOnceAndTheirSpiWaits) {
  plug(first);
  ipsec->sa(inbound_state(0x100));
  ASSERT_TRUE(opens(0x100));
  ipsec->sa(inbound_state(0x100, 2));  // other keys
  EXPECT_EQ(first.alive(), 0u);
  EXPECT_EQ(first.calls.back(), std::string_view("destroy"));
  EXPECT_FALSE(opens(0x100)) << "what the old session opened is not the new SA's";
  EXPECT_TRUE(sessions.busy());
  let_go();
  pass(NicSessions::kDrain_s - 1);
  EXPECT_FALSE(opens(0x100));
  pass(1);
  EXPECT_TRUE(opens(0x100));
  EXPECT_EQ(first.alive(0x100)->key, std::vector<uint8_t>(16, 2));
  unplug();
}

TEST_F(NicSessionsTest, OneOfAnSpiAtATime) {
  // ixgbe finds what it removes by the SPI alone.
  plug(first);
  own.insert(ip("192.0.2.9"));
  ipsec->sa(sa_state(0x100));
  SaState twin = sa_state(0x100, 1, 2);
  twin.id.destination = ip("198.51.100.2");
  ipsec->sa(twin);
  ipsec->sa(inbound_state(0x100));  // the other direction is another table
  EXPECT_EQ(first.alive(), 2u);
  EXPECT_EQ(sa(twin.id)->nic.load()->seals[kPort].load(), nullptr);
  ipsec->sa_removed(to_there(0x100));
  let_go();
  pass(NicSessions::kDrain_s + 1);
  EXPECT_NE(sa(twin.id)->nic.load()->seals[kPort].load(), nullptr) << "its turn";
  EXPECT_EQ(first.alive(), 2u);
  unplug();
}

TEST_F(NicSessionsTest, AnSaMadeAnewHasItsOldSessionUntilThatIsDrained) {
  plug(first);
  ipsec->sa(sa_state(0x100));
  SaState changed = sa_state(0x100);
  changed.lifetime.hard_packets = 5;
  ipsec->sa(changed);
  EXPECT_EQ(seals(0x100), nullptr);
  let_go();
  pass(NicSessions::kDrain_s + 1);
  EXPECT_NE(seals(0x100), nullptr);
  EXPECT_EQ(first.sessions.size(), 2u);
  EXPECT_EQ(first.alive(), 1u);
  unplug();
}

TEST_F(NicSessionsTest, APortThatGoesIsGivenNothingThenEndsAll) {
  plug(first);
  plug(second);
  ipsec->sa(sa_state(0x100));
  ipsec->sa(inbound_state(0x200));
  ipsec->sa(sa_state(0x300));
  ipsec->sa_removed(to_there(0x300));
  let_go();
  EXPECT_EQ(first.alive(), 3u);
  EXPECT_EQ(second.alive(), 3u);
  sessions.withdraw(kPort);
  EXPECT_EQ(seals(0x100), nullptr);
  EXPECT_FALSE(opens(0x200));
  EXPECT_EQ(first.alive(0x200), nullptr);
  EXPECT_NE(first.alive(0x100), nullptr) << "its transmit ring may hold packets";
  EXPECT_EQ(ipsec->find(to_there(0x100))->nic.ports, std::vector<std::string>{"nic2"});
  ipsec->sa(sa_state(0x400));
  pass(1);
  EXPECT_EQ(first.alive(0x400), nullptr);
  sessions.drop_port(kPort);
  EXPECT_EQ(first.alive(), 0u);
  EXPECT_EQ(second.alive(), 4u);
  EXPECT_NE(seals(0x100, 2), nullptr);
  EXPECT_TRUE(opens(0x200, 2));
  pass(NicSessions::kDrain_s + 1);
  EXPECT_EQ(second.alive(), 3u);
  ipsec->sa_removed(to_there(0x100));
  let_go();
  pass(20);
  unplug(2);
}

TEST_F(NicSessionsTest, APortThatComesIsOfferedWhatIsThere) {
  plug(first);
  ipsec->sa(sa_state(0x100));
  ipsec->sa(inbound_state(0x200));
  plug(second);
  EXPECT_EQ(second.alive(), 2u);
  EXPECT_EQ(first.sessions.size(), 2u);
  unplug();
  plug(first);  // of the same number
  EXPECT_EQ(first.alive(), 2u);
  EXPECT_NE(seals(0x100), nullptr);
  unplug();
  unplug(2);
}

TEST_F(NicSessionsTest, AnSaWhoseAddressComesLaterIsAskedAboutAgain) {
  plug(first);
  own.clear();
  ipsec->sa(inbound_state(0x100));
  EXPECT_EQ(first.alive(), 0u);
  own.insert(ip(kHere));
  pass(1);
  EXPECT_TRUE(opens(0x100));
  unplug();
}

TEST_F(NicSessionsTest, LeaveNoKeyBehind) {
  plug(first);
  ipsec->sa(sa_state(0x100, 1, 0x5a));
  const uint8_t* lent = first.alive(0x100)->lent;
  auto* object = static_cast<rte_security_session*>(first.alive(0x100)->object);
  EXPECT_EQ(lent[0], 0x5a);
  EXPECT_EQ(object->driver_priv_data[0], 0x5a);
  ipsec->sa_removed(to_there(0x100));
  let_go();
  EXPECT_EQ(lent[0], 0x5a);
  pass(NicSessions::kDrain_s + 1);
  ASSERT_EQ(first.alive(), 0u);
  // But for the allocator's own link to the next free block.
  EXPECT_EQ(std::vector<uint8_t>(lent + sizeof(void*), lent + 20),
            std::vector<uint8_t>(20 - sizeof(void*), 0));
  EXPECT_EQ(std::vector<uint8_t>(object->driver_priv_data, object->driver_priv_data + 16),
            std::vector<uint8_t>(16, 0));
  unplug();
}

TEST_F(NicSessionsTest, ASessionThatTheDriverKeepsIsTold) {
  plug(first);
  ipsec->sa(inbound_state(0x100));
  first.refuses_to_end = true;
  ipsec->sa_removed(to_here(0x100));
  EXPECT_EQ(told("keeps the session of SPI 0x00000100"), 1u);
  unplug();
}

// Whatever happens in whatever order: none is ended twice (ScriptedNic looks), none is left, and
// none has another one of its SPI and direction beside it.
TEST_F(NicSessionsTest, EndExactlyOnceUnderRandomChanges) {
  std::mt19937_64 random(test_seed());
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  std::array<ScriptedNic*, 2> nics{&first, &second};
  std::array<bool, 2> plugged{};
  for (int step = 0; step < 3000; ++step) {
    const Spi spi(0x100 + below(6));
    const uint32_t which = below(2);
    ScriptedNic& one = *nics[which];
    one.refuses_sessions = below(10) == 0;
    one.refuses_rules = below(10) == 0;
    one.link_up = below(30) != 0;
    switch (below(9)) {
      case 0:
      case 1:
        ipsec->sa(sa_state(spi, 1, static_cast<uint8_t>(below(3))));
        break;
      case 2:
      case 3:
        ipsec->sa(inbound_state(spi, static_cast<uint8_t>(below(3))));
        break;
      case 4:
        ipsec->sa_removed(below(2) == 0 ? to_there(spi) : to_here(spi));
        break;
      case 5:
        ipsec->commit();
        break;
      case 6:
        readers.quiescent();
        break;
      case 7:
        pass(below(15));
        break;
      default:
        if (below(4) != 0) break;
        if (plugged[which])
          unplug(PortId(which + 1));
        else
          plug(one);
        plugged[which] = !plugged[which];
    }
    for (const ScriptedNic* each : nics) {
      std::set<std::pair<bool, uint32_t>> slots;
      for (const auto& session : each->sessions) {
        const bool alone = session.ended || slots.emplace(session.inbound, session.spi).second;
        ASSERT_TRUE(alone) << "step " << step;
      }
    }
  }
  for (PortId port : {PortId{1}, PortId{2}}) unplug(port);
  EXPECT_GT(first.sessions.size(), 50u);
}

}  // namespace
}  // namespace hecto::router::test
