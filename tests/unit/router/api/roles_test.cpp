// Who may do what.
#include "router/api/roles.hpp"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "router/api/server.hpp"
#include "tests/unit/router/api/fake_backend.hpp"
#include "tests/unit/router/api/scratch.hpp"

namespace hecto::router {
namespace {

using test::FakeBackend;

AccessRules rules() {
  AccessRules rules;
  rules.read_group = 101;
  rules.operate_group = 102;
  rules.admin_group = 103;
  return rules;
}

TEST(Roles, ComeOfUserAndGroups) {
  EXPECT_EQ(rules().of({0u, {}}), Role::kAdmin);
  EXPECT_EQ(rules().of({::geteuid(), {}}), Role::kAdmin);
  const uint32_t stranger = ::geteuid() + 12345;
  EXPECT_EQ(rules().of({stranger, {}}), Role::kNone);
  EXPECT_EQ(rules().of({stranger, {100, 104}}), Role::kNone);
  EXPECT_EQ(rules().of({stranger, {101}}), Role::kRead);
  EXPECT_EQ(rules().of({stranger, {101, 102}}), Role::kOperate);
  EXPECT_EQ(rules().of({stranger, {103, 101}}), Role::kAdmin);
  EXPECT_EQ(rules().of({}), Role::kNone) << "nobody knows who";
  EXPECT_EQ(AccessRules{}.of({stranger, {}}), Role::kAdmin) << "the socket's mode decides";
}

TEST(Roles, WhatEachRequestNeeds) {
  const auto need = [](const char* method, const char* path) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    return needed(request);
  };
  for (const char* path : {"/v1/summary", "/v1/routes", "/v1/ipsec", "/v1/config", "/v1/health"})
    EXPECT_EQ(need("GET", path), Role::kRead) << path;
  for (const char* path : {"/v1/trace", "/v1/capture", "/v1/capture/stop"}) {
    EXPECT_EQ(need("POST", path), Role::kOperate) << path;
    EXPECT_EQ(need("GET", path), Role::kOperate) << path << " holds packets";
  }
  EXPECT_EQ(need("GET", "/v1/capture/keys"), Role::kAdmin);
  for (const char* path : {"/v1/routes", "/v1/routes/load", "/v1/reload", "/v1/ipsec/sas",
                           "/v1/ipsec/policies", "/v1/what_is_to_come"})
    EXPECT_EQ(need("POST", path), Role::kAdmin) << path;
  EXPECT_EQ(need("DELETE", "/v1/routes"), Role::kAdmin);
}

TEST(Roles, ARefusalNamesTheRoleThatIsNeeded) {
  FakeBackend backend;
  HttpRequest request;
  request.method = "DELETE";
  request.path = "/v1/routes";
  request.query["all"] = "1";
  const HttpAnswer refused = answer(backend, request, Role::kRead);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body,
            "{\"error\":\"DELETE /v1/routes needs the role admin; yours is read\"}\n");
  EXPECT_EQ(answer(backend, request, Role::kAdmin).status, 200);
  request.method = "GET";
  request.query.clear();
  EXPECT_EQ(answer(backend, request, Role::kRead).status, 200);
}

TEST(Roles, AGroupThatIsNotThereIsSaid) {
  config::Config config;
  EXPECT_FALSE(AccessRules::from(config)->by_groups());
  config.api_admin_group = "root";
  EXPECT_EQ(AccessRules::from(config)->admin_group, 0u);
  config.api_read_group = "no-such-group-here";
  const auto refused = AccessRules::from(config);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "api.read_group: there is no group no-such-group-here; make it with groupadd");
}

// Through the socket, as another user, who is in one group. Needs root.
TEST(Roles, TheKernelSaysWhoAsks) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: another user asks";
  FakeBackend backend;
  const test::Scratch scratch;
  ::chmod((scratch / "").c_str(), 0755);
  auto server = ApiServer::start(backend, scratch / "api.sock", rules());
  ASSERT_TRUE(server) << server.error().message;
  const auto status = [&](const char* method, const char* path, std::vector<gid_t> groups) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      int code = 0;
      if (::setgroups(groups.size(), groups.data()) == 0 && ::setgid(65534) == 0 &&
          ::setuid(65534) == 0) {
        HttpRequest request;
        request.method = method;
        request.path = path;
        request.query = {};
        auto answer = http_request(scratch / "api.sock", request, std::chrono::seconds(10));
        code = answer ? answer->status : 1;
      }
      [[maybe_unused]] const ssize_t told = ::write(ends[1], &code, sizeof code);
      ::_exit(0);
    }
    int code = 0;
    EXPECT_EQ(::read(ends[0], &code, sizeof code), static_cast<ssize_t>(sizeof code));
    int ended = 0;
    ::waitpid(child, &ended, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    return code;
  };
  EXPECT_EQ(status("GET", "/v1/summary", {}), 403);
  EXPECT_EQ(status("GET", "/v1/summary", {7, 101}), 200);
  EXPECT_EQ(status("POST", "/v1/trace", {101}), 403);
  EXPECT_EQ(status("POST", "/v1/trace", {102}), 200);
  EXPECT_EQ(status("POST", "/v1/reload", {102}), 403);
  EXPECT_EQ(status("POST", "/v1/reload", {103}), 200);
}

}  // namespace
}  // namespace hecto::router
