// The API's view of the router: every question goes to the control thread and waits there for its
// turn between two events.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "router/api/backend.hpp"
#include "router/control/filter_job.hpp"
#include "router/control/reload_limits.hpp"
#include "router/control/route_files.hpp"

namespace hecto::router {

class ReloadControl;
class Router;
struct PacketMatch;
struct Parts;

class RouterBackend final : public ApiBackend {
 public:
  // `log_level`: of the command line; it stays whatever a reloaded file says.
  explicit RouterBackend(Router& router, std::optional<std::string> log_level = {});

  // SIGHUP, of that user's process: as `hecto reload` does; the outcome goes to the log.
  void reload_running_file(std::optional<uint32_t> uid, int pid);  // none: the kernel's own

  nlohmann::json version() override;
  ApiResult show(Noun noun) override;
  tl::expected<std::string, ApiError> metrics(MetricsFormat format) override;
  ApiResult routes(const RoutesQuery& query) override;
  ApiResult top_flows(const FlowsQuery& query) override;
  ApiResult mtu(const std::optional<lookup::IpAddress>& to,
                const std::optional<lookup::IpAddress>& from) override;
  ApiResult reload(const std::optional<std::string>& file,
                   std::optional<uint32_t> confirm_s) override;
  ApiResult diff(const std::optional<std::string>& file) override;
  ApiResult confirm() override;
  ApiResult rollback() override;
  void audit(const std::string& line, bool done) override;
  ApiResult add_route(const config::RouteConfig& route, bool persist) override;
  ApiResult delete_route(const lookup::IpPrefix& to, std::optional<uint32_t> metric) override;
  ApiResult delete_all_routes() override;
  ApiResult change_set(const SetChange& change) override;
  ApiResult delete_routes(std::string body, const std::string& name,
                          ByteReservation* memory) override;
  ApiResult load_routes(std::string body, const ApiLoadOptions& options) override;
  config::LoadLimits limits() const override { return limits_.of_load(); }
  ApiResult add_ipsec_sa(const config::IpsecSaConfig& sa, bool persist) override;
  ApiResult delete_ipsec_sa(const lookup::IpAddress& destination, Spi spi) override;
  ApiResult add_ipsec_policy(const config::IpsecPolicyConfig& policy, bool persist) override;
  ApiResult delete_ipsec_policy(const config::IpsecPolicyConfig& policy) override;
  ApiResult add_flows(const std::vector<config::FlowConfig>& flows, const FlowNamer& name) override;
  ApiResult delete_flows(const std::vector<config::FlowConfig>& flows,
                         const FlowNamer& name) override;
  ApiResult delete_all_flows() override;
  ApiResult flows(const std::string& after, uint32_t limit) override;
  bool is_http_token(std::string_view text) override;
  ApiResult start_trace(const TraceFilter& filter) override;
  ApiResult read_trace(uint32_t id, uint32_t after) override;
  ApiResult stop_trace(uint32_t id) override;
  ApiResult start_capture(const CaptureFilter& filter) override;
  tl::expected<std::optional<std::string>, ApiError> read_capture(uint32_t id) override;
  ApiResult stop_capture(uint32_t id) override;
  ApiResult end_capture(uint32_t id) override;
  SecretAnswer esp_keys(std::optional<uint32_t> uid) override;

 private:
  static ApiResult stopping();
  ApiResult on_control(std::function<ApiResult()> work);
  ApiResult summary();
  // The file, or the running one, as a reload may read it.
  tl::expected<config::Config, ApiError> read(const std::optional<std::string>& file);
  std::optional<ReadRouteFiles> route_files(const config::Config& wanted);  // none: it stops
  // Filters that would be others, compiled; null: they would not.
  std::shared_ptr<FilterJob> filters(const config::FiltersConfig& wanted);
  // A reload or the way back; answered when the route files are in.
  ApiResult changed_over_turns(
      const std::function<ApiResult(ReloadControl&, const Parts&)>& change);
  ApiResult removed(const std::function<void(std::function<void(Result<size_t>)>)>& begin);
  // Control thread only, these two. Of the second: one line when a name is not known.
  nlohmann::json answer(Noun noun);
  tl::expected<PacketMatch, ApiError> match_of(const PacketFilter& filter);

  Router& router_;
  const std::optional<std::string> log_level_;
  const std::string started_with_;  // the file that a restart reads
  const ReloadLimits limits_;
  std::mutex reloading_;  // held by who reloads, from reading to the end
};

}  // namespace hecto::router
