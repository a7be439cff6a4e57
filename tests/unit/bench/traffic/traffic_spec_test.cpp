// Traffic files: what they say, and how each that is wrong is refused.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

#include "bench/traffic/pcap.hpp"
#include "bench/traffic/spec_yaml.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

std::string capture_of(const std::vector<std::pair<uint32_t, uint32_t>>& kept_and_whole,
                       uint32_t magic = 0xa1b2c3d4, bool swapped = false, uint32_t link = 1) {
  std::string bytes;
  const auto put = [&](uint32_t value) {
    if (swapped) value = __builtin_bswap32(value);
    bytes.append(reinterpret_cast<const char*>(&value), 4);
  };
  const uint32_t version = swapped ? 0x00020004 : 0x00040002;  // 2.4, 16 bits each
  for (const uint32_t word : {magic, version, 0u, 0u, 65535u, link}) put(word);
  for (const auto& [kept, whole] : kept_and_whole) {
    for (const uint32_t word : {1u, 2u, kept, whole}) put(word);
    bytes.append(kept, 'x');
  }
  return bytes;
}

// A section header, an interface with that link type, and an enhanced packet block a frame.
std::string pcapng_of(const std::vector<std::pair<uint32_t, uint32_t>>& kept_and_whole,
                      bool swapped = false, uint32_t link = 1) {
  std::string bytes;
  const auto put = [&](uint32_t value) {
    if (swapped) value = __builtin_bswap32(value);
    bytes.append(reinterpret_cast<const char*>(&value), 4);
  };
  // Version 1.0; two numbers of 16 bits, as the link type and what is reserved beside it.
  const uint32_t version = swapped ? 0x00010000 : 1, type = swapped ? link << 16 : link;
  for (const uint32_t word : {0x0a0d0d0au, 28u, 0x1a2b3c4du, version, ~0u, ~0u, 28u}) put(word);
  for (const uint32_t word : {1u, 20u, type, 65535u, 20u}) put(word);
  for (const auto& [kept, whole] : kept_and_whole) {
    const uint32_t padded = (kept + 3) / 4 * 4;
    for (const uint32_t word : {6u, 32 + padded, 0u, 0u, 1u, kept, whole}) put(word);
    bytes.append(padded, 'x');
    put(32 + padded);
  }
  return bytes;
}

std::string error_of(const std::string& bytes) {
  const auto capture = parse_capture(bytes, "x.pcap");
  return capture ? "" : capture.error().message;
}

TEST(Capture, ReadsAllFourFormats) {
  for (const uint32_t magic : {0xa1b2c3d4u, 0xa1b23c4du})
    for (const bool swapped : {false, true}) {
      const auto capture = parse_capture(capture_of({{60, 60}, {96, 1514}}, magic, swapped), "x");
      ASSERT_TRUE(capture) << capture.error().message;
      ASSERT_EQ(capture->frames.size(), 2u);
      EXPECT_EQ(capture->frames[1].length, 96);
      EXPECT_EQ(capture->frames[1].on_wire, 1514u);
      EXPECT_EQ(capture->frames[1].of(*capture).size(), 96u);
      EXPECT_EQ(capture->bytes.size(), 156u);
    }
}

TEST(Capture, ReadsPcapngInEitherByteOrder) {
  for (const bool swapped : {false, true}) {
    const auto capture = parse_capture(pcapng_of({{61, 61}, {96, 1514}}, swapped), "x");
    ASSERT_TRUE(capture) << capture.error().message;
    ASSERT_EQ(capture->frames.size(), 2u);
    EXPECT_EQ(capture->frames[0].length, 61);
    EXPECT_EQ(capture->frames[1].length, 96);
    EXPECT_EQ(capture->frames[1].on_wire, 1514u);
    EXPECT_EQ(capture->bytes.size(), 157u);
  }
}

TEST(Capture, NamesWhatIsWrongWithPcapng) {
  const std::string whole = pcapng_of({{60, 60}, {72, 72}});
  EXPECT_EQ(error_of(whole.substr(0, whole.size() - 1)),
            "x.pcap: cut short in frame 2 (byte 140); capture it anew, or keep its whole frames "
            "with `tcpdump -r FILE -c 1 -w NEW`");
  EXPECT_NE(error_of(whole.substr(0, 30)).find("its pcapng header cannot be read"),
            std::string::npos);
  EXPECT_NE(error_of(pcapng_of({})).find("without a frame"), std::string::npos);
  EXPECT_NE(error_of(pcapng_of({{60, 60}}, false, 113)).find("link type 113"), std::string::npos);
  EXPECT_NE(error_of(pcapng_of({{60, 70000}})).find("damaged"), std::string::npos);
  EXPECT_NE(error_of(pcapng_of({{13, 60}})).find("no Ethernet frame"), std::string::npos);
}

TEST(Capture, NamesWhatIsWrong) {
  const std::string whole = capture_of({{60, 60}, {70, 70}});
  EXPECT_EQ(error_of(whole.substr(0, whole.size() - 1)),
            "x.pcap: cut short in frame 2 (byte 100); capture it anew, or keep its whole frames "
            "with `tcpdump -r FILE -c 1 -w NEW`");
  EXPECT_NE(error_of(whole.substr(0, 105)).find("cut short in frame 2 (byte 100)"),
            std::string::npos);
  EXPECT_NE(error_of(whole.substr(0, 20)).find("cut short in its header"), std::string::npos);
  EXPECT_NE(error_of(capture_of({})).find("without a frame"), std::string::npos);
  EXPECT_NE(error_of(capture_of({{60, 60}}, 0xa1b2c3d4, false, 113)).find("link type 113"),
            std::string::npos);
  EXPECT_NE(error_of(capture_of({{60, 70000}})).find("damaged"), std::string::npos);
  EXPECT_NE(error_of(capture_of({{60, 50}})).find("no Ethernet frame"), std::string::npos);
  EXPECT_NE(error_of("\x0a\x0d\x0d\x0a....").find("pcapng"), std::string::npos);
  EXPECT_NE(error_of("hello").find("not a capture"), std::string::npos);
}

TEST(Capture, TakesAnyBytes) {
  std::mt19937_64 random(test_seed());
  const std::vector<std::pair<uint32_t, uint32_t>> frames = {
      {60, 60}, {200, 1514}, {14, 60}, {64, 64}};
  const std::string files[] = {capture_of(frames), pcapng_of(frames)};
  for (unsigned i = 0; i < 40'000; ++i) {
    const std::string& whole = files[i % 2];
    std::string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (unsigned k = random() % 4; k > 0 && !bytes.empty(); --k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto capture = parse_capture(bytes, "x");
    if (!capture) continue;
    for (const Capture::Frame& frame : capture->frames)
      ASSERT_LE(frame.offset + frame.length, capture->bytes.size());
  }
}

TEST(TrafficSpec, ReadsAWholeFile) {
  const auto spec = parse_traffic(R"(
ports:
  a: {device: "net_memif0,role=client", addresses: [10.1.0.1/24], gateways: [10.1.0.254]}
  b: {device: eth1, mtu: 9000, line: 25Gbps}
streams:
  v4:
    size: imix
    weight: 3
    vlan: 100
    flows: 16
    source: 198.18.7.1
    destinations: [192.0.2.0/24, 198.51.100.1]
    destination_mac: 02:00:00:00:00:01
    expect: {hops: 2, destination_mac: 02:00:00:00:00:02, vlan: 0}
  v6: {from: b, to: a, family: ipv6, size: [64, {bytes: 9000, weight: 5}], destinations: uniform,
       both_ways: yes, expect: wire}
rate: 40%
duration: 2.5
timestamps: off
)",
                                  "t.yaml");
  ASSERT_TRUE(spec) << fmt::format("{}", fmt::join(spec.error(), "\n"));
  ASSERT_EQ(spec->ports.size(), 2u);
  EXPECT_EQ(spec->ports[0].port.kind, config::DeviceKind::kVdev);
  EXPECT_EQ(spec->ports[0].gateways[0].to_string(), "10.1.0.254");
  EXPECT_EQ(spec->ports[1].line_bps, 25'000'000'000u);
  ASSERT_EQ(spec->streams.size(), 3u);
  const StreamSpec& v4 = spec->streams[0];
  EXPECT_EQ(v4.from, "a");
  EXPECT_EQ(v4.to, "b");
  EXPECT_EQ(v4.sizes, (std::vector<FrameSize>{{64, 7}, {594, 4}, {1518, 1}}));
  EXPECT_EQ(v4.vlan, 100);
  EXPECT_EQ(v4.destinations.prefixes.size(), 2u);
  EXPECT_EQ(spec->streams[1].sizes, (std::vector<FrameSize>{{64, 1}, {9000, 5}}));
  EXPECT_EQ(spec->streams[1].destinations.kind, Destinations::kUniform);
  EXPECT_FALSE(v4.expect.wire);
  EXPECT_EQ(v4.expect.hops, 2);
  EXPECT_EQ(v4.expect.destination_mac, (MacAddress{2, 0, 0, 0, 0, 2}));
  EXPECT_EQ(v4.expect.vlan, 0);
  EXPECT_TRUE(spec->streams[1].expect.wire && spec->streams[2].expect.wire);
  EXPECT_EQ(spec->streams[2].name, "v6-back");
  EXPECT_EQ(spec->streams[2].from, "a");
  EXPECT_EQ(spec->rate, (TrafficRate{TrafficRate::Unit::kLinePart, 0.4}));
  EXPECT_EQ(spec->seconds, 2.5);
  EXPECT_FALSE(spec->timestamps);
}

TEST(TrafficSpec, RefusesWithFileLineAndKey) {
  struct Case {
    const char* yaml;
    const char* line;
  };
  const std::string ports = "ports: {a: {device: net_ring0}, b: {device: net_ring1}}\nstreams:\n";
  const Case cases[] = {
      {"  s: {sise: 64}", "t.yaml:3: streams.s.sise: unknown key; did you mean size?"},
      {"  s: {size: 63}", "t.yaml:3: streams.s.size: 63 is not a size; use 64 to 9022"},
      {"  s: {size: [{bytes: 64, weight: 0}]}", "t.yaml:3: streams.s.size[0].weight: 0 is out"},
      {"  s: {size: {trace: none.pcap}}", "t.yaml:3: streams.s.size.trace: none.pcap: No such"},
      {"  s: {size: []}", "t.yaml:3: streams.s.size: no size"},
      {"  s: {family: ipv6, vlan: 7, size: 64}",
       "t.yaml:3: streams.s.size: 64 bytes is out of "
       "range; use 68 to 9022 for IPv6 with a VLAN tag"},
      {"  s: {family: ipx}", "t.yaml:3: streams.s.family: ipx is not known; use ipv4 or ipv6"},
      {"  s:\n    from: c", "t.yaml:4: streams.s.from: c is no port of this file"},
      {"  s: {vlan: 4095}", "t.yaml:3: streams.s.vlan: 4095 is out of range"},
      {"  s: {flows: 0}", "t.yaml:3: streams.s.flows: 0 is out of range"},
      {"  s: {source: 2001:db8::1}", "t.yaml:3: streams.s.source: 2001:db8::1 is not IPv4"},
      {"  s: {source: here}", "t.yaml:3: streams.s.source: here is not an address"},
      {"  s: {destinations: 2001:db8::/32}", "streams.s.destinations: 2001:db8::/32 is not IPv4"},
      {"  s: {destinations: 10.0.0.1/8}", "destinations: 10.0.0.1/8 is not a destination"},
      {"  s: {destinations: {kind: zipf}}", "streams.s.destinations: names no prefixes"},
      {"  s: {destinations: {routes: none.txt}}", "destinations.routes: none.txt: No such"},
      {"  s: {destination_mac: 1}", "streams.s.destination_mac: 1 "},
      {"  s: {expect: bridge}",
       "t.yaml:3: streams.s.expect: bridge is not what comes back; use rout"},
      {"  s: {expect: {hops: 64}}",
       "t.yaml:3: streams.s.expect.hops: 64 is out of range; use 0 to 63"},
      {"  s: {expect: {ttl: 1}}", "t.yaml:3: streams.s.expect.ttl: unknown key"},
      {"  s: {expect: {vlan: 4095}}", "t.yaml:3: streams.s.expect.vlan: 4095 is out of range"},
      {"  s: {both_ways: yes, expect: {destination_mac: 02:00:00:00:00:01}}",
       "t.yaml:3: streams.s.both_ways: not together with expect: {destination_mac: ...}"},
      {"  s: {replay: none.pcap, expect: wire}", "t.yaml:3: streams.s.expect: not together with"},
      {"  s: {replay: none.pcap}", "t.yaml:3: streams.s.replay: none.pcap: No such"},
      {"  s: {replay: none.pcap, size: 64}", "t.yaml:3: streams.s.size: not together with replay"},
      {"  s: {}\nrate: 3Tpps", "t.yaml:4: rate: 3Tpps is not a rate; use max, or"},
      {"  s: {}\nrate: 140%", "t.yaml:4: rate: 140% is not a rate"},
      {"  s: {}\nduration: 0", "t.yaml:4: duration: 0 "},
      {"  s: {}\ntimestamps: perhaps", "t.yaml:4: timestamps: perhaps is neither"},
      {"  s: {}\nports_: 1", "t.yaml:4: ports_: unknown key; did you mean ports?"},
      {"  {}", "streams: no stream"},
  };
  for (const Case& c : cases) {
    const auto spec = parse_traffic(ports + c.yaml, "t.yaml");
    ASSERT_FALSE(spec) << c.yaml;
    const std::string lines = fmt::format("{}", fmt::join(spec.error(), "\n"));
    EXPECT_NE(lines.find(c.line), std::string::npos) << c.yaml << "\n" << lines;
  }
  for (const char* yaml :
       {"", "3", "ports: {a: {device: net_ring0}}", "streams: {s: {}}",
        "ports: {}\nstreams: {s: {}}",
        "ports: {a: {device: net_ring0, gateways: [10.0.0.1]}}\nstreams: {s: {}}",
        "ports: {a: {device: net_ring0, line: 40%}}\nstreams: {s: {}}"})
    EXPECT_FALSE(parse_traffic(yaml, "t.yaml")) << yaml;
}

// Each once, and nothing that only follows from another.
TEST(TrafficSpec, TellsAllThatIsWrongAtOnce) {
  const std::string ports = "ports: {a: {device: net_ring0}, b: {device: net_ring1}}\nstreams:\n";
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"  s: {sise: 64, from: c}",
       {"t.yaml:3: streams.s.sise: unknown key; did you mean size?",
        "t.yaml:3: streams.s.from: c is no port of this file"}},
      {"  s: {size: 63, flows: 4}\n  t: {source: 2001:db8::1}\nrate: 3Tpps",
       {"t.yaml:3: streams.s.size: 63 is not a size; use 64 to 9022, imix, a list as [{bytes: 64, "
        "weight: 7}], or {trace: FILE}",
        "t.yaml:4: streams.t.source: 2001:db8::1 is not IPv4, which the stream's family says",
        "t.yaml:5: rate: 3Tpps is not a rate; use max, or a number as 10Mpps, 5Gbps or 40%"}},
      {"  s: {family: ipx, source: 2001:db8::1, to: c}",
       {"t.yaml:3: streams.s.family: ipx is not known; use ipv4 or ipv6",
        "t.yaml:3: streams.s.to: c is no port of this file"}},
      {"  s: {from: c, both_ways: yes}",
       {"t.yaml:3: streams.s.from: c is no port of this file",
        "t.yaml:3: streams.s.to: c is no port of this file"}},
  };
  for (const auto& [yaml, lines] : cases) {
    const auto spec = parse_traffic(ports + yaml, "t.yaml");
    ASSERT_FALSE(spec) << yaml;
    EXPECT_EQ(spec.error(), lines) << yaml;
  }
  const auto spec = parse_traffic("ports: {}\nstreams: {s: {flows: 0}}", "t.yaml");
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().size(), 2u) << fmt::format("{}", fmt::join(spec.error(), "\n"));
}

TEST(TrafficSpec, TakesSizesAndStreamsFromCaptures) {
  const Folder folder;
  const std::string file = folder / "trace.pcap";
  std::ofstream(file) << capture_of({{60, 60}, {96, 1514}, {60, 100}});
  std::ofstream(folder / "t.yaml") << "ports: {a: {device: net_ring0}}\n"
                                      "streams: {s: {size: {trace: trace.pcap}}}\n";
  const auto spec = load_traffic(folder / "t.yaml");
  ASSERT_TRUE(spec) << spec.error().front();
  EXPECT_EQ(spec->streams[0].sizes, (std::vector<FrameSize>{{64, 1}, {1518, 1}, {104, 1}}));
  EXPECT_TRUE(spec->streams[0].sizes_in_order);
  const auto replay = load_traffic(file, {"net_ring0"});
  ASSERT_TRUE(replay);
  EXPECT_EQ(replay->streams[0].replay, file);
  EXPECT_FALSE(load_traffic(file));
  EXPECT_FALSE(load_traffic(folder / "t.yaml", {"net_ring0"}));
  EXPECT_FALSE(load_traffic(folder / "none"));
}

TEST(TrafficSpec, RatesReadAndWrite) {
  for (const char* text : {"max", "10Mpps", "1.5Gbps", "40%", "250pps", "33kpps"})
    EXPECT_EQ(to_string(*parse_rate(text)), text);
  EXPECT_EQ(parse_rate("1000")->value, 1000);
  for (const char* text : {"", "0", "-1pps", "fast", "10Mp", "101%", "0%", "1e99pps", "nanpps"})
    EXPECT_FALSE(parse_rate(text)) << text;
  EXPECT_NEAR(mean_bytes(*parse_sizes("imix")), 361.83, 0.01);
}

}  // namespace
}  // namespace hecto::bench
