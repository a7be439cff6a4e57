// The section sflow: what is read, what is refused and in which words.
#include <gtest/gtest.h>

#include <string>

#include "config/file/diff.hpp"
#include "config/file/load.hpp"
#include "config/file/to_yaml.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

Config with_sflow(const std::string& sflow) {
  const auto config = parse(std::string(kPort) + "sflow: " + sflow, "t.yaml");
  EXPECT_TRUE(config) << sflow << ": " << (config ? "" : config.error()[0]);
  return config ? *config : Config{};
}

std::string sflow_refusal(const std::string& sflow) {
  const std::string line = only(std::string(kPort) + "sflow: " + sflow);
  const std::string head = "t.yaml:2: sflow";
  return line.starts_with(head) ? line.substr(head.size()) : line;
}

TEST(SflowConfig, IsOffWithoutCollectors) {
  EXPECT_TRUE(parse(kPort, "t.yaml")->sflow.collectors.empty());
  EXPECT_EQ(with_sflow("{}").sflow, SflowConfig{});
  EXPECT_EQ(with_sflow("{collectors: []}").sflow, SflowConfig{});
}

TEST(SflowConfig, ReadsCollectorsInAllTheirForms) {
  const SflowConfig sflow =
      with_sflow(
          "{collectors: [192.0.2.5, 192.0.2.6:7000, \"2001:db8::5\", \"[2001:db8::6]\", "
          "\"[2001:db8::7]:65535\"], agent: \"2001:db8::1\", from: host, sampling: 1, "
          "polling_s: 0, header_bytes: 1024, ports: [wan0]}")
          .sflow;
  ASSERT_EQ(sflow.collectors.size(), 5u);
  std::string all;
  for (const HttpEndpoint& each : sflow.collectors) all += to_string(each) + " ";
  EXPECT_EQ(all,
            "192.0.2.5:6343 192.0.2.6:7000 [2001:db8::5]:6343 [2001:db8::6]:6343 "
            "[2001:db8::7]:65535 ");
  EXPECT_EQ(sflow.agent->to_string(), "2001:db8::1");
  EXPECT_EQ(sflow.from, SflowFrom::kHost);
  EXPECT_EQ(sflow.sampling, 1u);
  EXPECT_EQ(sflow.polling_s, 0u);
  EXPECT_EQ(sflow.header_bytes, 1024);
  EXPECT_EQ(sflow.ports, std::vector<std::string>{"wan0"});
}

TEST(SflowConfig, WhatIsWrittenIsReadAgain) {
  for (const char* text :
       {"{}", "{collectors: [192.0.2.5]}",
        "{collectors: [\"[2001:db8::5]:7\", 192.0.2.5], agent: 192.0.2.1, from: "
        "host, sampling: 16777216, polling_s: 86400, header_bytes: 14, ports: [wan0]}"}) {
    const Config config = with_sflow(text);
    const auto again = parse(to_yaml(config), "t.yaml");
    ASSERT_TRUE(again) << again.error()[0] << to_yaml(config);
    EXPECT_EQ(again->sflow, config.sflow) << to_yaml(config);
  }
}

TEST(SflowConfig, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"5", ": 5 where a map is needed; use a map, as {collectors: [192.0.2.5:6343]}"},
      {"{collector: [192.0.2.5]}", ".collector: unknown key; did you mean collectors?"},
      {"{collectors: 192.0.2.5}",
       ".collectors: 192.0.2.5 where a list is needed; use a list, as [192.0.2.5:6343]"},
      {"{collectors: [collector.example.net]}",
       ".collectors[0]: collector.example.net is no address with a port; use 192.0.2.5:6343 or "
       "\"[2001:db8::5]:6343\""},
      {"{collectors: [192.0.2.5:0]}",
       ".collectors[0]: 192.0.2.5:0 has no port; use 1 to 65535, as 192.0.2.5:6343 or "
       "\"[2001:db8::5]:6343\""},
      {"{collectors: [192.0.2.5:65536]}",
       ".collectors[0]: 192.0.2.5:65536 is no address with a port; use 192.0.2.5:6343 or "
       "\"[2001:db8::5]:6343\""},
      {"{collectors: [0.0.0.0:6343]}",
       ".collectors[0]: 0.0.0.0:6343 is no host's address; use 192.0.2.5:6343 or "
       "\"[2001:db8::5]:6343\""},
      {"{collectors: [239.1.1.1]}",
       ".collectors[0]: 239.1.1.1 is no host's address; use 192.0.2.5:6343 or "
       "\"[2001:db8::5]:6343\""},
      {"{collectors: [\"[fe80::1]:6343\"]}",
       ".collectors[0]: \"[fe80::1]:6343\" is a link-local address, of which nobody knows the "
       "link; "
       "use "
       "a global one"},
      {"{collectors: [192.0.2.5, 192.0.2.5:6343]}",
       ".collectors[1]: 192.0.2.5:6343 is named twice; name it once"},
      {"{sampling: 0}", ".sampling: 0 is out of range; use 1 to 16777216"},
      {"{sampling: 16777217}", ".sampling: 16777217 is out of range; use 1 to 16777216"},
      {"{polling_s: 20s}", ".polling_s: 20s is not a whole number; use 0 to 86400"},
      {"{header_bytes: 13}", ".header_bytes: 13 is out of range; use 14 to 1024"},
      {"{header_bytes: 1025}", ".header_bytes: 1025 is out of range; use 14 to 1024"},
      {"{from: hecto}", ".from: hecto is not known; use router or host"},
      {"{ports: [wan]}", ".ports[0]: wan is no port; did you mean wan0?"},
      {"{ports: [wan0, wan0]}", ".ports[1]: wan0 is named twice; name it once"},
      {"{ports: []}", ".ports: no port; use all"},
      {"{ports: wan0}",
       ".ports: wan0 where a list is needed; use all, or a list of names under ports"},
  };
  for (const auto& [text, problem] : cases) EXPECT_EQ(sflow_refusal(text), problem) << text;
  EXPECT_NE(sflow_refusal("{agent: wan0}").find(".agent: wan0 is"), std::string::npos);
  std::string many = "{collectors: [";
  for (int i = 1; i < 10; ++i) many += "192.0.2." + std::to_string(i) + ", ";
  EXPECT_NE(sflow_refusal(many + "]}").find(".collectors: "), std::string::npos);
}

TEST(SflowConfig, IsChangedWhileRunning) {
  const auto difference =
      diff(with_sflow("{}"),
           with_sflow("{collectors: [192.0.2.5], sampling: 10, agent: 192.0.2.1, ports: [wan0]}"));
  ASSERT_TRUE(difference);
  EXPECT_EQ(
      difference->lines,
      (std::vector<std::string>{"~ sflow.collectors: [] -> [\"192.0.2.5:6343\"]",
                                "~ sflow.agent: auto -> 192.0.2.1", "~ sflow.sampling: 1000 -> 10",
                                "~ sflow.ports: all -> [wan0]"}));
}

}  // namespace
}  // namespace hecto::config
