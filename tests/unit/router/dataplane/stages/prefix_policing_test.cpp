// Policers with a bucket for each prefix of a set: beside a policer for each, over changes of the set, and
// where memory ends.
#include "router/dataplane/stages/prefix_policing.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "router/dataplane/explain_packet.hpp"
#include "router/dataplane/filter/policer.hpp"
#include "router/dataplane/stages/filter.hpp"
#include "router/dataplane/stages/policing.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

using config::FilterRuleConfig;
using config::FiltersConfig;
using config::PoliceEach;
using config::PolicerConfig;
using lookup::IpAddress;
using lookup::IpPrefix;

config::PrefixSetConfig set_of(const char* name, std::initializer_list<const char*> prefixes) {
  config::PrefixSetConfig set{name, {}, {}, {}};
  for (const char* prefix : prefixes) set.prefixes.push_back(*IpPrefix::parse(prefix));
  return set;
}

PolicerConfig policer_of(uint64_t rate, uint64_t burst, PoliceEach each = PoliceEach::kSource) {
  PolicerConfig policer;
  policer.name = "fair";
  policer.rate_bps = rate;
  policer.burst_bytes = burst;
  policer.each = each;
  return policer;
}

FilterRuleConfig rule_of(const char* set, uint8_t protocol = 0) {
  FilterRuleConfig rule;
  rule.from.set = rule.to.set = set;
  rule.protocol = protocol;
  rule.police = "fair";
  return rule;
}

FiltersConfig filters_of(config::PrefixSetConfig set, const PolicerConfig& policer) {
  FiltersConfig all;
  FilterRuleConfig rule = rule_of(set.name.c_str());
  (policer.each == PoliceEach::kSource ? rule.to : rule.from).set.clear();
  all.sets = {std::move(set)};
  all.policers = {policer};
  all.filters.resize(1);
  all.filters[0].name = "edge";
  all.filters[0].in = {"in"};
  all.filters[0].rules = {rule};
  return all;
}

class PrefixPolicingTest : public TwoGateways {
 protected:
  void SetUp() override {
    left_.snapshot().features = 0;
    around_.interface = [](const std::string& name) {
      return name == "in" ? InterfaceId(0) : kNoInterface;
    };
  }
  std::shared_ptr<const FilterTables> compile(const FiltersConfig& config) {
    auto made = FilterTables::compile(config, around_, tables_.get());
    EXPECT_TRUE(made) << made.error().message;
    if (made) left_.snapshot().filters = tables_ = *made;
    return tables_;
  }
  std::string refusal(const FiltersConfig& config) {
    auto made = FilterTables::compile(config, around_, tables_.get());
    return made ? std::string() : made.error().message;
  }
  // How many of so many packets (of 120 bytes) of a source leave.
  unsigned sent(const char* source, unsigned count, const char* to = "10.2.0.1") {
    std::vector<rte_mbuf*> packets;
    for (unsigned i = 0; i < count; ++i) packets.push_back(frame_from(source, to));
    left_.run(packets, 0);
    return taken();
  }
  static rte_mbuf* frame_from(const char* source, const char* to) {
    const bool six = std::string_view(source).find(':') != std::string_view::npos;
    FrameOptions options = from_host(source, six ? "fd00:2::1" : to, six ? 80 : 100);
    return packet(six ? ipv6_frame(options) : ipv4_frame(options));
  }
  unsigned taken() {
    unsigned count = 0;
    for (rte_mbuf* each : left_.sent(1)) {
      rte_pktmbuf_free(each);
      ++count;
    }
    left_.refused();
    return count;
  }
  PolicerStatus status() { return tables_->policers().at(0); }

  FilterSurroundings around_;
  std::shared_ptr<const FilterTables> tables_;
};

// ---- Beside a policer for each prefix ----

// Of each address the longest of the prefixes that it is in.
class Twins {
 public:
  Twins(const config::PrefixSetConfig& set, PolicerConfig config) : set_(set), config_(config) {
    config_.each = PoliceEach::kNone;
  }
  Colour meter(const IpAddress& address, uint64_t now, uint32_t bytes) {
    const IpPrefix* longest = nullptr;
    for (const IpPrefix& prefix : set_.prefixes)
      if (holds(prefix, address) && (longest == nullptr || prefix.length > longest->length))
        longest = &prefix;
    if (longest == nullptr) return Colour::kGreen;
    std::shared_ptr<Policer>& policer = twins_[longest];
    if (!policer) policer = *Policer::create(config_, rte_get_tsc_hz());
    return policer->meter(now, bytes);
  }
  size_t met() const { return twins_.size(); }

 private:
  static bool holds(const IpPrefix& prefix, const IpAddress& address) {
    if (prefix.address.family != address.family) return false;
    if (address.family == lookup::Family::kIpv4) return prefix.v4().contains({address.v4(), 32});
    return prefix.v6().contains({address.v6(), 128});
  }
  const config::PrefixSetConfig& set_;
  PolicerConfig config_;
  std::map<const IpPrefix*, std::shared_ptr<Policer>> twins_;
};

constexpr const char* kSources4[] = {"10.0.0.1",   "10.1.0.1",   "10.1.1.1",   "10.1.1.129",
                                     "10.1.1.255", "10.200.0.9", "10.1.1.130", "192.0.2.1"};
constexpr const char* kSources6[] = {"fd00:1::1", "fd00:1:0:1::9", "fd00:1:0:1:8000::1",
                                     "2001:db8::1", "fd00:2::7"};

TEST_F(PrefixPolicingTest, EachPrefixIsHeldAsByAPolicerOfItsOwn) {
  std::mt19937_64 random(test_seed());
  const auto set =
      set_of("homes", {"10.0.0.0/8", "10.1.0.0/16", "10.1.1.0/24", "10.1.1.128/25", "10.1.1.130/32",
                       "fd00::/16", "fd00:1::/32", "fd00:1:0:1::/64", "fd00:1:0:1:8000::/65"});
  for (const int kind : {0, 1, 2, 3})
    for (const PoliceEach each : {PoliceEach::kSource, PoliceEach::kDestination}) {
      PolicerConfig config = policer_of(8'000'000, 4000, each);
      if (kind == 1) config.excess_bytes = 3000;
      if (kind == 2) {
        config.peak_bps = 12'000'000;
        config.peak_burst_bytes = 3000;
      }
      if (kind == 3) {
        config.excess_bps = 4'000'000;
        config.excess_bytes = 2000;
      }
      tables_.reset();
      compile(filters_of(set, config));
      const PolicedView& policed = tables_->views(0).policed.at(0);
      const auto policing = std::make_unique<PrefixPolicing>();
      Twins twins(set, config);
      uint64_t now = random() >> 8, counts[3] = {};
      for (int burst = 0; burst < 2000; ++burst) {
        now += random() % 4 * rte_get_tsc_hz() / 2000;
        const bool six = random() % 2 == 0;
        const auto count = static_cast<unsigned>(1 + random() % 40);
        std::vector<rte_mbuf*> packets;
        std::vector<Ingress> ingress(count, Ingress(0, kEthernetBytes));
        std::vector<Reason> expected(count, Reason::kNone), found = expected;
        const char* address = nullptr;
        for (unsigned i = 0; i < count; ++i) {
          if (address == nullptr || random() % 3 == 0)
            address = six ? kSources6[random() % std::size(kSources6)]
                          : kSources4[random() % std::size(kSources4)];
          FrameOptions options;
          options.source = options.destination = six ? "2001:db8:1::1" : "198.51.100.1";
          (each == PoliceEach::kSource ? options.source : options.destination) = address;
          options.payload_bytes = static_cast<uint16_t>(random() % 1000);
          packets.push_back(packet(six ? ipv6_frame(options) : ipv4_frame(options)));
          const uint32_t bytes = packets[i]->pkt_len - kEthernetBytes;
          const Colour colour = twins.meter(*IpAddress::parse(address), now, bytes);
          if (colour == Colour::kRed) expected[i] = Reason::kPoliced;
          // What is in no prefix is none of the policer's.
          const bool outside = std::string_view(address) == "192.0.2.1" ||
                               std::string_view(address) == "2001:db8::1";
          if (!outside) counts[static_cast<size_t>(colour)] += bytes;
        }
        policing->hold(policed, 0, now, packets.data(), ingress.data(), count, found.data());
        rte_pktmbuf_free_bulk(packets.data(), count);
        ASSERT_EQ(found, expected) << "kind " << kind << ", burst " << burst;
      }
      EXPECT_EQ(twins.met(), 9u);
      const PolicerStatus all = status();
      EXPECT_EQ(all.green.bytes, counts[0]);
      EXPECT_EQ(all.yellow.bytes, counts[1]);
      EXPECT_EQ(all.red.bytes, counts[2]);
      EXPECT_GT(counts[0], 0u);
      EXPECT_GT(counts[2], 0u);
      uint64_t red = 0;
      for (const PolicedPrefix& prefix : tables_->most_red("fair", 100)) red += prefix.red.bytes;
      EXPECT_EQ(red, counts[2]);
    }
}

TEST_F(PrefixPolicingTest, AFloodOfOnePrefixLeavesTheOthers) {
  compile(filters_of(set_of("homes", {"10.1.0.0/24", "10.1.1.0/24", "10.1.1.7/32", "fd00:1::/64"}),
                     policer_of(8, 360)));
  EXPECT_EQ(sent("10.1.0.1", 200), 3u);
  EXPECT_EQ(sent("10.1.0.2", 1), 0u) << "one bucket for all of the prefix";
  EXPECT_EQ(sent("10.1.1.1", 2), 2u);
  EXPECT_EQ(sent("10.1.1.7", 3), 3u) << "the longest prefix is its own";
  EXPECT_EQ(sent("fd00:1::1", 4), 3u);
  EXPECT_EQ(sent("192.0.2.1", 10), 10u) << "in no prefix";
  const PolicerStatus all = status();
  EXPECT_EQ(all.name, "fair");
  EXPECT_EQ(all.prefixes, 4u);
  EXPECT_EQ(all.green, (FilterCount{11, 11 * 120}));
  EXPECT_EQ(all.red.packets, 197u + 1 + 1);
  const auto most = tables_->most_red("fair", 5);
  ASSERT_EQ(most.size(), 2u);
  EXPECT_EQ(most[0].prefix.to_string(), "10.1.0.0/24");
  EXPECT_EQ(most[0].set, "homes");
  EXPECT_EQ(most[0].red, (FilterCount{198, 198 * 120}));
  EXPECT_EQ(most[1].prefix.to_string(), "fd00:1::/64");
  EXPECT_EQ(tables_->most_red("fair", 1).size(), 1u);
}

// Rules of several policers, sets and none in one burst; of one set and policer rules share buckets.
TEST_F(PrefixPolicingTest, RulesOfOneSetShareItsBuckets) {
  FiltersConfig all = filters_of(set_of("homes", {"10.1.0.0/24"}), policer_of(8, 480));
  all.sets.push_back(set_of("shops", {"10.1.0.0/16"}));
  all.filters[0].rules = {rule_of("homes", 6), rule_of("homes", 17), rule_of("shops", 47)};
  for (FilterRuleConfig& rule : all.filters[0].rules) rule.to.set.clear();
  compile(all);
  const auto burst = [&](unsigned each) {
    std::vector<rte_mbuf*> packets;
    for (unsigned i = 0; i < each; ++i)
      for (const uint8_t protocol : {6, 17, 47, 50}) {
        FrameOptions options = from_left();
        options.protocol = protocol;
        packets.push_back(packet(ipv4_frame(options)));
      }
    left_.run(packets, 0);
    return taken();
  };
  EXPECT_EQ(burst(5), 4u + 4u + 5u) << "of homes 4 together, of shops 4, and all of no rule";
  EXPECT_EQ(status().green.packets, 8u);
  EXPECT_EQ(status().red.packets, 7u);
  EXPECT_EQ(status().prefixes, 2u);
  EXPECT_EQ(tables_->most_red("fair", 5).at(0).set, "homes");
}

TEST_F(PrefixPolicingTest, ItIsDoneBesideAllElseThatARuleSays) {
  FiltersConfig all = filters_of(set_of("homes", {"10.1.0.0/24"}), policer_of(8, 120));
  all.policers[0].excess_bytes = 120;
  all.policers[0].yellow_dscp = 10;
  all.filters[0].rules[0].set_dscp = 46;
  compile(all);
  std::vector<rte_mbuf*> packets;
  for (int i = 0; i < 3; ++i) packets.push_back(packet(ipv4_frame(from_left())));
  left_.run(packets, 0);
  std::vector<unsigned> dscps;
  for (rte_mbuf* each : left_.sent(1)) {
    dscps.push_back(bytes_of(each)[kEthernetBytes + 1] >> 2);
    rte_pktmbuf_free(each);
  }
  EXPECT_EQ(dscps, (std::vector<unsigned>{46, 10}));
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kPoliced});
}

TEST_F(PrefixPolicingTest, ExplainNamesThePolicer) {
  compile(filters_of(set_of("homes", {"10.1.0.0/24"}), policer_of(8, 120)));
  PacketQuestion question;
  question.destination = *IpAddress::parse("10.2.0.1");
  question.source = IpAddress::parse("10.1.0.1");
  question.interface = 0;
  const PacketAnswer answer =
      explain_packet(question, left_.snapshot(), left_.tables(), std::nullopt);
  ASSERT_EQ(answer.filters.size(), 1u);
  EXPECT_EQ(answer.filters[0].policer, "fair");
  EXPECT_EQ(status().green.packets, 0u);
}

// Where a packet leaves by is asked once for both; what the filter refuses moves the others up.
TEST_F(PrefixPolicingTest, WhatAFilterAtOutLeavesIsHeldByWhereItLeaves) {
  around_.interface = [](const std::string& name) {
    return name == "in" ? InterfaceId(0) : name == "out" ? InterfaceId(1) : kNoInterface;
  };
  FiltersConfig all;
  all.policers = {policer_of(8, 240, PoliceEach::kNone)};
  all.policers[0].out = {"out"};
  all.filters.resize(1);
  all.filters[0].name = "edge";
  all.filters[0].out = {"out"};
  for (const bool drops : {false, true}) {
    tables_.reset();
    all.filters[0].rules.resize(1);
    all.filters[0].rules[0].protocol = 6;
    all.filters[0].rules[0].verdict =
        drops ? config::FilterVerdict::kDrop : config::FilterVerdict::kAccept;
    compile(all);
    FrameOptions tcp = from_left(), back = from_host("10.1.0.77", "10.1.0.1");
    tcp.protocol = 6;
    std::vector<rte_mbuf*> packets;
    for (const FrameOptions& options : {tcp, back, from_left(), back, from_left(), from_left()})
      packets.push_back(packet(ipv4_frame(options)));
    left_.run(packets, 0);
    EXPECT_EQ(taken(), 2u) << drops;
    std::vector<rte_mbuf*> returned = left_.sent(0);
    EXPECT_EQ(returned.size(), 2u) << "of no policer";
    rte_pktmbuf_free_bulk(returned.data(), static_cast<unsigned>(returned.size()));
    EXPECT_EQ(status().red.packets, drops ? 1u : 2u);
  }
}

// Packets of several interfaces in one burst, and of one alone.
TEST_F(PrefixPolicingTest, EachInterfaceOfABurstHasItsOwnBucket) {
  around_.interface = [](const std::string& name) {
    return name == "in" ? InterfaceId(0) : name == "far" ? InterfaceId(7) : kNoInterface;
  };
  FiltersConfig all;
  all.policers = {policer_of(8, 240, PoliceEach::kNone)};
  all.policers[0].in = {"in", "far"};
  compile(all);
  for (const unsigned others : {0u, 2u}) {
    const auto chunk = std::make_unique<Chunk>();
    for (unsigned i = 0; i < 8; ++i) {
      chunk->v4.packets[i] = packet(ipv4_frame(from_left()));
      const bool far = others != 0 && i % others == 0;
      chunk->v4.ingress[i] = {InterfaceId(far ? 7 : 0), kEthernetBytes};
    }
    chunk->v4.count = 8;
    hold_in(*chunk, tables_->views(0));
    EXPECT_EQ(chunk->v4.count, 2u) << "of the first burst 2 of in, of the second 2 of far";
    EXPECT_EQ(chunk->refused_count, 6u);
    for (unsigned i = 0; i < chunk->v4.count; ++i) rte_pktmbuf_free(chunk->v4.packets[i]);
    for (unsigned i = 0; i < chunk->refused_count; ++i) rte_pktmbuf_free(chunk->refused[i].packet);
  }
}

// ---- Sets that change ----

TEST_F(PrefixPolicingTest, APrefixThatStaysKeepsItsBucketAndItsCounts) {
  FiltersConfig all =
      filters_of(set_of("homes", {"10.1.0.0/24", "10.1.1.0/24"}), policer_of(8, 360));
  compile(all);
  EXPECT_EQ(sent("10.1.0.1", 5), 3u);
  EXPECT_EQ(sent("10.1.1.1", 5), 3u);
  all.sets[0] = set_of("homes", {"10.0.0.0/8", "10.1.0.0/24", "10.1.2.0/24"});
  compile(all);
  EXPECT_EQ(sent("10.1.0.1", 5), 0u);
  EXPECT_EQ(sent("10.1.2.1", 5), 3u) << "one that comes is full";
  EXPECT_EQ(sent("10.1.1.1", 5), 3u) << "by the prefix around the one that went";
  EXPECT_EQ(status().green.packets, 12u);
  EXPECT_EQ(status().red.packets, 13u);
  EXPECT_EQ(status().prefixes, 3u);
  all.policers[0].burst_bytes = 480;
  compile(all);
  EXPECT_EQ(sent("10.1.0.1", 5), 4u) << "a policer that is changed begins full";
  EXPECT_EQ(status().green.packets, 4u);
  EXPECT_EQ(tables_->most_red("fair", 5).size(), 1u);
}

TEST_F(PrefixPolicingTest, ABucketIsNotGivenOnWhileOldFiltersAreThere) {
  FiltersConfig all = filters_of(set_of("homes", {"10.1.0.0/24"}), policer_of(8, 360));
  auto old = compile(all);
  EXPECT_EQ(sent("10.1.0.1", 5), 3u);
  all.sets[0] = set_of("homes", {"10.1.9.0/24"});
  compile(all);
  EXPECT_EQ(sent("10.1.9.1", 4), 3u);
  left_.snapshot().filters = old;
  EXPECT_EQ(sent("10.1.0.1", 1), 0u) << "with what it had";
  left_.snapshot().filters = tables_;
  EXPECT_EQ(sent("10.1.9.1", 1), 0u);
  old.reset();
  all.sets[0] = set_of("homes", {"10.1.9.0/24", "10.1.0.0/24"});
  compile(all);
  EXPECT_EQ(sent("10.1.0.1", 5), 3u) << "given on, and full";
  EXPECT_EQ(sent("10.1.9.1", 1), 0u);
  EXPECT_EQ(tables_->most_red("fair", 9).size(), 2u);
}

TEST_F(PrefixPolicingTest, MoreThreadsTakeCountsAndBucketsAlong) {
  FiltersConfig all = filters_of(set_of("homes", {"10.1.0.0/24"}), policer_of(8, 360));
  compile(all);
  EXPECT_EQ(sent("10.1.0.1", 5), 3u);
  around_.threads = 4;
  compile(all);
  EXPECT_EQ(sent("10.1.0.1", 5), 0u);
  EXPECT_EQ(status().green.packets, 3u);
  EXPECT_EQ(status().red.packets, 7u);
}

TEST_F(PrefixPolicingTest, ManyWorkersHaveOneBucketForAPrefix) {
  around_.threads = 4;
  compile(filters_of(set_of("homes", {"10.1.0.0/24", "10.1.1.0/24"}), policer_of(8, 120'000)));
  const PolicedView& policed = tables_->views(0).policed[0];
  std::vector<rte_mbuf*> packets;
  for (int i = 0; i < 32; ++i)
    packets.push_back(frame_from(i % 4 < 2 ? "10.1.0.1" : "10.1.1.1", "10.2.0.1"));
  const std::vector<Ingress> ingress(32, Ingress(0, kEthernetBytes));
  std::vector<std::thread> workers;
  for (unsigned thread = 0; thread < 4; ++thread)
    workers.emplace_back([&, thread] {
      const auto policing = std::make_unique<PrefixPolicing>();
      Reason reasons[32];
      for (int burst = 0; burst < 500; ++burst)
        policing->hold(policed, thread, 1000, packets.data(), ingress.data(), 32, reasons);
    });
  for (std::thread& worker : workers) worker.join();
  rte_pktmbuf_free_bulk(packets.data(), 32);
  EXPECT_EQ(status().green, (FilterCount{2000, 240'000}));
  EXPECT_EQ(status().green.packets + status().red.packets, 64'000u);
}

// ---- Many ----

config::PrefixSetConfig million() {
  auto many = std::make_shared<std::vector<IpPrefix>>();
  for (uint32_t i = 0; i < config::kMostSetPrefixes; ++i)
    many->push_back({IpAddress::from(lookup::Ipv4Address{0x0a010000 + i}), 32});
  config::PrefixSetConfig set{"homes", {}, {}, {}};
  set.of_file = std::move(many);
  return set;
}

TEST_F(PrefixPolicingTest, AMillionPrefixesHaveABucketEach) {
  FiltersConfig all = filters_of(million(), policer_of(8, 240));
  around_.free_bytes = 200 << 20;
  compile(all);
  EXPECT_EQ(status().prefixes, 1'000'000u);
  EXPECT_LT(tables_->bytes(), config::policed_bytes(all));
  for (const char* source : {"10.1.0.1", "10.1.127.255", "10.1.128.0", "10.9.9.9", "10.16.66.63"})
    EXPECT_EQ(sent(source, 3), 2u) << source;
  ASSERT_EQ(tables_->most_red("fair", 9).size(), 5u);
  EXPECT_EQ(tables_->most_red("fair", 9)[4].prefix.to_string(), "10.16.66.63/32");
  around_.free_bytes = 1;
  compile(all);  // nothing of it comes again
  around_.free_bytes = 0;
  // Of a change: what stays, stays.
  all.sets[0].prefixes = {*IpPrefix::parse("192.0.2.0/24")};
  compile(all);
  EXPECT_EQ(sent("10.16.66.63", 1), 0u);
  EXPECT_EQ(sent("192.0.2.1", 3), 2u);
  EXPECT_EQ(status().prefixes, 1'000'001u);
}

TEST_F(PrefixPolicingTest, RefusesWhatMemoryHasNoRoomForAndLeavesTheOld) {
  FiltersConfig all = filters_of(set_of("homes", {"10.1.0.0/24"}), policer_of(8, 360));
  compile(all);
  EXPECT_EQ(sent("10.1.0.1", 5), 3u);
  all.sets[0] = million();
  around_.free_bytes = 100 << 20;
  EXPECT_EQ(refusal(all), "policers: buckets of prefixes take 183 MiB more, 100 MiB are free");
  EXPECT_EQ(sent("10.1.0.1", 5), 0u) << "of before";
  around_.free_bytes = 0;
  for (int i = 0; i < 4; ++i) {
    all.policers.push_back(policer_of(8, 360));
    all.policers.back().name = "fair" + std::to_string(i);
    all.filters[0].rules.push_back(all.filters[0].rules[0]);
    all.filters[0].rules.back().police = all.policers.back().name;
  }
  EXPECT_EQ(refusal(all),
            "policers with each have 5000000 prefixes, a bucket each, which take 915 MiB; use at "
            "most 4194304");
}

}  // namespace
}  // namespace hecto::router::test
