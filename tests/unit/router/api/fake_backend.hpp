// A backend that remembers what it was asked.
#pragma once

#include <mutex>
#include <nlohmann/json.hpp>

#include "config/file/flow_words.hpp"
#include "router/api/backend.hpp"

namespace hecto::router::test {

class FakeBackend : public ApiBackend {
 public:
  nlohmann::json version() override { return {{"name", "hectod"}, {"version", "0.1.0"}}; }
  ApiResult show(Noun noun) override {
    note("show " + std::to_string(static_cast<int>(noun)));
    if (noun == Noun::kPools) throw std::runtime_error("pools\nfell over");
    if (noun == Noun::kPlan) return api_fail(503, "the router is stopping");
    return nlohmann::json{{"noun", static_cast<int>(noun)}};
  }
  tl::expected<std::string, ApiError> metrics(MetricsFormat format) override {
    note("metrics");
    return std::string(format == MetricsFormat::kPlain ? "plain\n" : "# EOF\n");
  }
  ApiResult routes(const RoutesQuery& query) override {
    note("routes" + (query.address ? " address " + query.address->to_string() : "") +
         (query.from ? " from " + query.from->to_string() : "") +
         (query.interface.empty() ? "" : " interface " + query.interface) +
         (query.length ? " length " + std::to_string(*query.length) : "") +
         (query.ttl ? " ttl " + std::to_string(*query.ttl) : "") +
         (query.origin.empty() ? "" : " origin " + query.origin) +
         (query.protocol.empty() ? "" : " protocol " + query.protocol) +
         (query.prefix ? " prefix " + query.prefix->to_string() : "") +
         (query.after ? " after " + query.after->to_string() : "") + " limit " +
         std::to_string(query.limit));
    return nlohmann::json::object();
  }
  ApiResult mtu(const std::optional<lookup::IpAddress>& to,
                const std::optional<lookup::IpAddress>& from) override {
    note("mtu" + (to ? " " + to->to_string() : "") + (from ? " from " + from->to_string() : ""));
    return nlohmann::json::object();
  }
  ApiResult reload(const std::optional<std::string>& file,
                   std::optional<uint32_t> confirm_s) override {
    note("reload " + file.value_or("-") +
         (confirm_s ? " confirm " + std::to_string(*confirm_s) : ""));
    if (file == "/bad.yaml") {
      return api_fail(409, "/bad.yaml is refused: 2 problems, nothing was changed", {"a", "b"});
    }
    return nlohmann::json{{"changes", nlohmann::json::array()}};
  }
  ApiResult diff(const std::optional<std::string>& file) override {
    note("diff " + file.value_or("-"));
    return nlohmann::json{{"changes", nlohmann::json::array()}};
  }
  ApiResult confirm() override {
    note("confirm");
    return nlohmann::json::object();
  }
  ApiResult rollback() override {
    note("rollback");
    return nlohmann::json{{"changes", nlohmann::json::array()}};
  }
  void audit(const std::string& line, bool done) override {
    const std::lock_guard guard(mutex_);
    audited.push_back((done ? "+ " : "- ") + line);
  }
  bool is_http_token(std::string_view text) override { return text == "0123456789abcdef"; }
  ApiResult add_route(const config::RouteConfig& route, bool persist) override {
    std::string text = "add " + route.to.to_string() + " type " +
                       std::string(to_string(route.type)) + " metric " +
                       std::to_string(route.metric);
    for (const auto& hop : route.via) text += " via " + hop_text(hop);
    note(text + (persist ? " persist" : ""));
    return nlohmann::json{{"changed", 1}};
  }
  ApiResult delete_route(const lookup::IpPrefix& to, std::optional<uint32_t> metric) override {
    note("delete " + to.to_string() + " " + (metric ? std::to_string(*metric) : "any"));
    return nlohmann::json{{"changed", 1}};
  }
  ApiResult delete_all_routes() override {
    note("delete all");
    return nlohmann::json{{"changed", 5}};
  }
  ApiResult delete_routes(std::string body, const std::string& name, ByteReservation*) override {
    loaded_name = name;
    note("delete body " + body);
    return nlohmann::json{{"changed", 2}};
  }
  config::LoadLimits limits() const override {
    return {[](const std::string& path) {
              return path.starts_with("/etc/hecto/") ? "" : "is not in /etc/hecto";
            },
            {}};
  }
  ApiResult load_routes(std::string body, const ApiLoadOptions& options) override {
    std::string text = "load " + std::to_string(body.size()) + " metric " +
                       std::to_string(options.metric) + (options.replace ? " replace" : "") +
                       (options.skip_bad ? " skip bad" : "");
    for (const auto& hop : options.via) text += " via " + hop_text(hop);
    loaded_name = options.name;
    note(text);
    return nlohmann::json{{"routes", body.size()}};
  }
  ApiResult add_ipsec_sa(const config::IpsecSaConfig& sa, bool persist) override {
    note("add sa " + config::to_string(sa) + (persist ? " persist" : ""));
    return nlohmann::json{{"changed", 1}};
  }
  ApiResult delete_ipsec_sa(const lookup::IpAddress& destination, Spi spi) override {
    note("delete sa " + destination.to_string() + " " + std::to_string(spi));
    return nlohmann::json{{"changed", 1}};
  }
  ApiResult add_ipsec_policy(const config::IpsecPolicyConfig& policy, bool persist) override {
    note("add policy " + config::to_string(policy) + (persist ? " persist" : ""));
    return nlohmann::json{{"changed", 1}};
  }
  ApiResult delete_ipsec_policy(const config::IpsecPolicyConfig& policy) override {
    note("delete policy " + config::to_string(policy));
    return nlohmann::json{{"changed", 1}};
  }
  ApiResult add_flows(const std::vector<config::FlowConfig>& flows,
                      const FlowNamer& name) override {
    std::string text = "add flows";
    if (flows.size() > 5) text += " " + std::to_string(flows.size());
    if (flows.size() <= 5)
      for (const auto& flow : flows) text += " | " + config::to_string(flow);
    note(text);
    for (size_t i = 0; i < flows.size(); ++i)
      if (flows[i].actions.output == "gone") return api_fail(409, name(i) + "there is no gone");
    return nlohmann::json{{"changed", flows.size()}, {"flows", 7}};
  }
  ApiResult delete_flows(const std::vector<config::FlowConfig>& flows, const FlowNamer&) override {
    std::string text = "delete flows";
    for (const auto& flow : flows)
      text += " | " + config::to_string(flow) + (flow.priority_given ? " only" : "");
    note(text);
    return nlohmann::json{{"changed", flows.size()}, {"flows", 7}};
  }
  ApiResult delete_all_flows() override {
    note("delete all flows");
    return nlohmann::json{{"changed", 7}, {"flows", 0}};
  }
  ApiResult flows(const std::string& after, uint32_t limit) override {
    note("flows after " + after + " limit " + std::to_string(limit));
    return nlohmann::json{{"flows", nlohmann::json::array()}};
  }
  ApiResult start_trace(const TraceFilter& filter) override {
    note("trace" + (filter.from ? " from " + filter.from->to_string() : "") +
         (filter.to ? " to " + filter.to->to_string() : "") + " port " + filter.port +
         " interface " + filter.interface + " count " + std::to_string(filter.count));
    return nlohmann::json{{"id", 3}};
  }
  ApiResult read_trace(uint32_t id, uint32_t after) override {
    note("read trace " + std::to_string(id) + " after " + std::to_string(after));
    if (id != 3) return api_fail(404, "no trace " + std::to_string(id));
    return nlohmann::json{{"id", 3}};
  }
  ApiResult stop_trace(uint32_t id) override {
    note("stop trace " + std::to_string(id));
    return nlohmann::json{{"id", id}};
  }
  ApiResult start_capture(const CaptureFilter& filter) override {
    begun = filter;
    pieces_ = 0;
    std::string where;
    for (const std::string& name : filter.where) where += " " + name;
    note("capture" + (filter.from ? " from " + filter.from->to_string() : "") + where + " count " +
         std::to_string(filter.count) + " snaplen " + std::to_string(filter.snaplen) + " buffer " +
         std::to_string(filter.buffer_mib));
    return nlohmann::json{{"id", 3}};
  }
  // Three pieces of a file; a count asked for ends it, else stop does.
  tl::expected<std::optional<std::string>, ApiError> read_capture(uint32_t id) override {
    note("read capture " + std::to_string(id));
    if (id != 3) return api_fail(404, "no capture " + std::to_string(id));
    const unsigned piece = pieces_++;
    if (piece < 3) return std::string("piece") + static_cast<char>('0' + piece) + '\0';
    return std::nullopt;
  }
  ApiResult stop_capture(uint32_t id) override {
    note("stop capture " + std::to_string(id));
    return nlohmann::json{{"id", id}};
  }
  ApiResult end_capture(uint32_t id) override {
    note("end capture " + std::to_string(id));
    return nlohmann::json{{"id", id}, {"captured", 12}, {"lost", lost}};
  }
  SecretAnswer esp_keys(std::optional<uint32_t> uid) override {
    note("keys for " + (uid ? std::to_string(*uid) : "nobody"));
    if (!give_keys) return api_fail(403, "keys are not given away");
    const std::string text = "\"IPv4\",\"a key\"\n";
    return std::make_shared<const SecretBytes>(text.begin(), text.end());
  }
  std::string loaded_name;  // of the file, as its errors are to tell it
  CaptureFilter begun;      // the capture asked for last
  uint64_t lost = 0;
  bool give_keys = true;
  std::vector<std::string> audited;  // "+ " before what was done, "- " before what was not

  std::string asked() const {
    const std::lock_guard guard(mutex_);
    return asked_;
  }

 private:
  static std::string hop_text(const config::NextHopConfig& hop) {
    return hop.gateway.to_string() + (hop.interface.empty() ? "" : "%" + hop.interface) + "*" +
           std::to_string(hop.weight);
  }
  void note(std::string text) {
    const std::lock_guard guard(mutex_);
    asked_ = std::move(text);
  }

  mutable std::mutex mutex_;
  std::string asked_;
  unsigned pieces_ = 0;
};

}  // namespace hecto::router::test
