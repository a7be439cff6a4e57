#include "bench/bed/stations.hpp"

#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <random>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "bench/bed/port_tap.hpp"
#include "lookup/mac_table.hpp"
#include "router/dataplane/core/bridge_views.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

using namespace router;

MacAddress station(unsigned side, unsigned number) {
  return {0x02,
          static_cast<uint8_t>(0x10 + side),
          static_cast<uint8_t>(number >> 24),
          static_cast<uint8_t>(number >> 16),
          static_cast<uint8_t>(number >> 8),
          static_cast<uint8_t>(number)};
}

uint64_t key(const MacAddress& mac) {
  uint64_t word = 0;
  std::memcpy(&word, mac.data(), mac.size());
  return lookup::MacTable::key(bridge_domain(0, 0), word);
}

std::shared_ptr<const BridgePortView> view_of(InterfaceId interface) {
  auto view = std::make_shared<BridgePortView>();
  view->interface = interface;
  return view;
}

}  // namespace

Stations::Stations(Bed& bed, unsigned count) : bed_(bed) {
  Dataplane& dataplane = bed.router().dataplane();
  auto views = std::make_shared<BridgeViews>();
  views->stations = dataplane.make_station_table(2 * size_t{count});
  const PortId ports[] = {bed.in(0), bed.out()[0], bed.out()[1]};
  for (const PortId port : ports) views->ports[port] = view_of(InterfaceId(port.value()));
  std::mt19937 random(7);
  for (unsigned i = 0; i < count; ++i) {
    const unsigned side = i % 2;
    views->stations->set(key(station(0, i)), ports[0]);
    views->stations->set(key(station(1, i)), ports[1 + side]);
  }
  for (unsigned i = 0; i < count; ++i) {
    const unsigned to = random() % count;
    std::array<uint8_t, kLeastFrame_bytes> frame{};
    const MacAddress from = station(0, static_cast<unsigned>(random() % count));
    std::copy_n(station(1, to).begin(), 6, frame.begin());
    std::copy_n(from.begin(), 6, frame.begin() + 6);
    std::memcpy(&frame[12], &kEtherIpv4, sizeof kEtherIpv4);
    store32_be(&frame[kEthernetBytes], i);
    frames_.add(frame.data(), frame.size());
    sides_.push_back(to % 2);
  }
  dataplane.settings().bridges = std::move(views);
  dataplane.publish();
  dataplane.worker(0).refresh();
  bed.replay(0).select_whole(&frames_, false);
}

Result<uint64_t> Stations::verify(size_t frames, const std::function<unsigned()>& poll) {
  std::deque<std::vector<uint8_t>> in_flight[2];
  uint64_t right = 0, entered = 0;
  std::string wrong;
  const auto bytes_of = [](rte_mbuf* packet) {
    const auto* data = rte_pktmbuf_mtod(packet, const uint8_t*);
    return std::vector<uint8_t>(data, data + packet->data_len);
  };
  PortTap tap(
      bed_,
      [&](rte_mbuf* packet) {
        auto frame = bytes_of(packet);
        const unsigned side = sides_[load32_be(&frame[kEthernetBytes])];
        in_flight[side].push_back(std::move(frame));
        ++entered;
      },
      [&](unsigned side, rte_mbuf* packet) {
        if (in_flight[side].empty() || bytes_of(packet) != in_flight[side].front())
          wrong = fmt::format("a frame left by out{} that is not the next one there", side);
        else
          in_flight[side].pop_front(), ++right;
      });
  while (entered < frames) poll();
  if (!wrong.empty()) return fail("verification: " + wrong);
  if (right != entered)
    return fail(fmt::format("verification: of {} frames {} came out", entered, right));
  return right;
}

}  // namespace hecto::bench
