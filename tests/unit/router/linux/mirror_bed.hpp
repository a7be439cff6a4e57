// A mirror of a namespace of its own, and what the kernel says of that.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "router/linux/mirror.hpp"
#include "tests/unit/router/linux/test_namespace.hpp"

namespace hecto::router {

class Mirror : public NamespaceTest {
 protected:
  // What `ip route` says of table main, as StateRecorder::route_names() puts it.
  std::set<std::string> kernel_routes(Family family) {
    const char* option = family == Family::kIpv4 ? "-4" : "-6";
    std::istringstream lines(ip(std::string(option) + " route show table main"));
    std::set<std::string> names;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string prefix;
      words >> prefix;
      if (line.empty() || line[0] == '\t' || prefix == "nexthop") continue;
      if (prefix == "blackhole" || prefix == "unreachable" || prefix == "prohibit") words >> prefix;
      if (prefix == "default") prefix = family == Family::kIpv4 ? "0.0.0.0/0" : "::/0";
      if (prefix.find('/') == std::string::npos) {
        prefix += family == Family::kIpv4 ? "/32" : "/128";
      }
      std::string metric = "0";
      for (std::string word; words >> word;) {
        if (word == "metric") words >> metric;
      }
      names.insert(prefix + " " + metric);
    }
    return names;
  }
  bool agrees() {
    return state_.route_names(254, Family::kIpv4) == kernel_routes(Family::kIpv4) &&
           state_.route_names(254, Family::kIpv6) == kernel_routes(Family::kIpv6);
  }
  // Starts a resync and stops in the midst of reading table main, of at least 2000 routes.
  void into_the_route_dump() {
    mirror_->request_resync("test");
    const uint64_t enough = state_.route_events + 800;
    while (state_.route_events < enough) ASSERT_TRUE(mirror_->process(2));
    ASSERT_FALSE(mirror_->synchronized());
  }
  void read_whole(StateRecorder& fresh) {
    auto mirror = NetlinkMirror::open(*space_, fresh);
    ASSERT_TRUE(mirror);
    while (!(*mirror)->synchronized()) ASSERT_TRUE((*mirror)->process(4096));
  }
  // Every route with its next hops, of a prefix in their order.
  static std::vector<std::string> all_routes(const StateRecorder& state) {
    std::vector<std::string> lines;
    for (const auto& [key, set] : state.routes) {
      for (const auto& stamped : set) {
        const Route& route = stamped.value;
        std::string line =
            fmt::format("{} table {} type {} metric {} nhid {}", route.prefix.to_string(),
                        route.table, to_string(route.type), route.metric, route.nexthop_object);
        for (const NextHop& hop : route.next_hops) {
          line += fmt::format(" [{} dev {}{}]", hop.gateway ? hop.gateway->to_string() : "",
                              hop.ifindex, hop.dead ? " dead" : "");
        }
        lines.push_back(line);
      }
    }
    return lines;
  }
  // Two ports with addresses, up, before the mirror starts.
  void two_ports() {
    wan_ = std::make_unique<Tap>(make_tap("wan0", 1));
    lan_ = std::make_unique<Tap>(make_tap("lan0", 2));
    ip("addr add 192.0.2.1/24 dev wan0");
    ip("addr add 198.51.100.1/24 dev lan0");
    ip("-6 addr add 2001:db8::1/64 dev wan0 nodad");
    ip("-6 addr add 2001:db8:1::1/64 dev lan0 nodad");
  }
  // `ip -batch` of `verb` on `count` /24s from 10.0.0.0 on.
  void batch(const std::string& verb, int count, const std::string& rest = "via 192.0.2.2") {
    const std::string path = "/tmp/" + name_ + ".batch";
    {
      std::ofstream file(path);
      for (int i = 0; i < count; ++i) {
        file << fmt::format("route {} 10.{}.{}.0/24 {}\n", verb, i / 256 % 256, i % 256, rest);
      }
    }
    ip("-batch " + path);
    unlink(path.c_str());
  }

  std::unique_ptr<Tap> wan_;
  std::unique_ptr<Tap> lan_;
};

}  // namespace hecto::router
