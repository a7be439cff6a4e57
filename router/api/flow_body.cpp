#include "router/api/flow_body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "router/api/request.hpp"

namespace hecto::router {
namespace {

using config::FlowConfig;
using config::FlowParsed;
using config::FlowReader;
using nlohmann::json;
using Part = FlowReader::Part;

tl::unexpected<std::string> wrong_flow(std::string line) {
  return tl::unexpected<std::string>(std::move(line));
}

std::string dumped_flow(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

FlowParsed<void> put_value(FlowReader& reader, const std::string& key, const json& value) {
  if (!FlowReader::takes_value(key)) {
    if (value != true)
      return wrong_flow(fmt::format("{}: {} is not true; leave it out", key, dumped_flow(value)));
    return reader.put(key, {});
  }
  if (value.is_string()) return reader.put(key, value.get<std::string>());
  if (value.is_number_unsigned()) return reader.put(key, std::to_string(value.get<uint64_t>()));
  return wrong_flow(
      fmt::format("{}: {} is neither text nor a whole number", key, dumped_flow(value)));
}

FlowParsed<void> put_part(FlowReader& reader, const json& values, const std::string& name,
                          Part part) {
  if (!values.is_object())
    return wrong_flow(fmt::format("{}: {} is no object; use some of {}", name, dumped_flow(values),
                                  FlowReader::known(part)));
  for (const auto& [key, value] : values.items()) {
    if (!FlowReader::knows(key, part))
      return wrong_flow(
          fmt::format("{}.{} is not known here; use {}", name, key, FlowReader::known(part)));
    if (auto done = put_value(reader, key, value); !done)
      return wrong_flow(name + "." + done.error());
  }
  return {};
}

FlowParsed<FlowConfig> parse_one(const json& body, bool needs_action) {
  if (body.is_string()) return config::parse_flow(body.get<std::string>(), needs_action);
  if (!body.is_object())
    return wrong_flow(
        fmt::format("{} is no entry; use {{\"match\": ..., \"priority\": ..., \"actions\": ...}}, "
                    "or its words as a text",
                    dumped_flow(body)));
  FlowReader reader;
  for (const auto& [key, value] : body.items()) {
    FlowParsed<void> done;
    if (key == "match")
      done = put_part(reader, value, key, Part::kMatch);
    else if (key == "actions")
      done = put_part(reader, value, key, Part::kAction);
    else if (FlowReader::knows(key, Part::kEntry))
      done = put_value(reader, key, value);
    else
      done = wrong_flow(fmt::format("\"{}\" is not known here; use match, {}, actions", key,
                                    FlowReader::known(Part::kEntry)));
    if (!done) return tl::unexpected(done.error());
  }
  return reader.finish(needs_action);
}

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

bool is_number(const std::string& key, const std::string& value) {
  if (key == "protocol" || value.empty()) return false;
  return std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

FlowParsed<std::vector<FlowConfig>> parse_flows(const json& body, bool needs_action) {
  std::vector<FlowConfig> flows;
  if (!body.is_array()) {
    auto one = parse_one(body, needs_action);
    if (!one) return tl::unexpected(one.error());
    flows.push_back(std::move(*one));
    return flows;
  }
  if (body.empty() || body.size() > kMostFlowsARequest)
    return wrong_flow(fmt::format("a list of {} entries; use 1 to {}, or /v1/flows/load",
                                  body.size(), kMostFlowsARequest));
  for (size_t i = 0; i < body.size(); ++i) {
    auto one = parse_one(body[i], needs_action);
    if (!one) return wrong_flow(fmt::format("[{}]: {}", i, one.error()));
    flows.push_back(std::move(*one));
  }
  return flows;
}

json to_json(const FlowConfig& flow) {
  json out = {{"match", json::object()},
              {"actions", json::object()},
              {"priority", flow.priority},
              {"idle_s", flow.idle_s},
              {"hard_s", flow.hard_s}};
  for (const config::FlowWord& word : words_of(flow)) {
    if (word.part == Part::kEntry) continue;
    json& into = out[word.part == Part::kMatch ? "match" : "actions"];
    if (!FlowReader::takes_value(word.key))
      into[word.key] = true;
    else if (word.key != "interface" && word.key != "output" && is_number(word.key, word.value))
      into[word.key] = std::stoull(word.value);
    else
      into[word.key] = word.value;
  }
  return out;
}

std::optional<ApiResult> answer_flows(ApiBackend& backend, const HttpRequest& request) {
  if (request.path == "/v1/flows/load") {
    if (request.method != "POST") throw no_such(request, "POST");
    return load_flows(backend, request);
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
