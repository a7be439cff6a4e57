// The section ipfix: what is read, what is refused and in which words.
#include <gtest/gtest.h>

#include <string>

#include "config/file/diff.hpp"
#include "config/file/load.hpp"
#include "config/file/to_yaml.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

Config with_ipfix(const std::string& ipfix, const std::string& more = {}) {
  return good(kPort + more + "ipfix: " + ipfix);
}

std::string ipfix_refusal(const std::string& ipfix, const std::string& more = {}) {
  return only(kPort + more + "ipfix: " + ipfix);
}

TEST(IpfixConfig, IsOffWithoutCollectors) {
  EXPECT_EQ(with_ipfix("{}").ipfix, IpfixConfig{});
  EXPECT_EQ(with_ipfix("{collectors: []}").ipfix, IpfixConfig{});
  EXPECT_FALSE(with_ipfix("{}").ipfix.samples());
}

TEST(IpfixConfig, ReadsAllItsKeys) {
  const IpfixConfig ipfix =
      with_ipfix(
          "{collectors: [192.0.2.5, \"[2001:db8::7]:65535\"], from: host, records: sampled, "
          "sampling: 1, ports: [wan0], active_s: 1, idle_s: 86400, flows: 16, domain: 4294967295, "
          "templates_s: 600}")
          .ipfix;
  ASSERT_EQ(ipfix.collectors.size(), 2u);
  EXPECT_EQ(to_string(ipfix.collectors[0]), "192.0.2.5:4739");
  EXPECT_EQ(to_string(ipfix.collectors[1]), "[2001:db8::7]:65535");
  EXPECT_EQ(ipfix.from, SflowFrom::kHost);
  EXPECT_EQ(ipfix.sampling, 1u);
  EXPECT_EQ(ipfix.ports, std::vector<std::string>{"wan0"});
  EXPECT_EQ(ipfix.active_s, 1u);
  EXPECT_EQ(ipfix.idle_s, 86'400u);
  EXPECT_EQ(ipfix.flows, 16u);
  EXPECT_EQ(ipfix.domain, 4294967295u);
  EXPECT_EQ(ipfix.templates_s, 600u);
  EXPECT_TRUE(ipfix.samples());
}

TEST(IpfixConfig, WhatIsWrittenIsReadAgain) {
  for (const char* text :
       {"{}", "{collectors: [192.0.2.5]}",
        "{collectors: [\"[2001:db8::5]:7\", 192.0.2.5], from: host, sampling: 16777216, ports: "
        "[wan0], active_s: 7, idle_s: 3, flows: 1048576, domain: 0, templates_s: 86400}",
        "{collectors: [192.0.2.5], records: flow_table}"}) {
    const Config config = with_ipfix(text, "flows: {interfaces: [wan0]}\n");
    const auto again = parse(to_yaml(config), "t.yaml");
    ASSERT_TRUE(again) << again.error()[0] << to_yaml(config);
    EXPECT_EQ(again->ipfix, config.ipfix) << to_yaml(config);
  }
}

TEST(IpfixConfig, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"5",
       "t.yaml:2: ipfix: 5 where a map is needed; use a map, as {collectors: [192.0.2.5:4739]}"},
      {"{collector: [192.0.2.5]}",
       "t.yaml:2: ipfix.collector: unknown key; did you mean collectors?"},
      {"{collectors: [collector.example.net]}",
       "t.yaml:2: ipfix.collectors[0]: collector.example.net is no address with a port; use "
       "192.0.2.5:4739 or \"[2001:db8::5]:4739\""},
      {"{collectors: [224.0.0.1]}",
       "t.yaml:2: ipfix.collectors[0]: 224.0.0.1 is no host's address; use 192.0.2.5:4739 or "
       "\"[2001:db8::5]:4739\""},
      {"{ports: [wan1]}", "t.yaml:2: ipfix.ports[0]: wan1 is no port; did you mean wan0?"},
      {"{idle_s: 0}", "t.yaml:2: ipfix.idle_s: 0 is out of range; use 1 to 86400"},
      {"{flows: 15}", "t.yaml:2: ipfix.flows: 15 is out of range; use 16 to 1048576"},
      {"{collectors: [192.0.2.5], records: flow_table}",
       "t.yaml:2: ipfix.records: flow_table, and no interface is under flows; name some there, or "
       "use sampled"},
  };
  for (const auto& [text, line] : cases) EXPECT_EQ(ipfix_refusal(text), line);
}

// Packets are chosen once; two numbers would be silence about one of them.
TEST(IpfixConfig, SamplesAsSflowDoes) {
  const std::string sflow = "sflow: {collectors: [192.0.2.5], sampling: 500, ports: [wan0]}\n";
  EXPECT_EQ(
      ipfix_refusal("{collectors: [192.0.2.5], sampling: 100, ports: [wan0]}", sflow),
      "t.yaml:3: ipfix.sampling: 100 is not sflow.sampling (500), and packets are sampled once "
      "for both; use 500 in both");
  EXPECT_EQ(ipfix_refusal("{collectors: [192.0.2.5], ports: [wan0]}", sflow),
            "t.yaml:3: ipfix: sampling: 1000 is not sflow.sampling (500), and packets are sampled "
            "once for both; use 500 in both");
  EXPECT_EQ(ipfix_refusal("{collectors: [192.0.2.5], sampling: 500}", sflow),
            "t.yaml:3: ipfix: ports: all is not sflow.ports ([wan0]), and packets are sampled once "
            "for both; use [wan0] in both");
  with_ipfix("{collectors: [192.0.2.5], sampling: 500, ports: [wan0]}", sflow);
  with_ipfix("{sampling: 3}", sflow);
}

}  // namespace
}  // namespace hecto::config
