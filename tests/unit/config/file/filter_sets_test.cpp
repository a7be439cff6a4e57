// Sets, files of prefixes, and policers: read, refused, printed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/file/diff.hpp"
#include "config/file/prefix_file.hpp"
#include "config/file/prefix_groups.hpp"
#include "config/file/to_yaml.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

namespace fs = std::filesystem;
using lookup::Family;

IpPrefix prefix_of(const char* text) {
  return *IpPrefix::parse(text);
}

class PrefixFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& text) { std::ofstream(folder_ / "list", std::ios::binary) << text; }
  tl::expected<Config, Problems> read(const std::string& set) const {
    return parse(kPort + ("sets: {s: " + set + "}\n"), folder_ / "hecto.yaml");
  }
  // What is said of the set's file, without what stands before its name.
  std::string refusal(const std::string& set = "{file: list}") const {
    const auto config = read(set);
    if (config) return "accepted";
    EXPECT_EQ(config.error().size(), 1u);
    const std::string front = fmt::format("{}:2: sets.s.file: ", (folder_ / "hecto.yaml").string());
    const std::string& line = config.error()[0];
    return line.starts_with(front) ? line.substr(front.size()) : line;
  }
  std::string path() const { return folder_ / "list"; }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("hecto-sets-" + std::to_string(::getpid()));
};

TEST_F(PrefixFiles, HaveOnePrefixALineWithComments) {
  write("# a list\n\n10.0.0.0/8\r\n  2001:db8::/32\t# ours\n192.0.2.1 ; a host\n10.0.0.0/8\n");
  const auto config = read("{file: ./sub/../list, prefixes: [fc00::/7]}");
  ASSERT_TRUE(config) << config.error()[0];
  const PrefixSetConfig& set = config->filters.sets[0];
  EXPECT_EQ(set.file, path());
  EXPECT_EQ(set.prefixes, std::vector<IpPrefix>{prefix_of("fc00::/7")});
  EXPECT_EQ(*set.of_file, (std::vector<IpPrefix>{prefix_of("10.0.0.0/8"), prefix_of("192.0.2.1/32"),
                                                 prefix_of("2001:db8::/32")}));
  EXPECT_EQ(set.size(), 4u);
  EXPECT_NE(to_yaml(*config).find("  s: {prefixes: [\"fc00::/7\"], file: " + path() + "}\n"),
            std::string::npos);
  const auto again = parse(to_yaml(*config), config->file);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *config);
}

TEST_F(PrefixFiles, ThatChangeAreADifference) {
  write("10.0.0.0/8\n");
  const auto before = read("{file: list}");
  write("10.0.0.0/8\n11.0.0.0/8\n");
  const auto after = read("{file: list}");
  ASSERT_TRUE(before && after);
  EXPECT_NE(*before, *after);
  const auto d = diff(*before, *after);
  ASSERT_TRUE(d);
  EXPECT_TRUE(d->filters_changed);
  EXPECT_EQ(d->lines, std::vector<std::string>{"~ set s: + 11.0.0.0/8"});
  write("11.0.0.0/8\n10.0.0.0/8\n10.0.0.0/8 # again\n");
  EXPECT_EQ(*read("{file: list}"), *after) << "order and repetitions are none";
}

TEST_F(PrefixFiles, MayHoldNone) {
  write("");
  EXPECT_TRUE(read("{file: list}"));
  write("# nobody is blocked today\n");
  EXPECT_TRUE(read("{file: list}"));
}

TEST_F(PrefixFiles, AreRefusedWithTheirLine) {
  const std::string at = path();
  write("10.0.0.0/8\nrubbish here\n");
  EXPECT_EQ(refusal(),
            at + ":2: rubbish here is not a prefix; use one as 10.0.0.0/8 or 2001:db8::/32");
  write("\n\n10.1.0.0/8\n");
  EXPECT_EQ(refusal(), at + ":3: 10.1.0.0/8 has bits behind its length; use 10.0.0.0/8");
  write("10.0.0.0/8\n0.0.0.0/1");
  EXPECT_EQ(refusal(),
            at + ":2: 0.0.0.0/1 ends without a newline, as a file that was cut; end the line");
  write(std::string("10.0.0.0/8\n\0\1\x7f\n", 15));
  EXPECT_EQ(refusal(), at + ":2: \\x00\\x01\\x7f is not a prefix; use one as 10.0.0.0/8 or "
                            "2001:db8::/32");
  write("10.0.0.0/33\n");
  EXPECT_EQ(refusal(),
            at + ":1: 10.0.0.0/33 is not a prefix; use one as 10.0.0.0/8 or 2001:db8::/32");
  write(std::string(100'000, '7') + "\n");
  EXPECT_LT(refusal().size(), 300u);
}

TEST_F(PrefixFiles, ThatAreNoneAreRefused) {
  EXPECT_EQ(refusal(), path() + ": cannot be opened: No such file or directory");
  fs::create_directories(path());
  EXPECT_EQ(refusal(), path() + ": a folder; name a file");
  EXPECT_EQ(refusal("{file: /dev/zero}"), "/dev/zero: not a file of bytes; name a file");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal("{file: fifo}"),
            (folder_ / "fifo").string() + ": not a file of bytes; name a file");
  EXPECT_EQ(refusal("{file: []}"), "a list where a text is needed; use a file name");
}

TEST_F(PrefixFiles, OfTheLimitAreNotReadUnlessTheyMay) {
  write("10.0.0.0/8\n");
  LoadLimits limits;
  limits.file = [](const std::string&) { return std::string("is not yours"); };
  const auto config =
      parse(std::string(kPort) + "sets: {s: {file: list}}\n", folder_ / "hecto.yaml", limits);
  ASSERT_FALSE(config);
  EXPECT_NE(config.error()[0].find("sets.s.file: list is not yours"), std::string::npos);
}

TEST_F(PrefixFiles, OfAMillionPrefixesAndOneMore) {
  std::string text;
  for (uint32_t i = 0; i < kMostSetPrefixes; ++i)
    text += IpPrefix{lookup::IpAddress::from(lookup::Ipv4Address{i << 8}), 24}.to_string() + "\n";
  write(text);
  const auto config = read("{file: list}");
  ASSERT_TRUE(config) << config.error()[0];
  EXPECT_EQ(config->filters.sets[0].size(), kMostSetPrefixes);
  EXPECT_EQ(read("{file: list, prefixes: [10.0.0.0/8]}").error()[0],
            (folder_ / "hecto.yaml").string() +
                ":2: sets.s: 1000001 prefixes with those of the file; use at most 1000000");
  write(text + "fc00::/7\n");
  EXPECT_EQ(refusal(), path() + ":1000001: 1000001 prefixes; use at most 1000000");
  write(std::string(kMostPrefixFileBytes + 1, '#'));
  EXPECT_EQ(refusal(), path() + ": more than 67108864 bytes (64 MiB); use several sets");
}

TEST(PrefixSets, AreRefusedWithWhatWouldBeRight) {
  const auto refusal = [](const std::string& sets) {
    return only(kPort + ("sets: " + sets)).substr(std::string("t.yaml:2: ").size());
  };
  EXPECT_EQ(refusal("{s: 10.0.0.0/8}"),
            "sets.s: 10.0.0.0/8 where a list is needed; use a list of prefixes, as [10.0.0.0/8]");
  EXPECT_EQ(refusal("{s: {}}"),
            "sets.s: has no prefixes; add prefixes: [10.0.0.0/8] or file: blocked.txt");
  EXPECT_EQ(refusal("{s: {flie: x}, t: []}").substr(0, 44),
            "sets.s.flie: unknown key; did you mean file?");
  EXPECT_EQ(refusal("{any: []}"),
            "sets.any: not a set's name; use at most 63 letters, digits, - and _, a letter first");
  EXPECT_EQ(refusal("{a.b: []}"),
            "sets.a.b: not a set's name; use at most 63 letters, digits, - and _, a letter first");
  EXPECT_EQ(refusal("{s: [10.0.0.0/8, ten]}"),
            "sets.s[1]: ten is not a prefix; use one as 10.1.0.0/16 or 2001:db8::/32");
  std::string many = "{";
  for (size_t i = 0; i <= kMostPrefixSets; ++i) many += fmt::format("s{}: [], ", i);
  EXPECT_EQ(refusal(many + "}"), "sets: 33 of them; use at most 32");
}

TEST(PrefixGroups, HoldWhatOneOfTheirPrefixesHolds) {
  PrefixSetConfig set;
  set.prefixes = {prefix_of("10.0.0.0/9"), prefix_of("10.1.0.0/16"), prefix_of("192.0.2.0/24"),
                  prefix_of("2001:db8::/32")};
  const PrefixGroup ipv4(set, Family::kIpv4), ipv6(set, Family::kIpv6);
  EXPECT_TRUE(ipv4.contains(prefix_of("10.1.2.0/24")));
  EXPECT_TRUE(ipv4.contains(prefix_of("10.2.0.0/16")));
  EXPECT_TRUE(ipv4.contains(prefix_of("10.0.0.0/9")));
  EXPECT_FALSE(ipv4.contains(prefix_of("10.0.0.0/8")));
  EXPECT_FALSE(ipv4.contains(prefix_of("10.128.0.0/16")));
  EXPECT_FALSE(ipv4.contains(prefix_of("1.0.0.0/8")));
  EXPECT_EQ(ipv4.bounds(), prefix_of("0.0.0.0/0"));
  EXPECT_EQ(ipv6.bounds(), prefix_of("2001:db8::/32"));
  set.prefixes = {prefix_of("10.1.0.0/16"), prefix_of("10.2.0.0/16")};
  EXPECT_EQ(PrefixGroup(set, Family::kIpv4).bounds(), prefix_of("10.0.0.0/14"));
  EXPECT_TRUE(PrefixGroup(set, Family::kIpv6).empty());
}

TEST(Policers, AreOfThreeKinds) {
  const Config config = good(
      std::string(kPort) +
      "policers:\n"
      "  a: {rate: 8kbps, burst: 1500}\n"
      "  b: {rate: 400Gbps, burst: 1GiB, excess_burst: 64kB, yellow: drop}\n"
      "  c: {rate: 10Mbps, burst: 64kB, peak_rate: 10Mbps, peak_burst: 64KiB, yellow: af12}\n"
      "  d: {rate: 10Mbps, burst: 64kB, excess_burst: 64kB, excess_rate: 1234567, yellow: 0}\n");
  const auto& policers = config.filters.policers;
  EXPECT_EQ(policers[0].meter(), Meter::kSingleRate);
  EXPECT_EQ(policers[0].rate_bps, 8000u);
  EXPECT_TRUE(policers[1].drops_yellow);
  EXPECT_EQ(policers[1].rate_bps, 400'000'000'000u);
  EXPECT_EQ(policers[2].meter(), Meter::kTwoRate);
  EXPECT_EQ(policers[2].yellow_dscp, 12);
  EXPECT_EQ(policers[2].peak_burst_bytes, 65536u);
  EXPECT_EQ(policers[3].meter(), Meter::kDifferentiated);
  EXPECT_EQ(policers[3].yellow_dscp, 0);
  const std::string yaml = to_yaml(config);
  EXPECT_TRUE(config.filters.empty()) << "they hold nothing";
  EXPECT_EQ(good(yaml), config) << yaml;
  EXPECT_NE(yaml.find("excess_rate: 1234567, yellow: cs0}"), std::string::npos) << yaml;
}

TEST(Policers, MayHoldInterfaces) {
  const std::string head = std::string(kPort) + "policers:\n";
  const Config config = good(head +
                             "  a: {rate: 1Mbps, burst: 64kB, in: [wan0, ppp0], out: [wan0]}\n"
                             "  b: {rate: 1Mbps, burst: 64kB, out: [ppp0]}\n");
  EXPECT_EQ(config.filters.policers[0].in, (std::vector<std::string>{"wan0", "ppp0"}));
  EXPECT_EQ(config.filters.policers[1].out, std::vector<std::string>{"ppp0"});
  EXPECT_FALSE(config.filters.empty());
  const std::string yaml = to_yaml(config);
  EXPECT_EQ(good(yaml), config) << yaml;
  EXPECT_EQ(
      only(head + "  a: {rate: 1Mbps, burst: 64kB, in: [wan0]}\n"
                  "  b: {rate: 1Mbps, burst: 64kB, in: [wan0]}\n"),
      "t.yaml:4: policers.b.in[0]: policer a holds what goes in by wan0 already; an interface "
      "has one for each way");
  EXPECT_EQ(only(head + "  a: {rate: 1Mbps, burst: 64kB, in: [wan/0]}\n").substr(0, 30),
            "t.yaml:3: policers.a.in[0]: wa");
}

TEST(Policers, MayHaveABucketForEachPrefix) {
  const std::string head =
      std::string(kPort) +
      "sets: {homes: [10.0.0.0/8, 10.1.0.0/16, \"fd00::/8\"], shops: [10.0.0.0/8]}\n"
      "policers:\n"
      "  up: {rate: 1Mbps, burst: 64kB, each: source}\n"
      "  down: {rate: 1Mbps, burst: 64kB, each: destination}\n"
      "  all: {rate: 1Mbps, burst: 64kB, each: none}\n"
      "filters: {f: {in: [wan0], rules: [";
  const Config config = good(head +
                             "{from: homes, police: up}, {to: homes, police: down}, {from: shops, "
                             "to: homes, police: up}, {protocol: tcp, from: homes, police: up}, "
                             "{from: 10.0.0.0/8, police: all}]}}\n");
  const FiltersConfig& filters = config.filters;
  EXPECT_EQ(filters.policers[0].each, PoliceEach::kSource);
  EXPECT_EQ(filters.policers[1].each, PoliceEach::kDestination);
  EXPECT_EQ(filters.policers[2].each, PoliceEach::kNone);
  EXPECT_EQ(policed_sets(filters), (std::vector<PolicedSet>{{0, 0}, {0, 1}, {1, 0}}));
  EXPECT_EQ(policed_prefixes(filters), 3u + 1 + 3);
  const std::string yaml = to_yaml(config);
  EXPECT_EQ(good(yaml), config) << yaml;
  EXPECT_NE(yaml.find("burst: 64000, each: source}"), std::string::npos) << yaml;
  const auto refusal = [&](const std::string& rule) {
    return only(head + rule + "]}}\n").substr(std::string("t.yaml:7: filters.f.rules[0]").size());
  };
  const std::string set =
      "is a set, whose prefixes have a bucket each; name one under sets, or take each out of the "
      "policer";
  EXPECT_EQ(refusal("{to: homes, police: up}"),
            ".police: policer up has each: source, so from " + set);
  EXPECT_EQ(refusal("{from: 10.0.0.0/8, police: up}"),
            ".from: policer up has each: source, so from " + set);
  EXPECT_EQ(refusal("{from: homes, to: any, police: down}"),
            ".to: policer down has each: destination, so to " + set);
  EXPECT_EQ(refusal("{from: hom, police: up}"),
            ".from: hom is no set of this file; use homes, shops");
}

TEST(Policers, HaveBucketsForSoManyPrefixesAndNoMore) {
  FiltersConfig filters;
  const auto many = std::make_shared<const std::vector<IpPrefix>>(kMostSetPrefixes);
  filters.filters.resize(1);
  for (int i = 0; i < 5; ++i) {
    PrefixSetConfig& set = filters.sets.emplace_back();
    set.name = fmt::format("s{}", i);
    set.of_file = many;
    FilterRuleConfig& rule = filters.filters[0].rules.emplace_back();
    rule.from.set = set.name;
    rule.police = "p";
  }
  PolicerConfig& policer = filters.policers.emplace_back();
  policer.name = "p";
  EXPECT_EQ(policed_prefixes(filters), 0u) << "it has one bucket";
  policer.each = PoliceEach::kSource;
  EXPECT_EQ(why_not_policed(filters),
            "policers with each have 5000000 prefixes, a bucket each, which take 915 MiB; use at "
            "most 4194304");
  filters.filters[0].rules.pop_back();
  EXPECT_EQ(why_not_policed(filters), "");
}

TEST(Policers, AreRefusedWithWhatWouldBeRight) {
  const auto refusal = [](const std::string& policer) {
    return only(kPort + ("policers: {p: {" + policer + "}}"))
        .substr(std::string("t.yaml:2: policers.p").size());
  };
  EXPECT_EQ(refusal("burst: 64kB"), ": has no rate; add bits a second, as rate: 10Mbps");
  EXPECT_EQ(refusal("rate: 1Mbps"),
            ": has no burst; add bytes that may come at once, as burst: 64kB");
  const std::string rates = "; use 8kbps to 400Gbps, bits a second, as 10Mbps or 1Gbps";
  EXPECT_EQ(refusal("rate: 10MB, burst: 64kB"), ".rate: 10MB is not a rate" + rates);
  EXPECT_EQ(refusal("rate: 10MBps, burst: 64kB"), ".rate: 10MBps is not a rate" + rates);
  EXPECT_EQ(refusal("rate: 401Gbps, burst: 64kB"), ".rate: 401Gbps is out of range" + rates);
  EXPECT_EQ(refusal("rate: 0, burst: 64kB"), ".rate: 0 is out of range" + rates);
  EXPECT_EQ(refusal("rate: 99999999999Gbps, burst: 64kB"),
            ".rate: 99999999999Gbps is out of range" + rates);
  EXPECT_EQ(refusal("rate: -1Mbps, burst: 64kB"), ".rate: -1Mbps is not a rate" + rates);
  EXPECT_EQ(refusal("rate: 1Mbps, burst: 0"), ".burst: 0 is out of range; use 1500B to 4GiB");
  EXPECT_EQ(refusal("rate: 1Mbps, burst: 1499"), ".burst: 1499 is out of range; use 1500B to 4GiB");
  const std::string plain = "rate: 1Mbps, burst: 64kB, ";
  EXPECT_EQ(refusal(plain + "peak_rate: 2Mbps"),
            ".peak_rate: goes with peak_burst; add it, as peak_burst: 64kB");
  EXPECT_EQ(refusal(plain + "peak_burst: 64kB"),
            ".peak_burst: goes with peak_rate; add it, as peak_rate: 10Mbps");
  EXPECT_EQ(refusal(plain + "peak_rate: 999kbps, peak_burst: 64kB"),
            ".peak_rate: 999kbps is less than rate; use 1Mbps or more");
  EXPECT_EQ(refusal(plain + "excess_rate: 2Mbps"),
            ".excess_rate: goes with excess_burst; add it, as excess_burst: 64kB");
  EXPECT_EQ(refusal(plain + "excess_burst: 64kB, peak_rate: 2Mbps, peak_burst: 64kB"),
            ".excess_burst: beside peak_rate (RFC 2698), which has no excess (RFC 2697, RFC 4115); "
            "take one of both out");
  EXPECT_EQ(refusal(plain + "yellow: drop"),
            ".yellow: nothing is yellow without excess_burst or peak_rate; add one, or take yellow "
            "out");
  EXPECT_EQ(refusal(plain + "each: sources"),
            ".each: sources is not known; use none, source or destination");
  EXPECT_EQ(refusal(plain + "each: source, in: [wan0]"),
            ".in: stands beside each, which is of rules and their sets; use a policer of its own");
  EXPECT_EQ(refusal(plain + "excess_burst: 64kB, yellow: red"),
            ".yellow: red is no DSCP; use drop, 0 to 63, or ef, af11 to af43, cs0 to cs7");
}

}  // namespace
}  // namespace hecto::config
