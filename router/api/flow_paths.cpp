// /v1/flows and what is below.
#include <fmt/format.h>

#include <algorithm>

#include "router/api/flow_body.hpp"
#include "router/api/request.hpp"

namespace hecto::router {
namespace {

using config::FlowConfig;
using nlohmann::json;

// Any JSON: an entry may be a text, and many are a list.
json flow_json_in(const HttpRequest& request) {
  constexpr int kDeepest = 16;  // bounds the parser's recursion; what strings hold counts, too
  if (request.body.empty()) throw Wrong{400, "the body is empty; send an entry, or a list of them"};
  if (request.body.size() > kLargestJson)
    throw Wrong{413, "the body is too large for this path; use /v1/flows/load"};
  int depth = 0;
  for (const char c : request.body) {
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > kDeepest) throw Wrong{400, "the body nests too deep"};
  }
  reserve_for_parser(request, kJsonBytesPerByte);
  json body = json::parse(request.body, nullptr, false);
  if (body.is_discarded()) throw Wrong{400, "the body is no JSON"};
  return body;
}

std::vector<FlowConfig> flows_in(const HttpRequest& request, bool needs_action) {
  auto flows = parse_flows(flow_json_in(request), needs_action);
  if (!flows) throw Wrong{400, flows.error()};
  return std::move(*flows);
}

// Of a list the place, as "[3]"; of one entry nothing.
FlowNamer name_in(const std::vector<FlowConfig>& flows) {
  return [many = flows.size() > 1](size_t i) {
    return many ? fmt::format("[{}]: ", i) : std::string();
  };
}

// Slice by slice; each is added all or not at all.
ApiResult load_flows(ApiBackend& backend, const HttpRequest& request) {
  const Parameters parameters(request, {"name"});
  const std::string name = parameters.text("name").value_or("body");
  if (request.body.empty()) throw Wrong{400, "the body is empty; send lines of entries"};
  std::string_view rest = request.body;
  std::vector<FlowConfig> flows;
  std::vector<uint32_t> lines;
  uint64_t added = 0;
  uint32_t number = 0;
  json last;
  const auto so_far = [&] {
    return added == 0 ? std::string()
                      : fmt::format("; {} entries before it are in the table", added);
  };
  const auto flush = [&]() -> ApiResult {
    auto done =
        backend.add_flows(flows, [&](size_t i) { return fmt::format("{}:{}: ", name, lines[i]); });
    if (!done) return api_fail(done.error().status, done.error().message + so_far());
    added += flows.size();
    flows.clear();
    lines.clear();
    return done;
  };
  while (!rest.empty()) {
    ++number;
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') continue;
    auto flow = config::parse_flow(line);
    if (!flow) {
      if (!flows.empty())
        if (auto done = flush(); !done) return done;
      return api_fail(400, fmt::format("{}:{}: {}{}", name, number, flow.error(), so_far()));
    }
    flows.push_back(std::move(*flow));
    lines.push_back(number);
    if (flows.size() < kFlowsATurn) continue;
    auto done = flush();
    if (!done) return done;
    last = std::move(*done);
  }
  if (!flows.empty()) {
    auto done = flush();
    if (!done) return done;
    last = std::move(*done);
  }
  if (added == 0) throw Wrong{400, "the body has no entry; send lines like: from 10.0.0.1 drop"};
  last["changed"] = added;
  return last;
}

ApiResult walk_flows(ApiBackend& backend, const HttpRequest& request) {
  const Parameters parameters(request, {"limit", "after"});
  const uint32_t limit =
      parameters.number("limit", kWalkLimits.low, kWalkLimits.high).value_or(100);
  return backend.flows(parameters.text("after").value_or(""), limit);
}

ApiResult delete_flows(ApiBackend& backend, const HttpRequest& request) {
  const Parameters parameters(request, {"all"});
  const bool all = parameters.flag("all");
  if (all == !request.body.empty())
    throw Wrong{400, "say which entries: a body with their matches, or all=1"};
  if (all) return backend.delete_all_flows();
  const auto flows = flows_in(request, false);
  return backend.delete_flows(flows, name_in(flows));
}

ApiResult get_top_flows(ApiBackend& backend, const HttpRequest& request) {
  const Parameters parameters(request, {"seconds", "by", "limit"});
  FlowsQuery query;
  query.seconds = parameters.number("seconds", kFlowSecondsLimits.low, kFlowSecondsLimits.high)
                      .value_or(query.seconds);
  query.limit = parameters.number("limit", kFlowLimits.low, kFlowLimits.high).value_or(query.limit);
  const std::string by = parameters.text("by").value_or("bytes");
  if (by != "bytes" && by != "packets")
    throw Wrong{400, "by: " + quoted(by) + " is not known; use bytes or packets"};
  query.by_packets = by == "packets";
  return backend.top_flows(query);
}

}  // namespace

std::optional<ApiResult> answer_flows(ApiBackend& backend, const HttpRequest& request) {
  if (request.path == "/v1/flows/load") {
    if (request.method != "POST") throw no_such(request, "POST");
    return load_flows(backend, request);
  }
  if (request.path == "/v1/flows/top") {
    if (request.method != "GET") throw no_such(request, "GET");
    return get_top_flows(backend, request);
  }
  if (request.path != "/v1/flows") return std::nullopt;
  if (request.method == "GET") {
    if (request.query.empty()) return std::nullopt;  // what is to be shown
    return walk_flows(backend, request);
  }
  if (request.method == "DELETE") return delete_flows(backend, request);
  if (request.method != "POST") throw no_such(request, "GET, POST or DELETE");
  const Parameters none(request, {});
  const auto flows = flows_in(request, true);
  return backend.add_flows(flows, name_in(flows));
}

}  // namespace hecto::router
