// Any bytes as a box, or as what a machine collected: refused in words, or a box that can be planned,
// described and drawn. A box that is left changed by a what-if is one, too.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/box/collected.hpp"
#include "config/box/topology_xml.hpp"
#include "config/box/what_if.hpp"
#include "config/capacity/capacity.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hecto::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (looks_collected(text)) {
    const auto read = read_collected(text, "fuzz.yaml");
    if (!read && read.error().empty()) std::abort();
    if (read && to_yaml(*read).empty()) std::abort();
    return 0;
  }
  if (readable_xml(std::string(text), "fuzz.xml")) return 0;
  auto box = parse_box(text, "fuzz.yaml");
  if (!box) {
    if (box.error().empty()) std::abort();
    return 0;
  }
  if (const auto changed = apply_what_if(box->name, *box); !changed && changed.error().empty())
    std::abort();
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
