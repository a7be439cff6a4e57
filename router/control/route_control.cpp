#include "router/control/route_control.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "router/control/interface_table.hpp"
#include "router/control/linux_side.hpp"
#include "router/control/notes.hpp"
#include "router/control/running.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kProtocolStatic = 4;  // RTPROT_STATIC
// Between two looks at the clock: well below a millisecond.
constexpr size_t kLoadStep = 256;                         // routes
constexpr size_t kSweepStep = kLoadStep * Sweep::kErase;  // units of Sweep

}  // namespace

Result<NextHop> RouteControl::next_hop(const config::NextHopConfig& config, uint32_t table) const {
  NextHop hop;
  hop.gateway = config.gateway;
  hop.weight = config.weight;
  if (config.interface.empty()) {
    hop.interface = routing_.interfaces().covering(config.gateway, table);
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
  route.table = config.table;
  route.metric = config.metric;
  for (const config::NextHopConfig& via : config.via) {
    auto hop = next_hop(via, config.table);
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

Result<void> RouteControl::remove(const IpPrefix& prefix, uint32_t metric, RouteOrigin origin,
                                  uint32_t table) {
  Route route;
  route.prefix = prefix;
  route.origin = origin;
  route.table = table;
  route.metric = metric;
  return routing_.remove(route);
}

void RouteControl::write_to_linux() const {
  write(running_.config.routes, false);
}

void RouteControl::remove_from_linux(const std::vector<config::RouteConfig>& routes) const {
  write(routes, true);
}

std::vector<Route> RouteControl::routes_of(const std::vector<config::RouteConfig>& configs) const {
  std::vector<Route> routes;
  for (const config::RouteConfig& config : configs)
    if (auto route = route_of(config, RouteOrigin::kFile))  // else said when it was added
      routes.push_back(std::move(*route));
  return routes;
}

void RouteControl::write(const std::vector<config::RouteConfig>& routes, bool remove) const {
  if (linux_ == nullptr) return;
  for (const std::string& refusal : linux_->write_routes(routes_of(routes), remove))
    spdlog::debug(refusal);
}

Result<size_t> RouteControl::sweep_linux() const {
  auto removed = linux_->sweep_routes(routes_of(running_.config.routes));
  write_to_linux();  // what a removed one stood in the way of
  return removed;
}

Result<LoadId> RouteControl::begin(const std::string& path, ReadRouteFile& file) {
  for (std::vector<NextHop>& next_hops : file.routes->next_hop_sets) {
    for (NextHop& hop : next_hops) {
      if (hop.interface == kNoInterface) continue;
      const std::string& name = file.interfaces[hop.interface];
      const Interface* interface = interfaces_.find(name);
      if (interface == nullptr)
        return fail(fmt::format("{}: there is no interface {}", path, name), ENODEV);
      hop.interface = interface->id;
    }
  }
  LoadOptions options;
  options.origin = RouteOrigin::kFile;
  auto id = routing_.begin_load(file.checked, options);
  if (!id) return fail(fmt::format("{}: {}", path, id.error().message));
  file_loads_[path] = *id;
  return id;
}

Result<void> RouteControl::load_file(const std::string& path, ReadRouteFile& file) {
  auto id = begin(path, file);
  if (!id) return tl::unexpected(id.error());
  file_loaded(path, routing_.end_load(*id));
  return {};
}

void RouteControl::file_loaded(const std::string& path, const LoadCounts& counts) {
  if (counts.refused > 0)
    notes_.add(
        fmt::format("{}: {} routes did not fit: {}", path, counts.refused, counts.first_error));
  spdlog::info("routes: {} of {}", counts.added + counts.replaced + counts.unchanged, path);
}

Result<void> RouteControl::begin_file(const std::string& path, ReadRouteFile& file) {
  auto id = begin(path, file);
  if (!id) return tl::unexpected(id.error());
  jobs_.push_back({[this, id = *id] { return routing_.continue_load(id, kLoadStep) > 0; },
                   [this, id = *id, path](Result<void> done) {
                     if (done)
                       file_loaded(path, routing_.end_load(id));
                     else
                       notes_.add(fmt::format("{}: {}", path, done.error().message));
                   },
                   *id});
  return {};
}

void RouteControl::unload_file(const std::string& path) {
  auto load = file_loads_.extract(path);
  if (load.empty()) return;
  jobs_.remove_if([&](const Job& job) { return job.load == load.mapped(); });
  auto sweep = std::make_shared<Sweep>(routing_.sweep_load(load.mapped()));
  unloads_.push_back({[sweep] { return sweep->step(kSweepStep); },
                      [this, path](Result<void> done) {
                        if (!done) notes_.add(fmt::format("{}: {}", path, done.error().message));
                      }});
}

void RouteControl::load(CheckedTable table, const LoadOptions& options,
                        std::function<void(Result<LoadCounts>)> done) {
  auto id = routing_.begin_load(std::move(table), options);
  if (!id) {
    done(tl::unexpected(id.error()));
    return;
  }
  jobs_.push_back({[this, id = *id] { return routing_.continue_load(id, kLoadStep) > 0; },
                   [this, id = *id, done = std::move(done)](Result<void> loaded) {
                     if (!loaded) return done(tl::unexpected(loaded.error()));
                     const LoadCounts counts = routing_.end_load(id);
                     routing_.commit();
                     if (counts.refused > 0) return refuse(id, counts, done);
                     done(counts);
                   },
                   *id});
}

// A table of which a part does not fit goes again, whole; but where it took the place of routes, as
// those would be missing then.
void RouteControl::refuse(LoadId id, const LoadCounts& counts,
                          const std::function<void(Result<LoadCounts>)>& done) {
  const size_t in = counts.added + counts.replaced + counts.unchanged;
  const std::string line = fmt::format("{} of {} routes did not fit: {}", counts.refused,
                                       in + counts.refused, counts.first_error);
  if (counts.added < in) {
    notes_.add("load-routes: " + line + "; the others are in, and none was removed");
    return done(fail(line + "; the others are in, and none was removed", ENOSPC));
  }
  auto sweep = std::make_shared<Sweep>(routing_.sweep_load(id));
  jobs_.push_front({[sweep] { return sweep->step(kSweepStep); },
                    [line, done](const Result<void>& swept) {
                      done(fail(swept ? line + "; nothing was changed" : swept.error().message,
                                swept ? ENOSPC : swept.error().error_number));
                    }});
}

void RouteControl::remove_all(RouteOrigin origin, std::function<void(Result<size_t>)> done) {
  auto sweep = std::make_shared<Sweep>(routing_.sweep_origin(origin));
  jobs_.push_back({[sweep] { return sweep->step(kSweepStep); },
                   [sweep, done = std::move(done)](const Result<void>& swept) {
                     done(swept.map([&] { return sweep->erased(); }));
                   }});
}

void RouteControl::remove_listed(std::shared_ptr<const RouteTable> table, RouteOrigin origin,
                                 std::function<void(Result<size_t>)> done) {
  struct Progress {
    size_t at = 0, removed = 0;
  };
  auto progress = std::make_shared<Progress>();
  jobs_.push_back({[this, table = std::move(table), origin, progress] {
                     progress->removed +=
                         routing_.remove_listed(*table, origin, 0, progress->at, kLoadStep);
                     progress->at += kLoadStep;
                     return progress->at < table->entries.size();
                   },
                   [progress, done = std::move(done)](const Result<void>& removed) {
                     done(removed.map([&] { return progress->removed; }));
                   }});
}

void RouteControl::when_done(std::function<void(Result<void>)> done) {
  unloads_.push_back({[] { return false; }, std::move(done)});
}

void RouteControl::continue_loads() {
  const auto end = now_() + kShare;
  while (routing_.continue_sweep(kSweepStep) && now_() < end) {
  }
  while (!jobs_.empty() || !unloads_.empty()) {
    step(jobs_.empty() ? unloads_ : jobs_);
    if (now_() >= end) return;
  }
}

void RouteControl::step(std::list<Job>& jobs) {
  Result<void> result;
  try {
    if (jobs.front().step()) return;
  } catch (const std::exception& problem) {
    result = fail(fmt::format("internal error: {}; a part of the routes is done", problem.what()),
                  ENOTRECOVERABLE);
    spdlog::error("routes: {}", result.error().message);
  }
  const Job job = std::move(jobs.front());
  jobs.pop_front();
  routing_.commit();
  job.done(std::move(result));
}

}  // namespace hecto::router
