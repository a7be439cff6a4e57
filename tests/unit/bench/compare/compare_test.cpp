// Who is compared, and how each is started. No peer runs here.
#include "bench/compare/compare.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "bench/lib/text_table.hpp"
#include "bench/traffic/spec_yaml.hpp"
#include "config/file/load.hpp"
#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

namespace fs = std::filesystem;

// PATH with these programs alone.
class FakePath {
 public:
  explicit FakePath(const std::vector<std::string>& programs) : before_(std::getenv("PATH")) {
    for (const std::string& name : programs) {
      std::ofstream(folder_ / name) << "#!/bin/sh\n";
      fs::permissions(folder_ / name, fs::perms::owner_all);
    }
    setenv("PATH", folder_.path().c_str(), 1);
  }
  ~FakePath() { setenv("PATH", before_.c_str(), 1); }
  std::string operator/(const char* name) const { return folder_ / name; }

 private:
  Folder folder_;
  std::string before_;
};

const Peer& peer(const std::string& name) {
  for (const Peer& peer : all_peers())
    if (peer.name == name) return peer;
  throw std::runtime_error(name);
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

PeerBed some_bed(const Folder& folder, PortKind ports = PortKind::kMemif) {
  PeerBed bed;
  bed.ports = ports;
  bed.folder = folder.path();
  bed.control_cpu = 2;
  bed.worker_cpu = 5;
  bed.prefixes = compared_prefixes(bed.family, 3);
  return bed;
}

TEST(ChoosePeers, TakesThoseThatAreThereAndNamesTheOthers) {
  const FakePath path({"dpdk-testpmd", "grout"});
  CompareOptions options;
  options.peers = {"testpmd-io", "grout", "vpp", "linux"};
  auto result = choose_peers(options);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->peers.size(), 1u);
  EXPECT_EQ(result->peers[0].peer->name, "testpmd-io");
  EXPECT_EQ(result->peers[0].programs, std::vector<std::string>{path / "dpdk-testpmd"});
  EXPECT_EQ(result->left_out,
            (std::vector<std::string>{
                "vpp: vpp is not installed (package: no Debian package; fd.io's vpp and "
                "vpp-plugin-core)",
                "grout: grcli is not installed (package: no Debian package; the project's grout)",
                "linux: has no memif ports; use --ports veth"}));
  result->machine = {{"name", "a machine"}};
  EXPECT_EQ(result->missing, (std::vector<std::string>{"vpp", "grout", "linux"}));
  EXPECT_TRUE(result->partial()) << "they were asked for";
  EXPECT_NE(
      to_text(*result).find("partial: asked for and not measured: vpp, grout, linux; install"),
      std::string::npos);
  options.peers.clear();
  EXPECT_FALSE(choose_peers(options)->partial());
}

TEST(ChoosePeers, SaysWhoIsNotKnownAndThatNobodyIsThere) {
  const FakePath path({});
  CompareOptions options;
  options.peers = {"bridge"};
  EXPECT_EQ(choose_peers(options).error().message,
            "--peers: bridge is not known; use some of hecto, testpmd-io, testpmd-mac, l3fwd, vpp, "
            "grout, linux");
  options.peers = {"testpmd-mac"};
  EXPECT_EQ(choose_peers(options).error().message,
            "nobody to compare: testpmd-mac: dpdk-testpmd is not installed (package: dpdk-dev)");
}

TEST(Peer, HectoGetsAConfigurationThatItTakes) {
  for (const PortKind ports : {PortKind::kMemif, PortKind::kVeth}) {
    const Folder folder;
    const Launch launch = peer("hecto").launch(some_bed(folder, ports), {"/bin/hectod"});
    EXPECT_EQ(launch.words, (std::vector<std::string>{"/bin/hectod", folder / "hecto.yaml"}));
    const auto config = config::load(folder / "hecto.yaml");
    ASSERT_TRUE(config) << config.error()[0];
    EXPECT_EQ(config->ports.size(), 2u);
    EXPECT_EQ(config->workers.at(0), std::vector<unsigned>{5});
    EXPECT_EQ(text_of(folder / "routes.txt"),
              "16.0.0.0/24 via 198.51.100.2\n16.0.1.0/24 via 198.51.100.2\n16.0.2.0/24 via "
              "198.51.100.2\n");
  }
}

TEST(Peer, EachIsPutOnTheSamePortsAndCore) {
  for (const char* name : {"testpmd-io", "testpmd-mac", "l3fwd"}) {
    const Folder folder;
    const Launch launch = peer(name).launch(some_bed(folder), {"/bin/program"});
    const std::string words = joined(launch.words);
    EXPECT_NE(words.find("/bin/program -l 2,5 --main-lcore=2 "), std::string::npos) << words;
    EXPECT_NE(words.find("socket=" + (folder / "left.sock").string()), std::string::npos) << words;
    EXPECT_NE(words.find("--no-huge"), std::string::npos) << words;
    EXPECT_EQ(launch.files.size(), 2u);
    PeerBed bed = some_bed(folder);
    bed.hugepages = true;
    EXPECT_NE(joined(peer(name).launch(bed, {"/bin/program"}).words).find("--in-memory"),
              std::string::npos);
  }
  const Folder folder;
  (void)peer("vpp").launch(some_bed(folder), {"/bin/vpp"});
  EXPECT_NE(text_of(folder / "startup.conf").find("main-core 2 corelist-workers 5"),
            std::string::npos);
  EXPECT_NE(text_of(folder / "setup").find("ip route add 16.0.2.0/24 via 198.51.100.2 memif2/0\n"),
            std::string::npos);
}

TEST(Peer, LinuxIsSetUpByCommandsAlone) {
  const Folder folder;
  const Launch launch =
      peer("linux").launch(some_bed(folder, PortKind::kVeth), {"/bin/ip", "/bin/sysctl"});
  EXPECT_TRUE(launch.words.empty());
  ASSERT_EQ(launch.after.size(), 5u);
  EXPECT_EQ(joined(launch.after[1]), "/bin/ip -4 address add 192.0.2.1/24 dev left ");
  EXPECT_NE(text_of(folder / "routes").find("route add 16.0.1.0/24 via 198.51.100.2\n"),
            std::string::npos);
}

TEST(ComparedPrefixes, AreAllDifferent) {
  for (const auto family : {lookup::Family::kIpv4, lookup::Family::kIpv6}) {
    auto prefixes = compared_prefixes(family, 65536);
    for (const std::string& prefix : {prefixes.front(), prefixes.back()})
      EXPECT_TRUE(lookup::IpPrefix::parse(prefix)) << prefix;
    std::sort(prefixes.begin(), prefixes.end());
    EXPECT_EQ(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());
  }
}

TEST(CompareResult, TellsFailuresNoiseAndWhoIsMissing) {
  CompareResult result;
  result.options.rounds = 2;
  result.left_out = {"vpp: not installed"};
  result.machine = {{"name", "a machine"}};
  PeerResult good{&peer("hecto"), {}, {{"64", {10, 12}, {5, 6}, 200, 2, {}, {0.3, 0.4}}}, {}};
  PeerResult bad{
      &peer("vpp"), {}, {{"64", {}, {}, 0, 0, {}, {}}}, {"vpp ended: exit code 1", "again"}};
  result.peers = {good};
  EXPECT_FALSE(result.partial());
  result.peers.push_back(bad);
  EXPECT_TRUE(result.partial());
  const std::string text = to_text(result);
  for (const char* words :
       {"11.00", "18.2%", "1.00%", "failed",
        "partial: vpp failed 2 of 2 times: vpp ended: exit code 1",
        "noise: figures spread over up to 18%", "left out: vpp: not installed", "not tried by us"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
  const auto json = to_json(result);
  EXPECT_EQ(json["peers"][0]["sizes"][0]["mpps"]["median"], 11);
  EXPECT_EQ(json["peers"][0]["sizes"][0]["lost"], 2);
  EXPECT_EQ(json["peers"][1]["sizes"][0]["mpps"], nullptr);
  EXPECT_EQ(json["partial"], true);
}

// What each is said to do is what is expected of it, and named when it does something else.
TEST(TrafficYaml, ExpectsWhatThePeerIsSaidToDo) {
  const Folder folder;
  CompareOptions options;
  const auto expectation = [&](const char* name) {
    const std::string file = folder / "traffic.yaml";
    const auto spec =
        parse_traffic(traffic_yaml(options, peer(name), some_bed(folder), "64"), file);
    EXPECT_TRUE(spec) << spec.error()[0];
    return spec->streams[0].expect;
  };
  const MacAddress next_hop = *parse_mac_address(kNextHopMac);
  EXPECT_TRUE(expectation("testpmd-io").wire);
  EXPECT_EQ(expectation("testpmd-mac").hops, 0);
  EXPECT_EQ(expectation("testpmd-mac").destination_mac, next_hop);
  EXPECT_EQ(expectation("l3fwd").hops, 1);
  EXPECT_EQ(expectation("hecto").hops, 1);
  EXPECT_EQ(expectation("hecto").destination_mac, next_hop);
}

TEST(AddCounts, NamesWhatCameBackWrong) {
  nlohmann::json counts = {{"seconds", 1.0},
                           {"sent", 1000},
                           {"received", 0},
                           {"sent_bytes", 64000},
                           {"lost", 1000},
                           {"held_back", 0.5},
                           {"wrong", {{"unchanged", 900}, {"padded", 7}}}};
  Compared compared;
  compared.size = "64";
  EXPECT_EQ(add_counts(compared, counts).error().message,
            "nothing of 1000 packets of 64 bytes came back as it should: 900 unchanged, 7 padded");
  counts["wrong"] = nlohmann::json::object();
  EXPECT_EQ(add_counts(compared, counts).error().message,
            "nothing of 1000 packets of 64 bytes came back");
  counts["received"] = 990;
  ASSERT_TRUE(add_counts(compared, counts));
  EXPECT_EQ(compared.mpps, std::vector<double>{0.00099});
  CompareResult result;
  result.machine = {{"name", "a machine"}};
  result.peers = {{&peer("hecto"), {}, {compared}, {}}};
  EXPECT_NE(to_text(result).find("hecto, 64 bytes: 900 packets came back unchanged: TTL"),
            std::string::npos)
      << to_text(result);
  EXPECT_EQ(to_json(result)["peers"][0]["sizes"][0]["wrong"]["padded"], 7);
}

// Nothing lost and no queue full: the figure is the generator's.
TEST(CompareResult, SaysWhenTheGeneratorIsTheLimit) {
  CompareResult result;
  result.machine = {{"name", "a machine"}};
  PeerResult entry{
      &peer("hecto"), {}, {{"64", {10, 10}, {5, 5}, 1'000'000, 3, {}, {0, 0.001}}}, {}};
  const auto told = [&] {
    result.peers = {entry};
    return to_text(result).find("hecto, 64 bytes: the generator is the limit") != std::string::npos;
  };
  EXPECT_TRUE(told());
  entry.sizes[0].held_back = {0.2, 0.3};
  EXPECT_FALSE(told());
  entry.sizes[0].held_back = {0, 0};
  entry.sizes[0].lost = 100'000;
  EXPECT_FALSE(told());
  entry.sizes[0].lost = 0;
  result.options.rate = "1Mpps";  // as it was asked to
  EXPECT_FALSE(told());
}

TEST(TextTable, AlignsByCharacters) {
  EXPECT_EQ(align_columns({{"a", "µs"}, {"long", "1234"}}, 1), "a       µs\nlong  1234\n");
  EXPECT_EQ(four_digits(0.12345), "0.1235");
  EXPECT_EQ(four_digits(12.345), "12.35");
  EXPECT_EQ(four_digits(123456), "123456");
  EXPECT_EQ(four_digits(0), "0.000");
}

}  // namespace
}  // namespace hecto::bench
