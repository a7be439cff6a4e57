// Who changed what: a line for each change and each that was refused, none for who looks.
#include "router/api/audit.hpp"

#include <gtest/gtest.h>

#include "router/api/server.hpp"
#include "tests/unit/router/api/fake_backend.hpp"

namespace hecto::router {
namespace {

using test::FakeBackend;

std::vector<std::string> audited(const std::string& method, const std::string& path,
                                 std::string body = {}, Role role = Role::kAdmin,
                                 std::map<std::string, std::string> query = {}) {
  FakeBackend backend;
  HttpRequest request{method, path, std::move(query), std::move(body)};
  request.peer = {0, {}, 812};
  answer(backend, request, role);
  return backend.audited;
}

using Lines = std::vector<std::string>;

TEST(Audit, OneLineAChange) {
  EXPECT_EQ(audited("POST", "/v1/routes", R"({"to": "10.0.0.0/8", "via": "192.0.2.1"})"),
            Lines{R"(+ route add {"to":"10.0.0.0/8","via":"192.0.2.1"} by root (uid 0), pid 812: )"
                  "done, 1 changed"});
  EXPECT_EQ(audited("DELETE", "/v1/routes", "", Role::kAdmin, {{"all", "1"}}),
            Lines{R"(+ route delete {"all":"1"} by root (uid 0), pid 812: done, 5 changed)"});
  EXPECT_EQ(audited("POST", "/v1/routes/load", "10.0.0.0/8\n"),
            Lines{"+ load-routes of 11 bytes by root (uid 0), pid 812: done"});
  EXPECT_EQ(audited("POST", "/v1/reload", R"({"file": "/new.yaml", "confirm_s": 60})"),
            Lines{R"(+ reload {"confirm_s":60,"file":"/new.yaml"} by root (uid 0), pid 812: done, )"
                  "0 changes"});
  EXPECT_EQ(audited("POST", "/v1/confirm"), Lines{"+ confirm by root (uid 0), pid 812: done"});
  EXPECT_EQ(audited("POST", "/v1/rollback"),
            Lines{"+ rollback by root (uid 0), pid 812: done, 0 changes"});
}

TEST(Audit, WhatIsRefusedToo) {
  EXPECT_EQ(
      audited("POST", "/v1/reload", R"({"file": "/bad.yaml"})"),
      Lines{R"(- reload {"file":"/bad.yaml"} by root (uid 0), pid 812: refused: /bad.yaml is )"
            "refused: 2 problems, nothing was changed; a; b"});
  EXPECT_EQ(audited("POST", "/v1/rollback", "", Role::kRead),
            Lines{"- rollback by root (uid 0), pid 812: refused: POST /v1/rollback needs the role "
                  "admin; yours is read"});
  EXPECT_EQ(audited("POST", "/v1/routes", "{").size(), 1u);
}

TEST(Audit, WhoLooksLeavesNoLine) {
  for (const char* path : {"/v1/summary", "/v1/routes", "/v1/config"})
    EXPECT_TRUE(audited("GET", path).empty()) << path;
  EXPECT_TRUE(audited("POST", "/v1/diff").empty());
  EXPECT_TRUE(audited("POST", "/v1/trace").empty());
  EXPECT_EQ(audited("GET", "/v1/capture/keys").size(), 1u) << "but who takes keys does";
}

TEST(Audit, NeverAKey) {
  const std::string key = "0x" + std::string(40, 'a');
  const Lines lines = audited("POST", "/v1/ipsec/sas",
                              R"({"source": "192.0.2.1", "destination": "198.51.100.1", )"
                              R"("spi": "0x1001", "cipher": "aes-128-gcm", "key": ")" +
                                  key + "\"}");
  EXPECT_EQ(lines, Lines{R"(+ SA add {"destination":"198.51.100.1","source":"192.0.2.1",)"
                         R"("spi":"0x1001"} by root (uid 0), pid 812: done, 1 changed)"});
  for (const std::string& line : audited("POST", "/v1/ipsec/sas", "key: " + key))
    EXPECT_EQ(line.find("aaaa"), std::string::npos) << line;
  // An SA sent to the wrong place.
  for (const char* path : {"/v1/ipsec/policies", "/v1/routes", "/v1/reload"})
    for (const std::string& line :
         audited("POST", path,
                 R"({"spi": 1, "key": ")" + key + R"(", "integrity_key": ")" + key + "\"}"))
      EXPECT_EQ(line.find("aaaa"), std::string::npos) << line;
}

TEST(Audit, NoLineBreaksALine) {
  HttpRequest request{"POST", "/v1/reload", {}, "{\"file\": \"/a\\nb\"}"};
  const std::string line = audit_line(*change_in(request), {}, {409, R"({"error": "one\ntwo"})"});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("by nobody that is known"), std::string::npos) << line;
}

TEST(Audit, LongBodiesAreNotShown) {
  HttpRequest request{"DELETE", "/v1/routes", {}, std::string(100'000, '1')};
  EXPECT_EQ(change_in(request), "route delete of 100000 bytes");
}

TEST(Audit, AUserWithoutANameHasANumber) {
  EXPECT_EQ(who({4'000'000'000, {}, 7}), "a user (uid 4000000000), pid 7");
}

}  // namespace
}  // namespace hecto::router
