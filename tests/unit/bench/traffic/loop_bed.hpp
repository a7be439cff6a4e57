// A generator over three net_ring ports in memory: each gives back what is sent to it. One EAL a
// process, so one generator for all tests.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <stdexcept>

#include "bench/traffic/generator.hpp"

namespace hecto::bench {

inline std::atomic<bool> stop{false};

inline Generator& generator() {
  static const std::unique_ptr<Generator> made = [] {
    TrafficSpec spec = make_spec("net_ring0", "net_ring0");
    spec.ports[0].port.addresses = {*lookup::IpPrefix::parse_interface("10.1.0.1/24")};
    for (const char* name : {"b", "c"}) {
      TrafficPort port = spec.ports[0];
      port.port.name = name;
      port.port.device = name[0] == 'b' ? "net_ring1" : "net_ring2";
      spec.ports.push_back(port);
    }
    GeneratorOptions options;
    options.cpus = {static_cast<unsigned>(sched_getcpu())};
    options.stop = &stop;
    auto created = Generator::create(spec, options);
    if (!created) throw std::runtime_error(created.error().message);
    return std::move(*created);
  }();
  return *made;
}

inline StreamSpec stream(const char* name, lookup::Family family = lookup::Family::kIpv4,
                         uint16_t bytes = 64) {
  StreamSpec made = make_spec("net_ring0", "net_ring0", bytes, family).streams[0];
  made.name = name;
  made.expect.wire = true;
  return made;
}

inline TrialResult run(const std::vector<StreamSpec>& streams, TrialRequest request) {
  if (auto used = generator().use(streams); !used) throw std::runtime_error(used.error().message);
  auto result = generator().run(request);
  if (!result) throw std::runtime_error(result.error().message);
  return *result;
}

class TrafficLoop : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "DPDK is not built for ThreadSanitizer";
#endif
    generator();
  }
};

}  // namespace hecto::bench
