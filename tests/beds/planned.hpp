// Boxes with their default configuration planned, and what the capacity model says of them.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "config/capacity/capacity.hpp"
#include "tests/beds/boxes.hpp"

namespace hecto::config {

struct Planned {
  Box box;
  Setup setup;
  Capacity capacity;

  const Point& at(Experiment experiment, std::optional<Traffic> traffic, size_t size) const {
    const Point* point = capacity.find(experiment, traffic, size);
    EXPECT_NE(point, nullptr);
    return *point;
  }
  const Point& local(size_t size, Traffic traffic = Traffic::kIpv4) const {
    return at(Experiment::kForwardLocal, traffic, size);
  }
  ResourceKind bound(const Point& point) const { return capacity.resources[point.bottleneck].kind; }
  ResourceKind bound(size_t size) const { return bound(local(size)); }
  std::string advised() const {
    std::string out;
    for (const std::string& line : advice(box, setup, capacity)) out += line + "\n";
    return out;
  }
  bool advises(const std::string& words) const {
    return advised().find(words) != std::string::npos;
  }
};

inline Planned planned(Box box, const Topology& topology) {
  const Config config = default_config(box);
  Setup setup = setup_of(box, config, topology, placed(config, topology));
  Capacity capacity = capacity_of(box, setup);
  return {std::move(box), std::move(setup), std::move(capacity)};
}

inline Planned planned(Box box) {
  const Topology topology = topology_of(box);
  return planned(std::move(box), topology);
}

inline Box parsed(const std::string& yaml) {
  const auto read = parse_box(yaml, "b.yaml");
  EXPECT_TRUE(read) << (read ? "" : read.error().front());
  return read ? *read : Box{};
}

// A box of config/boxes.
inline Box shipped(const std::string& name) {
  const auto read = read_box(HECTO_SOURCE_ROOT "/config/boxes/" + name + ".yaml");
  EXPECT_TRUE(read) << (read ? "" : read.error().front());
  return read ? *read : Box{};
}

}  // namespace hecto::config
