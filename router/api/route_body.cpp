#include "router/api/route_body.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "config/file/keys.hpp"

namespace hecto::router {
namespace {

using config::NextHopConfig;
using config::RouteConfig;
using nlohmann::json;

size_t most_next_hops() {
  return config::route_keys["via"].range.high;
}

tl::unexpected<std::string> wrong(std::string line) {
  return tl::unexpected<std::string>(std::move(line));
}

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

Parsed<NextHopConfig> parse_gateway(const std::string& text) {
  NextHopConfig hop;
  const size_t percent = text.find('%');
  const auto address = lookup::IpAddress::parse(text.substr(0, percent));
  if (!address) {
    return wrong(fmt::format("via: {} is no address; use one like 192.0.2.1 or fe80::1%lan0",
                             shown(json(text))));
  }
  hop.gateway = *address;
  if (percent != std::string::npos) {
    hop.interface = text.substr(percent + 1);
    if (hop.interface.empty()) return wrong("via: \"" + text + "\" names no interface behind %");
  }
  return hop;
}

Parsed<NextHopConfig> parse_hop(const json& value) {
  if (value.is_string()) return parse_gateway(value.get<std::string>());
  if (!value.is_object()) {
    return wrong("via: " + shown(value) + " is no next hop; use \"192.0.2.1\" or {\"gateway\": …}");
  }
  const config::Range& weights = config::next_hop_keys["weight"].range;
  NextHopConfig hop;
  bool has_gateway = false;
  for (const auto& [key, item] : value.items()) {
    if (key == "gateway" && item.is_string()) {
      auto parsed = parse_gateway(item.get<std::string>());
      if (!parsed) return parsed;
      hop.gateway = parsed->gateway;
      if (!parsed->interface.empty()) hop.interface = parsed->interface;
      has_gateway = true;
    } else if (key == "interface" && item.is_string()) {
      hop.interface = item.get<std::string>();
    } else if (key == "weight" && item.is_number_integer()) {
      const auto weight = item.get<int64_t>();
      if (weight < 1 || static_cast<uint64_t>(weight) > weights.high) {
        return wrong(fmt::format("via.weight: {} is out of range; use {}", shown(item),
                                 config::range_words(weights)));
      }
      hop.weight = static_cast<uint16_t>(weight);
    } else {
      return wrong(
          fmt::format("via.{}: {} is not known here; use gateway (an address), interface "
                      "(a name), weight ({})",
                      key, shown(item), config::range_words(weights)));
    }
  }
  if (!has_gateway) return wrong("via: a next hop has no gateway");
  return hop;
}

Parsed<std::vector<NextHopConfig>> parse_hops(const json& value) {
  std::vector<NextHopConfig> hops;
  const json list = value.is_array() ? value : json::array({value});
  if (list.size() > most_next_hops()) {
    return wrong(fmt::format("via: {} next hops; use at most {}", list.size(), most_next_hops()));
  }
  for (const json& item : list) {
    auto hop = parse_hop(item);
    if (!hop) return tl::unexpected<std::string>(hop.error());
    hops.push_back(std::move(*hop));
  }
  return hops;
}

Parsed<RouteType> parse_type(const json& value) {
  const std::string name = value.is_string() ? value.get<std::string>() : std::string();
  for (const RouteType type : config::LegalValues<RouteType>::kAll)
    if (name == to_string(type)) return type;
  return wrong("type: " + shown(value) + " is no type; use " +
               config::any_of_words(config::legal_words<RouteType>()));
}

Parsed<void> check(const RouteConfig& route, bool has_to) {
  if (!has_to) return wrong("to: is missing; use a prefix like 203.0.113.0/24");
  if (route.type != RouteType::kUnicast) {
    if (route.via.empty()) return {};
    return wrong("via: a route of this type has no next hop");
  }
  if (route.via.empty()) return wrong("via: is missing; use an address like 192.0.2.1");
  for (const NextHopConfig& hop : route.via) {
    if (route.to.address.family == lookup::Family::kIpv4 ||
        hop.gateway.family == lookup::Family::kIpv6) {
      continue;
    }
    return wrong("via: " + hop.gateway.to_string() + " is IPv4, but " + route.to.to_string() +
                 " is IPv6; use an IPv6 gateway");
  }
  return {};
}

}  // namespace

Parsed<std::vector<NextHopConfig>> parse_via(const std::string& text) {
  std::vector<NextHopConfig> hops;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    auto hop = parse_gateway(text.substr(at, comma - at));
    if (!hop) return tl::unexpected<std::string>(hop.error());
    hops.push_back(std::move(*hop));
    if (hops.size() > most_next_hops())
      return wrong(fmt::format("via: use at most {} next hops", most_next_hops()));
    at = comma + 1;
  }
  return hops;
}

Parsed<RouteConfig> parse_route(const json& body, bool* persist) {
  if (!body.is_object()) return wrong("the body is no JSON object; use {\"to\": …, \"via\": …}");
  RouteConfig route;
  bool has_to = false;
  for (const auto& [key, value] : body.items()) {
    if (key == "to") {
      const auto to = value.is_string() ? lookup::IpPrefix::parse(value.get<std::string>())
                                        : std::optional<lookup::IpPrefix>();
      if (!to) {
        return wrong("to: " + shown(value) +
                     " is no prefix, or has host bits; use one like 203.0.113.0/24");
      }
      route.to = *to;
      has_to = true;
    } else if (key == "via") {
      auto hops = parse_hops(value);
      if (!hops) return tl::unexpected<std::string>(hops.error());
      route.via = std::move(*hops);
    } else if (key == "type") {
      auto type = parse_type(value);
      if (!type) return tl::unexpected<std::string>(type.error());
      route.type = *type;
    } else if (key == "metric") {
      const config::Range& metrics = config::route_keys["metric"].range;
      if (!value.is_number_unsigned() || value.get<uint64_t>() > metrics.high) {
        return wrong("metric: " + shown(value) + " is no metric; use " +
                     config::range_words(metrics));
      }
      route.metric = value.get<uint32_t>();
    } else if (key == "persist") {
      if (!value.is_boolean())
        return wrong("persist: " + shown(value) + " is neither; use true or false");
      if (persist != nullptr) *persist = value.get<bool>();
    } else {
      return wrong("\"" + key + "\" is not known here; use to, via, type, metric, persist");
    }
  }
  if (auto checked = check(route, has_to); !checked) {
    return tl::unexpected<std::string>(checked.error());
  }
  return route;
}

}  // namespace hecto::router
