#include "router/api/flow_body.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "router/api/server.hpp"
#include "tests/unit/router/api/fake_backend.hpp"

namespace hecto::router::test {
namespace {

using nlohmann::json;

struct FlowAnswer {
  int status;
  std::string error, asked;
};

FlowAnswer ask_flows(const std::string& method, const std::string& path, const std::string& body,
                     std::map<std::string, std::string> query = {}) {
  FakeBackend backend;
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.query = std::move(query);
  request.body = body;
  const HttpAnswer given = answer(backend, request);
  return {given.status, json::parse(given.body).value("error", ""), backend.asked()};
}
FlowAnswer post(const json& body) {
  return ask_flows("POST", "/v1/flows", body.dump());
}

TEST(FlowBody, AnEntryIsAnObjectOrItsWords) {
  const char* const asked =
      "add flows | from 10.0.0.1 to 10.0.0.0/24 protocol tcp sport 1 dport 2 tcp_flags syn,!ack "
      "priority 10 idle_s 60 mac 02:00:00:00:00:09 output b0";
  EXPECT_EQ(post({{"match",
                   {{"from", "10.0.0.1"},
                    {"to", "10.0.0.0/24"},
                    {"protocol", "tcp"},
                    {"sport", 1},
                    {"dport", "2"},
                    {"tcp_flags", "syn,!ack"}}},
                  {"priority", 10},
                  {"idle_s", 60},
                  {"hard_s", 0},
                  {"actions", {{"output", "b0"}, {"mac", "02:00:00:00:00:09"}}}})
                .asked,
            asked);
  EXPECT_EQ(post("dport 2 from 10.0.0.1 to 10.0.0.0/24 protocol tcp sport 1 tcp_flags syn,!ack "
                 "priority 10 idle_s 60 output b0 mac 02:00:00:00:00:09")
                .asked,
            asked);
  EXPECT_EQ(post({"from 10.0.0.1 drop", "from 2001:db8::1 accept"}).asked,
            "add flows | from 10.0.0.1 drop | from 2001:db8::1 accept");
}

TEST(FlowBody, WhatIsToldIsTakenAgain) {
  const auto flow = config::parse_flow(
      "interface 7 family ipv4 protocol 200 dscp 4 mark 9 priority 2 set_from 10.0.0.9 set_dscp 3 "
      "set_mark 8 accept");
  ASSERT_TRUE(flow) << flow.error();
  const auto again = parse_flows(to_json(*flow), true);
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(to_string(again->front()), to_string(*flow));
}

TEST(FlowBody, SaysInOneLineWhatIsWrong) {
  const std::pair<json, const char*> cases[] = {
      {7,
       "7 is no entry; use {\"match\": ..., \"priority\": ..., \"actions\": ...}, or its words as "
       "a text"},
      {json::array(), "a list of 0 entries; use 1 to 4096, or /v1/flows/load"},
      {{{"match", 7}},
       "match: 7 is no object; use some of interface, family, from, to, protocol, sport, dport, "
       "icmp_type, icmp_code, tcp_flags, dscp, mark"},
      {{{"match", {{"drop", true}}}},
       "match.drop is not known here; use interface, family, from, to, protocol, "
       "sport, dport, icmp_type, icmp_code, tcp_flags, dscp, mark"},
      {{{"match", {{"from", "10.0.0.1"}}}, {"actions", {{"drop", 1}}}},
       "actions.drop: 1 is not true; leave it out"},
      {{{"match", {{"sport", -1}}}}, "match.sport: -1 is neither text nor a whole number"},
      {{{"match", {{"sport", 65536}}}}, "match.sport: \"65536\" is out of range; use 0 to 65535"},
      {{{"prio", 1}}, "\"prio\" is not known here; use match, priority, idle_s, hard_s, actions"},
      {{"from 10.0.0.1 drop", "from 10.0.0.1"},
       "[1]: an entry has to do something; use accept, drop, output or a set_ word"},
      {"from 10.0.0.1 dorp", "\"dorp\": needs a value behind it"},
  };
  for (const auto& [body, line] : cases) {
    const FlowAnswer answer = post(body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(answer.error, line);
    EXPECT_EQ(answer.asked, "");
  }
}

TEST(FlowBody, IsJsonOfAFewLevels) {
  EXPECT_EQ(ask_flows("POST", "/v1/flows", "").error,
            "the body is empty; send an entry, or a list of them");
  EXPECT_EQ(ask_flows("POST", "/v1/flows", "{").error, "the body is no JSON");
  EXPECT_EQ(ask_flows("POST", "/v1/flows", std::string(100'000, '[')).error,
            "the body nests too deep");
  EXPECT_EQ(ask_flows("POST", "/v1/flows", std::string(2 << 20, ' ')).status, 413);
  json many = json::array();
  for (unsigned i = 0; i < kMostFlowsARequest; ++i)
    many.push_back({{"match", {{"from", "10.0.0.1"}}}, {"actions", {{"drop", true}}}});
  EXPECT_EQ(post(many).asked, "add flows 4096");
  many.push_back("from 10.0.0.1 drop");
  EXPECT_EQ(post(many).error, "a list of 4097 entries; use 1 to 4096, or /v1/flows/load");
}

TEST(FlowBody, DeletesByMatchAndAll) {
  EXPECT_EQ(ask_flows("DELETE", "/v1/flows", "\"from 10.0.0.1\"").asked,
            "delete flows | from 10.0.0.1 accept");
  EXPECT_EQ(
      ask_flows("DELETE", "/v1/flows", R"({"match": {"from": "10.0.0.1"}, "priority": 0})").asked,
      "delete flows | from 10.0.0.1 accept only");
  EXPECT_EQ(ask_flows("DELETE", "/v1/flows", "", {{"all", "1"}}).asked, "delete all flows");
  EXPECT_EQ(ask_flows("DELETE", "/v1/flows", "").error,
            "say which entries: a body with their matches, or all=1");
  EXPECT_EQ(ask_flows("DELETE", "/v1/flows", "\"from 10.0.0.1\"", {{"all", "1"}}).status, 400);
}

TEST(FlowBody, WalksOverPages) {
  EXPECT_EQ(ask_flows("GET", "/v1/flows", "", {{"limit", "7"}, {"after", "4:9"}}).asked,
            "flows after 4:9 limit 7");
  EXPECT_EQ(ask_flows("GET", "/v1/flows", "", {{"limit", "0"}}).status, 400);
  EXPECT_EQ(ask_flows("GET", "/v1/flows", "", {{"page", "0"}}).status, 400);
}

TEST(FlowBody, LoadsLines) {
  EXPECT_EQ(
      ask_flows("POST", "/v1/flows/load", "# two\nfrom 10.0.0.1 drop\r\n\n  from 10.0.0.2 accept")
          .asked,
      "add flows | from 10.0.0.1 drop | from 10.0.0.2 accept");
  const FlowAnswer wrong =
      ask_flows("POST", "/v1/flows/load", "from 10.0.0.1 drop\n\nfrom 10.0.0.300 drop\n",
                {{"name", "f.txt"}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.error,
            "f.txt:3: from: \"10.0.0.300\" is no address or prefix, or has host bits; use one like "
            "10.0.0.1 "
            "or 10.0.0.0/8; 1 entries before it are in the table");
  const FlowAnswer refused =
      ask_flows("POST", "/v1/flows/load", "from 10.0.0.1 drop\nfrom 10.0.0.2 output gone\n");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.error, "body:2: there is no gone");
  EXPECT_EQ(ask_flows("POST", "/v1/flows/load", "").status, 400);
  EXPECT_EQ(ask_flows("POST", "/v1/flows/load", "# none\n").status, 400);
  EXPECT_EQ(ask_flows("GET", "/v1/flows/load", "").status, 405);
}

}  // namespace
}  // namespace hecto::router::test
