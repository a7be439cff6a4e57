// The hecto program itself, run against a fake router.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "router/api/server.hpp"
#include "tests/unit/router/api/documented.hpp"
#include "tests/unit/router/api/fake_backend.hpp"
#include "tests/unit/router/api/scratch.hpp"

namespace hecto::cli {

using nlohmann::json;
using router::ApiResult;

struct Outcome {
  int code = -1;
  std::string out, err;
};

// Answers with the samples of docs/api.md.
class DocumentedBackend : public router::test::FakeBackend {
 public:
  ApiResult show(router::Noun noun) override {
    static const char* names[] = {
        "summary", "ports",  "bonds",    "bridges", "flows",   "interfaces", "neighbors", "rules",
        "tables",  "labels", "nexthops", "workers", "offload", "ipsec",      "drops",     "punt",
        "sflow",   "pools",  "config",   "plan",    "filters", "nat",        "ipfix"};
    return test::documented(names[static_cast<size_t>(noun)]);
  }
  ApiResult mtu(const std::optional<lookup::IpAddress>& to,
                const std::optional<lookup::IpAddress>& from) override {
    FakeBackend::mtu(to, from);
    return test::documented("mtu");
  }
  // Three pages of one prefix each.
  ApiResult routes(const router::RoutesQuery& query) override {
    FakeBackend::routes(query);
    if (query.address) return test::documented("One address: `?address=`");
    json answer = test::documented("A walk: `?prefix=&limit=&after=`");
    const int page = !query.after ? 0 : query.after->to_string() == "10.0.0.0/8" ? 1 : 2;
    const char* prefixes[] = {"10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8"};
    answer["routes"][0]["prefix"] = prefixes[page];
    answer["next"] = page == 2 ? json() : json(prefixes[page]);
    return answer;
  }
  ApiResult read_trace(uint32_t id, uint32_t after) override {
    if (id != 3) return router::api_fail(404, "no trace " + std::to_string(id));
    json answer = test::documented("Trace", 2);
    answer["done"] = traces_come;
    if (after > 0 || !traces_come) answer["traces"] = json::array();
    return answer;
  }
  ApiResult stop_trace(uint32_t id) override { return read_trace(id, 0); }
  ApiResult load_routes(std::string body, const router::ApiLoadOptions& options) override {
    FakeBackend::load_routes(std::move(body), options);
    return test::documented("POST /v1/routes/load");
  }

  bool traces_come = true;
};

class HectoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = router::ApiServer::start(backend_, socket_);
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
  }

  Outcome run(const std::string& arguments, const std::string& before = {}) {
    const std::string command = before + " HECTO_SOCKET='" + socket_ + "' " HECTO_BINARY " " +
                                arguments + " >'" + scratch_ / "out" + "' 2>'" + scratch_ / "err" +
                                "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out"), read("err")};
  }
  std::string read(const std::string& name) const {
    std::ifstream file(scratch_ / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(scratch_ / name) << text;
    return scratch_ / name;
  }

  const router::test::Scratch scratch_;
  const std::string socket_ = scratch_ / "hecto.sock";
  DocumentedBackend backend_;
  std::unique_ptr<router::ApiServer> server_;
};

}  // namespace hecto::cli
