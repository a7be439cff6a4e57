// Any bytes as a box: refused in words, or a box that can be planned, described and drawn.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/capacity/capacity.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hecto::config;
  const auto box = parse_box({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!box) {
    if (box.error().empty()) std::abort();
    return 0;
  }
  const Topology topology = topology_of(*box);
  const Config config = default_config(*box);
  const auto placement = place(config, topology);
  if (!placement) return 0;
  const auto setup = setup_of(*box, config, topology, *placement);
  const auto capacity = capacity_of(*box, setup);
  for (const Point& point : capacity.points) {
    if (!std::isfinite(point.mpps) || point.mpps <= 0) std::abort();
    draw(*box, setup, capacity, point);
  }
  describe(*box, setup, capacity, 0, Traffic::kIpv4);
  return 0;
}
