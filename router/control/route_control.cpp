#include "router/control/route_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "router/control/interface_table.hpp"
#include "router/control/linux_side.hpp"
#include "router/control/notes.hpp"
#include "router/control/running.hpp"
#include "router/rib/route_file.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kProtocolStatic = 4;   // RTPROT_STATIC
constexpr size_t kLoadStep = 16384;      // routes a turn, some milliseconds
constexpr size_t kFileLoadStep = 65536;  // nobody waits meanwhile

}  // namespace

Result<NextHop> RouteControl::next_hop(const config::NextHopConfig& config) const {
  NextHop hop;
  hop.gateway = config.gateway;
  hop.weight = config.weight;
  if (config.interface.empty()) {
    hop.interface = routing_.interfaces().covering(config.gateway);
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

Result<Route> RouteControl::route_of(const config::RouteConfig& config, RouteOrigin origin) const {
  Route route;
  route.prefix = config.to;
  route.origin = origin;
  route.type = config.type;
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

Result<bool> RouteControl::add(const config::RouteConfig& config, RouteOrigin origin) {
  auto route = route_of(config, origin);
  if (!route) return tl::unexpected(route.error());
  return routing_.add(*route);
}

Result<void> RouteControl::remove(const IpPrefix& prefix, uint32_t metric, RouteOrigin origin) {
  Route route;
  route.prefix = prefix;
  route.origin = origin;
  route.metric = metric;
  return routing_.remove(route);
}

void RouteControl::write_to_linux() const {
  write(running_.config.routes, false);
}

void RouteControl::remove_from_linux(const std::vector<config::RouteConfig>& routes) const {
  write(routes, true);
}

void RouteControl::write(const std::vector<config::RouteConfig>& routes, bool remove) const {
  if (linux_ == nullptr) return;
  std::vector<Route> wanted;
  for (const config::RouteConfig& config : routes)
    if (auto route = route_of(config, RouteOrigin::kFile))  // else said when it was added
      wanted.push_back(std::move(*route));
  for (const std::string& refusal : linux_->write_routes(wanted, remove)) spdlog::debug(refusal);
}

Result<std::shared_ptr<const RouteTable>> RouteControl::read_file(const std::string& path) const {
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

Result<void> RouteControl::load_file(const std::string& path,
                                     std::shared_ptr<const RouteTable> table) {
  LoadOptions options;
  options.origin = RouteOrigin::kFile;
  auto id = routing_.begin_load(std::move(table), options);
  if (!id) return fail(fmt::format("{}: {}", path, id.error().message));
  while (routing_.continue_load(*id, kFileLoadStep) > 0) {
  }
  const LoadCounts counts = routing_.end_load(*id);
  if (counts.refused > 0)
    notes_.add(
        fmt::format("{}: {} routes did not fit: {}", path, counts.refused, counts.first_error));
  file_loads_[path] = *id;
  spdlog::info("routes: {} of {}", counts.added + counts.replaced + counts.unchanged, path);
  return {};
}

void RouteControl::unload_file(const std::string& path) {
  if (auto load = file_loads_.extract(path); !load.empty()) routing_.remove_load(load.mapped());
}

void RouteControl::load(std::shared_ptr<const RouteTable> table, const LoadOptions& options,
                        std::function<void(Result<LoadCounts>)> done) {
  auto id = routing_.begin_load(std::move(table), options);
  if (!id) {
    done(tl::unexpected(id.error()));
    return;
  }
  loads_.push_back({*id, std::move(done)});
}

void RouteControl::continue_loads() {
  if (loads_.empty()) return;
  PendingLoad& load = loads_.front();
  if (routing_.continue_load(load.id, kLoadStep) > 0) return;
  const LoadCounts counts = routing_.end_load(load.id);
  routing_.commit();
  load.done(counts);
  loads_.pop_front();
}

}  // namespace hecto::router
