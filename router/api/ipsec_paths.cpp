// /v1/ipsec/sas and /v1/ipsec/policies.
#include <charconv>

#include "config/file/load_ipsec.hpp"
#include "config/file/load_ipsec_policies.hpp"
#include "router/api/request.hpp"

namespace hecto::router {
namespace {

// Read as the file is, JSON being YAML: the same keys, the same checks, the same words.
template <typename Read>
auto ipsec_body(const HttpRequest& request, Read read) {
  if (request.body.empty()) throw Wrong{400, "the body is empty; send one as the file has it"};
  if (request.body.size() > kLargestItem) throw Wrong{413, "the body is too large for this path"};
  reserve_for_parser(request, kYamlBytesPerByte);
  auto item = read(request.body, "body");
  if (!item) throw Wrong{400, item.error().front()};
  return std::move(*item);
}

ApiResult post_ipsec_sa(ApiBackend& backend, const HttpRequest& request) {
  const Parameters none(request, {});
  bool persist = false;
  const auto sa = ipsec_body(request, [&](std::string_view yaml, const std::string& name) {
    return config::parse_ipsec_sa(yaml, name, backend.limits(), &persist);
  });
  return backend.add_ipsec_sa(sa, persist);
}

ApiResult delete_ipsec_sa(ApiBackend& backend, const HttpRequest& request) {
  const Parameters parameters(request, {"destination", "spi"});
  const auto text = parameters.text("destination");
  const auto destination = text ? lookup::IpAddress::parse(*text) : std::nullopt;
  if (!destination) throw Wrong{400, "destination: say which SA, as destination=198.51.100.1"};
  std::string digits = parameters.text("spi").value_or("");
  const bool hex = digits.starts_with("0x");
  if (hex) digits.erase(0, 2);
  uint32_t spi = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, spi, hex ? 16 : 10);
  if (error != std::errc() || end != last) throw Wrong{400, "spi: say which SA, as spi=0x1001"};
  return backend.delete_ipsec_sa(*destination, Spi(spi));
}

ApiResult change_ipsec_policy(ApiBackend& backend, const HttpRequest& request) {
  const Parameters none(request, {});
  bool persist = false;
  const auto policy = ipsec_body(request, [&](std::string_view yaml, const std::string& name) {
    return config::parse_ipsec_policy(yaml, name, &persist);
  });
  return request.method == "POST" ? backend.add_ipsec_policy(policy, persist)
                                  : backend.delete_ipsec_policy(policy);
}

}  // namespace

std::optional<ApiResult> answer_ipsec(ApiBackend& backend, const HttpRequest& request) {
  const std::string& path = request.path;
  const std::string& method = request.method;
  if (path.starts_with("/v1/ipsec/") && method != "POST" && method != "DELETE")
    throw no_such(request, "POST or DELETE");
  if (path == "/v1/ipsec/sas")
    return method == "POST" ? post_ipsec_sa(backend, request) : delete_ipsec_sa(backend, request);
  if (path == "/v1/ipsec/policies") return change_ipsec_policy(backend, request);
  return std::nullopt;
}

}  // namespace hecto::router
