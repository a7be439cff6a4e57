// The router's hold on Linux: its namespace, the TAP twins, the mirror that reads and the requests
// that write. Absent in static mode. Control only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/file/config.hpp"
#include "router/control/interface_table.hpp"
#include "router/linux/mirror.hpp"
#include "router/linux/requests.hpp"

namespace hecto::router {

class LinuxSide {
 public:
  static Result<std::unique_ptr<LinuxSide>> open(const config::LinuxConfig& config,
                                                 LinuxEvents& events);
  LinuxSide(const LinuxSide&) = delete;
  LinuxSide& operator=(const LinuxSide&) = delete;

  // A TAP for the interface, up, with its MAC and MTU.
  Result<std::shared_ptr<Twin>> make_twin(const Interface& interface, rte_mempool* pool);
  // What the file says of an interface, written into Linux; each refusal is a line for the log.
  void write_addresses(const Interface& interface, std::vector<std::string>& refusals);
  void write_routes(const std::vector<Route>& routes, bool remove,
                    std::vector<std::string>& refusals);

  NetlinkMirror& mirror() { return *mirror_; }
  const NetlinkMirror& mirror() const { return *mirror_; }
  NetlinkRequests& requests() { return requests_; }
  const NetworkNamespace& space() const { return space_; }

 private:
  LinuxSide(NetworkNamespace space, NetlinkRequests requests)
      : space_(std::move(space)), requests_(std::move(requests)) {}

  NetworkNamespace space_;
  NetlinkRequests requests_;
  std::unique_ptr<NetlinkMirror> mirror_;
};

// Passes on what the configuration wants mirrored; links always.
class FilteredEvents final : public LinuxEvents {
 public:
  FilteredEvents(LinuxEvents& target, const config::LinuxConfig& config)
      : target_(target), config_(config) {}
  void link(const LinuxLink& link, bool removed) override { target_.link(link, removed); }
  void address(const LinuxAddress& address, bool removed) override {
    if (config_.mirror_addresses) target_.address(address, removed);
  }
  void neighbor(const LinuxNeighbor& neighbor, bool removed) override {
    if (config_.mirror_neighbors) target_.neighbor(neighbor, removed);
  }
  void nexthop_object(const NextHopObject& object, bool removed) override {
    if (config_.mirror_routes) target_.nexthop_object(object, removed);
  }
  // Local and broadcast routes come with the addresses, all others with `routes`.
  void route(const Route& route, bool removed, bool replace) override {
    const bool own = route.type == RouteType::kLocal || route.type == RouteType::kBroadcast;
    if (own ? config_.mirror_addresses : config_.mirror_routes)
      target_.route(route, removed, replace);
  }
  void resync_begin(const std::string& why) override { target_.resync_begin(why); }
  void resync_end() override { target_.resync_end(); }

 private:
  LinuxEvents& target_;
  const config::LinuxConfig config_;
};

}  // namespace hecto::router
