// A namespace of the test's own, gone when the test is, and `ip` inside it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "router/linux/mirror.hpp"
#include "router/linux/tap.hpp"
#include "tests/unit/router/linux/state_recorder.hpp"

namespace hecto::router {

// Why this machine cannot run a test that needs a namespace; empty when it can.
inline std::string missing_for_namespaces() {
  if (geteuid() != 0) return "needs root for a network namespace";
  if (access("/dev/net/tun", R_OK | W_OK) != 0) return "needs /dev/net/tun";
  if (std::system("ip -V >/dev/null 2>&1") != 0) return "needs iproute2";
  auto probe = NetworkNamespace::create("hecto-test-probe-" + std::to_string(getpid()),
                                        NamespaceLifetime::kRemove);
  return probe ? "" : probe.error().message;
}

class NamespaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string missing = missing_for_namespaces();
    if (!missing.empty()) GTEST_SKIP() << missing;
    static int number = 0;
    name_ = "hecto-test-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    auto made = NetworkNamespace::create(name_, NamespaceLifetime::kRemove);
    ASSERT_TRUE(made) << made.error().message;
    space_ = std::make_unique<NetworkNamespace>(std::move(*made));
  }

  Tap make_tap(const std::string& name, uint8_t last_mac_byte = 1, bool up = true) {
    auto tap = Tap::create(*space_, {name, {2, 0, 0, 0, 0, last_mac_byte}, 1500, 1000});
    if (!tap) throw std::runtime_error(tap.error().message);
    if (up && !tap->set_up(true)) throw std::runtime_error("TAP is not up");
    return std::move(*tap);
  }

  // Runs `ip -n NAMESPACE ...`; its output, and a failure of the test when it fails.
  std::string ip(const std::string& arguments) {
    const std::string command = "ip -n " + name_ + " " + arguments + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    std::string output;
    char buffer[4096];
    while (const size_t size = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, size);
    const int status = pclose(pipe);
    EXPECT_EQ(status, 0) << command << "\n" << output;
    return output;
  }

  void start_mirror(const MirrorOptions& options = {}) {
    auto opened = NetlinkMirror::open(*space_, state_, options);
    ASSERT_TRUE(opened) << opened.error().message;
    mirror_ = std::move(*opened);
    ASSERT_TRUE(settle());
  }

  // Serves the mirror by its descriptor alone, as control does, until `done` or the time is up.
  bool serve_until(const std::function<bool()>& done, int limit_ms = 5000, size_t budget = 256) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      pollfd descriptor{mirror_->fd(), POLLIN, 0};
      if (poll(&descriptor, 1, 50) <= 0) continue;
      const auto worked = mirror_->process(budget);
      EXPECT_TRUE(worked) << worked.error().message;
      if (!worked) return false;
      largest_step_ = std::max(largest_step_, *worked);
    }
    return true;
  }

  // Until nothing is left to read or to resync.
  bool settle(int limit_ms = 20000) {
    return serve_until(
        [this] {
          pollfd descriptor{mirror_->fd(), POLLIN, 0};
          return mirror_->synchronized() && !mirror_->resync_pending() &&
                 poll(&descriptor, 1, 0) == 0;
        },
        limit_ms);
  }

  std::string name_;
  std::unique_ptr<NetworkNamespace> space_;
  StateRecorder state_;
  std::unique_ptr<NetlinkMirror> mirror_;
  size_t largest_step_ = 0;
};

}  // namespace hecto::router
