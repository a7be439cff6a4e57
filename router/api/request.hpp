// What every path of the API reads of a request: parameters, bodies, and how a wrong one is told.
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lookup/prefix.hpp"
#include "router/api/backend.hpp"
#include "router/api/http/http.hpp"

namespace hecto::router {

inline constexpr size_t kLargestJson = 1 << 20;
inline constexpr size_t kLargestItem = 64 << 10;  // of one SA or policy
// What a parser makes of a byte at worst: measured with lists of one letter each.
inline constexpr size_t kJsonBytesPerByte = 32;
inline constexpr size_t kYamlBytesPerByte = 256;

// What is wrong with a request: thrown by the readers of parameters, caught in answer().
struct Wrong {
  int status;
  std::string line;
};

std::string quoted(const std::string& text);

// The parameters of a request; unknown ones are refused, so that a misspelt one is not passed over.
class Parameters {
 public:
  Parameters(const HttpRequest& request, std::initializer_list<const char*> known);
  std::optional<std::string> text(const char* key) const;
  std::optional<uint32_t> number(const char* key, uint32_t low, uint32_t high) const;
  bool flag(const char* key) const { return number(key, 0, 1).value_or(0) == 1; }
  std::optional<lookup::IpPrefix> prefix(const char* key) const;

 private:
  const std::map<std::string, std::string>& query_;
};

// Takes what the parser may need of the memory of all requests, or refuses with 503.
void reserve_for_parser(const HttpRequest& request, size_t bytes_per_byte);
nlohmann::json body_json(const HttpRequest& request);
bool within(const nlohmann::json& value, Limits limits);  // a whole number between them
// from, to, port, interface, protocol and transport_port; false: it is none of these.
bool read_filter(const std::string& key, const nlohmann::json& value, PacketFilter& filter);

Wrong no_such(const HttpRequest& request, const char* methods);
HttpAnswer to_answer(const ApiResult& result);

// /v1/capture and what is below; nothing: another path.
std::optional<HttpAnswer> answer_capture(ApiBackend& backend, const HttpRequest& request);
// Likewise: /v1/flows and what is below, but for the plain GET; /v1/sets; /v1/ipsec/ and what is below.
std::optional<ApiResult> answer_flows(ApiBackend& backend, const HttpRequest& request);
std::optional<ApiResult> answer_sets(ApiBackend& backend, const HttpRequest& request);
std::optional<ApiResult> answer_ipsec(ApiBackend& backend, const HttpRequest& request);

}  // namespace hecto::router
