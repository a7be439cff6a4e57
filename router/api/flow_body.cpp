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

}  // namespace hecto::router
