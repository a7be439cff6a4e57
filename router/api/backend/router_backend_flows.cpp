// The flow table, as the API changes it and walks over it.
#include <charconv>
#include <nlohmann/json.hpp>

#include "router/api/backend/router_backend.hpp"
#include "router/api/show/show.hpp"
#include "router/control/flow_control.hpp"
#include "router/control/router.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

json flows_changed(size_t count, FlowControl& flows) {
  return {{"changed", count}, {"flows", flows.tables()->size()}};
}

tl::unexpected<ApiError> flow_refused(const Error& error, const std::string& where) {
  return api_fail(error.error_number == ENOENT ? 404 : 409, where + error.message);
}

// "4:17": a family and a place in its table.
std::optional<FlowId> flow_id(const std::string& text) {
  const bool ipv4 = text.starts_with("4:");
  if (!ipv4 && !text.starts_with("6:")) return std::nullopt;
  FlowId id{ipv4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6, 0};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + 2, last, id.index);
  if (error != std::errc() || end != last || id.index >= UINT32_MAX) return std::nullopt;
  return id;
}

}  // namespace

ApiResult RouterBackend::add_flows(const std::vector<config::FlowConfig>& flows,
                                   const FlowNamer& name) {
  return on_control([&]() -> ApiResult {
    size_t which = 0;
    FlowControl& control = router_.flows();
    if (auto done = control.add(flows, &which); !done)
      return control.on() ? flow_refused(done.error(), name(which))
                          : flow_refused(done.error(), "");
    return flows_changed(flows.size(), control);
  });
}

ApiResult RouterBackend::delete_flows(const std::vector<config::FlowConfig>& flows,
                                      const FlowNamer& name) {
  return on_control([&]() -> ApiResult {
    size_t which = 0;
    FlowControl& control = router_.flows();
    if (auto done = control.erase(flows, &which); !done)
      return control.on() ? flow_refused(done.error(), name(which))
                          : flow_refused(done.error(), "");
    return flows_changed(flows.size(), control);
  });
}

ApiResult RouterBackend::delete_all_flows() {
  return on_control([&]() -> ApiResult {
    auto done = router_.flows().erase_all();
    if (!done) return flow_refused(done.error(), "");
    return flows_changed(*done, router_.flows());
  });
}

ApiResult RouterBackend::flows(const std::string& after, uint32_t limit) {
  FlowId from{lookup::Family::kIpv4, 1};
  if (!after.empty()) {
    const auto id = flow_id(after);
    if (!id) return api_fail(400, "after: is not what an answer had as `next`");
    from = {id->family, id->index + 1};
  }
  return on_control([&]() -> ApiResult { return walk_flows(router_.flows(), from, limit); });
}

}  // namespace hecto::router
