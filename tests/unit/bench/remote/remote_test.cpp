#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "bench/remote/line_pipe.hpp"
#include "bench/remote/serve.hpp"
#include "bench/remote/wire.hpp"

namespace hecto::bench {
namespace {

using nlohmann::json;

// Counts what it is asked for; a trial lasts as long as it says, or till it is stopped.
class Scripted final : public Generator {
 public:
  explicit Scripted(const std::atomic<bool>* stop) : stop_(stop) {}
  Result<TrialResult> run(const TrialRequest& request) override {
    const auto start = std::chrono::steady_clock::now();
    const auto now = [&start] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    while (now() < request.seconds && !*stop_)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    last_ = {};
    last_.seconds = now();
    last_.sent = last_.received = static_cast<uint64_t>(request.pps * request.seconds);
    last_.interrupted = *stop_;
    if (request.pps < 0) return fail("the port has gone");
    return last_;
  }
  Result<void> use(const std::vector<StreamSpec>& streams) override {
    if (streams[0].name == "bad") return fail("no such stream");
    return {};
  }
  Result<double> pps(const TrafficRate& rate) const override { return rate.value * 2; }
  const TrialResult& last() const override { return last_; }
  std::vector<PortInfo> ports() const override {
    return {{"a", "eth7", "net_x", "02:..", 5, {"l"}}};
  }
  std::vector<std::string> unchecked() const override { return {"nothing"}; }

 private:
  const std::atomic<bool>* stop_;
  TrialResult last_;
};

TrafficSpec full_spec() {
  TrafficSpec spec = make_spec("net_ring0", "0000:17:00.0", 128, lookup::Family::kIpv6);
  spec.file = "f.yaml";
  spec.rate = {TrafficRate::Unit::kLinePart, 1.0 / 3};
  spec.seconds = 2.5;
  spec.timestamps = false;
  TrafficPort& port = spec.ports[0];
  port.port.mtu = 9000;
  port.port.rx_descriptors = 512;
  port.port.tx_descriptors = 256;
  port.port.addresses = {*lookup::IpPrefix::parse_interface("10.1.0.1/24")};
  port.port.mac = parse_mac_address("02:00:00:00:00:09");
  port.gateways = {*lookup::IpAddress::parse("10.1.0.254")};
  port.line_bps = 100'000'000'000;
  StreamSpec& stream = spec.streams[0];
  stream.sizes = {{64, 7}, {594, 4}};
  stream.sizes_in_order = true;
  stream.weight = 3;
  stream.vlan = 7;
  stream.flows = 256;
  stream.source = lookup::IpAddress::parse("2001:db8::1");
  stream.destinations = {Destinations::kZipf, {*lookup::IpPrefix::parse("2001:db8::/32")}, 77};
  stream.destination_mac = parse_mac_address("02:00:00:00:00:08");
  stream.expect.wire = true;
  stream.expect.hops = 2;
  stream.expect.destination_mac = parse_mac_address("02:00:00:00:00:07");
  stream.expect.vlan = 0;
  stream.replay = "/c.pcap";
  return spec;
}

TEST(Wire, SpecComesBackAsItWas) {
  const json said = wire_spec(full_spec());
  const TrafficSpec back = spec_of_wire(json::parse(said.dump()));
  EXPECT_EQ(wire_spec(back), said);
  EXPECT_EQ(back.rate, full_spec().rate);
  EXPECT_EQ(back.ports[0].port, full_spec().ports[0].port);
  EXPECT_EQ(back.ports[1].port.kind, config::DeviceKind::kPci);
  EXPECT_EQ(back.streams[0].sizes, full_spec().streams[0].sizes);
  EXPECT_EQ(back.streams[0].expect.vlan, 0);
  EXPECT_EQ(back.streams[0].destinations.prefixes, full_spec().streams[0].destinations.prefixes);
  const json plain = wire_spec(make_spec("eth0", "eth1"));
  EXPECT_EQ(wire_spec(spec_of_wire(plain)), plain);
  EXPECT_FALSE(spec_of_wire(plain).streams[0].vlan);
}

TEST(Wire, WhatIsNoSpecIsRefused) {
  for (const auto& [where, wrong] : std::vector<std::pair<std::string, json>>{
           {"/ports/0/kind", "usb"},
           {"/ports/0/mac", "02"},
           {"/ports/0/addresses/0", "10.1.0.300/24"},
           {"/streams/0/destinations/kind", "all"},
           {"/streams/0/destinations/prefixes/0", "2001:db8::1/32"},
           {"/rate/unit", 9},
           {"/streams", json::array()},
           {"/ports", json::array()}}) {
    json said = wire_spec(full_spec());
    said[json::json_pointer(where)] = wrong;
    EXPECT_THROW(spec_of_wire(said), std::invalid_argument) << where;
  }
  json said = wire_spec(full_spec());
  said["streams"][0].erase("flows");
  EXPECT_THROW(spec_of_wire(said), json::exception);
  TrafficSpec checked = full_spec();
  checked.streams[0].expect.next_hop_mac = [](const auto&) { return std::nullopt; };
  EXPECT_THROW(wire_spec(checked), std::invalid_argument) << "a function cannot be told";
}

TEST(Wire, TrialComesBackWithItsQuantiles) {
  TrialResult trial;
  trial.seconds = 1.25;
  trial.wanted = 10;
  trial.sent = 9;
  trial.refused = 1;
  trial.received = 8;
  trial.wrong[Verdict::kVlan] = 3;
  trial.sent_bytes = 640;
  trial.foreign = 2;
  trial.held_back = 0.5;
  trial.interrupted = true;
  StreamResult stream;
  stream.name = "a-b";
  stream.sent = 9;
  for (uint64_t i = 1; i < 10'000; ++i) stream.latency_ns.record(i * i);
  trial.streams = {stream};
  const TrialResult back = trial_of_wire(json::parse(wire_trial(trial).dump()));
  EXPECT_EQ(wire_trial(back), wire_trial(trial));
  EXPECT_EQ(back.wrong[Verdict::kVlan], 3u);
  const Histogram& latency = back.streams[0].latency_ns;
  for (const double part : {0.0, 0.5, 0.99, 0.9999, 1.0})
    EXPECT_EQ(latency.quantile(part), stream.latency_ns.quantile(part));
  EXPECT_EQ(latency.mean(), stream.latency_ns.mean());
  EXPECT_EQ(back.streams[0].jitter_ns.count(), 0u);
  json wrong = wire_trial(trial);
  wrong["streams"][0]["latency_ns"]["buckets"] = {{1u << 30, 5}};
  EXPECT_THROW(trial_of_wire(wrong), std::invalid_argument);
}

// Serves a Scripted in a thread of its own.
class Serving : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(to_), 0);
    ASSERT_EQ(pipe(from_), 0);
    thread_ = std::thread([this] {
      code_ = serve_over(to_[0], from_[1], [](const TrafficSpec&, const GeneratorOptions& options) {
        return Result<std::unique_ptr<Generator>>(std::make_unique<Scripted>(options.stop));
      });
    });
    pipe_ = LinePipe(from_[0]);
    hello_ = heard();
  }
  void TearDown() override {
    end();
    for (const int fd : {to_[0], from_[0], from_[1]}) close(fd);
  }
  void end() {
    if (!thread_.joinable()) return;
    close(to_[1]);
    thread_.join();
  }
  void say(const std::string& line) { ASSERT_TRUE(write_line(to_[1], line)); }
  json heard(double seconds = 20) {
    const auto line = pipe_.read(seconds);
    return line ? json::parse(*line) : json();
  }
  json ask(const json& said) {
    say(said.dump());
    return heard();
  }
  void create() {
    ASSERT_TRUE(ask({{"create", {{"spec", wire_spec(full_spec())}, {"options", wire_options({})}}}})
                    .contains("ports"));
  }
  static json trial(double seconds) { return {{"run", wire_request({1000, seconds, 0})}}; }

  int to_[2], from_[2];
  LinePipe pipe_{-1};
  std::thread thread_;
  int code_ = -1;
  json hello_;
};

TEST_F(Serving, DoesWhatIsSaid) {
  EXPECT_EQ(hello_["protocol"], kWireProtocol);
  EXPECT_EQ(ask(trial(0.01))["error"], "there are no ports yet");
  create();
  EXPECT_EQ(ask({{"use", wire_streams(full_spec().streams)}})["unchecked"][0], "nothing");
  EXPECT_EQ(ask({{"rate", wire_rate({TrafficRate::Unit::kPps, 21})}})["pps"], 42);
  EXPECT_EQ(trial_of_wire(ask(trial(0.01))["trial"]).sent, 10u);
  end();
  EXPECT_EQ(code_, 0);
}

TEST_F(Serving, WhatIsWrongIsOneLineAndTheNextIsHeard) {
  create();
  for (const std::string line : {"", "no json", "[1]", "{}", R"({"run":{"pps":"fast"}})",
                                 R"({"use":[]})", R"({"create":{}})", "\x01\xff"}) {
    say(line);
    const json said = heard();
    EXPECT_TRUE(said.contains("error")) << line << said;
    EXPECT_EQ(said.value("error", "").find('\n'), std::string::npos);
  }
  StreamSpec bad = full_spec().streams[0];
  bad.name = "bad";
  EXPECT_EQ(ask({{"use", wire_streams({bad})}})["error"], "no such stream");
  const json failed = ask({{"run", wire_request({-1, 0.01, 0})}});
  EXPECT_EQ(failed["error"], "the port has gone");
  EXPECT_TRUE(failed.contains("trial")) << "with what was counted";
  EXPECT_TRUE(ask(trial(0.01)).contains("trial"));
}

TEST_F(Serving, TrialEndsWhenToldAndTheNextOneIsWhole) {
  create();
  say(trial(60).dump());
  say(kWireStop);
  EXPECT_TRUE(trial_of_wire(heard()["trial"]).interrupted);
  EXPECT_FALSE(trial_of_wire(ask(trial(0.01))["trial"]).interrupted);
}

TEST_F(Serving, TrialEndsWithThePipe) {
  create();
  say(trial(60).dump());
  const auto start = std::chrono::steady_clock::now();
  end();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(LinePipe, CutsLinesAndSeesTheEnd) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  LinePipe lines(ends[0]);
  EXPECT_FALSE(lines.read(0.01));
  EXPECT_FALSE(lines.ended());
  ASSERT_EQ(write(ends[1], "a\n\nbc", 5), 5);
  EXPECT_EQ(lines.read(1), "a");
  EXPECT_EQ(lines.read(1), "");
  EXPECT_FALSE(lines.read(0.01)) << "half a line is none";
  ASSERT_EQ(write(ends[1], "d\nrest", 6), 6);
  close(ends[1]);
  EXPECT_EQ(lines.read(1), "bcd");
  EXPECT_FALSE(lines.read(1));
  EXPECT_TRUE(lines.ended());
  close(ends[0]);
}

}  // namespace
}  // namespace hecto::bench
