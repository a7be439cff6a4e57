#include "router/api/server.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "router/api/plan_json.hpp"
#include "tests/unit/router/api/fake_backend.hpp"
#include "tests/unit/router/api/scratch.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;
using test::FakeBackend;

// "GET /v1/routes?limit=5" and a body.
HttpAnswer ask(FakeBackend& backend, const std::string& line, std::string body = {}) {
  HttpRequest request;
  const size_t space = line.find(' ');
  const size_t question = std::min(line.find('?'), line.size());
  request.method = line.substr(0, space);
  request.path = line.substr(space + 1, question - space - 1);
  std::istringstream query(line.substr(std::min(question + 1, line.size())));
  for (std::string pair; std::getline(query, pair, '&');) {
    const size_t equals = pair.find('=');
    request.query[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  request.body = std::move(body);
  return answer(backend, request);
}

std::string error_of(const HttpAnswer& answer) {
  return json::parse(answer.body).value("error", "");
}

TEST(ApiServer, KnowsEveryNoun) {
  FakeBackend backend;
  const char* nouns[] = {"summary",   "ports", "bonds",  "bridges",  "flows",   "interfaces",
                         "neighbors", "rules", "tables", "nexthops", "workers", "offload",
                         "ipsec",     "drops", "punt",   "sflow",    "config",  "filters",
                         "nat",       "ipfix", "labels"};
  for (const std::string noun : nouns) {
    EXPECT_EQ(ask(backend, "GET /v1/" + noun).status, 200) << noun;
    EXPECT_EQ(ask(backend, "POST /v1/" + noun).status, noun == "flows" ? 400 : 405) << noun;
  }
  EXPECT_EQ(ask(backend, "GET /v1/health").body, "{\"ok\":true}\n");
  EXPECT_EQ(json::parse(ask(backend, "GET /v1/version").body)["name"], "hectod");
}

TEST(ApiServer, AsksForTheMtuOfAWay) {
  FakeBackend backend;
  EXPECT_EQ(ask(backend, "GET /v1/mtu").status, 200);
  EXPECT_EQ(backend.asked(), "mtu");
  EXPECT_EQ(ask(backend, "GET /v1/mtu?address=2001:db8::1&from=2001:db8::2").status, 200);
  EXPECT_EQ(backend.asked(), "mtu 2001:db8::1 from 2001:db8::2");
  EXPECT_EQ(ask(backend, "POST /v1/mtu").status, 405);
  for (const char* query :
       {"address=wan0", "from=10.0.0.1", "address=10.0.0.1&from=2001:db8::1", "prefix=10.0.0.0/8"})
    EXPECT_EQ(ask(backend, std::string("GET /v1/mtu?") + query).status, 400) << query;
}

TEST(ApiServer, ChangesSets) {
  FakeBackend backend;
  const HttpAnswer done = ask(
      backend, "POST /v1/sets",
      R"({"set": "blocked", "add": ["203.0.113.7/32", "2001:db8::/48"], "remove": ["10.0.0.0/8"]})");
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(backend.asked(), "set blocked +203.0.113.7/32 +2001:db8::/48 -10.0.0.0/8");
  EXPECT_EQ(ask(backend, "GET /v1/sets").status, 405);
  for (const char* body :
       {"", "{}", R"({"set": "blocked"})", R"({"add": ["10.0.0.0/8"]})",
        R"({"set": "b", "add": ["10.0.0.1/8"]})", R"({"set": "b", "add": "10.0.0.0/8"})",
        R"({"set": "b", "add": [8]})", R"({"set": "b", "add": ["10.0.0.0/8"], "drop": 1})",
        R"({"set": 7, "add": ["10.0.0.0/8"]})"})
    EXPECT_EQ(ask(backend, "POST /v1/sets", body).status, 400) << body;
  json many = {{"set", "b"}, {"add", std::vector<std::string>(kMostSetChanges + 1, "::1/128")}};
  EXPECT_EQ(ask(backend, "POST /v1/sets", many.dump()).status, 400);
}
TEST(ApiServer, AsksForTheLargestFlows) {
  FakeBackend backend;
  EXPECT_EQ(ask(backend, "GET /v1/flows/top").status, 200);
  EXPECT_EQ(backend.asked(), "flows of 5 s by bytes, 20");
  EXPECT_EQ(ask(backend, "GET /v1/flows/top?seconds=30&by=packets&limit=1000").status, 200);
  EXPECT_EQ(backend.asked(), "flows of 30 s by packets, 1000");
  EXPECT_EQ(ask(backend, "POST /v1/flows/top").status, 405);
  for (const char* query : {"seconds=0", "seconds=31", "limit=0", "limit=1001", "by=size", "to=1"})
    EXPECT_EQ(ask(backend, std::string("GET /v1/flows/top?") + query).status, 400) << query;
}
TEST(ApiServer, PassesTheBackendsErrorsOn) {
  FakeBackend backend;
  const HttpAnswer stopping = ask(backend, "GET /v1/plan");
  EXPECT_EQ(stopping.status, 503);
  EXPECT_EQ(error_of(stopping), "the router is stopping");
  const HttpAnswer refused = ask(backend, "POST /v1/reload", "{\"file\": \"/bad.yaml\"}");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(json::parse(refused.body)["problems"], json({"a", "b"}));
}

TEST(ApiServer, RefusesUnknownPathsAndParameters) {
  FakeBackend backend;
  EXPECT_EQ(ask(backend, "GET /v1/port").status, 404);
  EXPECT_EQ(ask(backend, "GET /v2").status, 404);
  EXPECT_EQ(ask(backend, "GET /v1/ports/").status, 404);
  EXPECT_EQ(error_of(ask(backend, "GET /v1/ports?name=wan0")),
            "\"name\" is no parameter of /v1/ports; it has none");
  EXPECT_EQ(error_of(ask(backend, "GET /v1/routes?adress=1.2.3.4")),
            "\"adress\" is no parameter of /v1/routes; use address, from, interface, length, "
            "ttl, table, prefix, origin, protocol, after, limit");
  EXPECT_EQ(backend.asked(), "");
}

TEST(ApiServer, ReadsTheQueryOfAWalk) {
  FakeBackend backend;
  ask(backend, "GET /v1/routes");
  EXPECT_EQ(backend.asked(), "routes limit 100");
  ask(backend, "GET /v1/routes?prefix=10.0.0.0/8&limit=10000&after=10.2.0.0/16");
  EXPECT_EQ(backend.asked(), "routes prefix 10.0.0.0/8 after 10.2.0.0/16 limit 10000");
  ask(backend, "GET /v1/routes?address=2001:db8::1");
  EXPECT_EQ(backend.asked(), "routes address 2001:db8::1 limit 100");
  ask(backend, "GET /v1/routes?address=2001:db8::1&length=48&ttl=1&interface=wan0");
  EXPECT_EQ(backend.asked(), "routes address 2001:db8::1 interface wan0 length 48 ttl 1 limit 100");
}

TEST(ApiServer, RefusesWrongQueriesInOneLine) {
  FakeBackend backend;
  const std::pair<const char*, const char*> cases[] = {
      {"limit=0", "limit: \"0\" is out of range; use 1 to 10000"},
      {"limit=10001", "limit: \"10001\" is out of range; use 1 to 10000"},
      {"limit=5x", "limit: \"5x\" is out of range; use 1 to 10000"},
      {"limit=-1", "limit: \"-1\" is out of range; use 1 to 10000"},
      {"address=1.2.3", "address: \"1.2.3\" is no address; use one like 203.0.113.9"},
      {"address=1.2.3.4&limit=5",
       "address: goes with from, interface, table, length and ttl, and no other parameter"},
      {"length=100", "length: goes with address"},
      {"ttl=1", "ttl: goes with address"},
      {"address=1.2.3.4&ttl=256", "ttl: \"256\" is out of range; use 1 to 255"},
      {"address=::1&length=47",
       "length: 47 is less than the headers of IPv6 and UDP; use 48 to 9216"},
      {"prefix=10.0.0.1/8",
       "prefix: \"10.0.0.1/8\" is no prefix, or has host bits; use one like 203.0.113.0/24"},
  };
  for (const auto& [query, line] : cases) {
    const HttpAnswer answer = ask(backend, std::string("GET /v1/routes?") + query);
    EXPECT_EQ(answer.status, 400) << query;
    EXPECT_EQ(error_of(answer), line);
  }
  EXPECT_EQ(backend.asked(), "");
}

TEST(ApiServer, AddsARoute) {
  FakeBackend backend;
  EXPECT_EQ(
      ask(backend, "POST /v1/routes", R"({"to": "203.0.113.0/24", "via": "192.0.2.1"})").status,
      200);
  EXPECT_EQ(backend.asked(), "add 203.0.113.0/24 type unicast metric 0 via 192.0.2.1*1");
  ask(backend, "POST /v1/routes",
      R"({"to": "2001:db8::/32", "metric": 7, "via": [
          {"gateway": "fe80::1", "interface": "lan0", "weight": 256}, "fe80::2%wan0"]})");
  EXPECT_EQ(backend.asked(),
            "add 2001:db8::/32 type unicast metric 7 via fe80::1%lan0*256 via fe80::2%wan0*1");
  ask(backend, "POST /v1/routes", R"({"to": "10.0.0.0/8", "type": "blackhole"})");
  EXPECT_EQ(backend.asked(), "add 10.0.0.0/8 type blackhole metric 0");
}

TEST(ApiServer, WhatIsToPersistSaysSo) {
  FakeBackend backend;
  ask(backend, "POST /v1/routes", R"({"to": "10.0.0.0/8", "type": "blackhole", "persist": true})");
  EXPECT_EQ(backend.asked(), "add 10.0.0.0/8 type blackhole metric 0 persist");
  ask(backend, "POST /v1/routes", R"({"to": "10.0.0.0/8", "type": "blackhole", "persist": false})");
  EXPECT_EQ(backend.asked(), "add 10.0.0.0/8 type blackhole metric 0");
  const std::string sa = R"({"source": "192.0.2.1", "destination": "198.51.100.1", "spi": "0x1001",
      "cipher": "aes-128-gcm", "key": "0x)" +
                         std::string(40, 'a') + R"(", "persist": )";
  EXPECT_EQ(ask(backend, "POST /v1/ipsec/sas", sa + "true}").status, 200);
  EXPECT_TRUE(backend.asked().ends_with(" persist")) << backend.asked();
  ask(backend, "POST /v1/ipsec/policies",
      R"({"direction": "out", "source": "10.1.0.0/16", "action": "discard", "persist": true})");
  EXPECT_TRUE(backend.asked().ends_with(" persist")) << backend.asked();
  const std::string before = backend.asked();
  EXPECT_EQ(ask(backend, "POST /v1/ipsec/sas", sa + "7}").status, 400);
  const HttpAnswer refused =
      ask(backend, "POST /v1/routes", R"({"to": "10.0.0.0/8", "type": "blackhole", "persist": 1})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(error_of(refused), "routes: persist: 1 is neither; use true or false");
  EXPECT_EQ(backend.asked(), before);
}

TEST(ApiServer, AddsAndDeletesSasAndPoliciesInTheWordsOfTheFile) {
  FakeBackend backend;
  const std::string key = "0x" + std::string(40, 'a');
  const std::string sa = R"({"source": "192.0.2.1", "destination": "198.51.100.1", "spi": "0x1001",
      "cipher": "aes-128-gcm", "key": ")" +
                         key + "\"}";
  EXPECT_EQ(ask(backend, "POST /v1/ipsec/sas", sa).status, 200);
  EXPECT_EQ(backend.asked(),
            "add sa {source: 192.0.2.1, destination: 198.51.100.1, spi: 0x00001001, mode: tunnel, "
            "cipher: aes-128-gcm, key: set, replay_window: 0, esn: false}");
  ask(backend, "DELETE /v1/ipsec/sas?destination=198.51.100.1&spi=0x1001");
  EXPECT_EQ(backend.asked(), "delete sa 198.51.100.1 4097");
  const std::string policy =
      R"({"direction": "out", "source": "10.1.0.0/16", "action": "discard"})";
  const std::string shown =
      " policy {direction: out, source: 10.1.0.0/16, destination: 0.0.0.0/0, priority: 0, action: "
      "discard}";
  ask(backend, "POST /v1/ipsec/policies", policy);
  EXPECT_EQ(backend.asked(), "add" + shown);
  ask(backend, "DELETE /v1/ipsec/policies", policy);
  EXPECT_EQ(backend.asked(), "delete" + shown);
  EXPECT_EQ(ask(backend, "GET /v1/ipsec/sas").status, 405);
}

TEST(ApiServer, AKeyFileOfAnSaLiesWhereAReloadMayRead) {
  FakeBackend backend;
  const auto with_file = [&](const std::string& path) {
    return ask(backend, "POST /v1/ipsec/sas",
               R"({"source": "192.0.2.1", "destination": "198.51.100.1", "spi": "0x1001",
                   "cipher": "aes-128-gcm", "key_file": ")" +
                   path + "\"}");
  };
  const HttpAnswer outside = with_file("/etc/hecto/../shadow");
  EXPECT_EQ(outside.status, 400);
  EXPECT_NE(outside.body.find("key_file: \\\"/etc/hecto/../shadow\\\" is not in /etc/hecto"),
            std::string::npos)
      << outside.body;
  const HttpAnswer inside = with_file("/etc/hecto/no-such.key");
  EXPECT_EQ(inside.status, 400);
  EXPECT_NE(inside.body.find("no-such.key\\\" cannot be opened"), std::string::npos) << inside.body;
  EXPECT_EQ(backend.asked(), "");
}

TEST(ApiServer, RefusesWrongSasWithoutTellingTheirKeys) {
  FakeBackend backend;
  const HttpAnswer answer =
      ask(backend, "POST /v1/ipsec/sas",
          R"({"source": "192.0.2.1", "destination": "198.51.100.1", "spi": "0x1001",
              "cipher": "aes-128-gcm", "key": "0x0123456789"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body.find("0123456789"), std::string::npos);
  EXPECT_EQ(ask(backend, "POST /v1/ipsec/sas").status, 400);
  EXPECT_EQ(ask(backend, "DELETE /v1/ipsec/sas?destination=198.51.100.1").status, 400);
  EXPECT_EQ(backend.asked(), "");
}

TEST(ApiServer, RefusesWrongRoutesInOneLine) {
  FakeBackend backend;
  const std::pair<const char*, const char*> cases[] = {
      {"[1]", "the body is no JSON object"},
      {"{", "the body is no JSON object"},
      {"{}", "routes: to: is missing; use a prefix like 203.0.113.0/24"},
      {R"({"to": "10.0.0.0/8"})", "routes: via: is missing; use an address like 192.0.2.1"},
      {R"({"to": "10.0.0.1/8", "via": "192.0.2.1"})",
       "routes: to: \"10.0.0.1/8\" is no prefix, or has host bits; use one like 203.0.113.0/24"},
      {R"({"to": 5, "via": "192.0.2.1"})",
       "routes: to: 5 is no prefix, or has host bits; use one like 203.0.113.0/24"},
      {R"({"to": "10.0.0.0/8", "via": "192.0.2"})",
       "routes: via: \"192.0.2\" is no address; use one like 192.0.2.1 or fe80::1%lan0"},
      {R"({"to": "10.0.0.0/8", "via": {"gateway": "192.0.2.1", "weight": 0}})",
       "routes: via.weight: 0 is out of range; use 1 to 256"},
      {R"({"to": "10.0.0.0/8", "via": {"weight": 2}})", "routes: via: a next hop has no gateway"},
      {R"({"to": "10.0.0.0/8", "via": "192.0.2.1", "metric": -1})",
       "routes: metric: -1 is no metric; use 0 to 4294967295"},
      {R"({"to": "10.0.0.0/8", "vía": "192.0.2.1"})",
       "routes: \"vía\" is not known here; use to, via, type, metric, persist"},
      {R"({"to": "10.0.0.0/8", "via": "192.0.2.1", "type": "prohibit"})",
       "routes: via: a route of this type has no next hop"},
      {R"({"to": "2001:db8::/32", "via": "192.0.2.1"})",
       "routes: via: 192.0.2.1 is IPv4, but 2001:db8::/32 is IPv6; use an IPv6 gateway"},
  };
  for (const auto& [body, line] : cases) {
    const HttpAnswer answer = ask(backend, "POST /v1/routes", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(error_of(answer), line) << body;
  }
  EXPECT_EQ(ask(backend, "POST /v1/routes", std::string(100'000, '[')).status, 400);
  EXPECT_EQ(ask(backend, "POST /v1/routes", std::string(2 << 20, ' ')).status, 413);
  EXPECT_EQ(backend.asked(), "");
}

TEST(ApiServer, DeletesRoutesOnlyWhenItIsSaidWhich) {
  FakeBackend backend;
  ask(backend, "DELETE /v1/routes?to=10.0.0.0/8&metric=4");
  EXPECT_EQ(backend.asked(), "delete 10.0.0.0/8 4");
  ask(backend, "DELETE /v1/routes?to=10.0.0.0/8");
  EXPECT_EQ(backend.asked(), "delete 10.0.0.0/8 any");
  ask(backend, "DELETE /v1/routes?all=1");
  EXPECT_EQ(backend.asked(), "delete all");
  ask(backend, "DELETE /v1/routes", "10.0.0.0/8\n");
  EXPECT_EQ(backend.asked(), "delete body 10.0.0.0/8\n");
  EXPECT_EQ(backend.loaded_name, "body");
  ask(backend, "DELETE /v1/routes?name=routes.txt", "10.0.0.0/8\n");
  EXPECT_EQ(backend.loaded_name, "routes.txt");
  for (const char* line : {"DELETE /v1/routes", "DELETE /v1/routes?all=0",
                           "DELETE /v1/routes?all=1&to=10.0.0.0/8", "DELETE /v1/routes?metric=4"}) {
    EXPECT_EQ(ask(backend, line).status, 400) << line;
  }
  EXPECT_EQ(backend.asked(), "delete body 10.0.0.0/8\n");
}

TEST(ApiServer, LoadsRoutesWithOptions) {
  FakeBackend backend;
  ask(backend, "POST /v1/routes/load?via=192.0.2.1,fe80::1%lan0&replace=1&metric=5", "abc");
  EXPECT_EQ(backend.asked(), "load 3 metric 5 replace via 192.0.2.1*1 via fe80::1%lan0*1");
  ask(backend, "POST /v1/routes/load?skip_bad=1", "abc");
  EXPECT_EQ(backend.asked(), "load 3 metric 0 skip bad");
  EXPECT_EQ(ask(backend, "POST /v1/routes/load").status, 400);
  EXPECT_EQ(ask(backend, "POST /v1/routes/load?via=", "abc").status, 400);
  EXPECT_EQ(ask(backend, "POST /v1/routes/load?via=192.0.2.1,", "abc").status, 400);
  EXPECT_EQ(ask(backend, "POST /v1/routes/load?replace=yes", "abc").status, 400);
  EXPECT_EQ(ask(backend, "GET /v1/routes/load").status, 405);
}

TEST(ApiServer, ReloadsTheRunningFileOrAnAbsoluteOne) {
  FakeBackend backend;
  ask(backend, "POST /v1/reload");
  EXPECT_EQ(backend.asked(), "reload -");
  ask(backend, "POST /v1/reload", R"({"file": "/etc/hecto/new.yaml"})");
  EXPECT_EQ(backend.asked(), "reload /etc/hecto/new.yaml");
  EXPECT_EQ(ask(backend, "POST /v1/reload", R"({"file": "new.yaml"})").status, 400);
  EXPECT_EQ(ask(backend, "POST /v1/reload", R"({"fil": "/new.yaml"})").status, 400);
}

TEST(ApiServer, StartsReadsAndEndsATrace) {
  FakeBackend backend;
  ask(backend, "POST /v1/trace",
      R"({"from": "192.0.2.0/24", "to": "203.0.113.9", "port": "wan0", "count": 5})");
  EXPECT_EQ(backend.asked(),
            "trace from 192.0.2.0/24 to 203.0.113.9/32 port wan0 interface  count 5");
  ask(backend, "POST /v1/trace");
  EXPECT_EQ(backend.asked(), "trace port  interface  count 10");
  ask(backend, "GET /v1/trace?id=3&after=2");
  EXPECT_EQ(backend.asked(), "read trace 3 after 2");
  EXPECT_EQ(ask(backend, "GET /v1/trace?id=4").status, 404);
  EXPECT_EQ(ask(backend, "GET /v1/trace").status, 400);
  ask(backend, "DELETE /v1/trace?id=3");
  EXPECT_EQ(backend.asked(), "stop trace 3");
  EXPECT_EQ(ask(backend, "POST /v1/trace", R"({"count": 1001})").status, 400);
  EXPECT_EQ(ask(backend, "POST /v1/trace", R"({"from": "x"})").status, 400);
  EXPECT_EQ(ask(backend, "POST /v1/trace", R"({"source": "10.0.0.1"})").status, 400);
}

TEST(ApiServer, StartsReadsAndEndsACapture) {
  FakeBackend backend;
  ask(backend, "POST /v1/capture");
  EXPECT_EQ(backend.asked(), "capture rx tx count 0 snaplen 65535 buffer 64");
  ask(backend, "POST /v1/capture",
      R"({"from": "192.0.2.0/24", "where": ["drop", "inner"], "count": 7, "snaplen": 96,
          "buffer_mib": 1})");
  EXPECT_EQ(backend.asked(), "capture from 192.0.2.0/24 drop inner count 7 snaplen 96 buffer 1");
  for (unsigned i = 0; i < 3; ++i) {
    const HttpAnswer piece = ask(backend, "GET /v1/capture?id=3");
    EXPECT_EQ(piece.status, 200);
    EXPECT_EQ(piece.type, "application/x-pcapng");
    EXPECT_EQ(piece.body, "piece" + std::to_string(i) + std::string(1, '\0'));
  }
  EXPECT_EQ(ask(backend, "GET /v1/capture?id=3").status, 204);
  EXPECT_EQ(ask(backend, "GET /v1/capture?id=4").status, 404);
  EXPECT_EQ(ask(backend, "GET /v1/capture").status, 400);
  ask(backend, "POST /v1/capture/stop?id=3");
  EXPECT_EQ(backend.asked(), "stop capture 3");
  EXPECT_EQ(ask(backend, "GET /v1/capture/stop?id=3").status, 405);
  ask(backend, "DELETE /v1/capture?id=3");
  EXPECT_EQ(backend.asked(), "end capture 3");
  for (const char* wrong :
       {R"({"where": []})", R"({"where": ["everywhere"]})", R"({"where": "rx"})",
        R"({"snaplen": 13})", R"({"snaplen": 65536})", R"({"buffer_mib": 0})", R"({"to": "x"})",
        R"({"seconds": 3})", R"({"count": -1})"})
    EXPECT_EQ(ask(backend, "POST /v1/capture", wrong).status, 400) << wrong;
}

TEST(ApiServer, AsksTheKernelWhoWantsKeys) {
  const test::Scratch scratch;
  FakeBackend backend;
  const auto server = ApiServer::start(backend, scratch / "api.sock");
  ASSERT_TRUE(server);
  const HttpRequest request{"GET", "/v1/capture/keys", {}, {}, {4711, {}}};
  const auto answer = http_request(scratch / "api.sock", request, std::chrono::seconds(5));
  ASSERT_TRUE(answer);
  EXPECT_EQ(backend.asked(), "keys for " + std::to_string(getuid()));
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "\"IPv4\",\"a key\"\n");
  backend.give_keys = false;
  EXPECT_EQ(http_request(scratch / "api.sock", request, std::chrono::seconds(5))->status, 403);
  EXPECT_EQ(ask(backend, "POST /v1/capture/keys").status, 405);
}

TEST(ApiServer, AnswersOverARealSocket) {
  const test::Scratch scratch;
  FakeBackend backend;
  auto server = ApiServer::start(backend, scratch / "run/hecto.sock");
  ASSERT_TRUE(server) << server.error().message;
  const std::string text = test::RawClient((*server)->socket())
                               .ask(
                                   "GET /v1/routes?address=10.0.0.1 HTTP/1.1\r\n"
                                   "Connection: close\r\n\r\n");
  EXPECT_EQ(text.rfind("HTTP/1.1 200", 0), 0u) << text;
  EXPECT_NE(text.find("Content-Type: application/json"), std::string::npos) << text;
  EXPECT_EQ(backend.asked(), "routes address 10.0.0.1 limit 100");
  const std::string fault = test::RawClient((*server)->socket())
                                .ask("GET /v1/pools HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(fault.find("{\"error\":\"pools fell over\"}"), std::string::npos) << fault;
  (*server)->stop();
}

TEST(ApiServer, RefusesToStartWhereAnotherOneServes) {
  const test::Scratch scratch;
  FakeBackend backend;
  auto first = ApiServer::start(backend, scratch / "hecto.sock");
  ASSERT_TRUE(first);
  const auto second = ApiServer::start(backend, scratch / "hecto.sock");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another router (pid "), std::string::npos);
  (*first)->stop();
  EXPECT_TRUE(ApiServer::start(backend, scratch / "hecto.sock"));
}

TEST(PlanJson, HasTheShapeOfTheDocumentation) {
  config::Placement placement;
  placement.control_cpu = 1;
  placement.workers = {{0, 2, 0, {{"wan0", 0}}}};
  placement.ports = {{"wan0", 0, true, 4, 5}};
  placement.pools = {{0, 2176, 65535, {"wan0"}}};
  placement.sockets = {0};
  placement.memory_bytes = 536870912;
  placement.memory = {{0, 500000000, 100000000}, {1, 36870912, 15474432}};
  placement.warnings = {"w"};
  EXPECT_EQ(plan_json(placement, "t"), json::parse(R"({
    "text": "t", "warnings": ["w"],
    "placement": {
      "control_cpu": 1, "memory_bytes": 536870912, "table_bytes": 115474432, "sockets": [0],
      "workers": [{"id": 0, "cpu": 2, "socket": 0, "queues": [{"port": "wan0", "queue": 0}]}],
      "ports": [{"name": "wan0", "socket": 0, "socket_known": true, "rx_queues": 4, "tx_queues": 5}],
      "pools": [{"socket": 0, "data_room_bytes": 2176, "mbufs": 65535, "ports": ["wan0"]}]}})"));
}

}  // namespace
}  // namespace hecto::router
