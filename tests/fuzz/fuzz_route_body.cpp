// Bodies of the API as it reads them: a route in JSON, an SA and a policy in YAML, a list of next
// hops. Refused in one line, or a route that says what it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "config/file/load_ipsec.hpp"
#include "config/file/load_ipsec_policies.hpp"
#include "router/api/request.hpp"
#include "router/api/route_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hecto;
  using namespace hecto::router;
  if (size < 1 || size > 4096) return 0;
  HttpRequest request;
  request.body.assign(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 4) {
    case 0: {
      try {
        const auto route = parse_route(body_json(request));
        if (!route && route.error().find('\n') != std::string::npos) std::abort();
        if (route && route->type == RouteType::kUnicast && route->via.empty()) std::abort();
      } catch (const Wrong& wrong) {
        if (wrong.status < 400 || wrong.status > 499) std::abort();
      }
      break;
    }
    case 1:
      (void)parse_via(request.body);
      break;
    case 2:
      // A key file is read from the disk of who fuzzes.
      if (request.body.find("key_file") == std::string::npos)
        (void)config::parse_ipsec_sa(request.body, "body");
      break;
    default:
      (void)config::parse_ipsec_policy(request.body, "body");
  }
  return 0;
}
