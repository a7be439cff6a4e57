#include "router/api/request.hpp"

#include <algorithm>
#include <charconv>

#include "config/file/ipsec.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

std::optional<lookup::IpPrefix> host_or_prefix(const std::string& key, const json& value) {
  if (value.is_null()) return std::nullopt;
  const auto prefix = value.is_string() ? lookup::IpPrefix::parse(value.get<std::string>())
                                        : std::optional<lookup::IpPrefix>();
  if (!prefix) {
    throw Wrong{400, key + ": " +
                         quoted(value.is_string() ? value.get<std::string>() : value.dump()) +
                         " is neither address nor prefix; use one like 203.0.113.9 or 10.0.0.0/8"};
  }
  return prefix;
}

}  // namespace

std::string quoted(const std::string& text) {
  return json(text.size() > 60 ? text.substr(0, 57) + "..." : text)
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Wrong no_such(const HttpRequest& request, const char* methods) {
  return {405, request.path + " does not know " + request.method + "; use " + methods};
}

HttpAnswer to_answer(const ApiResult& result) {
  if (result) {
    return {200, result->dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
  }
  const ApiError& error = result.error();
  if (error.problems.empty()) return {error.status, error_body(error.message)};
  const json body = {{"error", error.message}, {"problems", error.problems}};
  return {error.status, body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"};
}

Parameters::Parameters(const HttpRequest& request, std::initializer_list<const char*> known)
    : query_(request.query) {
  for (const auto& entry : query_) {
    const std::string& key = entry.first;
    if (std::none_of(known.begin(), known.end(), [&](auto name) { return key == name; })) {
      throw Wrong{400, quoted(key) + " is no parameter of " + request.path +
                           (known.size() == 0 ? std::string("; it has none")
                                              : fmt::format("; use {}", fmt::join(known, ", ")))};
    }
  }
}

std::optional<std::string> Parameters::text(const char* key) const {
  const auto found = query_.find(key);
  return found == query_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> Parameters::number(const char* key, uint32_t low, uint32_t high) const {
  const auto value = text(key);
  if (!value) return std::nullopt;
  uint32_t number = 0;
  const char* last = value->data() + value->size();
  const auto [end, error] = std::from_chars(value->data(), last, number);
  if (error != std::errc() || end != last || number < low || number > high) {
    throw Wrong{
        400, fmt::format("{}: {} is out of range; use {} to {}", key, quoted(*value), low, high)};
  }
  return number;
}

std::optional<lookup::IpPrefix> Parameters::prefix(const char* key) const {
  const auto value = text(key);
  if (!value) return std::nullopt;
  const auto prefix = lookup::IpPrefix::parse(*value);
  if (!prefix) {
    throw Wrong{400, fmt::format("{}: {} is no prefix, or has host bits; use one like "
                                 "203.0.113.0/24",
                                 key, quoted(*value))};
  }
  return prefix;
}

void reserve_for_parser(const HttpRequest& request, size_t bytes_per_byte) {
  if (request.memory != nullptr && !request.memory->grow(request.body.size() * bytes_per_byte))
    throw Wrong{503, "no memory is left for the body beside what other requests take; try again"};
}

json body_json(const HttpRequest& request) {
  if (request.body.empty()) return json::object();
  if (request.body.size() > kLargestJson) throw Wrong{413, "the body is too large for this path"};
  size_t depth = 0;
  for (const char c : request.body) depth += c == '[' || c == '{';  // bounds the parser's recursion
  if (depth > 4096) throw Wrong{400, "the body nests or lists too much"};
  reserve_for_parser(request, kJsonBytesPerByte);
  json body = json::parse(request.body, nullptr, false);
  if (!body.is_object()) throw Wrong{400, "the body is no JSON object"};
  return body;
}

bool within(const json& value, Limits limits) {
  return value.is_number_unsigned() && value.get<uint64_t>() >= limits.low &&
         value.get<uint64_t>() <= limits.high;
}

bool read_filter(const std::string& key, const json& value, PacketFilter& filter) {
  if (key == "from" || key == "to") {
    (key == "from" ? filter.from : filter.to) = host_or_prefix(key, value);
    return true;
  }
  if (key == "protocol") {
    filter.protocol =
        value.is_string() ? config::protocol_by_name(value.get<std::string>()) : std::nullopt;
    if (!filter.protocol)
      throw Wrong{400,
                  "protocol: use tcp, udp, icmp, icmp6, esp, ospf, sctp, or a number in quotes"};
    return true;
  }
  if (key == "transport_port") {
    if (!within(value, kTransportPortLimits)) throw Wrong{400, "transport_port: use 1 to 65535"};
    filter.transport_port = value.get<uint16_t>();
    return true;
  }
  if ((key != "port" && key != "interface") || !(value.is_string() || value.is_null()))
    return false;
  (key == "port" ? filter.port : filter.interface) =
      value.is_null() ? std::string() : value.get<std::string>();
  return true;
}

}  // namespace hecto::router
