// Routes of the file and of the API, on their way into Routing and, the file's, into Linux.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "router/control/router.hpp"
#include "router/rib/route_file.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kProtocolStatic = 4;  // RTPROT_STATIC
constexpr size_t kLoadStep = 16384;     // routes a turn, some milliseconds

RouteType route_type(RouteType type) {
  switch (type) {
    case RouteType::kBlackhole:
      return RouteType::kBlackhole;
    case RouteType::kUnreachable:
      return RouteType::kUnreachable;
    case RouteType::kProhibit:
      return RouteType::kProhibit;
    case RouteType::kUnicast:
      break;
  }
  return RouteType::kUnicast;
}

}  // namespace

Result<NextHop> Router::next_hop(const config::NextHopConfig& config) {
  NextHop hop;
  hop.gateway = config.gateway;
  hop.weight = config.weight;
  if (config.interface.empty()) {
    hop.interface = routing().interfaces().covering(config.gateway);
    if (hop.interface == kNoInterface)
      return fail(fmt::format("no interface has an address in the subnet of gateway {}; name one "
                              "with `interface`",
                              config.gateway.to_string()),
                  ENETUNREACH);
  } else {
    const Interface* interface = interfaces_.find(config.interface);
    if (interface == nullptr)
      return fail(fmt::format("gateway {}: there is no interface {}", config.gateway.to_string(),
                              config.interface),
                  ENODEV);
    hop.interface = interface->id;
  }
  hop.ifindex = interfaces_.find(hop.interface)->ifindex;
  return hop;
}

Result<Route> Router::route_of(const config::RouteConfig& config, RouteOrigin origin) {
  Route route;
  route.prefix = config.to;
  route.origin = origin;
  route.type = route_type(config.type);
  route.protocol = kProtocolStatic;
  route.metric = config.metric;
  for (const config::NextHopConfig& via : config.via) {
    auto hop = next_hop(via);
    if (!hop)
      return fail(fmt::format("route {}: {}", config.to.to_string(), hop.error().message),
                  hop.error().error_number);
    route.next_hops.push_back(*hop);
  }
  return route;
}

Result<bool> Router::add_route(const config::RouteConfig& config, RouteOrigin origin) {
  auto route = route_of(config, origin);
  if (!route) return tl::unexpected(route.error());
  return routing().add(*route);
}

Result<void> Router::remove_route(const IpPrefix& prefix, uint32_t metric, RouteOrigin origin) {
  Route route;
  route.prefix = prefix;
  route.origin = origin;
  route.metric = metric;
  return routing().remove(route);
}

// Linux needs the file's routes, too: it answers for packets that the fast path punts.
void Router::write_file_routes(const std::vector<config::RouteConfig>& routes, bool remove) {
  if (!linux_side_) return;
  std::vector<Route> wanted;
  for (const config::RouteConfig& config : routes) {
    auto route = route_of(config, RouteOrigin::kFile);
    if (!route) continue;  // said when it was added
    route->protocol = kRouteProtocol;
    wanted.push_back(std::move(*route));
  }
  std::vector<std::string> refusals;
  linux_side_->write_routes(wanted, remove, refusals);
  for (const std::string& refusal : refusals) spdlog::debug(refusal);
}

Result<std::shared_ptr<const RouteTable>> Router::read_route_file(const std::string& path) {
  RouteFileOptions options;
  options.find_interface = [this](std::string_view name) {
    const Interface* interface = interfaces_.find(std::string(name));
    return interface == nullptr ? kNoInterface : interface->id;
  };
  auto file = read_routes(path, options);
  if (!file) return tl::unexpected(file.error());
  for (const std::string& problem : file->problems) spdlog::warn("{}: {}", path, problem);
  return std::make_shared<const RouteTable>(std::move(file->table));
}

void Router::load_routes(std::shared_ptr<const RouteTable> table, const LoadOptions& options,
                         std::function<void(Result<LoadCounts>)> done) {
  auto id = routing().begin_load(std::move(table), options);
  if (!id) {
    done(tl::unexpected(id.error()));
    return;
  }
  loads_.push_back({*id, std::move(done)});
}

void Router::continue_loads() {
  if (loads_.empty()) return;
  PendingLoad& load = loads_.front();
  if (routing().continue_load(load.id, kLoadStep) > 0) return;
  const LoadCounts counts = routing().end_load(load.id);
  routing().commit();
  load.done(counts);
  loads_.pop_front();
}

}  // namespace hecto::router
