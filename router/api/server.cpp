#include "router/api/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "router/api/audit.hpp"
#include "router/api/http/listener.hpp"
#include "router/api/loopback_access.hpp"
#include "router/api/request.hpp"
#include "router/api/route_body.hpp"
#include "router/api/web/web_files.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

std::optional<lookup::IpAddress> address_of(const Parameters& parameters, const char* key) {
  const auto text = parameters.text(key);
  if (!text) return std::nullopt;
  const auto address = lookup::IpAddress::parse(*text);
  if (!address)
    throw Wrong{400,
                fmt::format("{}: {} is no address; use one like 203.0.113.9", key, quoted(*text))};
  return address;
}

uint32_t least_length(lookup::Family family) {
  return kLengthLimits.low + (family == lookup::Family::kIpv6 ? 20 : 0);
}

ApiResult get_routes(ApiBackend& backend, const HttpRequest& request) {
  const Parameters parameters(request, {"address", "from", "interface", "length", "ttl", "table",
                                        "prefix", "origin", "protocol", "after", "limit"});
  RoutesQuery query;
  query.address = address_of(parameters, "address");
  query.from = address_of(parameters, "from");
  query.interface = parameters.text("interface").value_or("");
  query.table = parameters.text("table").value_or("");
  query.length = parameters.number("length", kLengthLimits.low, kLengthLimits.high);
  query.ttl = parameters.number("ttl", kTtlLimits.low, kTtlLimits.high);
  const size_t of_address = query.from.has_value() + !query.interface.empty() +
                            !query.table.empty() + query.length.has_value() + query.ttl.has_value();
  if (query.address && request.query.size() > 1 + of_address)
    throw Wrong{
        400, "address: goes with from, interface, table, length and ttl, and no other parameter"};
  if (query.from && !query.address) throw Wrong{400, "from: goes with address"};
  if (query.length && !query.address) throw Wrong{400, "length: goes with address"};
  if (query.ttl && !query.address) throw Wrong{400, "ttl: goes with address"};
  if (query.length && *query.length < least_length(query.address->family))
    throw Wrong{
        400, fmt::format("length: {} is less than the headers of IPv6 and UDP; use {} to {}",
                         *query.length, least_length(query.address->family), kLengthLimits.high)};
  if (query.from && query.from->family != query.address->family)
    throw Wrong{400, "from: is not of the address's family"};
  query.origin = parameters.text("origin").value_or("");
  query.protocol = parameters.text("protocol").value_or("");
  query.prefix = parameters.prefix("prefix");
  query.after = parameters.prefix("after");
  query.limit = parameters.number("limit", kWalkLimits.low, kWalkLimits.high).value_or(query.limit);
  return backend.routes(query);
}

ApiResult get_mtu(ApiBackend& backend, const HttpRequest& request) {
  const Parameters parameters(request, {"address", "from"});
  const auto to = address_of(parameters, "address");
  const auto from = address_of(parameters, "from");
  if (from && !to) throw Wrong{400, "from: goes with address"};
  if (from && from->family != to->family) throw Wrong{400, "from: is not of the address's family"};
  return backend.mtu(to, from);
}

ApiResult post_route(ApiBackend& backend, const HttpRequest& request) {
  const Parameters none(request, {});
  bool persist = false;
  const auto route = parse_route(body_json(request), &persist);
  if (!route) throw Wrong{400, "routes: " + route.error()};
  return backend.add_route(*route, persist);
}

ApiResult delete_routes(ApiBackend& backend, HttpRequest& request) {
  const Parameters parameters(request, {"to", "metric", "all", "name"});
  const auto to = parameters.prefix("to");
  const bool all = parameters.flag("all");
  if (int{to.has_value()} + int{all} + int{!request.body.empty()} != 1) {
    throw Wrong{400, "say which routes: to=PREFIX, all=1, or a body that lists them"};
  }
  const auto metric = parameters.number("metric", 0, UINT32_MAX);
  if (metric && !to) throw Wrong{400, "metric: goes with to=PREFIX only"};
  if (to) return backend.delete_route(*to, metric);
  if (all) return backend.delete_all_routes();
  return backend.delete_routes(std::move(request.body),
                               parameters.text("name").value_or(ApiLoadOptions().name),
                               request.memory);
}

ApiResult load_routes(ApiBackend& backend, HttpRequest& request) {
  const Parameters parameters(request, {"via", "metric", "replace", "skip_bad", "name"});
  ApiLoadOptions options;
  if (const auto via = parameters.text("via")) {
    auto hops = parse_via(*via);
    if (!hops) throw Wrong{400, hops.error()};
    options.via = std::move(*hops);
  }
  options.metric = parameters.number("metric", 0, UINT32_MAX).value_or(0);
  options.name = parameters.text("name").value_or(options.name);
  options.memory = request.memory;
  options.replace = parameters.flag("replace");
  options.skip_bad = parameters.flag("skip_bad");
  if (request.body.empty()) throw Wrong{400, "the body is empty; send a route file"};
  return backend.load_routes(std::move(request.body), options);
}

// reload and diff: {"file": "/absolute/path"}; reload also {"confirm_s": 300}.
ApiResult post_configuration(ApiBackend& backend, const HttpRequest& request) {
  const Parameters none(request, {});
  const bool reload = request.path == "/v1/reload";
  std::optional<std::string> file;
  std::optional<uint32_t> confirm_s;
  const json body = body_json(request);
  for (const auto& [key, value] : body.items()) {
    if (key == "file" && value.is_string() && value.get<std::string>().starts_with('/'))
      file = value.get<std::string>();
    else if (reload && key == "confirm_s" && within(value, kConfirmLimits))
      confirm_s = value.get<uint32_t>();
    else if (reload)
      throw Wrong{400,
                  fmt::format("reload: use {{\"file\": \"/absolute/path\", \"confirm_s\": {} to "
                              "{}}}, either of them, or no body",
                              kConfirmLimits.low, kConfirmLimits.high)};
    else
      throw Wrong{400, "diff: use {\"file\": \"/absolute/path\"}, or no body"};
  }
  return reload ? backend.reload(file, confirm_s) : backend.diff(file);
}

ApiResult post_confirm_or_rollback(ApiBackend& backend, const HttpRequest& request) {
  const Parameters none(request, {});
  if (!request.body.empty()) throw Wrong{400, request.path + " takes no body"};
  return request.path == "/v1/confirm" ? backend.confirm() : backend.rollback();
}

ApiResult post_trace(ApiBackend& backend, const HttpRequest& request) {
  const Parameters none(request, {});
  TraceFilter filter;
  const json body = body_json(request);
  for (const auto& [key, value] : body.items()) {
    if (read_filter(key, value, filter)) continue;
    if (key == "count" && within(value, kTraceLimits)) {
      filter.count = value.get<uint32_t>();
    } else {
      throw Wrong{400, fmt::format("trace: {} is not known or out of range; use from, to, port, "
                                   "interface, protocol, transport_port, count ({} to {})",
                                   quoted(key), kTraceLimits.low, kTraceLimits.high)};
    }
  }
  return backend.start_trace(filter);
}

ApiResult get_or_end_trace(ApiBackend& backend, const HttpRequest& request) {
  const Parameters parameters(request, {"id", "after"});
  const auto id = parameters.number("id", 0, UINT32_MAX);
  if (!id) throw Wrong{400, "id: is missing; POST /v1/trace gives one"};
  if (request.method == "DELETE") return backend.stop_trace(*id);
  return backend.read_trace(*id, parameters.number("after", 0, UINT32_MAX).value_or(0));
}

struct NounPath {
  const char* path;
  Noun noun;
};
constexpr NounPath kNouns[] = {
    {"/v1/summary", Noun::kSummary},
    {"/v1/ports", Noun::kPorts},
    {"/v1/bonds", Noun::kBonds},
    {"/v1/bridges", Noun::kBridges},
    {"/v1/nat", Noun::kNat},
    {"/v1/flows", Noun::kFlows},
    {"/v1/interfaces", Noun::kInterfaces},
    {"/v1/neighbors", Noun::kNeighbors},
    {"/v1/rules", Noun::kRules},
    {"/v1/tables", Noun::kTables},
    {"/v1/labels", Noun::kLabels},
    {"/v1/nexthops", Noun::kNextHops},
    {"/v1/workers", Noun::kWorkers},
    {"/v1/offload", Noun::kOffload},
    {"/v1/ipsec", Noun::kIpsec},
    {"/v1/drops", Noun::kDrops},
    {"/v1/pools", Noun::kPools},
    {"/v1/config", Noun::kConfig},
    {"/v1/plan", Noun::kPlan},
    {"/v1/punt", Noun::kPunt},
    {"/v1/filters", Noun::kFilters},
    {"/v1/sflow", Noun::kSflow},
    {"/v1/ipfix", Noun::kIpfix},
};

ApiResult dispatch(ApiBackend& backend, HttpRequest& request) {
  const std::string& path = request.path;
  const std::string& method = request.method;
  for (const auto answer : {answer_flows, answer_sets, answer_ipsec})
    if (auto given = answer(backend, request)) return std::move(*given);
  for (const NounPath& entry : kNouns) {
    if (path != entry.path) continue;
    if (method != "GET") throw no_such(request, "GET");
    const Parameters none(request, {});
    return backend.show(entry.noun);
  }
  if (path == "/v1/version" || path == "/v1/health") {
    if (method != "GET") throw no_such(request, "GET");
    const Parameters none(request, {});
    return path == "/v1/version" ? backend.version() : json{{"ok", true}};
  }
  if (path == "/v1/mtu") {
    if (method != "GET") throw no_such(request, "GET");
    return get_mtu(backend, request);
  }
  if (path == "/v1/routes") {
    if (method == "GET") return get_routes(backend, request);
    return method == "POST" ? post_route(backend, request) : delete_routes(backend, request);
  }
  if (path == "/v1/routes/load") {
    if (method != "POST") throw no_such(request, "POST");
    return load_routes(backend, request);
  }
  if (path == "/v1/reload" || path == "/v1/diff") {
    if (method != "POST") throw no_such(request, "POST");
    return post_configuration(backend, request);
  }
  if (path == "/v1/confirm" || path == "/v1/rollback") {
    if (method != "POST") throw no_such(request, "POST");
    return post_confirm_or_rollback(backend, request);
  }
  if (path == "/v1/trace") {
    return method == "POST" ? post_trace(backend, request) : get_or_end_trace(backend, request);
  }
  throw Wrong{404, quoted(path) + " is no path of the API; see docs/api.md"};
}

// The page, its parts, and how old a browser's copy is: by what is in it, not by time.
HttpAnswer answer_page(const WebFile& file, const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") throw no_such(request, "GET");
  const std::string etag = fmt::format("\"{}\"", file.digest);
  HttpAnswer answer;
  answer.type = file.type;
  answer.headers = fmt::format("ETag: {}\r\nCache-Control: no-cache\r\n", etag);
  if (request.fields.if_none_match && request.fields.if_none_match->find(etag) != std::string::npos)
    answer.status = 304;
  else
    answer.body = file.body;
  return answer;
}

HttpAnswer get_metrics(ApiBackend& backend, const HttpRequest& request) {
  if (request.method != "GET") throw no_such(request, "GET");
  const Parameters none(request, {});
  const MetricsFormat format = metrics_format(request.fields.accept);
  auto text = backend.metrics(format);
  if (!text) return to_answer(tl::unexpected(text.error()));
  return {200, std::move(*text), content_type(format)};
}

HttpAnswer answered(ApiBackend& backend, HttpRequest& request, Role role) {
  if (const Role least = needed(request); role < least)
    return {403, error_body(fmt::format("{} {} needs the role {}; yours is {}", request.method,
                                        request.path, to_string(least), to_string(role)))};
  try {
    if (const WebFile* file = web_file(request.path)) return answer_page(*file, request);
    if (request.path == "/metrics") return get_metrics(backend, request);
    if (auto capture = answer_capture(backend, request)) return std::move(*capture);
    return to_answer(dispatch(backend, request));
  } catch (const Wrong& wrong) {
    return {wrong.status, error_body(wrong.line)};
  }
}

}  // namespace

HttpAnswer answer(ApiBackend& backend, HttpRequest& request, Role role) {
  const auto change = change_in(request);  // before its body is taken
  if (!change) return answered(backend, request, role);
  const auto audit = [&](const HttpAnswer& given) {
    backend.audit(audit_line(*change, request.peer, given), given.status == 200);
  };
  try {
    HttpAnswer given = answered(backend, request, role);
    audit(given);
    return given;
  } catch (const std::exception& thrown) {
    audit({500, error_body(thrown.what())});
    throw;
  }
}

Result<std::unique_ptr<ApiServer>> ApiServer::start(ApiBackend& backend, const std::string& socket,
                                                    const AccessRules& rules,
                                                    const HttpLimits& limits,
                                                    std::function<void()> thread_begins) {
  HttpDoor door;
  door.thread_begins = std::move(thread_begins);
  if (rules.by_groups()) {
    door.mode = 0666;
    door.admits = [rules](const HttpPeer& peer) { return rules.of(peer) != Role::kNone; };
  }
  auto server = HttpServer::start(
      socket, limits,
      [&backend, rules](HttpRequest& request) {
        return answer(backend, request, rules.of(request.peer));
      },
      std::move(door));
  if (!server) return tl::unexpected<Error>(server.error());
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(*server)));
}

HttpLimits ApiServer::loopback_limits() {
  HttpLimits limits;
  limits.connections = 32;
  limits.head_bytes = 16 << 10;
  limits.body_bytes = kLargestJson;
  limits.upload_bytes = 64 << 20;
  return limits;
}

Result<std::unique_ptr<ApiServer>> ApiServer::start_on_loopback(ApiBackend& backend,
                                                                Listener listener,
                                                                std::function<void()> thread_begins,
                                                                const HttpLimits& limits) {
  const LoopbackAccess access(
      listener.port(), [&backend](std::string_view text) { return backend.is_http_token(text); });
  HttpDoor door;
  door.thread_begins = std::move(thread_begins);
  door.headers = LoopbackAccess::kHeaders;
  auto server = HttpServer::start(
      std::move(listener), limits,
      [&backend, access, looking = std::make_shared<std::mutex>()](HttpRequest& request) {
        if (auto refused = access.refuse(request)) return std::move(*refused);
        const Role role = access.role(request);
        // Every user of the machine may ask: what is refused to them fills no log, and of those who
        // only look control has one question at a time.
        if (role < needed(request)) return answered(backend, request, role);
        if (role > Role::kRead) return answer(backend, request, role);
        const std::lock_guard one(*looking);
        return answer(backend, request, role);
      },
      std::move(door));
  if (!server) return tl::unexpected<Error>(server.error());
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(*server)));
}

}  // namespace hecto::router
