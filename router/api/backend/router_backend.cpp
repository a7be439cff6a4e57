#include "router/api/backend/router_backend.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "router/api/metrics/metrics.hpp"
#include "router/api/show/names.hpp"
#include "router/api/show/show.hpp"
#include "router/control/dpdk_forwarding_plane.hpp"
#include "router/control/filter_control.hpp"
#include "router/control/filter_leads.hpp"
#include "router/control/gate.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/ipsec_control.hpp"
#include "router/control/linux_namespace.hpp"
#include "router/control/persist_control.hpp"
#include "router/control/reload_control.hpp"
#include "router/control/route_control.hpp"
#include "router/control/router.hpp"
#include "router/control/running.hpp"
#include "router/control/sample_control.hpp"
#include "router/dataplane/balance.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/dataplane.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "router/ipsec/ipsec_config.hpp"
#include "router/rib/route_file.hpp"
#include "router/rib/rule_text.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

constexpr size_t kMaxRouteFileBytes = size_t{512} << 20;  // unpacked

// Of what control could not do; RouteControl says of its own faults that they are none of the
// client's.
int status_of(const Error& error) {
  return error.error_number == ENOTRECOVERABLE ? 500 : 409;
}

// Of what is to be deleted, or cannot be added.
int missing_or_refused(const Error& error) {
  return error.error_number == ENOENT ? 404 : 409;
}

tl::unexpected<ApiError> body_refused(const Error& error) {
  const int status = error.error_number == EFBIG ? 413 : error.error_number == ENOBUFS ? 503 : 400;
  return api_fail(status, error.message);
}

json changed(size_t count, Router& router) {
  return {{"changed", count},
          {"routes", router.routing().counts().by_origin[static_cast<size_t>(RouteOrigin::kApi)]}};
}

TableUse table_use(const Tables& tables) {
  return {tables.fib4().statistics(), tables.fib6().statistics(), tables.next_hops().groups_used(),
          tables.max_groups()};
}

}  // namespace

RouterBackend::RouterBackend(Router& router, std::optional<std::string> log_level)
    : router_(router),
      log_level_(std::move(log_level)),
      started_with_(router.config().file),
      limits_(router.config()) {}

ApiResult RouterBackend::stopping() {
  return api_fail(503, "the router is stopping; try again");
}

ApiResult RouterBackend::on_control(std::function<ApiResult()> work) {
  auto answer = router_.commands().call<ApiResult>(std::move(work));
  return answer ? std::move(*answer) : stopping();
}

json RouterBackend::version() {
  return {{"name", "hectod"},
          {"version", HECTO_VERSION},
          {"commit", commit()},
          {"dpdk_version", Eal::version()},
          {"api", 1}};
}

ApiResult RouterBackend::show(Noun noun) {
  if (noun == Noun::kSummary) return summary();
  return on_control([this, noun]() -> ApiResult { return answer(noun); });
}

json RouterBackend::answer(Noun noun) {
  Router& r = router_;
  const InterfaceTable& interfaces = r.interfaces().table();
  switch (noun) {
    case Noun::kSummary:
      return show_summary({r.running(), r.plane(), r.sampler(), table_use(r.tables()),
                           r.linux_side(), r.uptime(), r.warnings()});
    case Noun::kPorts:
      return show_ports(r.plane(), r.sampler(), interfaces, r.offload_watch(),
                        r.interfaces().lost_ports());
    case Noun::kBonds:
      return show_bonds(r.plane(), r.reorder_watch());
    case Noun::kNat:
      return show_nat(r.plane(), r.config().nat, r.nat(), interfaces);
    case Noun::kBridges:
      return show_bridges(r.bridges());
    case Noun::kFlows:
      return show_flows(r.flows());
    case Noun::kInterfaces:
      return show_interfaces(interfaces, r.routing(), r.plane(), r.sampler(), r.linux_side());
    case Noun::kNeighbors:
      return show_neighbors(r.routing());
    case Noun::kRules:
      return show_rules(r.routing(), r.filters().gives_marks());
    case Noun::kTables:
      return show_tables(r.routing());
    case Noun::kLabels:
      return show_labels(r.routing(), r.labels());
    case Noun::kNextHops:
      return show_next_hops(r.routing(), table_use(r.tables()), r.plane());
    case Noun::kWorkers:
      return show_workers(r.plane(), r.sampler(), rte_get_tsc_hz());
    case Noun::kOffload:
      return show_offload(r.offload_found(), r.offload(), r.dataplane());
    case Noun::kIpsec:
      return show_ipsec(r.ipsec(), r.ipsec_control().found(), r.ipsec_control().nic(), r.persist());
    case Noun::kDrops:
      return show_drops(r.plane(), interfaces, r.sampler(), read_balance(r.dataplane()));
    case Noun::kPunt:
      return show_punt(r.plane(), interfaces, r.sampler());
    case Noun::kSflow:
      return show_sflow(r.samples());
    case Noun::kIpfix:
      return show_ipfix(r.samples());
    case Noun::kPools:
      return show_pools(r.plane(), r.linux_side());
    case Noun::kConfig:
      return show_config(r.running(), r.plane());
    case Noun::kFilters:
      return show_filters(r.filters());
    case Noun::kPlan:
      break;
  }
  return show_plan(r.running());
}

tl::expected<std::string, ApiError> RouterBackend::metrics(MetricsFormat format) {
  auto text = router_.commands().call<std::string>([this, format] {
    Router& r = router_;
    const std::chrono::duration<double> uptime =
        std::chrono::steady_clock::now() - r.running().started;
    return metrics_text(
        {r.plane(), r.sampler(), r.interfaces().table(), r.interfaces().lost_ports(), r.routing(),
         table_use(r.tables()), r.placement().sockets.size(), r.linux_side(), r.ipsec(),
         &r.filters(), r.offload(), &r.dataplane(), r.times(), rte_get_tsc_hz(), uptime.count(),
         r.warnings().size(), r.gate().open(), r.reloads().unconfirmed(), &r.samples()},
        format);
  });
  if (!text) return tl::unexpected(stopping().error());
  return std::move(*text);
}

namespace {

// Of its number, local, main, default, or the name of a VRF of the file or one that some interface is
// in. None: it is none of these, or there is no such table.
std::optional<uint32_t> table_by_name(const Routing& routing, const config::Config& config,
                                      const std::string& name) {
  for (const TableView& table : routing.tables())
    if (name == std::to_string(table.linux_number) || name == table_text(table.linux_number))
      return table.linux_number;
  if (name == "local" || name == "default") return kTableMain;
  for (const auto& [id, state] : routing.interfaces().all())
    if (const Vrf vrf = routing.interfaces().vrf_of(state); vrf.table != 0 && vrf.name == name)
      return vrf.table;
  for (const config::VrfConfig& vrf : config.vrfs)
    if (vrf.name == name) return vrf.table;
  return std::nullopt;
}

// Where packets that come in by the interface are looked up first, as far as VRFs say.
uint32_t table_of(const Routing& routing, InterfaceId interface) {
  const InterfaceState* state = routing.interfaces().find(interface);
  const uint32_t table = state == nullptr ? 0 : routing.interfaces().vrf_of(*state).table;
  return table == 0 ? kTableMain : table;
}

}  // namespace

ApiResult RouterBackend::mtu(const std::optional<lookup::IpAddress>& to,
                             const std::optional<lookup::IpAddress>& from) {
  return on_control([this, to, from]() -> ApiResult {
    const MtuSources sources{router_.interfaces().table(), router_.routing(), router_.plane(),
                             router_.bridges()};
    if (!to) return show_mtu(sources, nullptr);
    const Explanation explanation = router_.routing().explain(*to);
    const PacketAnswer packet = router_.dataplane().explain({*to, from});
    const MtuPath path{explanation, packet};
    return show_mtu(sources, &path);
  });
}

ApiResult RouterBackend::top_flows(const FlowsQuery& query) {
  return on_control([this, query]() -> ApiResult {
    SampleControl& samples = router_.samples();
    samples.want_flows(SampleControl::Clock::now());
    return show_top_flows(samples, query, router_.plane(), router_.interfaces().table());
  });
}

ApiResult RouterBackend::routes(const RoutesQuery& query) {
  return on_control([this, query]() -> ApiResult {
    InterfaceId interface = kNoInterface;
    if (!query.interface.empty()) {
      const Interface* found = router_.interfaces().table().find(query.interface);
      if (found == nullptr)
        return api_fail(404, fmt::format("there is no interface {}", query.interface));
      interface = found->id;
    }
    Routing& routing = router_.routing();
    uint32_t table = query.address ? table_of(routing, interface) : kTableMain;
    if (!query.table.empty()) {
      const auto named = table_by_name(routing, router_.config(), query.table);
      if (!named)
        return api_fail(404,
                        fmt::format("there is no table {}; see hecto show tables", query.table));
      table = *named;
    }
    if (query.address) {
      PacketQuestion packet{*query.address, query.from, interface};
      packet.ttl = static_cast<uint8_t>(query.ttl.value_or(packet.ttl));
      packet.length = static_cast<uint16_t>(query.length.value_or(packet.length));
      const PacketAnswer answer = router_.dataplane().explain(packet);
      if (answer.led_table && query.table.empty())
        table = linux_number_of(routing, *answer.led_table).value_or(table);
      return show_explanation(router_.plane(), routing, routing.explain(*query.address, table),
                              answer, router_.persist());
    }
    RouteFilter filter;
    filter.table = table;
    filter.within = query.prefix;
    filter.interface = interface;
    if (!query.origin.empty()) {
      filter.origin = origin_by_name(query.origin);
      if (!filter.origin) return api_fail(400, "origin: use linux, file, api or neighbor");
    }
    if (!query.protocol.empty()) {
      filter.protocol = route_protocol_by_name(query.protocol);
      if (!filter.protocol)
        return api_fail(400, "protocol: use a word of iproute2, as bgp, or a number up to 255");
    }
    return show_page(routing, routing.routes(query.after, query.limit, filter), router_.persist());
  });
}

ApiResult RouterBackend::add_route(const config::RouteConfig& route, bool persist) {
  return on_control([&]() -> ApiResult {
    auto added = router_.persist().add_route(route, persist);
    if (!added) return api_fail(409, added.error().message);
    return changed(1, router_);
  });
}

ApiResult RouterBackend::delete_route(const lookup::IpPrefix& to, std::optional<uint32_t> metric) {
  return on_control([&]() -> ApiResult {
    auto removed = router_.persist().remove_route(to, metric.value_or(0));
    if (!removed) return api_fail(missing_or_refused(removed.error()), removed.error().message);
    return changed(1, router_);
  });
}

// Compiled on the caller's thread, with no reload beside it.
ApiResult RouterBackend::change_set(const SetChange& change) {
  const std::lock_guard one_at_a_time(reloading_);
  using Job = std::shared_ptr<FilterJob>;
  const auto job = router_.commands().call<Job>([&] {
    return router_.filters().change_job({change.set, change.add, change.remove});
  });
  if (!job) return stopping();
  (*job)->run();
  return on_control([&]() -> ApiResult {
    const auto size = router_.filters().take_change(*job);
    if (!size) return api_fail(missing_or_refused(size.error()), size.error().message);
    return json{{"set", change.set}, {"prefixes", *size}};
  });
}

namespace {

constexpr const char* kNoIpsec = "ipsec: nothing here can hold SAs and policies, as the log says";

ApiResult ipsec_changed(Ipsec& ipsec, const Result<void>& done) {
  if (!done) return api_fail(missing_or_refused(done.error()), done.error().message);
  ipsec.commit();
  const IpsecStatistics statistics = ipsec.statistics();
  return json{{"changed", 1}, {"sas", statistics.sas}, {"policies", statistics.policies}};
}

}  // namespace

ApiResult RouterBackend::add_ipsec_sa(const config::IpsecSaConfig& sa, bool persist) {
  return on_control([&]() -> ApiResult {
    if (!router_.plane().has_ipsec()) return api_fail(409, kNoIpsec);
    auto state = sa_state(sa, RouteOrigin::kApi);
    if (!state) return api_fail(400, state.error().message);
    auto added = router_.persist().add_sa(sa, std::move(*state), persist);
    return ipsec_changed(router_.ipsec(), added);
  });
}

ApiResult RouterBackend::delete_ipsec_sa(const lookup::IpAddress& destination, Spi spi) {
  return on_control([&]() -> ApiResult {
    return ipsec_changed(router_.ipsec(), router_.persist().remove_sa({destination, spi}));
  });
}

ApiResult RouterBackend::add_ipsec_policy(const config::IpsecPolicyConfig& policy, bool persist) {
  return on_control([&]() -> ApiResult {
    if (!router_.plane().has_ipsec()) return api_fail(409, kNoIpsec);
    return ipsec_changed(router_.ipsec(), router_.persist().add_policy(policy, persist));
  });
}

ApiResult RouterBackend::delete_ipsec_policy(const config::IpsecPolicyConfig& policy) {
  return on_control([&]() -> ApiResult {
    return ipsec_changed(router_.ipsec(), router_.persist().remove_policy(policy));
  });
}

// Over several turns of control.
ApiResult RouterBackend::removed(
    const std::function<void(std::function<void(Result<size_t>)>)>& begin) {
  auto answer = router_.commands().call_over_turns<ApiResult>(
      [this, begin](std::function<void(ApiResult)> keep) {
        begin([this, keep = std::move(keep)](Result<size_t> count) {
          router_.persist().find_routes();
          keep(count ? ApiResult(changed(*count, router_)) : api_fail(500, count.error().message));
        });
      });
  return answer ? std::move(*answer) : stopping();
}

ApiResult RouterBackend::delete_all_routes() {
  auto forgotten = on_control([this]() -> ApiResult {
    if (auto done = router_.persist().forget_routes(); !done)
      return api_fail(409, done.error().message);
    return json();
  });
  if (!forgotten) return forgotten;
  return removed([this](std::function<void(Result<size_t>)> done) {
    router_.routes().remove_all(RouteOrigin::kApi, std::move(done));
  });
}

ApiResult RouterBackend::delete_routes(std::string body, const std::string& name,
                                       ByteReservation* memory) {
  RouteFileOptions options;
  options.via = {NextHop{IpAddress::from(lookup::Ipv4Address{1})},
                 NextHop{IpAddress::from(lookup::Ipv6Address{})}};  // not looked at
  options.max_bytes = kMaxRouteFileBytes;
  options.memory = memory;
  auto file = parse_routes(body, options, name);
  if (!file) return body_refused(file.error());
  auto table = std::make_shared<const RouteTable>(std::move(file->table));
  return removed([this, table](std::function<void(Result<size_t>)> done) {
    router_.persist().forget_waiting(*table);
    router_.routes().remove_listed(table, RouteOrigin::kApi, std::move(done));
  });
}

// Parsed here; applied by control in steps between its other work.
ApiResult RouterBackend::load_routes(std::string body, const ApiLoadOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  RouteFileOptions parse;
  auto prepared = router_.commands().call<Result<void>>([&]() -> Result<void> {
    for (const config::NextHopConfig& via : options.via) {
      auto hop = router_.routes().next_hop(via);
      if (!hop) return tl::unexpected(hop.error());
      parse.via.push_back(*hop);
    }
    return {};
  });
  if (!prepared) return stopping();
  if (!*prepared) return api_fail(409, prepared->error().message);
  parse.ecmp = true;
  parse.skip_bad = options.skip_bad;
  parse.max_bytes = kMaxRouteFileBytes;
  parse.memory = options.memory;
  std::map<std::string, InterfaceId, std::less<>> names;
  router_.commands().call<bool>([&] {
    for (const auto& [id, interface] : router_.interfaces().table().all())
      names[interface.name] = id;
    return true;
  });
  parse.find_interface = [&](std::string_view name) {
    const auto found = names.find(name);
    return found == names.end() ? kNoInterface : found->second;
  };
  auto file = parse_routes(body, parse, options.name);
  if (!file) return body_refused(file.error());
  body = {};
  if (options.replace && file->table.entries.empty())
    return api_fail(400,
                    "no route of it can be used, and none would be left; nothing was changed "
                    "(hecto route delete --all deletes them)",
                    file->problems);

  LoadOptions load;
  load.metric = options.metric;
  load.replace = options.replace;
  const size_t routes = file->table.entries.size();
  auto table = check_table(std::make_shared<const RouteTable>(std::move(file->table)));
  if (!table) return api_fail(409, table.error().message);
  auto counts = router_.commands().call_over_turns<Result<LoadCounts>>(
      [this, &table, &load](std::function<void(Result<LoadCounts>)> keep) {
        router_.routes().load(*table, load, [this, keep = std::move(keep)](auto loaded) {
          router_.persist().find_routes();
          keep(std::move(loaded));
        });
      });
  if (!counts) return stopping();
  if (!*counts) return api_fail(status_of(counts->error()), counts->error().message);
  const LoadCounts& c = **counts;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return json{{"format", std::string(to_string(file->format))},
              {"routes", routes},
              {"added", c.added},
              {"replaced", c.replaced},
              {"removed", c.removed},
              {"skipped", file->skipped},
              {"bad", file->bad},
              {"problems", file->problems},
              {"duration_s", seconds.count()}};
}

}  // namespace hecto::router
