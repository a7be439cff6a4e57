// /v1/capture: the only answers that are not JSON.
#include <algorithm>

#include "router/api/request.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

constexpr const char* kPcapng = "application/x-pcapng";

std::vector<std::string> where_of(const json& value) {
  std::vector<std::string> where;
  if (value.is_array())
    for (const json& item : value)
      where.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  for (const std::string& name : where)
    if (std::ranges::find(kCaptureWhere, name) == std::end(kCaptureWhere))
      throw Wrong{400, fmt::format("capture: where: {} is none of {}", quoted(name),
                                   fmt::join(kCaptureWhere, ", "))};
  if (where.empty())
    throw Wrong{400,
                fmt::format("capture: where: use a list of {}", fmt::join(kCaptureWhere, ", "))};
  return where;
}

ApiResult post_capture(ApiBackend& backend, const HttpRequest& request) {
  const Parameters none(request, {});
  CaptureFilter filter;
  const json body = body_json(request);
  for (const auto& [key, value] : body.items()) {
    if (read_filter(key, value, filter)) continue;
    if (key == "where") {
      filter.where = where_of(value);
    } else if (key == "count" && value.is_number_unsigned()) {
      filter.count = value.get<uint64_t>();
    } else if (key == "snaplen" && within(value, kSnaplenLimits)) {
      filter.snaplen = value.get<uint32_t>();
    } else if (key == "buffer_mib" && within(value, kCaptureMibLimits)) {
      filter.buffer_mib = value.get<uint32_t>();
    } else {
      throw Wrong{400, fmt::format("capture: {} is not known or out of range; use from, to, port, "
                                   "interface, protocol, transport_port, where, count, snaplen ({} "
                                   "to {}), buffer_mib ({} to "
                                   "{})",
                                   quoted(key), kSnaplenLimits.low, kSnaplenLimits.high,
                                   kCaptureMibLimits.low, kCaptureMibLimits.high)};
    }
  }
  return backend.start_capture(filter);
}

uint32_t id_of(const HttpRequest& request) {
  const Parameters parameters(request, {"id"});
  const auto id = parameters.number("id", 0, UINT32_MAX);
  if (!id) throw Wrong{400, "id: is missing; POST /v1/capture gives one"};
  return *id;
}

HttpAnswer get_capture(ApiBackend& backend, uint32_t id) {
  auto piece = backend.read_capture(id);
  if (!piece) return to_answer(tl::unexpected(piece.error()));
  if (!*piece) return {204, "", kPcapng};
  return {200, std::move(**piece), kPcapng};
}

HttpAnswer get_keys(ApiBackend& backend, const HttpRequest& request) {
  const Parameters none(request, {});
  auto keys = backend.esp_keys(request.peer.uid);
  if (!keys) return to_answer(tl::unexpected(keys.error()));
  return {200, "", "text/plain", std::move(*keys)};
}

}  // namespace

std::optional<HttpAnswer> answer_capture(ApiBackend& backend, const HttpRequest& request) {
  const std::string& method = request.method;
  if (request.path == "/v1/capture") {
    if (method == "POST") return to_answer(post_capture(backend, request));
    const uint32_t id = id_of(request);
    return method == "GET" ? get_capture(backend, id) : to_answer(backend.end_capture(id));
  }
  if (request.path == "/v1/capture/stop") {
    if (method != "POST") throw no_such(request, "POST");
    return to_answer(backend.stop_capture(id_of(request)));
  }
  if (request.path == "/v1/capture/keys") {
    if (method != "GET") throw no_such(request, "GET");
    return get_keys(backend, request);
  }
  return std::nullopt;
}

}  // namespace hecto::router
