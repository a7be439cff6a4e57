// What the API asks of the router. The answers have the shapes of docs/api.md.
//
// Called from connection threads, several at once: an implementation hands the question to the
// control thread and waits for the answer. It must return within seconds, with status 503 once the
// control thread has ended: ApiServer::stop() waits for calls that are under way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/byte_budget.hpp"
#include "base/secret_memory.hpp"
#include "config/file/config.hpp"
#include "config/file/flows.hpp"
#include "config/file/loading.hpp"
#include "lookup/prefix.hpp"
#include "router/api/metrics_format.hpp"

namespace hecto::router {

struct ApiError {
  int status = 409;     // HTTP's; see the table in docs/api.md
  std::string message;  // one line
  std::vector<std::string> problems = {};
};

using ApiResult = tl::expected<nlohmann::json, ApiError>;

inline tl::unexpected<ApiError> api_fail(int status, std::string message,
                                         std::vector<std::string> problems = {}) {
  return tl::unexpected<ApiError>(ApiError{status, std::move(message), std::move(problems)});
}

enum class Noun : uint8_t {
  kSummary,
  kPorts,
  kBonds,
  kBridges,
  kFlows,
  kInterfaces,
  kNeighbors,
  kRules,
  kTables,
  kLabels,
  kNextHops,
  kWorkers,
  kOffload,
  kIpsec,
  kDrops,
  kPunt,
  kSflow,
  kPools,
  kConfig,
  kPlan,
  kFilters,
  kNat,
  kIpfix,
};

// Bounds of what a request may ask for; the API and the command refuse the rest.
struct Limits {
  uint32_t low, high;
};
inline constexpr Limits kTtlLimits{1, 255};
inline constexpr Limits kLengthLimits{28, 9'216};  // IPv4; of IPv6 20 bytes more at least
inline constexpr Limits kWalkLimits{1, 10'000};    // prefixes of one answer
inline constexpr Limits kTraceLimits{1, 1'000};    // packets
inline constexpr Limits kTransportPortLimits{1, 65'535};
inline constexpr Limits kSnaplenLimits{14, 65'535};  // bytes of a captured packet
inline constexpr Limits kConfirmLimits{1, 86'400};   // seconds to confirm a reload in
inline constexpr Limits kFlowSecondsLimits{1, 30};
inline constexpr Limits kFlowLimits{1, 1'000};        // flows of one answer
inline constexpr Limits kCaptureMibLimits{1, 4'096};  // room for captured packets

// Either `address` (explain it) or a walk.
struct RoutesQuery {
  std::optional<lookup::IpAddress> address;
  std::optional<lookup::IpAddress> from;   // with `address`: who sends to it
  std::optional<uint32_t> length, ttl;     // with `address`: bytes of the IP packet; of kTtlLimits
  std::string interface;                   // where that comes in; of a walk: where routes lead
  std::optional<lookup::IpPrefix> prefix;  // it and all inside
  std::string origin, protocol;            // empty: any
  std::string table;                       // a number or a VRF's name; empty: main, or the VRF's
  std::optional<lookup::IpPrefix> after;   // the walk goes on behind this prefix
  uint32_t limit = 100;                    // prefixes, of kWalkLimits
};

struct ApiLoadOptions {
  std::vector<config::NextHopConfig> via;  // empty: every line says its own
  uint32_t metric = 0;
  bool replace = false;
  std::string name = "body";          // of the file, as errors tell it
  bool skip_bad = false;              // what is malformed is passed over and told
  ByteReservation* memory = nullptr;  // that unpacking and reading take of, where not null
};

struct PacketFilter {
  std::optional<lookup::IpPrefix> from, to;
  std::string port;       // empty: any
  std::string interface;  // empty: any
  std::optional<uint8_t> protocol;
  std::optional<uint16_t> transport_port;
};

struct TraceFilter : PacketFilter {  // of where packets come in
  uint32_t count = 10;               // of kTraceLimits
};

struct CaptureFilter : PacketFilter {
  std::vector<std::string> where = {"rx", "tx"};  // of kCaptureWhere
  uint64_t count = 0;                             // packets; 0: until it is stopped
  uint32_t snaplen = 65535;                       // bytes of each, of kSnaplenLimits
  uint32_t buffer_mib = 64;                       // of kCaptureMibLimits
};
inline constexpr std::string_view kCaptureWhere[] = {"rx", "inner", "outer", "tx", "drop"};

// Prefixes into a set of filters and out of it, all or none.
struct SetChange {
  std::string set;
  std::vector<lookup::IpPrefix> add, remove;
};
inline constexpr size_t kMostSetChanges = 10'000;  // of one request
struct FlowsQuery {
  uint32_t seconds = 5;  // of kFlowSecondsLimits
  bool by_packets = false;
  uint32_t limit = 20;  // of kFlowLimits
};
// Of a list of entries: what an error says before its line.
using FlowNamer = std::function<std::string(size_t place)>;
using SecretAnswer = tl::expected<std::shared_ptr<const SecretBytes>, ApiError>;

class ApiBackend {
 public:
  virtual ~ApiBackend() = default;
  virtual nlohmann::json version() = 0;  // answers at once, without the control thread
  virtual ApiResult show(Noun noun) = 0;
  // All of it as metrics, in that format.
  virtual tl::expected<std::string, ApiError> metrics(MetricsFormat format) = 0;
  virtual ApiResult routes(const RoutesQuery& query) = 0;
  // Of all interfaces, and of the way to an address, of packets of `from` where it is given.
  virtual ApiResult mtu(const std::optional<lookup::IpAddress>& to,
                        const std::optional<lookup::IpAddress>& from) = 0;
  // The largest of the last seconds, of samples, which are taken from the first question on.
  virtual ApiResult top_flows(const FlowsQuery& query) = 0;
  // No file: the running one again. The path is absolute. With `confirm_s` the configuration before
  // it comes back unless confirm() comes within so many seconds.
  virtual ApiResult reload(const std::optional<std::string>& file,
                           std::optional<uint32_t> confirm_s) = 0;
  virtual ApiResult diff(const std::optional<std::string>& file) = 0;  // a reload that does nothing
  virtual ApiResult confirm() = 0;
  virtual ApiResult rollback() = 0;
  // Who has changed what, or tried to: one line for the log.
  virtual void audit(const std::string& line, bool done) = 0;
  // `persist`: here and below, it is there again after a restart.
  virtual ApiResult add_route(const config::RouteConfig& route, bool persist) = 0;
  virtual ApiResult delete_route(const lookup::IpPrefix& to, std::optional<uint32_t> metric) = 0;
  virtual ApiResult delete_all_routes() = 0;
  virtual ApiResult change_set(const SetChange& change) = 0;
  // `body`: a route file as it came, not looked at. `name`, `memory`: as in ApiLoadOptions.
  virtual ApiResult delete_routes(std::string body, const std::string& name,
                                  ByteReservation* memory) = 0;
  virtual ApiResult load_routes(std::string body, const ApiLoadOptions& options) = 0;
  // Which files the bodies of requests may name. Answers at once.
  virtual config::LoadLimits limits() const = 0;
  // SAs and policies of origin api. A policy is found by direction, selector and if_id.
  virtual ApiResult add_ipsec_sa(const config::IpsecSaConfig& sa, bool persist) = 0;
  virtual ApiResult delete_ipsec_sa(const lookup::IpAddress& destination, Spi spi) = 0;
  virtual ApiResult add_ipsec_policy(const config::IpsecPolicyConfig& policy, bool persist) = 0;
  virtual ApiResult delete_ipsec_policy(const config::IpsecPolicyConfig& policy) = 0;
  // Entries of the flow table, all or none; an entry of the same match goes.
  virtual ApiResult add_flows(const std::vector<config::FlowConfig>& flows,
                              const FlowNamer& name) = 0;
  virtual ApiResult delete_flows(const std::vector<config::FlowConfig>& flows,
                                 const FlowNamer& name) = 0;
  virtual ApiResult delete_all_flows() = 0;
  // A walk; `after`: `next` of the answer before, or empty.
  virtual ApiResult flows(const std::string& after, uint32_t limit) = 0;
  virtual ApiResult start_trace(const TraceFilter& filter) = 0;
  virtual ApiResult read_trace(uint32_t id, uint32_t after) = 0;
  virtual ApiResult stop_trace(uint32_t id) = 0;
  virtual ApiResult start_capture(const CaptureFilter& filter) = 0;
  // The next piece of the pcapng file, after at most half a second; empty: nothing came. Nothing:
  // that was all.
  virtual tl::expected<std::optional<std::string>, ApiError> read_capture(uint32_t id) = 0;
  virtual ApiResult stop_capture(uint32_t id) = 0;  // takes no more; the rest can still be read
  virtual ApiResult end_capture(uint32_t id) = 0;   // its counts; nothing can be read any more
  // Whether it is what api.http_token_file holds; in a time that says nothing of where it differs.
  virtual bool is_http_token(std::string_view text) = 0;
  // SAs' keys for the user at the other end of the connection; text.
  virtual SecretAnswer esp_keys(std::optional<uint32_t> uid) = 0;
};

}  // namespace hecto::router
