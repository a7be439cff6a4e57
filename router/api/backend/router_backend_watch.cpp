// Orders of the API that look at packets: traces and captures.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "router/api/backend/router_backend.hpp"
#include "router/api/show/show.hpp"
#include "router/control/capture_control.hpp"
#include "router/control/dpdk_forwarding_plane.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/ipsec_control.hpp"
#include "router/control/router.hpp"
#include "router/control/running.hpp"
#include "router/dataplane/observe/reader.hpp"
#include "router/dataplane/observe/trace.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr size_t kPieceBytes = size_t{4} << 20;
constexpr size_t kWorthSending = size_t{256} << 10;
constexpr milliseconds kLongestWait{250}, kGather{20}, kLook{2};

unsigned points_of(const std::vector<std::string>& where) {
  using enum CapturePoint;
  unsigned points = 0;
  for (const std::string& name : where)
    points |= name == "rx"      ? bit(kReceive)
              : name == "tx"    ? bit(kTransmit)
              : name == "drop"  ? bit(kDrop)
              : name == "inner" ? bit(kDecapInner) | bit(kEncapInner)
                                : bit(kDecapOuter) | bit(kEncapOuter);
  return points;
}

tl::unexpected<ApiError> no_capture(uint32_t id) {
  return api_fail(404, fmt::format("there is no capture {}; nobody read it, or it was ended", id));
}

}  // namespace

tl::expected<PacketMatch, ApiError> RouterBackend::match_of(const PacketFilter& filter) {
  PacketMatch match;
  match.from = filter.from;
  match.to = filter.to;
  match.protocol = filter.protocol;
  match.transport_port = filter.transport_port;
  if (!filter.port.empty()) {
    const auto port = router_.plane().port(filter.port);
    if (!port) return api_fail(404, fmt::format("there is no port {}", filter.port));
    match.port = port->id;
  }
  if (!filter.interface.empty()) {
    const Interface* interface = router_.interfaces().table().find(filter.interface);
    if (interface == nullptr)
      return api_fail(404, fmt::format("there is no interface {}", filter.interface));
    // It has packets by several ports, and a match names one.
    if (interface->port == kNoPort)
      return api_fail(400, fmt::format("{} is a bridge's interface: name one of its ports, as "
                                       "`hecto show bridges` lists them",
                                       filter.interface));
    match.port = interface->port;
    match.tags = interface->tags;
    const auto port = router_.plane().port(interface->port_name);
    match.any_tag_protocol = port && port->hides_service_tags;
  }
  return match;
}

ApiResult RouterBackend::start_trace(const TraceFilter& filter) {
  return on_control([&]() -> ApiResult {
    const auto match = match_of(filter);
    if (!match) return tl::unexpected(match.error());
    const uint32_t id = router_.captures().start_trace(*match, filter.count);
    return json{{"id", id}, {"count", filter.count}};
  });
}

ApiResult RouterBackend::read_trace(uint32_t id, uint32_t after) {
  return on_control([&]() -> ApiResult {
    const auto trace = router_.captures().trace(id);
    if (!trace) return api_fail(404, fmt::format("there is no trace {}", id));
    json answer = show_trace({router_.plane(), router_.interfaces().table(), router_.routing()},
                             *trace, after);
    answer["id"] = id;
    return answer;
  });
}

ApiResult RouterBackend::stop_trace(uint32_t id) {
  ApiResult last = read_trace(id, 0);
  if (!last) return last;
  return on_control([&]() -> ApiResult {
    router_.captures().end_trace();
    return last;
  });
}

ApiResult RouterBackend::start_capture(const CaptureFilter& filter) {
  return on_control([&]() -> ApiResult {
    const auto match = match_of(filter);
    if (!match) return tl::unexpected(match.error());
    CaptureOptions options;
    options.match = *match;
    if (!filter.interface.empty())
      options.interface = router_.interfaces().table().find(filter.interface)->id;
    options.points = points_of(filter.where);
    options.snaplen = filter.snaplen;
    options.count = filter.count;
    const auto started = router_.captures().start(options, size_t{filter.buffer_mib} << 20);
    if (!started) return api_fail(409, started.error().message);
    return json{{"id", *started},
                {"where", filter.where},
                {"count", filter.count},
                {"snaplen", filter.snaplen},
                {"buffer_mib", filter.buffer_mib}};
  });
}

// On the caller's thread, so that control has nothing of it but the beginning and the end.
tl::expected<std::optional<std::string>, ApiError> RouterBackend::read_capture(uint32_t id) {
  const auto found = router_.commands().call<std::shared_ptr<CaptureReader>>(
      [&] { return router_.captures().find(id); });
  if (!found) return api_fail(503, "the router is stopping");
  if (!*found) return no_capture(id);
  CaptureReader& reader = **found;
  std::string all;
  auto until = std::chrono::steady_clock::now() + kLongestWait;
  for (;;) {
    auto piece = reader.read(kPieceBytes - all.size());
    if (!piece) return all.empty() ? std::nullopt : std::optional(std::move(all));
    if (all.empty() && !piece->empty())
      until = std::min(until, std::chrono::steady_clock::now() + kGather);
    all += *piece;
    if (reader.session().full() && !reader.session().left())
      router_.commands().post([this, id] {
        if (router_.captures().find(id)) router_.captures().stop();
      });
    if (all.size() >= kWorthSending || std::chrono::steady_clock::now() >= until) return all;
    std::this_thread::sleep_for(kLook);
  }
}

ApiResult RouterBackend::stop_capture(uint32_t id) {
  return on_control([&]() -> ApiResult {
    if (!router_.captures().find(id)) return no_capture(id);
    router_.captures().stop();
    return json{{"id", id}};
  });
}

ApiResult RouterBackend::end_capture(uint32_t id) {
  return on_control([&]() -> ApiResult {
    const auto capture = router_.captures().find(id);
    if (!capture) return no_capture(id);
    router_.captures().end();
    const CaptureCounts counts = capture->counts();
    return json{{"id", id}, {"captured", counts.captured}, {"lost", counts.lost}};
  });
}

// The socket is the group's too; keys are root's, and of who runs the router.
SecretAnswer RouterBackend::esp_keys(std::optional<uint32_t> uid) {
  if (!uid || (*uid != 0 && *uid != geteuid()))
    return api_fail(403, "keys are given to root only: run hecto as root");
  auto keys = router_.commands().call<Result<std::shared_ptr<const SecretBytes>>>(
      [&] { return router_.ipsec_control().keys(router_.config().ipsec.export_keys); });
  if (!keys) return api_fail(503, "the router is stopping");
  if (!*keys) return api_fail(403, keys->error().message);
  spdlog::warn("ipsec: the keys of all SAs were given to the user with uid {}", *uid);
  return **keys;
}

}  // namespace hecto::router
